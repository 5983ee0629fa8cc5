/** The process that reads the log of an exchange stops reading, dies, or is slow: the exchange goes on as before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { ReadServer } from '../support/readServer.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

/** Some 10 MiB of log. */
const LINES = 15_000;
/** Ten times the capacity of a pipe. */
const LAST_LINES = 1000;
const ORDERS = 30;

async function trade({ server }: ReadServer): Promise<void> {
  const market = await makeMarket(server);
  const trader = await makeTrader(server);
  for (let at = 0; at < ORDERS; at++) await trader.place(market, { side: 'BUY', price: '0.40', size: '1' });
}

type Line = { msg?: string; lines?: number };

/** Parses every line: each is whole, and none is a lost one. */
function parsed(lines: readonly string[]): Line[] {
  return lines.map((line) => JSON.parse(line));
}

test('with a reader that has stopped orders are answered; lines are lost, counted, and missed', async (t) => {
  const read = await ReadServer.start(t, LINES);
  const { server } = read;
  read.signalReader('SIGSTOP');
  read.flood();
  await trade(read);
  await eventually('lines that are dropped', async () => (await read.dropped()) > 0);
  await trade(read);
  read.signalReader('SIGCONT');
  const told = (): Line[] => parsed(server.stdout).filter(({ lines }) => lines !== undefined);
  await eventually('every line, or what is missing', async () => read.accountedFor() >= LINES);
  const missing = told().reduce((sum, { lines }) => sum + lines!, 0);
  assert.equal(await read.dropped(), missing);
  assert.equal(await server.stop(), 0);
  assert.equal(parsed(server.stdout).at(-1)?.msg, 'stopped', 'the last line comes out');
});

test('with a reader that has died orders are answered, and a stop is one like any other', async (t) => {
  const read = await ReadServer.start(t, LINES);
  read.signalReader('SIGKILL');
  read.flood();
  await trade(read);
  await eventually('lines that are dropped', async () => (await read.dropped()) > 0);
  await trade(read);
  assert.equal(await read.server.stop(), 0);
});

test('the exchange ends in order while the reader has stopped', async (t) => {
  const read = await ReadServer.start(t, LINES);
  read.signalReader('SIGSTOP');
  read.flood();
  await trade(read);
  assert.equal(await read.server.stop(), 0);
});

test('the last lines before an end come out where the reader is slow', async (t) => {
  const read = await ReadServer.start(t, LAST_LINES, 'slow');
  const { server } = read;
  read.flood();
  assert.equal(await server.stop(), 0);
  await eventually('the last line', async () => parsed(server.stdout).at(-1)?.msg === 'stopped');
});

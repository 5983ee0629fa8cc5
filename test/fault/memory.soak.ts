/**
 * The memory of an exchange over three hours of its life, each played in minutes: one with nothing to do, one of
 * trading, and one in which clients come and go. Each begins when as much has been played before, so that every thread
 * that it needs runs and caches are full, and prints the memory at its start and at its end.
 *
 *     SOAK=on node shared/run.mjs --test test/fault/memory.soak.ts
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import WebSocket from 'ws';
import { OUTCOME } from '../../shared/base/codes.ts';
import { fileScope } from '../support/fileScope.ts';
import { HurriedServer } from '../support/hurriedServer.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

/** An idle shard looks for messages four times a second. */
const TURNS_OF_HOUR = 4 * 3600;
/** Cycles of an hour: a pair of matching orders, and one that is cancelled: an order each second. */
const CYCLES_OF_HOUR = 1200;
/** One comes each second, subscribes to a book, and leaves. */
const CLIENTS_OF_HOUR = 3600;
const AT_A_TIME = 16;
const RICH = { depositMicro: 10_000_000_000 };

/** V8 takes pages for its heaps and gives them back; the test of ten thousand turns has the same bound. */
const MOST_MB = 12;
/**
 * An order stays in the memory of its shard with at most 70 bytes: 0.3 MB. The rest has bounds that an hour does not
 * reach: pages of the files in SQLite's caches (4 MB), pages of rings that are written for the first time (4 MB), and
 * V8's heaps (3 MB). A statement for each command would be 20 MB more.
 */
const MOST_TRADING_MB = 20;

const skip = process.platform !== 'linux' && 'private memory is read from /proc';
const hurried = await HurriedServer.start(fileScope, { SHARDS: '2' });
const { server } = hurried;

test('an hour without orders takes no memory', { skip }, (t) =>
  keeps(t, 'an idle hour', MOST_MB, (share) => hurried.turned(TURNS_OF_HOUR * share)),
);

test('after an hour of trading memory has grown only by what its orders need', { skip }, async (t) => {
  const market = await makeMarket(server);
  const [maker, taker] = [await makeTrader(server, RICH), await makeTrader(server, RICH)];
  const cycle = async (): Promise<void> => {
    await maker.place(market, { price: '0.60', size: '1' });
    await taker.place(market, { outcomeIndex: OUTCOME.NO, price: '0.40', size: '1' });
    const { order_hash } = await maker.place(market, { price: '0.30', size: '1' });
    await maker.client.cancelOrder(order_hash);
  };
  await keeps(t, 'an hour of trading', MOST_TRADING_MB, (share) => times(CYCLES_OF_HOUR * share, cycle));
});

test('an hour in which clients come and go takes no memory', { skip }, async (t) => {
  const [market, trader] = [await makeMarket(server), await makeTrader(server)];
  const url = `${server.baseUrl.replace('http', 'ws')}/v1/ws`;
  await keeps(t, 'an hour of clients', MOST_MB, (share) =>
    times(CLIENTS_OF_HOUR * share, () => comeAndGo(url, market.id, trader)),
  );
});

async function comeAndGo(url: string, market: string, trader: Trader): Promise<void> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ channel: 'subscribe', id: 1, data: { markets: [market], snapshot: true } }));
  await answered;
  await trader.client.balances();
  socket.close();
  await once(socket, 'close');
}

/** @param play plays a share of the hour */
async function keeps(
  t: { diagnostic(text: string): void },
  hour: string,
  mostMb: number,
  play: (share: number) => Promise<unknown>,
): Promise<void> {
  await play(1);
  const startMb = await hurried.settledMb();
  await play(1);
  const endMb = await hurried.settledMb();
  const said = `${hour}: ${startMb.toFixed(1)} MB at its start, ${endMb.toFixed(1)} MB at its end`;
  t.diagnostic(said);
  console.log(said);
  assert.ok(endMb - startMb < mostMb, `${said}, of which ${mostMb} MB are allowed`);
}

/** A few at a time. */
async function times(count: number, run: () => Promise<void>): Promise<void> {
  let left = count;
  const one = async (): Promise<void> => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
}

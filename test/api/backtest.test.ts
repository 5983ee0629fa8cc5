/** The market maker of the examples over a day that was recorded from a stream (shared/client/backtest). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BacktestSettings, RecordedExchange } from '../../shared/client/backtest/recordedExchange.ts';
import { MarketMaker } from '../../shared/client/examples/marketMaker.ts';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import { parseRecording, record } from '../../shared/client/stream/recording.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { StreamRig } from '../support/streamRig.ts';

const SEED = 17;
const COMMANDS = 1500;
/** In most cases a frame arrives within them: a look now and then would take half a minute for all. */
const TURNS = 1000;
const DAY_MS = 86_400_000;
const PRIVATE_KEY = `0x${'1'.padStart(64, '0')}`;
const MAKER = {
  halfSpreadTicks: 2,
  size: 1,
  tokensPerTick: 100,
  maxInventory: 5,
  maxFilled: 500,
  requoteMs: 60_000,
} as const;
const EXCHANGE: BacktestSettings = { cashMicro: 100_000_000, feeRateBps: 50, latencyMs: 20 };
const RUN = fileURLToPath(new URL('../../shared/run.mjs', import.meta.url));

const rig = await StreamRig.start(fileScope, SEED);
const stream = new ExchangeStream({ baseUrl: rig.baseUrl });
fileScope.after(() => stream.close());

/** A day of random orders of the whole engine, recorded as it was sent. */
async function recordDay(): Promise<string> {
  const book = stream.openBook(rig.marketId(), { verify: 'every' });
  let text = '';
  const recording = record(book, { url: rig.baseUrl, ticksPerUnit: 100 }, rig.clock, (line) => {
    text += line;
  });
  await book.ready();
  for (let command = 0; command < COMMANDS; command++) {
    rig.clock.advance(DAY_MS / COMMANDS);
    rig.run(1);
    // The recorder notes the time of arrival.
    for (let turn = 0; turn < TURNS && book.sequence !== rig.shown().sequence; turn++) await nextTurn();
    await eventually('the frame has arrived', async () => book.sequence === rig.shown().sequence);
  }
  book.close();
  await recording;
  return text;
}

const day = await recordDay();

async function backtest(settings = EXCHANGE) {
  const exchange = new RecordedExchange([parseRecording(day)], settings);
  const maker = new MarketMaker(exchange, PRIVATE_KEY, exchange.mid, MAKER, exchange.pause);
  return { exchange, report: await exchange.play(maker) };
}

test(`two runs over a day give the same fills (RECORDED-2, SEED=${SEED})`, async () => {
  const { report } = await backtest();
  assert.ok(report.fills > 10, `${report.fills} fills`);
  assert.ok(report.placed > 100, `${report.placed} quotes`);
  assert.deepEqual((await backtest()).report, report);
});

test('the account’s balance agrees with its gain, and it has no more tokens than the maker wants', async () => {
  const { exchange, report } = await backtest();
  const balances = exchange.balances();
  await exchange.play({ run: async () => void (await balances), stop: () => {} });
  const { usdc, tokens } = await balances;
  assert.equal(usdc.reserved, '0', 'the maker has withdrawn its quotes');
  const yes = exchange.mid(rig.marketId());
  const [yesAtomic, noAtomic] = tokens.map(({ available }) => Number(available));
  const worth = Number(usdc.available) + yesAtomic * yes + noAtomic * (1 - yes);
  assert.ok(Math.abs(worth - EXCHANGE.cashMicro - report.gainMicro) < 2, `${worth} and a gain of ${report.gainMicro}`);
  assert.equal(report.gainMicro, report.edgeMicro + report.driftMicro - report.feesMicro);
  assert.ok(Math.abs(yesAtomic - noAtomic) <= (MAKER.maxInventory + MAKER.size) * 1_000_000);
  assert.ok(report.drawdownMicro >= Math.max(0, -report.gainMicro));
});

test('the program prints the same report, and names an argument that is wrong', async () => {
  const file = join(temporaryDirectory(), 'day.jsonl');
  writeFileSync(file, day);
  const program = [RUN, fileURLToPath(new URL('../../shared/client/backtest/main.ts', import.meta.url))];
  const flags = ['--size', '1', '--max-inventory', '5', '--requote-ms', '60000', '--cash', '100', '--json'];
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [...program, file, ...flags]);
  assert.deepEqual(JSON.parse(stdout), (await backtest()).report);
  const wrong = run(process.execPath, [...program, file, '--size', '1.5']);
  await assert.rejects(wrong, { code: 64, stderr: /^error: --size 1\.5 is not a whole number\n/ });
});

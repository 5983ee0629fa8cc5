/**
 * The market maker of the examples on a real exchange, and the flow of the demo that is made of it.
 *
 *     SOAK=on node shared/run.mjs --test test/api/marketMaker.test.ts     leaves the demo alone for five minutes
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sample } from '../../gateway/web/browser/ops/measure.ts';
import { problemsOf } from '../../gateway/web/browser/ops/problems.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { MarketMaker } from '../../shared/client/examples/marketMaker.ts';
import { DAY_MS } from '../../shared/tables/buckets.ts';
import { assertWhole } from '../support/adminProgram.ts';
import { onLedgerOnly } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { freePort } from '../support/freePort.ts';
import { timesOf } from '../support/seeds.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const SETTINGS = {
  halfSpreadTicks: 2,
  size: 10,
  tokensPerTick: 10,
  maxInventory: 12,
  maxFilled: 10,
  requoteMs: 20,
};
// The market maker lives through a restart, so the exchange comes back to the same port.
const ENV = { SHARDS: '1', PORT: String(await freePort()) };
const server = await startServer(fileScope, ENV);
const market = await makeMarket(server);
const MAKER_KEY = `0x${'b1'.repeat(32)}`;
const maker = await makeTrader(server, { privateKey: MAKER_KEY });
const taker = await makeTrader(server);

/** Best bid and best ask of Yes. */
async function quotes(): Promise<string> {
  const { best_bid, best_ask } = await taker.client.bbo(market.id);
  return `${best_bid} ${best_ask}`;
}

function shows(expected: string): Promise<unknown> {
  return eventually(expected, async () => (await quotes()) === expected);
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('it quotes both sides, leans away from its inventory, and outlives trips, fees and restarts', async () => {
  const client = new ExchangeClient({ baseUrl: server.baseUrl, credentials: maker.credentials });
  let value = 0.5;
  const program = new MarketMaker(client, MAKER_KEY, () => value, SETTINGS);
  const running = program.run([market.id]);
  await shows('0.48 0.52');
  value = 0.6;
  await shows('0.58 0.62');
  value = 0.4;
  await shows('0.38 0.42');
  // Five Yes are sold to it, of which 4.975 arrive: worth half a tick less.
  await taker.client.split(market.id, 50_000_000);
  await taker.place(market, { side: 'SELL', price: '0.38', size: '5' });
  await shows('0.37 0.42');
  // Ten at once reach its limit, so every quote goes; it comes back with all the Yes that it wants.
  await taker.place(market, { side: 'SELL', price: '0.37', size: '10' });
  await shows('null 0.41');
  await server.admin.patchMarket(market.id, { fee_bps: 100 });
  value = 0.3;
  await shows('null 0.31');
  await server.kill();
  await server.start(ENV);
  value = 0.7;
  await shows('null 0.71');
  program.stop();
  await running;
  assert.equal(await quotes(), 'null null');
});

/** The suite starts the little that the flow needs, the soak an exchange with all that `npm start` gives it. */
const DEMO = timesOf<Record<string, string>>({
  suite: { SHARDS: '1' },
  soak: { SHARDS: '', GATEWAYS: '', JOURNAL_RESERVE_MB: '', REHEARSE: '', DEMO_RAMP: '' },
});
/** As long as a newcomer may look around; in the suite until every maker has quoted again. */
const ALONE_MS = timesOf({ suite: 0, soak: 300_000 });
/** The page asks as often. */
const REPORT_EVERY_MS = 2000;
/** These are about the machine, which other tests use as well. */
const OF_THE_MACHINE = /^(?:The event loop is late|Commits take|Orders take|History of shard \d+ is|The disk )/;

async function metricLines(server: TestServer): Promise<string[]> {
  return (await (await fetch(`${server.baseUrl}/metrics`)).text()).split('\n');
}

/** Requests of a route that were answered 200. */
async function answered(server: TestServer, route: string): Promise<number> {
  const line = (await metricLines(server)).find((each) => each.includes(`route="${route}",status="200"}`));
  return Number(line?.split(' ').at(-1) ?? 0);
}

const REFUSALS = [
  'exchange_refusals_total',
  'exchange_turned_away_requests_total',
  'exchange_connections_refused_total',
  'exchange_heartbeat_switches_triggered_total',
  'exchange_rate_limit_decisions_total{decision="quota_denied"}',
  'exchange_thread_ends_total',
  'exchange_fallbacks_total',
];

async function refusals(server: TestServer): Promise<string[]> {
  const lines = await metricLines(server);
  return lines.filter((line) => REFUSALS.some((name) => line.startsWith(name)) && !line.endsWith(' 0'));
}

/** The problems that /ops shows while a page is open for this long. */
async function problemsDuring(server: TestServer, ms: number): Promise<string[]> {
  const samples: Sample[] = [];
  const found = new Set<string>();
  const endMs = performance.now() + ms;
  do {
    const { body: report } = await server.adminRequest('GET', '/admin/operations');
    samples.push({ atMs: report.time, report });
    for (const { text } of problemsOf(samples, null, null)) if (!OF_THE_MACHINE.test(text)) found.add(text);
    await sleep(Math.min(ms, REPORT_EVERY_MS));
  } while (performance.now() < endMs);
  return [...found];
}

const demoOptions = onLedgerOnly('`npm run demo -- --chain` has accounts of its own; test/chain/demo tests it');

/** Every open event has a book with two sides and trades before today: the exchange has just started. */
async function assertHasPast({ baseUrl }: TestServer, marketIds: readonly string[]): Promise<void> {
  const client = new ExchangeClient({ baseUrl });
  for (let [offset, total] = [0, 1]; offset < total; offset += 50) {
    const page = await client.browseEvents({ limit: 50, offset, core_lines: true, quotes: true });
    if (!('events' in page)) throw new Error('the answer has events');
    total = page.total;
    for (const { slug, quotes = {} } of page.events) {
      assert.ok(
        Object.values(quotes).some((quote) => quote.last_price !== null),
        `${slug} has been traded`,
      );
      const isQuoted = Object.values(quotes).some(({ best_bid, best_ask }) => best_bid !== null && best_ask !== null);
      assert.ok(isQuoted || marketIds.some((id) => id in quotes), `${slug} has a price, or soon from the flow`);
    }
  }
  const { candles } = await client.candles(marketIds[0]!, { interval: '1d' });
  assert.ok(candles[0]!.start * 1000 < Date.now() - 5 * DAY_MS, 'a chart of a week is there');
}

test('a demo is traded in by its own accounts, without a refusal and a problem on /ops', demoOptions, async () => {
  const startedMs = Date.now();
  const demo = await startServer({ after }, { ...DEMO, DEMO: 'on', DEMO_FLOW: 'on', RATE_LIMITS: 'on' });
  const measured = async (name: string): Promise<number> => {
    const text = await (await fetch(`${demo.baseUrl}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:{.*})? (.*)$`, 'm').exec(text)![1]);
  };
  const file = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8'));
  await assertHasPast(demo, file.flow.market_ids);
  const ofBreadth = 2 * Object.keys(file.flow.values).length;
  await eventually('quotes of every maker', async () => (await measured('exchange_open_orders')) > ofBreadth + 50);
  assert.equal(await measured('exchange_connections_refused_total'), 0, 'the flow leaves room for visitors');
  await eventually('a trade of the flow', async () => {
    // Within the limit of an address.
    await sleep(500);
    const { body } = await demo.request('GET', '/v1/markets/fills/recent');
    return body.fills.some(({ market_id, filled_at }: { market_id: string; filled_at: string }) => {
      return file.flow.market_ids.includes(market_id) && Date.parse(filled_at) > startedMs;
    });
  });
  assert.ok(!file.flow.market_ids.includes(file.market_id), 'the market of the printed order is left alone');
  const [listed] = file.flow.market_ids;
  await eventually('several levels of each side', async () => {
    await sleep(500);
    const { body } = await demo.request('GET', `/v1/orders/book/${listed}`);
    return body.bids.length >= 3 && body.asks.length >= 3;
  });
  // Each maker has beaten again and moved its quotes, in markets of every grid.
  await eventually('heartbeats', async () => (await answered(demo, '/v1/orders/heartbeat')) > 8);
  await eventually('new quotes', async () => (await answered(demo, '/v1/orders/cancel-replace')) > 20);
  assert.deepEqual(await problemsDuring(demo, ALONE_MS), []);
  assert.deepEqual(await refusals(demo), []);
  const programs = childrenOf(demo.pid!);
  assert.ok(programs.length > 0 && programs.every(isRunning));
  await demo.kill();
  await eventually('the end of its programs', async () => !programs.some(isRunning));
  // Its past says nothing that the journals do not.
  await assertWhole(demo.dataDir);
});

/** A running exchange writes its public history: what is in it is what the stream has shown. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listShards } from '../../engine/admin/directory.ts';
import { writeHistory } from '../../engine/admin/publicHistory.ts';
import { ShardHistory } from '../../engine/history/shardHistory.ts';
import { publishedDays } from '../../engine/history/writer.ts';
import { historyColumns } from '../../shared/base/historyTables.ts';
import { verifyDay } from '../../shared/client/cli/history/verifyDay.ts';
import { type BookEventRow, RebuiltBook } from '../../shared/client/history/rebuiltBook.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { historyState, historySums } from '../support/historyFiles.ts';
import { startServer, TestServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { StreamRig } from '../support/streamRig.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const SEED = 58;
const DAY_MS = 86_400_000;
/** After the end of a day, until the clock of the machine ends it. */
const LATE_MS = 11 * 60_000;
const SHIFTED_CLOCK = fileURLToPath(new URL('../support/shiftedClock.mjs', import.meta.url));

test('RULES.md 13.15: the history has every delta of the stream, and the book after each its checksum', async (t) => {
  const rig = await StreamRig.start(t, SEED);
  const client = await StreamClient.open(t, rig.baseUrl);
  const ticksPerUnit = 100;
  await client.subscribe({ markets: [rig.marketId(0)], snapshot: true, checksum: true });
  await rig.runBatches(60, 20);
  await client.settle();
  const lines: string[] = [];
  const history = new ShardHistory(0, ({ id }, table, line) => {
    if (table === 'book_events' && id === rig.marketId(0)) lines.push(line);
  });
  history.beginDay(DAY_MS);
  for (const record of rig.records) history.record(record.timeMs, record);
  const rows = new Map(lines.map(bookEvent).map((row) => [Number(row.sequence), row]));
  const book = new RebuiltBook();
  const deltas = client.of('book_delta');
  assert.ok(deltas.length > 200, `seed ${SEED}`);
  assert.equal(rows.size, deltas.length);
  for (const { sequence, timestamp, data } of deltas) {
    const row = rows.get(sequence)!;
    book.apply(row);
    assert.equal(book.checksum(ticksPerUnit), data.checksum, `frame ${sequence}`);
    const { event, order_id, side, outcome_index, level } = data;
    assert.deepEqual(
      [row.event, row.order_id, row.side, row.outcome_index, Number(row.time_ms)],
      [event, order_id, side, outcome_index, timestamp],
    );
    assert.equal(Number(row.lots) * ticksPerUnit, Number(data.token_quantity_atomic));
    assert.equal(Number(row.level_lots) * ticksPerUnit, Number(level.token_quantity_atomic));
    assert.deepEqual([row.yes_ticks / ticksPerUnit, row.level_orders], [Number(level.price), level.num_orders]);
  }
});

test('RULES.md 13.15: a running exchange that is killed publishes a day as a program writes it', async (t) => {
  const historyDir = join(temporaryDirectory(), 'history');
  const clock = join(temporaryDirectory(), 'clock');
  writeFileSync(clock, '0');
  const env = { HISTORY_DIR: historyDir, SHIFTED_CLOCK: clock, NODE_OPTIONS: `--import=${SHIFTED_CLOCK}` };
  const server = await startServer(t, env);
  const market = await makeMarket(server);
  const [maker, taker] = await Promise.all([makeTrader(server), makeTrader(server)]);
  for (const price of ['0.4', '0.41', '0.42']) await maker.place(market, { price, size: '10' });
  await taker.place(market, { side: 'SELL', price: '0.41', size: '15' }).catch(() => {});
  await eventually('the history has everything', async () => {
    const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
    const lags = [...text.matchAll(/exchange_public_history_lag_records\{shard="\d"\} (\d+)/g)].map(([, lag]) => lag);
    return lags.length === 2 && lags.every((lag) => lag === '0') && existsSync(join(historyDir, 'state.json'));
  });
  writeFileSync(clock, String(DAY_MS + LATE_MS));
  const publishing = join(historyDir, '.working', 'publishing');
  await eventually('a day is being published', async () => {
    return publishedDays(historyDir).length > 0 || (existsSync(publishing) && readdirSync(publishing).length > 0);
  });
  await server.kill();
  await server.start(env);
  const state = await eventually('the day is published', async () => {
    const said = historyState(historyDir);
    return said.days.length > 0 && said.behind_records === 0 && said.shards.length === 2 && said;
  });
  await server.kill();
  assert.deepEqual(
    state.days.map(({ day }) => day),
    publishedDays(historyDir),
  );
  const files = await listShards(server.dataDir);
  const anew = join(temporaryDirectory(), 'history');
  await writeHistory(files, anew, Date.now() + DAY_MS + LATE_MS);
  assert.ok(publishedDays(anew).length > 0);
  assert.deepEqual(historySums(historyDir), historySums(anew));
  for (const day of publishedDays(anew)) assert.deepEqual((await verifyDay(join(anew, day))).problems, []);
});

test('an exchange whose HISTORY_DIR is where owners have names does not start, and says which', async (t) => {
  const dataDir = temporaryDirectory();
  mkdirSync(join(dataDir, 'history'));
  const server = new TestServer(dataDir, '1');
  t.after(() => server.kill());
  await assert.rejects(server.start({ HISTORY_DIR: join(dataDir, 'history') }));
  assert.match(server.stderr.join('') + server.stdout.join(''), /HISTORY_DIR .* is in the data directory/);
});

function bookEvent(line: string): BookEventRow {
  const values = line.trimEnd().split(',');
  const entries = historyColumns('book_events').map(([name, { type }], index) => {
    const value = values[index];
    return [name, type === 'text' ? value : type === 'int32' ? Number(value) : BigInt(value)];
  });
  return Object.fromEntries(entries) as BookEventRow;
}

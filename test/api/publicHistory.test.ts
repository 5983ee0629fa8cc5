/** A running exchange writes its public history: what is in it is what the stream has shown. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { listShards } from '../../engine/admin/directory.ts';
import { writeHistory } from '../../engine/admin/publicHistory.ts';
import { ShardHistory } from '../../engine/history/shardHistory.ts';
import { publishedDays } from '../../engine/history/writer.ts';
import { historyColumns } from '../../shared/base/historyTables.ts';
import { verifyDay } from '../../shared/client/cli/history/verifyDay.ts';
import { type BookEventRow, RebuiltBook } from '../../shared/client/history/rebuiltBook.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, TestServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { StreamRig } from '../support/streamRig.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const SEED = 58;
const DAY_MS = 86_400_000;

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

test('RULES.md 13.15: a running exchange and a program beside it write the same days', async (t) => {
  const historyDir = join(temporaryDirectory(), 'history');
  const server = await startServer(t, { HISTORY_DIR: historyDir });
  const market = await makeMarket(server);
  const [maker, taker] = await Promise.all([makeTrader(server), makeTrader(server)]);
  for (const price of ['0.4', '0.41', '0.42']) await maker.place(market, { price, size: '10' });
  await taker.place(market, { side: 'SELL', price: '0.41', size: '15' }).catch(() => {});
  await eventually('the history has everything', async () => {
    const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
    const lags = [...text.matchAll(/exchange_public_history_lag_records\{shard="\d"\} (\d+)/g)].map(([, lag]) => lag);
    const isHere = readdirSync(join(historyDir, '.working')).some((name) => name.startsWith('shard-'));
    return lags.length === 2 && lags.every((lag) => lag === '0') && isHere;
  });
  await server.kill();
  const later = Date.now() + 2 * DAY_MS;
  const files = await listShards(server.dataDir);
  await writeHistory(files, historyDir, later);
  const anew = join(temporaryDirectory(), 'history');
  await writeHistory(files, anew, later);
  assert.ok(publishedDays(anew).length > 0);
  assert.deepEqual(sums(historyDir), sums(anew));
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

/** The sums of all published files, by path. */
function sums(historyDir: string): Record<string, string> {
  const paths = publishedDays(historyDir).flatMap((day) =>
    readdirSync(join(historyDir, day), { recursive: true }).map((path) => join(day, String(path))),
  );
  const files = paths.filter((path) => statSync(join(historyDir, path)).isFile()).sort();
  assert.ok(existsSync(historyDir));
  return Object.fromEntries(
    files.map((path) => [
      path,
      createHash('sha256')
        .update(readFileSync(join(historyDir, path)))
        .digest('hex'),
    ]),
  );
}

function bookEvent(line: string): BookEventRow {
  const values = line.trimEnd().split(',');
  const entries = historyColumns('book_events').map(([name, { type }], index) => {
    const value = values[index];
    return [name, type === 'text' ? value : type === 'int32' ? Number(value) : BigInt(value)];
  });
  return Object.fromEntries(entries) as BookEventRow;
}

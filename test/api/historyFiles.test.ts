/** The public history over HTTP: days that a writer has left, and files that nothing but the test would leave there. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { writeHistory } from '../../engine/admin/publicHistory.ts';
import type { HistoryManifest } from '../../shared/base/historyTables.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { JournaledShard } from '../support/journaledShard.ts';
import { seededRandom } from '../support/random.ts';
import { sharedServer, startServer } from '../support/server.ts';
import { onWire, requestBytes } from '../support/wire.ts';

const SEED = 5820;
const DAY_MS = 86_400_000;
const LARGE_BYTES = 3_000_017;
/** A day of the test's own, whose manifest names what is not as it says. */
const ODD_DAY = '2020-01-01';
/** Longer than what the sockets of both sides buffer. */
const LONG_BYTES = 64 * 1024 * 1024;

function tradedDays(): JournaledShard {
  const shard = new JournaledShard(SEED, 7);
  for (let day = 0; day < 3; day++) {
    shard.trade(150);
    shard.rig.nowMs += DAY_MS;
  }
  return shard;
}

const sumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const historyDir = temporaryDirectory();
const shard = tradedDays();
const days = await writeHistory([shard.file], historyDir, shard.rig.nowMs + DAY_MS);
const random = seededRandom(SEED);
const large = Buffer.from(Array.from({ length: LARGE_BYTES }, () => Math.floor(random() * 256)));
leaveOddDay();
const server = await startServer({ after }, { HISTORY_DIR: historyDir, SHARDS: '1' });
const other = await sharedServer();
const port = Number(new URL(server.baseUrl).port);
const open = (path: string, headers: Record<string, string> = {}, method = 'GET', base = server.baseUrl) =>
  fetch(`${base}/v1/history${path}`, { method, headers });

/** All that an operator, or someone who may write there, could leave by mistake. */
function leaveOddDay(): void {
  const folder = join(historyDir, ODD_DAY);
  mkdirSync(folder);
  writeFileSync(join(folder, 'trades.parquet'), large);
  writeFileSync(join(folder, 'books.parquet'), '');
  truncateSync(join(folder, 'books.parquet'), LONG_BYTES);
  const secret = join(temporaryDirectory(), 'secret');
  writeFileSync(secret, 'secret');
  symlinkSync(secret, join(folder, 'candles.parquet'));
  execFileSync('mkfifo', [join(folder, 'markets.parquet')]);
  writeFileSync(join(folder, 'books.csv.gz'), 'shorter');
  writeFileSync(join(folder, 'trades.csv.gz'), 'in no manifest');
  const file = (path: string, bytes: number, sha256 = sumOf(Buffer.from(path))) => {
    const [table, format] = [path.slice(0, path.indexOf('.')), path.slice(path.indexOf('.') + 1)];
    return { table, format, market_id: null, path, rows: 1, bytes, sha256 };
  };
  const files = [
    file('trades.parquet', large.length, sumOf(large)),
    file('books.parquet', LONG_BYTES),
    file('candles.parquet', 'secret'.length),
    file('markets.parquet', 1),
    file('books.csv.gz', 1000),
    file('candles.csv.gz', 1000),
  ];
  const rest = { format: 1, day: ODD_DAY, complete: false, tables: {}, shards: [], markets: [] };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...rest, files }, null, 1));
  symlinkSync(folder, join(historyDir, '2020-01-02'));
  mkdirSync(join(historyDir, '2020-01-03'));
}

test('RULES.md 13.15: the list has each day, says which are whole, and how far it is behind', async () => {
  assert.ok(days.length >= 3, `seed ${SEED}`);
  const { status, body, headers } = await server.request('GET', '/v1/history');
  assert.equal(status, 200);
  const complete = (day: string): boolean =>
    JSON.parse(readFileSync(join(historyDir, day, 'manifest.json'), 'utf8')).complete;
  assert.deepEqual(
    body.days,
    [ODD_DAY, ...days].map((day) => ({ day, complete: complete(day) })),
  );
  assert.ok(body.days.some((day: { complete: boolean }) => day.complete));
  assert.deepEqual([typeof body.behind_records, typeof body.behind_ms], ['number', 'number']);
  assert.equal(headers.get('cache-control'), 'no-store');
});

test('RULES.md 13.15: each file has its bytes, its SHA-256 as its tag, and stays where the day is whole', async () => {
  for (const day of days) {
    const manifest = await open(`/${day}`);
    const bytes = Buffer.from(await manifest.arrayBuffer());
    assert.deepEqual(bytes, readFileSync(join(historyDir, day, 'manifest.json')));
    assert.equal(manifest.headers.get('etag'), `"${sumOf(bytes)}"`);
    const { files, complete }: HistoryManifest = JSON.parse(bytes.toString());
    const isWhole = complete ? 'public, max-age=31536000, immutable' : 'public, max-age=3600';
    assert.equal(manifest.headers.get('cache-control'), isWhole);
    const some = files.filter(({ market_id }, index) => market_id === null || index % 4 === 0);
    assert.ok(some.length >= 10);
    for (const { path, sha256, bytes } of some) {
      const answer = await open(`/${day}/${path}`);
      assert.equal(answer.status, 200, path);
      assert.equal(sumOf(Buffer.from(await answer.arrayBuffer())), sha256);
      assert.deepEqual(
        ['etag', 'cache-control', 'content-type', 'content-length', 'accept-ranges'].map((name) =>
          answer.headers.get(name),
        ),
        [`"${sha256}"`, isWhole, 'application/octet-stream', String(bytes), 'bytes'],
      );
    }
  }
});

test('RULES.md 13.15: who has the file gets 304, and HEAD has the length alone, of long files too', async () => {
  for (const path of [`/${days[1]}`, `/${days[1]}/trades.csv.gz`, `/${ODD_DAY}/trades.parquet`]) {
    const whole = await open(path);
    const { length } = Buffer.from(await whole.arrayBuffer());
    const tag = whole.headers.get('etag')!;
    for (const named of [tag, `"x", W/${tag}`, '*']) {
      const answer = await open(path, { 'if-none-match': named });
      assert.deepEqual([answer.status, answer.headers.get('etag'), await answer.text()], [304, tag, '']);
    }
    assert.equal((await open(path, { 'if-none-match': '"x"' })).status, 200);
    const head = await open(path, {}, 'HEAD');
    assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, String(length), '']);
    assert.equal((await open(path, {}, 'POST')).status, 405);
  }
});

const TAG = `"${sumOf(large)}"`;
const N = large.length;
/** Range, further headers, and the bytes that come; null: 416. */
const RANGES: readonly (readonly [string, Record<string, string>, number, number] | readonly [string, null])[] = [
  ['bytes=0-0', {}, 0, 1],
  ['bytes=5-99', {}, 5, 100],
  [`bytes=${N - 70_000}-`, {}, N - 70_000, N],
  ['bytes=-70000', {}, N - 70_000, N],
  [`bytes=-${N + 5}`, {}, 0, N],
  [`bytes=100000-${N + 5}`, {}, 100_000, N],
  ['bytes=7-9', { 'if-range': TAG }, 7, 10],
  ['bytes=7-9', { 'if-range': '"another"' }, 0, N],
  ['bytes=9-7', {}, 0, N],
  ['bytes=0-1,5-6', {}, 0, N],
  ['lines=0-1', {}, 0, N],
  [`bytes=${N}-`, null],
  ['bytes=-0', null],
  [`bytes=${N + 1}-${N + 2}`, null],
];

test('RULES.md 13.15: a part of a file is sent where one is asked for, and 416 where there is none', async () => {
  for (const [range, more, from, end] of RANGES) {
    const path = `/${ODD_DAY}/trades.parquet`;
    const answer = await open(path, { ...more, range });
    if (more === null) {
      assert.equal(answer.status, 416, range);
      assert.equal(answer.headers.get('content-range'), `bytes */${N}`);
      assert.deepEqual(await answer.json(), { error: 'the file has no such part', code: 'VALIDATION_ERROR' });
      continue;
    }
    const isPart = end! - from! < N;
    assert.equal(answer.status, isPart ? 206 : 200, range);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), large.subarray(from, end), range);
    assert.equal(answer.headers.get('content-range'), isPart ? `bytes ${from}-${end! - 1}/${N}` : null);
    const head = await open(path, { ...more, range }, 'HEAD');
    assert.equal(head.headers.get('content-length'), String(end! - from!));
  }
});

/** Raw targets: `fetch` would resolve them before they leave. */
const NOWHERE = [
  '/2020-01-02',
  '/2020-01-03',
  '/2020-01-02/trades.parquet',
  `/${ODD_DAY}/trades.csv.gz`,
  `/${ODD_DAY}/candles.parquet`,
  `/${ODD_DAY}/markets.parquet`,
  `/${ODD_DAY}/books.csv.gz`,
  `/${ODD_DAY}/candles.csv.gz`,
  `/${ODD_DAY}/manifest.json`,
  `/${ODD_DAY}/`,
  `/${ODD_DAY}/..`,
  `/${ODD_DAY}/%2e%2e`,
  `/${ODD_DAY}/..%2f2020-01-02`,
  `/${ODD_DAY}/markets/../trades.parquet`,
  `/${ODD_DAY}/markets/../../trades.parquet`,
  `/${ODD_DAY}/markets%2f..%2ftrades.parquet`,
  `/${ODD_DAY}/trades.parquet%00`,
  `/${ODD_DAY}/markets/00000000-0000-0000-0000-000000000000/trades.parquet`,
  '/.working/lock.db',
  '/..',
  '/../history',
  '/%2e%2e',
  '/..%2f..%2fetc%2fpasswd',
  '/2020-1-1',
  '/9999-99-99',
];

test('RULES.md 13.15: nothing but files that a manifest names, with their length, is ever opened', async () => {
  for (const target of NOWHERE) {
    const [answer] = await onWire(port, requestBytes('GET', `/v1/history${target}`, [], Buffer.alloc(0)), 'first');
    assert.equal(answer?.status, 404, target);
    assert.match(answer!.body, /^\{"error":"not found","code":"NOT_FOUND"\}$/, target);
  }
});

test('RULES.md 13.15: four downloads of a sender wait for their reader, and a fifth is refused', async (t) => {
  const request = requestBytes('GET', `/v1/history/${ODD_DAY}/books.parquet`, [], Buffer.alloc(0));
  const waiting = Array.from({ length: 4 }, () => {
    const socket: Socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    // It reads the head, and nothing more.
    return new Promise<Socket>((resolve) => {
      socket.once('data', () => {
        socket.pause();
        resolve(socket);
      });
      socket.write(request);
    });
  });
  const sockets = await Promise.all(waiting);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const refused = await open(`/${days[0]}`);
  assert.deepEqual([refused.status, await refused.json()], [503, { error: 'the engine is busy', code: 'ENGINE_BUSY' }]);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal((await server.request('GET', '/v1/time')).status, 200);
  for (const socket of sockets) socket.destroy();
  await eventually('the downloads are over', async () => (await open(`/${days[0]}`, {}, 'HEAD')).status === 200);
});

test('a day that is published meanwhile is found', async () => {
  const name = '2020-02-01';
  assert.equal((await open(`/${name}`)).status, 404);
  cpSync(join(historyDir, days[0]), join(historyDir, `.${name}`), { recursive: true });
  renameSync(join(historyDir, `.${name}`), join(historyDir, name));
  assert.equal((await open(`/${name}`)).status, 200);
});

test('RULES.md 13.15: through a front thread it is the same', async (t) => {
  const folder = temporaryDirectory();
  cpSync(join(historyDir, ODD_DAY), join(folder, ODD_DAY), {
    recursive: true,
    filter: (path) => !/(markets|candles|books)\.parquet$/.test(path),
  });
  const fronted = await startServer(t, { HISTORY_DIR: folder, SHARDS: '1', GATEWAYS: '2' });
  const path = `/${ODD_DAY}/trades.parquet`;
  const whole = await open(path, {}, 'GET', fronted.baseUrl);
  assert.equal(sumOf(Buffer.from(await whole.arrayBuffer())), sumOf(large));
  const part = await open(path, { range: 'bytes=100-299999' }, 'GET', fronted.baseUrl);
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 100-299999/${N}`]);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), large.subarray(100, 300_000));
});

test('RULES.md 13.15: an exchange without HISTORY_DIR says so at every address of the history', async () => {
  const paths = ['', `/${ODD_DAY}`, `/${ODD_DAY}/trades.parquet`];
  for (const path of [...paths, `/${ODD_DAY}/markets/00000000-0000-0000-0000-000000000000/books.parquet`]) {
    const { status, body } = await other.request('GET', `/v1/history${path}`);
    assert.deepEqual([status, body], [404, { error: 'no history is published here', code: 'NOT_FOUND' }]);
  }
  assert.ok(readdirSync(historyDir).length > 0);
});

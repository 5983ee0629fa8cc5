/** `pmx history download` and the rows of the client, from an exchange behind a proxy that cuts and changes answers. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { writeHistory } from '../../engine/admin/publicHistory.ts';
import { type HistoryManifest, historyPath } from '../../shared/base/historyTables.ts';
import { fileRows } from '../../shared/client/cli/history/verifyDay.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { parseRecording } from '../../shared/client/stream/recording.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { JournaledShard } from '../support/journaledShard.ts';
import { Pmx } from '../support/pmx.ts';
import { startServer } from '../support/server.ts';

const SEED = 5821;
const DAY_MS = 86_400_000;

function tradedDays(): JournaledShard {
  const shard = new JournaledShard(SEED, 7);
  for (let day = 0; day < 3; day++) {
    shard.trade(200);
    shard.rig.nowMs += DAY_MS;
  }
  return shard;
}

const historyDir = temporaryDirectory();
const shard = tradedDays();
const days = await writeHistory([shard.file], historyDir, shard.rig.nowMs + DAY_MS);
/** The day with the longest files. */
const day = days.toSorted((a, b) => sizeOf(b) - sizeOf(a))[0]!;
const server = await startServer({ after }, { HISTORY_DIR: historyDir, SHARDS: '1' });

/** The proxy passes on so many bytes of an answer, or changes them. */
type Fault = { readonly cutAt?: number; readonly change?: (body: Buffer) => Buffer };
let faultOf: (path: string) => Fault = () => ({});
const asked: { path: string; range: string | undefined }[] = [];
const proxy = createServer((from, to) => {
  const path = from.url!;
  asked.push({ path, range: from.headers.range });
  request(`${server.baseUrl}${path}`, { method: from.method, headers: from.headers }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('end', () => {
      const { cutAt, change = (body) => body } = faultOf(path);
      const body = change(Buffer.concat(chunks));
      to.writeHead(answer.statusCode!, { 'content-length': String(body.length) });
      if (cutAt === undefined || body.length <= cutAt) to.end(body);
      // The last bytes are lost with an answer that ends as an error: its reader gets them before.
      else to.write(body.subarray(0, cutAt), () => setTimeout(() => to.socket!.end(), 100));
    });
  }).end();
});
await new Promise<void>((resolve) => {
  proxy.listen(0, '127.0.0.1', resolve);
});
after(() => {
  proxy.closeAllConnections();
  proxy.close();
});
const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
const pmx = new Pmx({ BASE_URL: baseUrl });
afterEach(() => {
  faultOf = () => ({});
  asked.length = 0;
});

function manifestOf(name: string): HistoryManifest {
  return JSON.parse(readFileSync(join(historyDir, name, 'manifest.json'), 'utf8'));
}

function sizeOf(name: string): number {
  return statSync(join(historyDir, name, 'book_events.csv.gz')).size;
}

function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile()).sort();
}

test('pmx history download fetches days once, and history verify rebuilds their books', async () => {
  const folder = temporaryDirectory();
  const first = await pmx.json('history', 'download', folder);
  assert.deepEqual(
    first,
    days.map((name) => {
      const files = manifestOf(name).files.filter(({ market_id, format }) => market_id === null && format === 'csv.gz');
      return { day: name, files: 5, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0), there: 0 };
    }),
    `seed ${SEED}`,
  );
  for (const path of filesIn(folder)) {
    assert.deepEqual(readFileSync(join(folder, path)), readFileSync(join(historyDir, path)), path);
  }
  const verified = await pmx.json('history', 'verify', folder);
  assert.equal(verified.length, days.length);
  assert.ok(
    verified.every(({ problems, books }: { problems: string[]; books: number }) => problems.length === 0 && books > 0),
  );
  asked.length = 0;
  const again = await pmx.json('history', 'download', folder);
  assert.ok(again.every(({ files, there }: { files: number; there: number }) => files === 0 && there === 5));
  assert.ok(
    asked.every(({ path }) => path.split('/').length <= 4),
    'no file is asked for again',
  );
});

test('pmx history download takes days, tables, formats and one market', async () => {
  const folder = temporaryDirectory();
  const { market_id } = manifestOf(day).files.find(({ market_id, table }) => market_id !== null && table === 'trades')!;
  const wanted = ['--table', 'trades', '--table', 'book_events', '--format', 'all'];
  await pmx.json('history', 'download', folder, day, '--market', market_id!, ...wanted);
  assert.deepEqual(filesIn(folder), [
    `${day}/manifest.json`,
    ...['book_events.csv.gz', 'book_events.parquet', 'trades.csv.gz', 'trades.parquet'].map(
      (name) => `${day}/markets/${market_id}/${name}`,
    ),
  ]);
  const other = temporaryDirectory();
  const range = await pmx.json('history', 'download', other, '--from', day, '--to', day, '--table', 'candles');
  assert.deepEqual([range.length, range[0].day, range[0].files], [1, day, 1]);
  const unknown = await pmx.run(['history', 'download', other, '2001-01-01']);
  assert.notEqual(unknown.code, 0);
  assert.match(unknown.err, /the history has no day 2001-01-01/);
  const recording = join(folder, 'day.ndjson');
  await pmx.json('history', 'recording', join(folder, day), market_id!, recording);
  assert.ok(parseRecording(readFileSync(recording, 'utf8')).frames.length > 10, 'replay and backtest play it');
});

test('pmx history download goes on where an answer was cut off, and where a run has ended', async () => {
  const folder = temporaryDirectory();
  const path = historyPath('book_events', 'csv.gz', null);
  const { bytes } = manifestOf(day).files.find((file) => file.path === path)!;
  faultOf = (asking) => (asking.endsWith(path) ? { cutAt: Math.ceil(bytes / 3) } : {});
  await pmx.json('history', 'download', folder, day);
  const starts = asked
    .filter((row) => row.path.endsWith(path))
    .map(({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? 'bytes=0-')![1]));
  assert.ok(starts.length >= 3 && starts.at(-1)! > starts[0]!, starts.join());
  assert.deepEqual(
    starts,
    starts.toSorted((a, b) => a - b),
  );
  const whole = readFileSync(join(folder, day, path));
  assert.deepEqual(whole, readFileSync(join(historyDir, day, path)));
  // A run that was ended: the file has no name yet.
  rmSync(join(folder, day, path));
  writeFileSync(join(folder, day, `${path}.part`), whole.subarray(0, 50));
  faultOf = () => ({});
  asked.length = 0;
  await pmx.json('history', 'download', folder, day);
  assert.deepEqual(
    asked.filter(({ range }) => range !== undefined),
    [{ path: `/v1/history/${day}/${path}`, range: 'bytes=50-' }],
  );
  assert.deepEqual(readFileSync(join(folder, day, path)), whole);
  // A part of another file is left.
  rmSync(join(folder, day, path));
  writeFileSync(join(folder, day, `${path}.part`), 'x'.repeat(50));
  await pmx.json('history', 'download', folder, day);
  assert.deepEqual(readFileSync(join(folder, day, path)), whole);
});

test('a file with another SHA-256 than the manifest says never gets its name, and a run says which', async () => {
  const folder = temporaryDirectory();
  const path = historyPath('trades', 'csv.gz', null);
  faultOf = (asking) =>
    asking.endsWith(path)
      ? { change: (body) => Buffer.from(body.map((byte, at) => (at === 30 ? byte ^ 1 : byte))) }
      : {};
  const ran = await pmx.run(['history', 'download', folder, day]);
  assert.notEqual(ran.code, 0);
  assert.match(ran.err, /trades\.csv\.gz: what came does not have the SHA-256 of the manifest/);
  assert.deepEqual(
    [existsSync(join(folder, day, path)), existsSync(join(folder, day, 'manifest.json'))],
    [false, false],
  );
});

test('a manifest cannot make pmx write outside of its folder', async () => {
  for (const path of ['../stolen', '/tmp/stolen', 'markets/../../stolen', 'stolen.csv.gz']) {
    const folder = join(temporaryDirectory(), 'history');
    mkdirSync(folder);
    const change = (body: Buffer): Buffer => {
      const manifest = JSON.parse(body.toString());
      manifest.files[0].path = path;
      return Buffer.from(JSON.stringify(manifest));
    };
    faultOf = (asking) => (asking.endsWith(`/v1/history/${day}`) ? { change } : {});
    const ran = await pmx.run(['history', 'download', folder, day]);
    assert.notEqual(ran.code, 0);
    assert.match(ran.err, /none of a history/);
    assert.deepEqual([filesIn(folder), readdirSync(join(folder, '..'))], [[], ['history']]);
  }
});

test('the client iterates over rows of a day as they come, of all markets and of one, and a cut ends it', async () => {
  const { history } = new ExchangeClient({ baseUrl, retry: false });
  const listed = await history.days();
  assert.deepEqual(
    listed.days.map(({ day }) => day),
    days,
  );
  const { markets } = await history.manifest(day);
  for (const marketId of [null, markets[0]!.market_id]) {
    const expected = await Array.fromAsync(
      fileRows(join(historyDir, day, historyPath('book_events', 'csv.gz', marketId)), 'book_events'),
    );
    assert.ok(expected.length > 5);
    assert.deepEqual(await Array.fromAsync(history.rows(day, 'book_events', marketId)), expected);
  }
  for await (const row of history.rows(day, 'trades')) {
    assert.equal(typeof row.lots, 'bigint');
    break;
  }
  faultOf = () => ({ cutAt: 200 });
  await assert.rejects(Array.fromAsync(history.rows(day, 'book_events')));
  faultOf = () => ({});
  await assert.rejects(Array.fromAsync(history.rows('2001-01-01', 'trades')), /not found/);
});

test('a missing event is found in the files of all markets, and in which market', async () => {
  const folder = join(temporaryDirectory(), day);
  cpSync(join(historyDir, day), folder, { recursive: true, filter: (path) => !path.endsWith('markets') });
  const { gunzipSync, gzipSync } = await import('node:zlib');
  const path = join(folder, 'book_events.csv.gz');
  const lines = gunzipSync(readFileSync(path)).toString().split('\n');
  const at = lines.findLastIndex((line) => line.includes(',fill,') || line.includes(',cancel,'));
  const [marketId] = lines[at - 1]!.split(',');
  writeFileSync(path, gzipSync(lines.toSpliced(at - 1, 1).join('\n')));
  const ran = await pmx.run(['history', 'verify', folder]);
  assert.notEqual(ran.code, 0);
  assert.match(ran.err, /book_events\.csv\.gz: not the file of the manifest/);
  assert.match(ran.err, new RegExp(`${marketId}: `));
});

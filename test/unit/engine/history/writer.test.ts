/** The public history of a shard with random trading over days: rows, resumption, and who is in it. */
import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { HistoryWriter, publishedDays } from '../../../../engine/history/writer.ts';
import {
  dayName,
  HISTORY_TABLES,
  type HistoryManifest,
  type HistoryTable,
  historyPath,
  isDayName,
} from '../../../../shared/base/historyTables.ts';
import { fileRows, verifyDay } from '../../../../shared/client/cli/history/verifyDay.ts';
import { BookReplica } from '../../../../shared/client/stream/bookReplica.ts';
import { parseRecording } from '../../../../shared/client/stream/recording.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { historySums } from '../../../support/historyFiles.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { Pmx } from '../../../support/pmx.ts';
import { seededRandom } from '../../../support/random.ts';
import { SmallDisk } from '../../../support/smallDisk.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SEED = 5801;

/** Three days of trading, with an hour or more without an order now and then. */
function tradedDays(seed = SEED, days = 3, firstAccount = 1): JournaledShard {
  const shard = new JournaledShard(seed, 7, firstAccount);
  const random = seededRandom(seed);
  const endMs = shard.rig.nowMs + days * DAY_MS;
  while (shard.rig.nowMs < endMs) {
    shard.trade(20 + Math.floor(random() * 40));
    shard.rig.nowMs += Math.floor(random() * 5 * HOUR_MS);
  }
  return shard;
}

function writerOf(shard: JournaledShard, historyDir: string): HistoryWriter {
  const { journalPath, directory, key } = shard.file;
  return new HistoryWriter({ historyDir, journalPaths: [journalPath], keys: [key], directory });
}

async function written(shard: JournaledShard, historyDir = temporaryDirectory(), slice = 1000): Promise<string> {
  const writer = writerOf(shard, historyDir);
  while (writer.shard(0).follow(shard.last, slice) > 0) await publish(writer);
  writer.shard(0).passed(shard.rig.nowMs + 2 * DAY_MS);
  await publish(writer);
  writer.close();
  return historyDir;
}

/** Days are published to the end, unless so many pieces of work are the last before a kill. */
async function publish(writer: HistoryWriter, pieces = Number.POSITIVE_INFINITY): Promise<void> {
  const killed = new Error('killed');
  let left = pieces;
  const pause = async (): Promise<void> => {
    if (left-- === 0) throw killed;
  };
  await writer.publish(pause, () => {}).catch((error) => assert.equal(error, killed));
}

/** Leaves what a writer leaves that dies in the middle of a piece: bytes that no checkpoint has. */
function tear(folder: string): void {
  const day = readdirSync(folder).filter(isDayName).sort().at(-1);
  if (day !== undefined) appendFileSync(join(folder, day), 'torn');
}

function isBusy({ first_sequence, last_sequence }: HistoryManifest['markets'][number]): boolean {
  return last_sequence! - first_sequence! > 30;
}

function manifestOf(historyDir: string, day: string): HistoryManifest {
  return JSON.parse(readFileSync(join(historyDir, day, 'manifest.json'), 'utf8'));
}

async function rowsOf<Table extends HistoryTable>(path: string, table: Table) {
  const rows = [];
  for await (const row of fileRows(path, table)) rows.push(row);
  return rows;
}

const shard = tradedDays();
const historyDir = await written(shard);
const days = publishedDays(historyDir);

test(`RULES.md 13.15: each book of each day is rebuilt from its orders, with its checksum (seed ${SEED})`, async () => {
  assert.ok(days.length >= 3);
  const sum = { books: 0, events: 0 };
  for (const day of days) {
    const { problems, books, events, files } = await verifyDay(join(historyDir, day));
    assert.deepEqual(problems, []);
    assert.equal(files, manifestOf(historyDir, day).files.length);
    sum.books += books;
    sum.events += events;
  }
  assert.ok(sum.books > 40 && sum.events > 300, `${sum.books} books, ${sum.events} events`);
});

test('RULES.md 13.15: the same journal gives the same bytes, in other steps and after kills', async () => {
  const expected = historySums(historyDir);
  assert.deepEqual(historySums(await written(shard, temporaryDirectory(), 13)), expected);
  const killed = temporaryDirectory();
  const random = seededRandom(SEED + 1);
  for (let round = 0; round < 12; round++) {
    const writer = writerOf(shard, killed);
    for (let step = 0; step < 3; step++) writer.shard(0).follow(shard.last, 1 + Math.floor(random() * 150));
    await publish(writer, Math.floor(random() * 15));
    writer.close();
    tear(join(killed, '.working', 'shard-0'));
  }
  assert.deepEqual(historySums(await written(shard, killed)), expected);
});

test('a writer that was killed while it published goes on there, and makes torn files again', async () => {
  const killed = temporaryDirectory();
  const writer = writerOf(shard, killed);
  while (writer.shard(0).follow(shard.last, 1000) > 0);
  await publish(writer, 7);
  writer.close();
  assert.deepEqual(publishedDays(killed), []);
  const working = join(killed, '.working', 'publishing');
  const list = join(working, `${days[0]}.done`);
  const paths = readFileSync(list, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).files[0].path);
  const [kept, torn] = paths.map((path) => join(days[0], path));
  const madeMs = [kept, torn].map((path) => statSync(join(working, path)).mtimeMs);
  appendFileSync(join(working, torn), 'torn');
  appendFileSync(list, '{"key":"tr');
  assert.deepEqual(historySums(await written(shard, killed)), historySums(historyDir));
  const nowMs = [kept, torn].map((path) => statSync(join(killed, path)).mtimeMs);
  assert.deepEqual(
    nowMs.map((ms, index) => ms === madeMs[index]),
    [true, false],
  );
  assert.deepEqual(readdirSync(working), []);
});

test('a day that no record ends is over ten minutes later by the clock', async () => {
  const directory = temporaryDirectory();
  const writer = writerOf(shard, directory);
  while (writer.shard(0).follow(shard.last, 1000) > 0);
  const endMs = Math.ceil(shard.rig.nowMs / DAY_MS) * DAY_MS;
  const today = dayName(endMs - DAY_MS);
  for (const [afterMs, isOver] of [
    [0, false],
    [599_999, false],
    [600_000, true],
  ] as const) {
    writer.shard(0).passed(endMs + afterMs);
    await publish(writer);
    assert.equal(publishedDays(directory).includes(today), isOver, `${afterMs} ms after the end`);
  }
  writer.close();
});

test('a full disk ends the writer before anything torn is published; with room again it goes on', async (t) => {
  const disk = SmallDisk.mount(t, 8);
  if (disk === null) return t.skip('needs the right to mount a file system');
  const directory = join(disk.path, 'history');
  mkdirSync(directory);
  for (const leftBytes of [0, 40_000, 300_000]) {
    disk.fill(leftBytes);
    const writer = writerOf(shard, directory);
    const work = async (): Promise<void> => {
      while (writer.shard(0).follow(shard.last, 100) > 0);
      await writer.publish(
        async () => {},
        () => {},
      );
    };
    await assert.rejects(work, { code: 'ENOSPC' });
    writer.close();
    for (const day of publishedDays(directory)) assert.deepEqual((await verifyDay(join(directory, day))).problems, []);
    disk.clear();
  }
  assert.deepEqual(historySums(await written(shard, directory)), historySums(historyDir));
});

test('a file is read in both formats with the same rows, and Parquet by hyparquet', async () => {
  const manifest = manifestOf(historyDir, days[1]);
  for (const { table, format, path, rows } of manifest.files) {
    if (format !== 'parquet') continue;
    const bytes = readFileSync(join(historyDir, days[1], path));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    assert.deepEqual(
      parquetMetadata(file)
        .schema.slice(1)
        .map(({ name }) => name),
      Object.keys(HISTORY_TABLES[table]),
    );
    const found = await parquetReadObjects({ file });
    assert.equal(found.length, rows);
    assert.deepEqual(found, await rowsOf(join(historyDir, days[1], path.replace('parquet', 'csv.gz')), table));
  }
});

test('RULES.md 13.15: who trades is in no file: the same days of other owners give the same bytes', async () => {
  const others = tradedDays(SEED, 3, 4001);
  assert.deepEqual(historySums(await written(others)), historySums(historyDir));
  assert.notDeepEqual(others.records(), shard.records());
});

test('the history of a trimmed journal begins with a snapshot, and its first day is not whole', async () => {
  const trimmed = new JournaledShard(SEED + 2, 7);
  trimmed.trade(200);
  trimmed.snapshot();
  const at = trimmed.last;
  trimmed.trim(at - 1);
  trimmed.trade(60);
  trimmed.rig.nowMs += DAY_MS;
  trimmed.trade(60);
  const directory = await written(trimmed);
  const [first, second] = publishedDays(directory);
  assert.equal(manifestOf(directory, first).complete, false);
  assert.equal(manifestOf(directory, second).complete, true);
  for (const day of [first, second]) assert.deepEqual((await verifyDay(join(directory, day))).problems, []);
});

test('a recording made of a day is a stream without a gap, each of whose books is right', async () => {
  const day = days.find((name) => manifestOf(historyDir, name).markets.some(isBusy))!;
  const { market_id } = manifestOf(historyDir, day).markets.find(isBusy)!;
  const file = join(temporaryDirectory(), 'day.ndjson');
  const { code, err } = await new Pmx({}).run(['history', 'recording', join(historyDir, day), market_id, file]);
  assert.equal(code, 0, err);
  const { frames, marketId } = parseRecording(readFileSync(file, 'utf8'));
  assert.equal(marketId, market_id);
  const replica = new BookReplica();
  for (const { frame } of frames) assert.equal(replica.apply(frame), 'applied', JSON.stringify(frame));
  const books = await rowsOf(join(historyDir, day, historyPath('books', 'csv.gz', market_id)), 'books');
  assert.equal(BigInt(replica.checksum()), books.at(-1)!.checksum);
  assert.equal(BigInt(replica.sequence!), books.at(-1)!.sequence);
});

test('a changed byte, a missing event and a book of another checksum are found', async () => {
  const copy = temporaryDirectory();
  const verify = () => new Pmx({}).run(['history', 'verify', copy]);
  const day = days.find((name) => manifestOf(historyDir, name).markets.some(isBusy))!;
  cpSync(join(historyDir, day), join(copy, day), { recursive: true });
  const { market_id } = manifestOf(historyDir, day).markets.find(isBusy)!;
  const rewrite = (table: HistoryTable, change: (lines: string[]) => void): void => {
    const path = join(copy, day, historyPath(table, 'csv.gz', market_id));
    const lines = gunzipSync(readFileSync(path)).toString().split('\n');
    change(lines);
    writeFileSync(path, gzipSync(lines.join('\n')));
  };
  const right = await verify();
  assert.deepEqual([right.code, right.err], [0, '']);
  assert.match(right.out, /books: all as the history says/);
  rewrite('book_events', (lines) => lines.splice(lines.length - 8, 1));
  const wrong = await verify();
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.err, /book_events\.csv\.gz: not the file of the manifest/);
  const [sum, gap, ...more] = (await verifyDay(join(copy, day))).problems;
  assert.match(sum, /book_events\.csv\.gz: not the file of the manifest/);
  assert.match(gap, new RegExp(`${market_id}: frame `));
  assert.deepEqual(more, []);
  cpSync(join(historyDir, day), join(copy, day), { recursive: true });
  rewrite('books', (lines) => {
    const at = Object.keys(HISTORY_TABLES.books).indexOf('checksum');
    lines[5] = lines[5].split(',').with(at, '12345').join(',');
  });
  assert.match((await verifyDay(join(copy, day))).problems[1], /the checksum is 12345, rebuilt it is \d+/);
});

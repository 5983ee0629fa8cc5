/** The records of a file that comes back to a cluster: records that the log never held are set aside and undone. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import { legible, queuedAfter, rejoinRecords } from '../../../../engine/replication/records.ts';
import { RecordError } from '../../../../shared/records/bytes.ts';
import { type FileRecord, RecordedFile } from '../../../../shared/records/recordedFile.ts';
import type { LogRow } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const STREAM = 7;
const OTHER = 8;

/** The log: rows of one stream, and at least one of another. */
class Log {
  readonly records: FileRecord[] = [];
  trimmedTo = 0;
  async ends() {
    const name = { epoch: 1, lead: 1, position: 1 };
    const last = this.records.at(-1)?.sequence;
    const own = last === undefined ? [] : [{ ...name, stream: STREAM, sequence: last }];
    return [{ ...name, stream: OTHER, sequence: 5 }, ...own];
  }
  async rowOf(stream: number, sequence: number): Promise<LogRow | null> {
    const found = this.records.find((each) => each.sequence === sequence && sequence > this.trimmedTo);
    return stream !== STREAM || found === undefined ? null : { ...found, stream, epoch: 1, lead: 1, position: 1 };
  }
}

function leaderThatDied(texts: readonly string[]) {
  const path = join(temporaryDirectory(), 'file.db');
  const raw = new Sqlite(path);
  raw.pragma('journal_mode = WAL');
  raw.exec('CREATE TABLE IF NOT EXISTS texts (text TEXT) STRICT');
  const file = new RecordedFile({ database: raw, isFollowing: false, isLocal: (table) => table.startsWith('record_') });
  const records: FileRecord[] = [];
  file.lead({ put: (sequence, bytes) => void records.push({ sequence, bytes }), held: () => 0 });
  const insert = file.database.prepare<[string]>('INSERT INTO texts VALUES (?)');
  for (const text of texts) insert.run(text);
  raw.close();
  return { path, records };
}

function contentOf(path: string) {
  const raw = new Sqlite(path);
  const texts = raw.prepare('SELECT text FROM texts').pluck().all();
  const queue = raw.prepare('SELECT sequence FROM record_queue').pluck().all();
  const undo = raw.prepare('SELECT sequence FROM record_undo').pluck().all();
  const end = raw.prepare('SELECT sequence FROM record_end').pluck().get();
  raw.close();
  return { texts, queue, undo, end };
}

function asideOf(line: string): { readonly path: string; readonly records: readonly { readonly sequence: number }[] } {
  const path = /set aside in (\S+);/.exec(line)![1]!;
  const records = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each));
  return { path, records };
}

const rejoin = (log: Log, path: string, hasUndo = true, proof: string | null = 'as the test says') =>
  rejoinRecords(log, [{ path, stream: STREAM, hasUndo }], proof, 'then');

test('records that the log never held are set aside, and the file is as before them', async () => {
  const { path, records } = leaderThatDied(['a', 'b', 'c', 'd']);
  const log = new Log();
  log.records.push(...records.slice(0, 2));
  await assert.rejects(rejoin(log, path, true, null), /records 3 to 4 may have been held/);
  assert.deepEqual(contentOf(path).queue, [1, 2, 3, 4].slice(2), 'RECORDSREJOIN-4: they are there as before');
  const [line, ...others] = await rejoin(log, path);
  assert.deepEqual(others, []);
  assert.match(
    line!,
    /records 3 to 4 were on this machine only and never acknowledged \(as the test says\): .* goes on after record 2$/,
  );
  assert.deepEqual(contentOf(path), { texts: ['a', 'b'], queue: [], undo: [], end: 2 });
  const aside = asideOf(line!);
  assert.deepEqual(
    aside.records.map(({ sequence }) => sequence),
    [3, 4],
  );
  assert.match(readFileSync(aside.path, 'utf8'), /"values":\["c"\]/);
  assert.equal(statSync(aside.path).mode & 0o777, 0o600);
  assert.deepEqual(await rejoin(log, path), [], 'and once');
});

test("if another leader has made a record in place of one, the log's record counts", async () => {
  const { path, records } = leaderThatDied(['a', 'b', 'c']);
  const other = leaderThatDied(['a', 'other', 'more']);
  const log = new Log();
  log.records.push(...other.records);
  assert.deepEqual(records[0]!.bytes, other.records[0]!.bytes);
  const [line] = await rejoin(log, path);
  assert.match(line!, /records 2 to 3 were/);
  assert.deepEqual(contentOf(path), { texts: ['a'], queue: [], undo: [], end: 1 });
  const raw = new Sqlite(path);
  const file = new RecordedFile({ database: raw, isFollowing: true, isLocal: (table) => table.startsWith('record_') });
  for (const record of log.records) file.apply(record);
  raw.close();
  assert.deepEqual(contentOf(path).texts, ['a', 'other', 'more']);
});

test('records that the log holds or has trimmed need no undo, and stay', async () => {
  const { path, records } = leaderThatDied(['a', 'b', 'c']);
  const log = new Log();
  log.records.push(...records);
  log.trimmedTo = 2;
  assert.deepEqual(await rejoin(log, path), []);
  assert.deepEqual(contentOf(path), { texts: ['a', 'b', 'c'], queue: [], undo: [], end: 3 });
});

test('a first member keeps what the log has nothing of; a file without its undo is refused', async (t) => {
  const { path } = leaderThatDied(['a', 'b']);
  assert.deepEqual(await rejoin(new Log(), path), []);
  assert.deepEqual(contentOf(path).queue, [1, 2]);
  const raw = new Sqlite(path);
  t.after(() => raw.close());
  raw.prepare('DELETE FROM record_undo').run();
  const log = new Log();
  log.records.push(...leaderThatDied(['other']).records);
  await assert.rejects(rejoin(log, path), /in use by another server/);
  raw.close();
  await assert.rejects(rejoin(log, path), (error) => {
    return error instanceof RecordError && error.message.startsWith(`${path}: record 2 cannot be taken back`);
  });
  assert.deepEqual(contentOf(path).texts, ['a', 'b']);
});

test('a file that takes its records back by itself keeps those that the log may not have', async () => {
  const { path, records } = leaderThatDied(['a', 'b', 'c']);
  const log = new Log();
  log.records.push(records[0]!);
  assert.deepEqual(await rejoin(log, path, false), []);
  assert.deepEqual(contentOf(path), { texts: ['a', 'b', 'c'], queue: [2, 3], undo: [2, 3], end: 3 });
  const missing = join(temporaryDirectory(), 'none.db');
  assert.deepEqual(await rejoin(log, missing), []);
  assert.equal(existsSync(missing), false);
});

test('hashes of a record are listed in hex, as clients know them', () => {
  const record = { hash: Uint8Array.of(0, 171), key: Buffer.from([1]), amount: 5n };
  assert.equal(JSON.stringify(record, legible), '{"hash":"0x00ab","key":"0x01","amount":"5"}');
});

test('records that are no statements, as those of answers, are listed with their bytes', () => {
  const path = join(temporaryDirectory(), 'file.db');
  const raw = new Sqlite(path);
  raw.exec(`CREATE TABLE record_queue (sequence INTEGER, bytes BLOB); CREATE TABLE record_undo (sequence INTEGER);
    INSERT INTO record_queue VALUES (1, x'00'), (2, x'010203')`);
  raw.close();
  assert.deepEqual(queuedAfter(path, 1), [{ sequence: 2, base64: 'AQID' }]);
});

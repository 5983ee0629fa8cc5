/** A file that a newer version has written is refused in a line, whatever its directory says (RULES.md 10.33). */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { withDirectoryToRead, withExclusiveDirectory } from '../../../../engine/admin/directory.ts';
import { SnapshotWriter } from '../../../../engine/base/snapshotIo.ts';
import { JOURNAL_RECORD, JOURNAL_ROW, JOURNAL_VERSION } from '../../../../engine/journal/row.ts';
import { lockControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { SEGMENT_HEAD } from '../../../../gateway/stream/privateSegment.ts';
import { crc32c } from '../../../../shared/base/crc32c.ts';
import { FILE_VERSIONS, newerFileIn } from '../../../../shared/base/fileVersions.ts';
import { FORMATS } from '../../../../shared/base/formats.ts';
import { checkedVersion, setUserVersion } from '../../../../shared/base/openDatabase.ts';
import { chainLine, deriveAuditKey, NO_RECORDS } from '../../../../shared/crypto/auditChain.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const SNAPSHOT_MAGIC = 0x5358504f;
const SEGMENT_MAGIC = 0x5056504f;
const ROW_BYTES = 128;

function database(path: string, version: number): void {
  const db = new Database(path);
  db.exec('CREATE TABLE a (b)');
  setUserVersion(db, version);
  db.close();
}

function snapshot(path: string, version: number): void {
  const writer = new SnapshotWriter(path, version, TEST_KEY.snapshots!);
  for (const number of [SNAPSHOT_MAGIC, version, 0]) writer.number(number);
  writer.close();
}

function segment(path: string, version: number): void {
  const words = new Uint32Array(SEGMENT_HEAD.WORDS);
  const bytes = new Uint8Array(words.buffer);
  words[SEGMENT_HEAD.magic] = SEGMENT_MAGIC;
  words[SEGMENT_HEAD.version] = version;
  words[SEGMENT_HEAD.headBytes] = bytes.length;
  words[SEGMENT_HEAD.crc] = crc32c({ words, bytes }, SEGMENT_HEAD.first * 4, bytes.length, version);
  writeFileSync(path, bytes);
}

function journal(path: string, version: number, rowVersion: number = JOURNAL_VERSION): void {
  const words = new Uint32Array(ROW_BYTES / 4);
  const bytes = new Uint8Array(words.buffer);
  words[JOURNAL_ROW.version] = rowVersion;
  words[(JOURNAL_ROW.BYTES + JOURNAL_RECORD.BYTES) / 4 + 1] = version << 16;
  words[JOURNAL_ROW.crc] = crc32c({ words, bytes }, 4, bytes.length);
  const db = new Database(path);
  db.exec(
    'CREATE TABLE meta (layout_version INTEGER); CREATE TABLE journal (sequence INTEGER PRIMARY KEY, bytes BLOB)',
  );
  db.prepare('INSERT INTO journal VALUES (7, ?)').run(bytes);
  db.close();
}

function auditLog(path: string, version?: number): void {
  const key = deriveAuditKey(Buffer.alloc(32, 7));
  const { line, head } = chainLine(NO_RECORDS, { event: 'start' }, key);
  // A running exchange keeps room after the last line.
  writeFileSync(path, `${line}\n${chainLine(head, { event: 'stop' }, key, version).line}\n${' '.repeat(5000)}`);
}

/** In the second line, the last one. */
function auditVersionAt(): number {
  const path = join(temporaryDirectory(), 'audit.log');
  auditLog(path, 1);
  return readFileSync(path).lastIndexOf('"version":1') + '"version":'.length;
}

const MADE = {
  answers: { name: 'idempotency.db', make: database, versionAt: 60 },
  audit: { name: 'audit.log', make: auditLog, versionAt: auditVersionAt() },
  // The only row ends with its page, the third one.
  journal: {
    name: 'journal-0.db',
    make: journal,
    versionAt: 3 * 4096 - ROW_BYTES + JOURNAL_ROW.BYTES + JOURNAL_RECORD.BYTES + 4,
  },
  privateFrames: { name: 'private/private-0000000000000001.log', make: segment, versionAt: 4 },
  readDb: { name: 'read.db', make: database, versionAt: 60 },
  settlement: { name: 'settlement.db', make: database, versionAt: 60 },
  snapshot: { name: 'snapshot-0-7.bin', make: snapshot, versionAt: 40 },
} satisfies Record<keyof typeof FILE_VERSIONS, unknown>;

function opened(): string {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'private'));
  openControlDatabase(join(directory, 'control.db')).close();
  return directory;
}

for (const [kind, { name, make, versionAt }] of Object.entries(MADE)) {
  const { newest } = FILE_VERSIONS[kind as keyof typeof FILE_VERSIONS];

  test(`RULES.md 10.33: a newer ${name} is refused by a start and by a tool, and stays as it is`, async () => {
    const directory = opened();
    const path = join(directory, name);
    make(path, newest);
    assert.equal(newerFileIn(directory), null, 'a file of this version is opened');
    rmSync(path);
    make(path, newest + 1);
    const files = () => [readFileSync(path, 'hex'), readFileSync(join(directory, 'control.db'), 'hex')];
    const before = files();
    const said = `${path} was written by a newer version`;
    assert.throws(() => lockControlDatabase(join(directory, 'control.db')), new RegExp(`^StartError: ${said}$`));
    for (const open of [withDirectoryToRead, withExclusiveDirectory]) {
      await assert.rejects(
        open(directory, () => assert.fail('it was opened')),
        new RegExp(`^AdminError: ${said}: use that one$`),
      );
    }
    assert.deepEqual(files(), before);
  });

  test(`FILEVERSION-2: a damaged ${name} is not taken for a newer one`, () => {
    const directory = opened();
    const path = join(directory, name);
    make(path, newest);
    const whole = readFileSync(path);
    // The highest byte of a version, wherever it stands, makes it a number of no release.
    const damaged = Buffer.from(whole);
    damaged[versionAt + (make === database || make === auditLog ? 0 : 3)]! ^= 0x40;
    // A checksum, or the mark of a database, shows that one more is damage as well.
    const oneMore = Buffer.from(whole);
    oneMore[versionAt + (make === database ? 3 : 0)]! += 1;
    for (const bytes of [
      damaged,
      oneMore,
      whole.subarray(0, versionAt + 2),
      Buffer.alloc(0),
      Buffer.alloc(4096, 0xff),
    ]) {
      writeFileSync(path, bytes);
      assert.equal(newerFileIn(directory), null);
    }
  });
}

test('a line of the audit log without a version is of version 1, and every line has one now', () => {
  const path = join(temporaryDirectory(), 'audit.log');
  const text = '{"sequence":1,"time":"2026-11-01T00:00:00.000Z","event":"start","version_of":"more","previous":"0"';
  writeFileSync(path, `${text},"hash":"${hash('sha256', text)}","mac":"00000000:00"}\n`);
  assert.equal(FILE_VERSIONS.audit.versionIn(path), 1);
  auditLog(path);
  assert.equal(FILE_VERSIONS.audit.versionIn(path), FORMATS.audit.newest);
  const newer = `{"sequence":2,"version":${FORMATS.audit.newest + 1},"anything":{"hash":"of another kind"}`;
  writeFileSync(path, `${newer},"hash":"${hash('sha256', newer)}","proof":"of another kind"}\n`);
  assert.equal(FILE_VERSIONS.audit.versionIn(path), FORMATS.audit.newest + 1);
});

test('a journal is newer by the version of its rows too, and rows of an older one have another word there', () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'journal-0.db');
  for (const [rowVersion, isNewer] of [
    [JOURNAL_VERSION - 1, false],
    [JOURNAL_VERSION + 1, true],
  ] as const) {
    rmSync(path, { force: true });
    journal(path, FILE_VERSIONS.journal.newest + 1, rowVersion);
    assert.equal(newerFileIn(directory), isNewer ? path : null);
  }
});

test('FILEVERSION-1: the version of a database counts that is in its write-ahead log', () => {
  const [directory, copied] = [temporaryDirectory(), temporaryDirectory()];
  const db = new Database(join(directory, 'read.db'));
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE a (b)');
  setUserVersion(db, FILE_VERSIONS.readDb.newest + 1);
  for (const name of readdirSync(directory)) copyFileSync(join(directory, name), join(copied, name));
  db.close();
  assert.equal(newerFileIn(copied), join(copied, 'read.db'));
  rmSync(join(copied, 'read.db-wal'));
  assert.equal(newerFileIn(copied), null);
});

test('FILEVERSION-2: a file that cannot be opened is left to its reader', () => {
  const directory = temporaryDirectory();
  symlinkSync(join(directory, 'on a disk that is away'), join(directory, 'idempotency.db'));
  assert.equal(newerFileIn(directory), null);
});

test('FILEVERSION-3: who opens a database with a later version takes it for damage, unless it has the mark', () => {
  const path = join(temporaryDirectory(), 'idempotency.db');
  database(path, 3);
  const db = new Database(path);
  assert.equal(checkedVersion(db, 3), 3);
  assert.equal(checkedVersion(db, 2), 3, 'a newer one');
  db.pragma('application_id = 0');
  assert.equal(checkedVersion(db, 3), 3, 'written before the rule');
  assert.throws(() => checkedVersion(db, 2), { code: 'SQLITE_CORRUPT', message: /says version 3 without its mark/ });
  db.close();
});

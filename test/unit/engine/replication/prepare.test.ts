/** A start prepares the directory of a member before anything opens it (JOININGFILES-1, GIVING-3). */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { Statement } from '../../../../engine/replication/command.ts';
import { END, leaveReason } from '../../../../engine/replication/joiningFiles.ts';
import type { LogHistory } from '../../../../engine/replication/log.ts';
import { prepareDirectory } from '../../../../engine/replication/prepare.ts';
import { FILE_VERSIONS } from '../../../../shared/base/fileVersions.ts';
import { setUserVersion } from '../../../../shared/base/openDatabase.ts';
import { MASTER_KEY_CHECK } from '../../../../shared/crypto/masterKey.ts';
import { sealSecret } from '../../../../shared/crypto/secretBox.ts';
import { RecordError } from '../../../../shared/records/bytes.ts';
import { STREAM } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const MASTER_KEY = new Uint8Array(32);

type Options = Parameters<typeof prepareDirectory>[0];

/** Prepares the directory of a member whose log has no records yet. @returns its lines, and its news */
async function prepare(
  directory: string,
  changes: Partial<Options> = {},
): Promise<{ lines: string[]; news: string[] }> {
  const unused = async (): Promise<never> => assert.fail('no copy is asked for');
  const news: string[] = [];
  const { lines } = await prepareDirectory({
    directory,
    records: [],
    shards: 1,
    masterKey: MASTER_KEY,
    log: { report: unused, read: unused },
    reads: readsOf(),
    decision: async () => null,
    cluster: 'c',
    holder: 'a',
    onNews: (text) => news.push(text),
    onDamagedMark: (text) => news.push(text),
    // No copy is requested.
    isStopped: () => true,
    ...changes,
  });
  return { lines: [...lines], news };
}

function historyOf(id: string): LogHistory {
  const place = { system: '1', timeline: 1, lsn: '0/1' };
  return { id, end: 0, place, run: '1/1/5', foundedOn: '1/1/5', leads: [], bases: [] };
}

/** A log that was founded, and has no row. */
function readsOf(changes: Partial<Options['reads']> = {}): Options['reads'] {
  const lease = { holder: '', address: '', epoch: 1, formats: '', raised: '', expiresInMs: 0 };
  return {
    ends: async () => [],
    rowOf: async () => null,
    nameAt: async () => null,
    firstAfter: async () => null,
    lease: async () => lease,
    history: async () => historyOf('the log'),
    found: async () => 'the log',
    beginner: async () => 'a',
    isWhole: async () => false,
    ...changes,
  };
}

/** A log that has this stream of a cluster. */
function logWith(stream: number): Pick<Options, 'reads'> {
  const row = { position: 1, epoch: 1, lead: 1, stream, sequence: 1, bytes: new Uint8Array(1) };
  return { reads: readsOf({ ends: async () => [row] }) };
}

function makeControl(folder: string): void {
  const database = new Database(join(folder, 'control.db'));
  database.exec('CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT)');
  database.exec('CREATE TABLE record_queue (sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
  database.close();
}

/** A copy of another member's files, in the folder in which it comes. */
function copyIn(directory: string): string {
  const folder = join(directory, 'joining');
  mkdirSync(folder);
  makeControl(folder);
  writeFileSync(join(folder, 'audit.log'), 'of another member');
  return folder;
}

test('JOININGFILES-1: a copy that came whole before this member ended is moved to its place', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(copyIn(directory), 'whole'), '');
  assert.deepEqual(await prepare(directory), { lines: [], news: [] });
  assert.deepEqual(readdirSync(directory).sort(), ['audit.log', 'control.db']);
  assert.equal(readFileSync(join(directory, 'audit.log'), 'utf8'), 'of another member');
});

test('JOININGFILES-1: a copy that is not whole is removed, and nothing of it is used', async () => {
  const directory = temporaryDirectory();
  copyIn(directory);
  assert.deepEqual(await prepare(directory), { lines: [], news: [] });
  assert.deepEqual(readdirSync(directory), []);
});

test('PREPARE-2: files of a newer version are refused before anything of the directory changes', async () => {
  const control = temporaryDirectory();
  makeControl(control);
  const database = new Database(join(control, 'control.db'));
  database.pragma(`application_id = ${2 ** 30}`);
  database.close();
  const one = temporaryDirectory();
  makeControl(one);
  const read = new Database(join(one, 'read.db'));
  setUserVersion(read, FILE_VERSIONS.readDb.newest + 1);
  read.close();
  for (const [directory, name] of [
    [control, 'control.db'],
    [one, 'read.db'],
  ] as const) {
    copyIn(directory);
    mkdirSync(join(directory, 'giving'));
    const files = () => readdirSync(directory, { recursive: true }).sort();
    const before = files();
    const reads = readsOf({ history: async () => assert.fail('the log is not asked') });
    await assert.rejects(prepare(directory, { reads }), (error: Error) => {
      assert.equal(error.message, `refused: ${join(directory, name)} was written by a newer version`);
      return error.name === 'NotAMemberError';
    });
    assert.deepEqual(files(), before);
  }
});

test('a member without files founds no log: those that have some may not have been started yet', async () => {
  const directory = temporaryDirectory();
  const { lease, history } = readsOf();
  const reads = readsOf({
    lease: async () => ({ ...(await lease()), epoch: 0 }),
    history: async () => ({ ...(await history()), id: null }),
    found: async () => assert.fail('it is an operator who founds'),
  });
  await assert.rejects(prepare(directory, { reads }), /has no log yet under this name, and this member has no files/);
  assert.deepEqual(readdirSync(directory), []);
});

test('PREPARE-1: a log without a row is begun only on the run of the database on which it was founded', async () => {
  const directory = temporaryDirectory();
  for (const foundedOn of ['1/1/4', '']) {
    const history = async () => ({ ...historyOf('the log'), foundedOn });
    await assert.rejects(prepare(directory, { reads: readsOf({ history }) }), ({ name, message }: Error) => {
      assert.equal(name, 'NotAMemberError');
      assert.match(message, /^refused: the log has no row, and the database was started.*found --new` once more/);
      return true;
    });
  }
  assert.deepEqual(readdirSync(directory), []);
});

test('files without a mark join no log that was founded from the files of another member', async () => {
  const directory = temporaryDirectory();
  makeControl(directory);
  const bases = [{ stream: STREAM.CONTROL, sequence: 7, head: '' }];
  const history = async () => ({ ...historyOf('the log'), bases });
  await assert.rejects(prepare(directory, { reads: readsOf({ history }) }), { name: 'LostRowsError' });
  assert.deepEqual(readdirSync(directory), ['control.db'], 'nothing of it is set aside');
});

test('what a member was giving when it ended is removed, and a directory that is not there is not made', async () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'giving'));
  writeFileSync(join(directory, 'giving', 'read.db'), 'half');
  await prepare(directory);
  assert.deepEqual(readdirSync(directory), []);
  const missing = join(directory, 'missing');
  await prepare(missing);
  assert.equal(existsSync(missing), false);
});

test('a member of a cluster with records stays as it is, and one without is to get a copy', async () => {
  const directory = temporaryDirectory();
  makeControl(directory);
  assert.deepEqual(await prepare(directory, logWith(STREAM.CONTROL)), { lines: [], news: [] });
  assert.deepEqual(readdirSync(directory), ['control.db']);
  const empty = temporaryDirectory();
  const asked: string[] = [];
  let looks = 0;
  const { lines } = await prepare(empty, {
    ...logWith(STREAM.CONTROL),
    log: {
      report: async () => void asked.push('report'),
      read: async () => {
        throw new Error('no database');
      },
    },
    isStopped: () => looks++ > 0,
  });
  assert.deepEqual([lines, asked], [[], ['report']]);
});

/** A table of copies in which another member gives these files, two parts at a time. */
function givenBy(giver: string, files: Readonly<Record<string, string>>): Pick<Options, 'log'> {
  const named = [...Object.entries(files), [END, '']];
  const parts = named.map(([name, text], index) => ({ part: index + 1, name, bytes: Buffer.from(text!) }));
  const answers: Readonly<Record<string, (values: readonly unknown[]) => unknown[]>> = {
    joiningCopy: () => [{ giver, problem: '', isGone: false }],
    takeCopy: ([, , from]) => parts.filter(({ part }) => part >= Number(from)).slice(0, 2),
  };
  const read = async <Row>({ name }: Statement, values: readonly unknown[]): Promise<Row[]> => {
    return (answers[name]?.(values) ?? []) as Row[];
  };
  return { log: { report: async () => undefined, read } };
}

test('a member that has joined says whose files it has, and what became of its own', async () => {
  const files = { 'journal.key': 'key', 'audit.log': 'of b', 'control.db': 'its database' };
  const options = { ...logWith(STREAM.CONTROL), ...givenBy('b', files), shards: 0, isStopped: () => false };
  const empty = temporaryDirectory();
  const joined = 'this member has joined with a copy of the files of b';
  assert.deepEqual((await prepare(empty, options)).lines, [joined]);
  for (const [name, text] of Object.entries(files)) assert.equal(readFileSync(join(empty, name), 'utf8'), text);

  const asked = temporaryDirectory();
  makeControl(asked);
  leaveReason(asked, 'it was asked to');
  const { lines } = await prepare(asked, options);
  const aside = readdirSync(asked).find((name) => name.startsWith('left-'))!;
  assert.deepEqual(lines, [`the files of this member were set aside in ${join(asked, aside)}`, joined]);
});

test('the first member of a cluster begins with what it has', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'audit.log'), 'from before');
  assert.deepEqual(await prepare(directory, logWith(STREAM.ANSWERS)), { lines: [], news: [] });
  assert.deepEqual(readdirSync(directory), ['audit.log']);
});

test('PREPARE-1: a member that starts beside the first one waits for it, and does not begin the log', async () => {
  const free = { holder: '', address: '', epoch: 0, formats: '', raised: '', expiresInMs: 0 };
  const looked: string[] = [];
  const reads = readsOf({
    lease: async () => {
      looked.push('lease');
      // The lease as seen by the member that begins the log and leads a moment later.
      return looked.length < 3 ? free : { ...free, holder: 'b', epoch: 1, expiresInMs: 1500 };
    },
    ends: async () => (looked.length < 5 ? [] : logWith(STREAM.CONTROL).reads.ends()),
    history: async () => historyOf('the log of b'),
    beginner: async () => 'b',
  });
  const files = { 'journal.key': 'key of b', 'control.db': 'its database' };
  const directory = temporaryDirectory();
  const { lines } = await prepare(directory, { ...givenBy('b', files), reads, shards: 0, isStopped: () => false });
  assert.deepEqual(lines, ['this member has joined with a copy of the files of b']);
  assert.equal(readFileSync(join(directory, 'journal.key'), 'utf8'), 'key of b');
});

test('18.20: a member whose files are sealed under another master key than the cluster has joins anew', async () => {
  const prepareSealed = async (key: Uint8Array) => {
    const directory = temporaryDirectory();
    makeControl(directory);
    const check = sealSecret(key, MASTER_KEY_CHECK, Buffer.alloc(0)).toString('base64');
    const database = new Database(join(directory, 'control.db'));
    database.prepare('INSERT INTO platform VALUES (?, ?)').run(MASTER_KEY_CHECK, check);
    database.close();
    const { news } = await prepare(directory);
    return { news, isKept: existsSync(join(directory, 'control.db')) };
  };
  assert.deepEqual(await prepareSealed(MASTER_KEY), { news: [], isKept: true });
  const { news, isKept } = await prepareSealed(new Uint8Array(32).fill(1));
  assert.match(news.join('\n'), /^this member joins anew: its files are sealed under another MASTER_KEY than those/);
  assert.equal(isKept, false);
});

test('JOININGFILES-2: a member that has to join anew sets its files aside, and says why', async () => {
  const forOperator = temporaryDirectory();
  makeControl(forOperator);
  leaveReason(forOperator, 'it was asked to');
  const ofOperator = await prepare(forOperator);
  assert.deepEqual(ofOperator.news, ['this member joins anew: it was asked to']);

  const forRecords = temporaryDirectory();
  makeControl(forRecords);
  const rejected = async (): Promise<never> => {
    throw new RecordError('the log has other records');
  };
  const records = [{ path: join(forRecords, 'control.db'), stream: STREAM.CONTROL, hasUndo: true }];
  const ofRecords = await prepare(forRecords, { records, reads: readsOf({ ends: rejected, rowOf: rejected }) });
  assert.deepEqual(ofRecords.news, [`this member joins anew: the log has other records`]);

  for (const [directory, { lines }] of [
    [forOperator, ofOperator],
    [forRecords, ofRecords],
  ] as const) {
    const aside = readdirSync(directory).find((name) => name.startsWith('left-'))!;
    assert.deepEqual(readdirSync(join(directory, aside)), ['control.db']);
    assert.deepEqual(lines, [`the files of this member were set aside in ${join(directory, aside)}`]);
  }
});

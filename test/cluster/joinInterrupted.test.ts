/**
 * A copy for a joining member is interrupted in every possible way: a half copy is never used, the next copy is
 * complete, and nothing of it stays in the database (RULES.md 18.8; JOIN-2, COPYTABLE-1 and 2, JOININGFILES-1). The
 * test is the giver, so the files are a few bytes; joining.test.ts has real members.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Attempt, CopyTable, type Part } from '../../engine/replication/copyTable.ts';
import { joinByCopy } from '../../engine/replication/join.ts';
import { END, finishJoining, ROWS } from '../../engine/replication/joiningFiles.ts';
import type { PostgresLog } from '../../engine/replication/postgresLog.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { makeJournalKey, writeJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually, within } from '../support/eventually.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import { SmallDisk } from '../support/smallDisk.ts';

const CLUSTER = 'exchange';
const MASTER_KEY = new Uint8Array(32).fill(0x5a);
const MB = 1_000_000;

type Asked = { readonly attempt: Attempt; readonly number: number };

/** A joining member, and a giver that sends parts as the test says. */
class Scene {
  readonly directory: string;
  readonly table: CopyTable;
  readonly log: PostgresLog;
  readonly database: string;
  readonly news: string[] = [];
  /** The statements that fail next, by their names. */
  readonly failing: string[] = [];
  isStopped = false;
  readonly #key: Uint8Array;
  #attempts = 0;

  static async start(t: TestContext, directory = temporaryDirectory()): Promise<Scene> {
    const url = await (await sharedPostgres()).database();
    const log = await openLog(t, url, 'giver');
    const scene = new Scene(directory, log, url.slice(url.lastIndexOf('/') + 1));
    t.after(() => {
      scene.isStopped = true;
    });
    return scene;
  }

  private constructor(directory: string, log: PostgresLog, database: string) {
    this.directory = directory;
    this.log = log;
    this.database = database;
    this.table = new CopyTable(log, CLUSTER);
    const keyed = temporaryDirectory();
    writeJournalKey(keyed, MASTER_KEY, makeJournalKey([1]));
    this.#key = readFileSync(join(keyed, 'journal.key'));
  }

  joins(): Promise<string | null> {
    const { directory, news } = this;
    return joinByCopy({
      ...{ directory, shards: 1, masterKey: MASTER_KEY, cluster: CLUSTER, holder: 'joiner' },
      log: {
        report: (position) => this.log.report(position),
        read: (statement, values) => {
          if (this.failing[0] !== statement.name) return this.log.read(statement, values);
          this.failing.shift();
          return Promise.reject(new Error('the connection is gone'));
        },
      },
      onNews: (text) => news.push(text),
      isStopped: () => this.isStopped,
    });
  }

  /** The next attempt of the member. */
  async asked(): Promise<Asked> {
    const attempt = await eventually(
      'a request',
      async () => (await this.table.claim('giver', false, FORMATS.files.newest)) ?? false,
    );
    return { attempt, number: ++this.#attempts };
  }

  /** Every file names its attempt. */
  partsOf(number: number): readonly Part[] {
    const of = (name: string): Uint8Array => Buffer.from(`${name} of ${number}`);
    const names = ['journal.key', 'read.db', 'private/00000001.log', `${ROWS}0`, 'control.db', END];
    const bytes = { 'journal.key': this.#key, [`${ROWS}0`]: new Uint8Array(0), [END]: new Uint8Array(0) };
    return names.map((name, at) => ({ part: at + 1, name, bytes: bytes[name as keyof typeof bytes] ?? of(name) }));
  }

  async give({ attempt, number }: Asked, count = Number.POSITIVE_INFINITY): Promise<void> {
    for (const part of this.partsOf(number).slice(0, count)) await this.table.put(attempt, part);
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await sharedPostgres()).primary.query(sql, this.database);
  }

  /** The files of this attempt are in their place, and nothing else is left anywhere. */
  async assertJoined(number: number): Promise<void> {
    for (const name of ['read.db', 'private/00000001.log', 'control.db']) {
      assert.equal(readFileSync(join(this.directory, name), 'utf8'), `${name} of ${number}`);
    }
    assert.ok(existsSync(join(this.directory, 'journal-0.db')));
    assert.ok(!existsSync(join(this.directory, 'joining')));
    const left = await this.query(
      'SELECT (SELECT count(*)::int FROM exchange_copy) AS parts, (SELECT count(*)::int FROM exchange_join) AS asked',
    );
    assert.deepEqual(left, [{ parts: 0, asked: 0 }]);
  }
}

/** Each ends the first attempt after some of its parts were given. */
const INTERRUPTIONS: Readonly<Record<string, (scene: Scene, asked: Asked) => Promise<unknown>>> = {
  'the giver dies': (scene) => scene.query("UPDATE exchange_join SET given_at = given_at - interval '1 minute'"),
  'the giver says what it cannot do': ({ table }, { attempt }) => table.fail(attempt, 'its disk is full'),
  'a part is not the next one': ({ table }, { attempt }) =>
    table.put(attempt, { part: 9, name: 'control.db', bytes: new Uint8Array(1) }),
  'a part is of no file of a member': ({ table }, { attempt }) =>
    table.put(attempt, { part: 4, name: '../../elsewhere', bytes: new Uint8Array(1) }),
  'the last part comes before all files have': ({ table }, { attempt }) =>
    table.put(attempt, { part: 4, name: END, bytes: new Uint8Array(0) }),
  // A promoted server has nothing in tables that are not logged.
  'another server of the database is promoted': (scene) => scene.query('TRUNCATE exchange_join, exchange_copy'),
};

for (const [what, interrupt] of Object.entries(INTERRUPTIONS)) {
  test(`${what} in the middle of a copy: the next one is whole`, { skip }, async (t) => {
    const scene = await Scene.start(t);
    const joining = scene.joins();
    const first = await scene.asked();
    await scene.give(first, 3);
    await eventually('the first parts', async () => existsSync(join(scene.directory, 'joining/private/00000001.log')));
    await interrupt(scene, first);
    const second = await scene.asked();
    assert.ok(!existsSync(join(scene.directory, 'control.db')), 'nothing of the first is in its place');
    // A giver that does not know of it yet adds one more part to the first attempt.
    await scene.table.put(first.attempt, { part: 5, name: 'control.db', bytes: Buffer.from('too late') });
    assert.equal(await scene.table.giving(first.attempt), null, 'it finds out that nobody wants them');
    await scene.give(second);
    assert.equal(await joining, 'giver');
    assert.equal(scene.news.filter((text) => text.startsWith('the copy is begun anew')).length, 1);
    await scene.assertJoined(2);
  });
}

test('JOIN-2: a log that does not answer for a moment interrupts no copy', { skip }, async (t) => {
  const scene = await Scene.start(t);
  const joining = scene.joins();
  const asked = await scene.asked();
  await scene.give(asked, 3);
  await eventually('the first parts', async () => existsSync(join(scene.directory, 'joining/private/00000001.log')));
  scene.failing.push('takeCopy', 'takeCopy', 'joiningCopy', 'joiningCopy', 'takeCopy');
  await eventually('statements that fail', async () => scene.failing.length === 0);
  for (const part of scene.partsOf(asked.number).slice(3)) await scene.table.put(asked.attempt, part);
  assert.equal(await within('the end of the copy that was begun first', joining), 'giver');
  assert.deepEqual(
    scene.news.filter((text) => !text.startsWith('this member joins with a copy')),
    Array.from({ length: 3 }, () => 'the copy waits for the log: the connection is gone'),
  );
  await scene.assertJoined(1);
});

test('a member that dies in the middle of a copy begins another one at its next start', { skip }, async (t) => {
  const scene = await Scene.start(t);
  const joining = scene.joins();
  const first = await scene.asked();
  await scene.give(first, 3);
  const half = join(scene.directory, 'joining/private/00000001.log');
  await eventually('the first parts', async () => existsSync(half));
  // As if its process had ended: nothing of the attempt is removed.
  scene.failing.push('endCopy');
  scene.isStopped = true;
  assert.equal(await joining, null);
  mkdirSync(join(scene.directory, 'joining/private'), { recursive: true });
  writeFileSync(half, 'half of it');
  const [, , , fourth] = scene.partsOf(1);
  await scene.table.put(first.attempt, fourth!);
  assert.notEqual(await scene.table.giving(first.attempt), null, 'the giver does not know it yet');

  scene.isStopped = false;
  finishJoining(scene.directory);
  assert.deepEqual(readdirSync(scene.directory), [], 'half of a copy is not used');
  const again = scene.joins();
  const second = await scene.asked();
  assert.deepEqual(await scene.query('SELECT part FROM exchange_copy'), [], 'parts of the first are not kept');
  await scene.give(second);
  assert.equal(await again, 'giver');
  await scene.assertJoined(2);
});

test('a move of a whole copy that was interrupted goes on at the next start', { skip }, async (t) => {
  const scene = await Scene.start(t);
  const joining = scene.joins();
  await scene.give(await scene.asked());
  await joining;
  // These are still where the copy was.
  mkdirSync(join(scene.directory, 'joining'));
  writeFileSync(join(scene.directory, 'joining/whole'), '');
  for (const name of ['private', 'read.db', 'control.db']) {
    renameSync(join(scene.directory, name), join(scene.directory, 'joining', name));
  }
  finishJoining(scene.directory);
  await scene.assertJoined(1);
});

test('a full disk at the member that joins: once there is room the copy is whole', { skip }, async (t) => {
  const disk = SmallDisk.mount(t, 8);
  if (disk === null) {
    t.skip('mounting a small disk needs the rights of root');
    return;
  }
  const scene = await Scene.start(t, disk.path);
  disk.fill(MB);
  const joining = scene.joins();
  for (let tries = 0; tries < 2; tries++) {
    const { attempt } = await scene.asked();
    await scene.table.put(attempt, { part: 1, name: 'read.db', bytes: new Uint8Array(2 * MB) });
    await eventually('the end of it', async () => (await scene.table.giving(attempt)) === null);
    await eventually('the room of it', async () => disk.freeBytes > 0.9 * MB);
  }
  assert.match(scene.news.join('\n'), /the copy is begun anew: ENOSPC/);
  disk.clear();
  // A disk that fills while rows of a journal are written.
  const third = await scene.asked();
  await scene.give(third, 4);
  await eventually('the journal', async () => existsSync(join(scene.directory, 'joining/journal-0.db')));
  disk.fill();
  await scene.table.put(third.attempt, { part: 5, name: 'control.db', bytes: new Uint8Array(MB) });
  await eventually('the end of it', async () => (await scene.table.giving(third.attempt)) === null);
  disk.clear();
  await eventually('the room of it', async () => disk.freeBytes > 7 * MB);
  const { attempt } = await scene.asked();
  await scene.give({ attempt, number: 4 });
  assert.equal(await joining, 'giver');
  await scene.assertJoined(4);
});

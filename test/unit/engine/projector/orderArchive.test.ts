/** Orders that never filled move from read.db to the archive, and every order stays in exactly one of the two. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { archiveFiles, hashOf, tablesOf, takeBack } from '../../../../engine/projector/archiveFiles.ts';
import { differences } from '../../../../engine/projector/contents.ts';
import { copyDatabase } from '../../../../engine/projector/databaseCopy.ts';
import { givesPagesBack } from '../../../../engine/projector/readDb.ts';
import { OrderQueries } from '../../../../gateway/account/orderQueries.ts';
import { setUserVersion } from '../../../../shared/base/openDatabase.ts';
import {
  archiveFileName,
  archiveFolder,
  PART_NAME,
  readArchiveFileName,
} from '../../../../shared/tables/orderArchive.ts';
import { NEVER_FILLED, ORDERS } from '../../../../shared/tables/orders.ts';
import { insert } from '../../../../shared/tables/table.ts';
import { ProjectionRig, SMALL_PACE } from '../../../support/projectionRig.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(9);
const LAST = Number.MAX_SAFE_INTEGER;
type Order = { readonly id: Uint8Array; readonly account: number; readonly hash: Uint8Array };
type Runs = { run: (...values: unknown[]) => unknown };

describe(`the archive of orders (seed ${SEED})`, () => {
  let open: ProjectionRig[] = [];
  afterEach(() => {
    for (const rig of open) rig.close();
    open = [];
  });

  function rigOf(options: ConstructorParameters<typeof ProjectionRig>[0] = {}): ProjectionRig {
    const rig = new ProjectionRig({ seed: SEED, ...options });
    open.push(rig);
    return rig;
  }

  const count = (rig: ProjectionRig, what: string): number =>
    rig.read((db) => db.prepare<[], number>(`SELECT ${what}`).pluck().get()!);
  const orders = (rig: ProjectionRig): Order[] =>
    rig.read((db) => db.prepare<[], Order>('SELECT id, account, hash FROM orders').all());
  const folderOf = (rig: ProjectionRig): string => archiveFolder(rig.readDbPath);
  const filesIn = (rig: ProjectionRig): string[] =>
    existsSync(folderOf(rig)) ? readdirSync(folderOf(rig)).filter((name) => readArchiveFileName(name) !== null) : [];

  function archiveAll(rig: ProjectionRig): void {
    const projector = rig.projector();
    while (projector.step(true));
    while (projector.archive(SMALL_PACE));
    projector.close();
  }

  function assertWhole(rig: ProjectionRig, what: string): void {
    assert.deepEqual(differences(rig.undisturbed(), rig.contents()), [], what);
  }

  it('takes every order that ended without a fill some time ago, and leaves all others', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(300);
    rig.project();
    const all = count(rig, 'count(*) FROM orders');
    archiveAll(rig);
    const cutoff = `(SELECT max(time_ms) FROM cursors) - ${SMALL_PACE.keptMs} - 2 * ${SMALL_PACE.spanMs}`;
    assert.equal(count(rig, `count(*) FROM orders WHERE ${NEVER_FILLED} AND updated_ms < ${cutoff}`), 0);
    const archived = count(rig, 'sum(orders) FROM archived_files');
    assert.ok(archived > 20, `${archived} orders in files`);
    assert.equal(count(rig, 'count(*) FROM orders'), all - archived);
    assert.equal(count(rig, 'sum(cancelled + expired) FROM archived_accounts'), archived);
    assert.ok(count(rig, 'count(*) FROM archived_files') > 3, 'several files');
    assertWhole(rig, 'the rows are those of a read.db without archive');
  });

  it('also takes an order that outlived those that were placed with it', () => {
    const rig = rigOf();
    const [, account] = [rig.trade(1), 1];
    rig.rigs[0].place({ account, market: 2, side: 0, outcome: 0, ticks: 2, lots: 10_000, timeInForce: 0 });
    rig.write();
    rig.trade(120);
    archiveAll(rig);
    rig.rigs[0].cancelMany(account, 2);
    rig.write();
    archiveAll(rig);
    assert.ok(count(rig, 'count(*) FROM archive_late') > 0, 'orders that ended late wait');
    rig.trade(150);
    archiveAll(rig);
    const [low] = rig.read(
      (db) => db.prepare('SELECT count(*) FROM orders WHERE limit_ticks = 2').raw().get() as number[],
    );
    assert.equal(low, 0, 'the order has left read.db');
    assertWhole(rig, 'no order is lost');
  });

  it('ORDERARCHIVE-2: has every order once after an end at any step', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(150);
    rig.project();
    const whole = rig.undisturbed();
    // Each projector is closed after more steps than the one before, so every step is the last of one of them.
    for (let most = 1, isMore = true; isMore; most++) {
      const projector = rig.projector();
      projector.step(true);
      let steps = 0;
      for (; steps < most && isMore; steps++) isMore = projector.archive(SMALL_PACE);
      projector.close();
      assert.deepEqual(differences(whole, rig.contents()), [], `after ${steps} steps`);
    }
    assert.ok(count(rig, 'sum(orders) FROM archived_files') > 8);
  });

  it('ORDERARCHIVE-2: has every order once after an end at any statement', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(150);
    rig.project();
    const random = seededRandom(SEED);
    const whole = rig.undisturbed();
    const statement = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as Runs;
    const { run } = statement;
    let failures = 0;
    for (let attempt = 0; attempt < 25; attempt++) {
      const projector = rig.projector();
      projector.step(true);
      let left = Math.floor(random() * 80);
      statement.run = function (this: unknown, ...values: unknown[]) {
        if (left-- === 0) throw new Error('interrupted');
        return run.apply(this, values);
      };
      try {
        while (projector.archive(SMALL_PACE));
      } catch (error) {
        assert.match(String(error), /interrupted/);
        failures++;
      } finally {
        statement.run = run;
        projector.close();
      }
      assert.deepEqual(differences(whole, rig.contents()), [], `attempt ${attempt}`);
    }
    assert.ok(failures >= 5, `${failures} failures`);
  });

  it('ORDERARCHIVE-1: no order leaves read.db for a file that does not have it as it was', () => {
    const changes = ['UPDATE orders SET lots = lots + 1 WHERE id = (SELECT max(id) FROM orders)', 'bytes'];
    for (const change of changes) {
      const rig = rigOf();
      rig.trade(150);
      rig.project();
      const before = orders(rig).length;
      const projector = rig.projector();
      projector.step(true);
      while (!existsSync(join(folderOf(rig), PART_NAME))) projector.archive(SMALL_PACE);
      const fail = (): void => {
        if (change === 'bytes') while (filesIn(rig).length === 0) projector.archive(SMALL_PACE);
        const name = change === 'bytes' ? filesIn(rig)[0] : PART_NAME;
        const file = new Database(join(folderOf(rig), name));
        if (change !== 'bytes') projector.archive(SMALL_PACE);
        file.exec(change === 'bytes' ? 'UPDATE blocks SET last_ms = last_ms + 1' : change);
        file.close();
        while (projector.archive(SMALL_PACE));
      };
      assert.throws(fail, change === 'bytes' ? /is damaged/ : /has \d+ of \d+ orders as read.db has them/);
      assert.equal(orders(rig).length, before, 'all orders are in read.db');
      projector.close();
      archiveAll(rig);
      assertWhole(rig, 'the next try archives them');
    }
  });

  it('finds an archived order by its hash, and does not deny one whose file is missing', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(200);
    rig.project();
    const all = orders(rig);
    archiveAll(rig);
    const left = new Set(orders(rig).map(({ id }) => Buffer.from(id).toString('hex')));
    const archived = all.filter(({ id }) => !left.has(Buffer.from(id).toString('hex')));
    assert.ok(archived.length > 12);
    rig.read((db) => {
      const queries = new OrderQueries(db);
      for (const { account, hash } of all) {
        assert.notEqual(queries.byHash(account, hash), null);
        assert.equal(queries.byHash(account + 1, hash), null, 'of another account');
        assert.equal(queries.wasAccepted(hash.subarray(0, 16), null), true);
      }
      for (const { account, hash } of archived) {
        assert.equal(queries.wasAccepted(hash, account), true);
        assert.equal(queries.wasAccepted(hash, account + 1), false, 'a stranger hears nothing');
      }
      const unknown = Uint8Array.from(archived[0].hash, (byte, at) => (at < 8 ? byte : byte ^ 1));
      assert.equal(queries.wasAccepted(unknown, null), false, 'a hash that begins like another');
    });
    for (const name of filesIn(rig)) rmSync(join(folderOf(rig), name));
    rig.read((db) => {
      const queries = new OrderQueries(db);
      for (const { account, hash } of archived) {
        assert.equal(queries.wasAccepted(hash.subarray(0, 16), null), null, 'it may have been accepted');
        assert.equal(queries.byHash(account, hash), null);
      }
    });
  });

  it('gives its orders back to a read.db that is made anew where the journals were trimmed', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(150);
    rig.snapshot();
    rig.trade(60);
    rig.snapshot();
    rig.project();
    archiveAll(rig);
    const known = new Set(rig.read((db) => db.prepare<[], string>('SELECT hex(id) FROM orders').pluck().all()));
    const archived = count(rig, 'sum(orders) FROM archived_files');
    rig.trim();
    for (const journal of rig.journals) assert.ok(journal.firstSequence > 1, 'the journals are trimmed');
    for (const suffix of ['', '-wal', '-shm']) rmSync(rig.readDbPath + suffix, { force: true });
    rig.project();
    const back = rig.read((db) => db.prepare<[], string>('SELECT hex(id) FROM orders').pluck().all());
    const taken = back.filter((id) => !known.has(id)).length;
    assert.equal(taken, archived, 'every archived order is in read.db again, once');
    rig.trade(20);
    archiveAll(rig);
    assert.ok(count(rig, 'sum(orders) FROM archived_files') >= archived);
    assert.equal(filesIn(rig).length, count(rig, 'count(*) FROM archived_files'), 'no other file is left');
  });

  it('gives back the orders of shards that are no more, with those of the first', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(150);
    archiveAll(rig);
    const archived = count(rig, 'sum(orders) FROM archived_files');
    const takenBy = (shard: number, shards: number): number => {
      const taken: number[] = [];
      takeBack(folderOf(rig), { shard, sequence: LAST, shards }, (order) => taken.push(order.shard));
      return taken.length;
    };
    assert.ok(takenBy(1, 2) > 0);
    assert.equal(takenBy(0, 2) + takenBy(1, 2), archived);
    assert.equal(takenBy(0, 1), archived, 'of a shard that is no more too');
    assert.equal(takenBy(1, 3), takenBy(1, 2));
  });

  it('reads files of the first layout, which have no blocks', () => {
    const rig = rigOf({ shards: 2 });
    rig.trade(200);
    rig.project();
    const all = orders(rig);
    archiveAll(rig);
    const db = new Database(rig.readDbPath);
    const named = archiveFiles(folderOf(rig)).filter((_, index) => index % 2 === 0);
    assert.ok(named.length > 3);
    for (const { file, sha256 } of named)
      toFirstLayout(db, join(folderOf(rig), archiveFileName({ file, sha256 })), file);
    db.close();
    assertWhole(rig, 'the rows are those of a read.db without archive');
    rig.read((readDb) => {
      const queries = new OrderQueries(readDb);
      for (const { account, hash } of all) {
        assert.notEqual(queries.byHash(account, hash), null);
        assert.equal(queries.wasAccepted(hash.subarray(0, 16), null), true);
      }
    });
    let taken = 0;
    for (const shard of [0, 1]) takeBack(folderOf(rig), { shard, sequence: LAST, shards: 2 }, () => taken++);
    assert.equal(taken, count(rig, 'sum(orders) FROM archived_files'));
  });

  it('returns the space of rows that have left read.db to the system, in steps that bound its log', () => {
    const rig = rigOf();
    rig.trade(10);
    rig.project();
    const filler = new Database(rig.readDbPath);
    filler.exec(`
      CREATE TABLE filler AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 32000)
        SELECT n, randomblob(1000) AS data FROM n;
      CREATE INDEX filler_n ON filler (data);
      DELETE FROM filler WHERE n % 16 > 0`);
    filler.close();
    const beforeBytes = statSync(rig.readDbPath).size;
    const projector = rig.projector();
    projector.step(true);
    let steps = 0;
    for (; projector.archive(SMALL_PACE); steps++) {
      assert.ok(statSync(`${rig.readDbPath}-wal`).size < 80 << 20, 'the log stays below its bound');
    }
    assert.ok(steps > 10, `${steps} steps`);
    projector.close();
    const afterBytes = statSync(rig.readDbPath).size;
    assert.ok(afterBytes < beforeBytes / 2, `${beforeBytes} bytes before, ${afterBytes} after`);
    const [problem] = rig.read((db) => db.pragma('integrity_check') as { integrity_check: string }[]);
    assert.equal(problem.integrity_check, 'ok');
  });

  it('leaves the space in a file of an older version, a copy of which can return it', () => {
    const rig = rigOf();
    rig.trade(10);
    rig.project();
    const older = new Database(rig.readDbPath);
    older.pragma('auto_vacuum = NONE');
    older.exec('VACUUM');
    assert.equal(givesPagesBack(older), false);
    older.close();
    const copy = join(rig.directory, 'copy.db');
    rig.read((db) => copyDatabase(db, copy));
    assert.equal(rig.read(givesPagesBack, copy), true);
    rig.read((db) => copyDatabase(db, `${copy}.again`), copy);
    assert.equal(rig.read(givesPagesBack, `${copy}.again`), true);
  });

  it('is made anew with the read.db, where the journals are whole', () => {
    const rig = rigOf();
    rig.trade(150);
    archiveAll(rig);
    for (const suffix of ['', '-wal', '-shm']) rmSync(rig.readDbPath + suffix, { force: true });
    archiveAll(rig);
    assert.equal(filesIn(rig).length, count(rig, 'count(*) FROM archived_files'));
    assertWhole(rig, 'no order is there twice');
  });
});

/** Makes a file as version 1 of the layout has it, in the place of this one. */
function toFirstLayout(readDb: Database.Database, path: string, file: number): void {
  const [from, part] = [new Database(path, { readonly: true }), `${path}.part`];
  const to = new Database(part);
  to.exec('PRAGMA foreign_keys = OFF');
  to.exec(ORDERS.schema);
  const add = to.prepare(insert(ORDERS));
  for (const table of tablesOf(from)) for (const row of table.prepare('SELECT * FROM orders').all()) add.run(row);
  setUserVersion(to, 1);
  from.close();
  to.close();
  const sha256 = hashOf(part);
  rmSync(path);
  renameSync(part, join(path, '..', archiveFileName({ file, sha256 })));
  readDb.prepare('UPDATE archived_files SET sha256 = ? WHERE file = ?').run(sha256, file);
}

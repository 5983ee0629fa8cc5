/**
 * read.db when the journals no longer have their first records: its opening state, and the files that are kept for it.
 */
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { differences } from '../../../../engine/projector/contents.ts';
import { upgradeReadDb } from '../../../../engine/projector/upgrade.ts';
import { keptSnapshots } from '../../../../engine/snapshot/maker.ts';
import { listSnapshots } from '../../../../engine/snapshot/snapshot.ts';
import { ORDERS } from '../../../../shared/tables/orders.ts';
import { COST_BASIS } from '../../../../shared/tables/positions.ts';
import { READ_DB_VERSION } from '../../../../shared/tables/readDb.ts';
import { BEFORE_CANDLES, BEFORE_HOLDERS, BEFORE_OUTCOMES } from '../../../support/olderReadDb.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { watchFiles } from '../../../support/watchFiles.ts';

type Row = Record<string, number | string | null>;

/** Rows that follow from the state of the engine alone. */
const OF_THE_STATE = [
  `SELECT hex(id) AS id, slot, status, remaining_lots, filled_notional_micro, client_order_id
   FROM orders WHERE slot IS NOT NULL ORDER BY id`,
  'SELECT account, market, outcome, quantity_atomic FROM positions WHERE quantity_atomic <> 0 ORDER BY 1, 2, 3',
  'SELECT market, hex(uuid) AS uuid, status, start_ms, end_ms FROM markets ORDER BY market',
  'SELECT market, shard, status, open_interest_atomic FROM market_stats ORDER BY market',
  'SELECT account, shard, reserved_micro FROM account_stats WHERE reserved_micro <> 0 ORDER BY 1, 2',
  'SELECT shard, active_markets FROM exchange_shards ORDER BY shard',
  'SELECT * FROM trade_heads ORDER BY shard',
  'SELECT * FROM cursors ORDER BY shard',
];

let open: ProjectionRig[] = [];
describe('trimmed journals', () => {
  afterEach(() => {
    for (const rig of open) rig.close();
    open = [];
  });

  function rigOf(options: ConstructorParameters<typeof ProjectionRig>[0]): ProjectionRig {
    const rig = new ProjectionRig(options);
    open.push(rig);
    return rig;
  }

  /** Journals that begin with a snapshot, and trades after it. */
  function trimmed(shards: number): ProjectionRig {
    const rig = rigOf({ shards });
    rig.trade(90);
    rig.snapshot();
    rig.trade(40);
    rig.snapshot();
    rig.project();
    rig.trim();
    for (const journal of rig.journals) assert.ok(journal.firstSequence > 1, 'the journals are trimmed');
    rig.trade(40);
    return rig;
  }

  function lose(rig: ProjectionRig): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(rig.readDbPath + suffix, { force: true });
  }

  function damage(rig: ProjectionRig, sql: string): void {
    const db = new Database(rig.readDbPath);
    db.exec(sql);
    db.close();
  }

  const all = (rig: ProjectionRig, sql: string): Row[] => rig.read((db) => db.prepare<[], Row>(sql).all());

  describe('a read.db that begins with a snapshot', () => {
    for (const shards of [1, 2]) {
      it(`has every open order and every position, and all that has happened since (shards: ${shards})`, () => {
        const rig = trimmed(shards);
        rig.project();
        const starts = rig.journals.map(({ firstSequence }, shard) => ({ shard, sequence: firstSequence - 1 }));
        const before = OF_THE_STATE.map((sql) => all(rig, sql));
        const trades = 'SELECT hex(id) AS id, lots, maker_fee, taker_fee, matched_ms FROM trades ORDER BY id';
        const tradesBefore = all(rig, trades);
        lose(rig);
        rig.project();
        for (const [index, sql] of OF_THE_STATE.entries()) assert.deepEqual(all(rig, sql), before[index], sql);
        assert.deepEqual(all(rig, 'SELECT shard, sequence FROM history_starts ORDER BY shard'), starts);
        const [{ since }] = all(rig, 'SELECT max(time_ms) AS since FROM history_starts') as [{ since: number }];
        const isSince = ({ matched_ms }: Row): boolean => Number(matched_ms) > since;
        assert.ok(tradesBefore.filter(isSince).length > 5, 'there are trades since');
        assert.deepEqual(all(rig, trades).filter(isSince), tradesBefore.filter(isSince));
        assert.ok(all(rig, trades).length < tradesBefore.length, 'those before are gone');
      });
    }

    it('marks each position whose cost it cannot know, until nothing of it is held', () => {
      const rig = trimmed(1);
      lose(rig);
      rig.project();
      const marked = all(rig, `SELECT market FROM positions WHERE cost_basis = ${COST_BASIS.UNKNOWN}`);
      const [first, others] = [0, 1].map((market) => marked.filter((row) => (row['market'] === 0) === (market === 0)));
      assert.ok(first!.length > 0 && others!.length > 0);
      rig.decide(1_000_000);
      rig.project();
      const decided = all(rig, 'SELECT quantity_atomic, cost_basis, cost_micro FROM positions WHERE market = 0');
      for (const row of decided) assert.deepEqual({ ...row, quantity_atomic: 0, cost_micro: 0 }, row);
      const recovered = decided.filter((row) => row['cost_basis'] === COST_BASIS.RECOVERED);
      assert.equal(recovered.length, first!.length, 'what they have realized is not known');
      const kept = all(rig, `SELECT 1 FROM positions WHERE market <> 0 AND cost_basis = ${COST_BASIS.UNKNOWN}`);
      assert.ok(kept.length > 0, 'the others stay marked');
    });

    it('makes no news of what was decided before it begins (RULES.md 14.64)', () => {
      const rig = rigOf({ shards: 1 });
      rig.trade(60);
      rig.decide(1_000_000);
      for (let times = 0; times < 2; times++) {
        rig.trade(40);
        rig.snapshot();
      }
      rig.project();
      const decisions = 'SELECT decided_sequence, resolved_ms FROM market_stats WHERE market = 0';
      const [known] = all(rig, decisions);
      assert.ok(Number(known!['decided_sequence']) > 1);
      rig.trim();
      lose(rig);
      rig.project();
      assert.deepEqual(all(rig, decisions), [{ ...known, decided_sequence: 1 }]);
    });

    it('has the same rows after a restart as without one, and no private frames that it could not make', () => {
      const [one, other] = [trimmed(1), trimmed(1)];
      for (const rig of [one, other]) lose(rig);
      one.project();
      one.trade(40);
      one.project();
      other.trade(40);
      other.project();
      assert.deepEqual(differences(other.contents(), one.contents()), []);
      const [{ sequence }] = all(one, 'SELECT sequence FROM history_starts') as [{ sequence: number }];
      assert.deepEqual(all(one, 'SELECT * FROM private_tail_starts'), [{ shard: 0, shard_sequence: sequence + 1 }]);
    });
  });

  describe('a read.db that does not continue trimmed journals', () => {
    it('begins anew, in each shard from its snapshot, and is kept', () => {
      const rig = trimmed(2);
      rig.project();
      const trades = (path?: string): number =>
        rig.read((db) => db.prepare<[], number>('SELECT count(*) FROM trades').pluck().get()!, path);
      const before = trades();
      damage(rig, 'UPDATE cursors SET chain_low = chain_low + 1 WHERE shard = 1');
      const state = OF_THE_STATE.filter((sql) => !sql.includes('cursors')).map((sql) => all(rig, sql));
      rig.project();
      assert.deepEqual(
        OF_THE_STATE.filter((sql) => !sql.includes('cursors')).map((sql) => all(rig, sql)),
        state,
      );
      assert.equal(all(rig, 'SELECT * FROM history_starts').length, 2);
      assert.ok(trades() < before);
      assert.equal(trades(`${rig.readDbPath}.replaced`), before);
    });
  });

  describe('a read.db of an older version, when journals were trimmed', () => {
    const VERSION = READ_DB_VERSION - 1;
    const WITHOUT_STEP = 1;
    const [INDEX] = /CREATE INDEX orders_created [^;]*/.exec(ORDERS.schema)!;
    /** As if the present version had added a table, a column and an index. */
    const BACK = `
    DROP TABLE trade_heads; ALTER TABLE positions DROP COLUMN cost_basis; DROP INDEX orders_created;
    PRAGMA user_version = ${VERSION}`;
    const STEP = `
    INSERT INTO trade_heads SELECT shard, count(*) FROM trades, cursors GROUP BY shard;
    ALTER TABLE positions ADD COLUMN cost_basis INTEGER NOT NULL DEFAULT 0;
    ${INDEX.replace(' ON', '  ON')}`;

    function older(): ProjectionRig {
      const rig = trimmed(1);
      rig.project();
      damage(rig, BACK);
      return rig;
    }

    function upgrade(rig: ProjectionRig, steps: Record<number, string>): boolean {
      const db = new Database(rig.readDbPath);
      try {
        return upgradeReadDb(db, VERSION, steps);
      } finally {
        db.close();
      }
    }

    it('is brought up by a step, with all its history', () => {
      const rig = trimmed(1);
      rig.project();
      const expected = rig.contents();
      const again = older();
      assert.ok(upgrade(again, { [VERSION]: STEP }));
      again.project();
      assert.deepEqual(differences(expected, again.contents()), []);
      again.trade(20);
      again.project();
      assert.equal(all(again, 'SELECT * FROM history_starts').length, 0);
    });

    it('is left as it is when there is no step, or it does not lead to the present form', () => {
      const rig = older();
      const before = all(rig, 'SELECT name, sql FROM sqlite_schema ORDER BY name');
      assert.equal(upgrade(rig, {}), false);
      assert.equal(upgrade(rig, { [VERSION]: '' }), false);
      assert.equal(upgrade(rig, { [VERSION]: STEP.replace('orders_created', 'orders_made') }), false);
      assert.throws(() => upgrade(rig, { [VERSION]: 'UPDATE nowhere SET a = 1' }), /no such table/);
      assert.deepEqual(all(rig, 'SELECT name, sql FROM sqlite_schema ORDER BY name'), before);
      assert.deepEqual(all(rig, 'PRAGMA user_version'), [{ user_version: VERSION }]);
    });

    it('of version 27 has its candles from its trades', () => {
      const rig = trimmed(2);
      rig.project();
      const candles = all(rig, 'SELECT * FROM candles ORDER BY market, span_ms, start_ms');
      assert.ok(candles.length > 50, `${candles.length} candles`);
      damage(rig, `${BEFORE_CANDLES} PRAGMA user_version = 27`);
      rig.project();
      assert.equal(all(rig, 'SELECT * FROM history_starts').length, 0, 'it was brought up');
      assert.deepEqual(all(rig, 'SELECT * FROM candles ORDER BY market, span_ms, start_ms'), candles);
    });

    it('of version 29 counts the holders of its markets', () => {
      const rig = trimmed(2);
      rig.project();
      const holders = all(rig, 'SELECT market, holders FROM market_stats ORDER BY market') as { holders: number }[];
      assert.ok(holders.some((market) => market.holders > 1));
      damage(rig, `${BEFORE_HOLDERS} PRAGMA user_version = 29`);
      rig.project();
      assert.equal(all(rig, 'SELECT * FROM history_starts').length, 0, 'it was brought up');
      assert.deepEqual(all(rig, 'SELECT market, holders FROM market_stats ORDER BY market'), holders);
    });

    it('of version 28 asks for the whole catalogue again, with outcomes, and keeps its history', () => {
      const rig = trimmed(2);
      rig.project();
      const trades = all(rig, 'SELECT count(*) AS trades FROM trades');
      damage(rig, `INSERT OR REPLACE INTO catalog_cursor VALUES (0, 7); ${BEFORE_OUTCOMES} PRAGMA user_version = 28`);
      rig.project();
      assert.deepEqual(all(rig, 'SELECT * FROM catalog_cursor'), []);
      assert.deepEqual(all(rig, 'SELECT count(*) AS trades FROM trades'), trades);
      assert.equal(all(rig, 'SELECT * FROM history_starts').length, 0, 'it was brought up');
    });

    it('of version 25 asks for the whole catalogue again, and keeps its history', () => {
      const rig = trimmed(2);
      rig.project();
      damage(
        rig,
        `${BEFORE_CANDLES} INSERT OR REPLACE INTO catalog_cursor VALUES (0, 7); ALTER TABLE trades DROP COLUMN after_us;
         ALTER TABLE market_stats DROP COLUMN last_fill_us; PRAGMA user_version = 25`,
      );
      rig.project();
      assert.deepEqual(all(rig, 'SELECT * FROM catalog_cursor'), []);
      assert.equal(all(rig, 'SELECT * FROM history_starts').length, 0);
    });

    it('stays beside one that begins with a snapshot, when there is no step', () => {
      const rig = older();
      damage(rig, `PRAGMA user_version = ${WITHOUT_STEP}`);
      rig.project();
      assert.equal(all(rig, 'SELECT * FROM history_starts').length, 1);
      const old = (db: Database.Database): unknown => db.prepare('SELECT count(*) AS trades FROM trades').get();
      const { trades } = rig.read(old, `${rig.readDbPath}.version-${WITHOUT_STEP}`) as { trades: number };
      assert.ok(trades > all(rig, 'SELECT 1 FROM trades').length);
    });

    it('has its name beside the new one only when it is whole and durable (DBCOPY-1)', (t) => {
      const rig = older();
      damage(rig, `PRAGMA user_version = ${WITHOUT_STEP}`);
      const copy = `${rig.readDbPath}.version-${WITHOUT_STEP}`;
      // Left by a process that was killed in the meantime.
      writeFileSync(`${copy}.part`, 'half a file');
      const calls = watchFiles(t);
      rig.project();
      assert.deepEqual(calls.slice(0, 3), [
        `sync ${copy}.part`,
        `rename ${copy}.part ${copy}`,
        `sync ${rig.directory}`,
      ]);
      assert.ok(!existsSync(`${copy}.part`));
    });
  });

  describe('a file that takes the place of read.db while the exchange runs', () => {
    it('is waited for, and no journal is cut for the sake of the old one, before a shard is connected', () => {
      const rig = rigOf({ shards: 2 });
      for (let snapshot = 0; snapshot < 2; snapshot++) {
        rig.trade(60);
        rig.snapshot();
        rig.project();
      }
      rig.project();
      const before = [0, 1].map((shard) => [rig.progress.projected(shard), rig.progress.trimmable(shard)]);
      for (const [projected, trimmable] of before) assert.ok(projected! > 40 && trimmable! > 20, String(before));
      lose(rig);
      const generation = rig.progress.generation();
      const projector = rig.projector();
      assert.equal(rig.progress.generation(), generation + 1, 'queries open the new file');
      for (const shard of [0, 1]) {
        assert.equal(rig.progress.projected(shard), 0);
        assert.equal(rig.progress.trimmable(shard), 0);
      }
      assert.ok(rig.progress.isBeingMade(), 'what asks for no record is answered only when all is there again');
      while (projector.step(true));
      projector.close();
      assert.ok(!rig.progress.isBeingMade());
      assert.deepEqual(
        [0, 1].map((shard) => rig.progress.projected(shard)),
        before.map(([projected]) => projected),
      );
    });

    it('leaves the progress where the file is the same', () => {
      const rig = rigOf({ shards: 2 });
      rig.trade(60);
      rig.project();
      assert.ok(!rig.progress.isBeingMade());
      const before = [0, 1].map((shard) => rig.progress.projected(shard));
      const projector = rig.projector();
      assert.deepEqual(
        [0, 1].map((shard) => rig.progress.projected(shard)),
        before,
      );
      projector.close();
    });
  });

  describe('the rows that a journal keeps', () => {
    it('are those after a snapshot that is kept as well', () => {
      const rig = rigOf({ keepRecords: 60 });
      for (let round = 0; round < 8; round++) {
        rig.trade(30);
        rig.project();
        rig.snapshot();
        rig.project();
        rig.trim();
        const first = rig.journals[0].firstSequence;
        const kept = listSnapshots(rig.directory, 0).map(({ sequence }) => sequence);
        assert.ok(first === 1 || kept.includes(first - 1), `the journal starts at ${first}, snapshots are ${kept}`);
        assert.ok(kept.length <= 5, `${kept.length} snapshots`);
      }
      assert.ok(rig.journals[0].firstSequence > 1, 'rows were trimmed');
      assert.ok(rig.journals[0].lastSequence - rig.journals[0].firstSequence >= 60, 'and 60 are there');
    });

    it('are at least as many as they have to be, with a snapshot for each half of them', () => {
      const files = (...sequences: number[]) => sequences.map((sequence) => ({ path: `${sequence}`, sequence }));
      const result = ({ kept, base }: ReturnType<typeof keptSnapshots>) => [
        kept.map(({ sequence }) => sequence),
        base?.sequence ?? null,
      ];
      assert.deepEqual(result(keptSnapshots([], 10)), [[], null]);
      assert.deepEqual(result(keptSnapshots(files(100), 0)), [[100], null]);
      assert.deepEqual(result(keptSnapshots(files(200, 100), 0)), [[200, 100], 100]);
      assert.deepEqual(result(keptSnapshots(files(300, 200, 100), 0)), [[300, 200], 200]);
      assert.deepEqual(result(keptSnapshots(files(300, 200, 100), 200)), [[300, 200, 100], 100]);
      assert.deepEqual(result(keptSnapshots(files(300, 200, 100), 1000)), [[300, 200], null]);
      assert.deepEqual(result(keptSnapshots(files(900, 800, 700, 600, 500), 1000)), [[900, 800, 500], null]);
    });

    it('include those that read.db does not have on the disk yet', (t) => {
      const rig = rigOf({});
      rig.trade(30);
      rig.snapshot();
      rig.trade(30);
      rig.snapshot();
      assert.equal(rig.progress.trimmable(0), 0, 'no projector has run');
      const projector = rig.projector();
      const calls = watchFiles(t);
      projector.step(true);
      const [, older] = listSnapshots(rig.directory, 0);
      assert.equal(rig.progress.trimmable(0), older!.sequence);
      assert.deepEqual(calls, [`sync ${rig.readDbPath}-wal`, `sync ${rig.directory}`]);
      projector.close();
    });
  });
});

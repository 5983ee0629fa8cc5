/** `npm run admin -- projections`: read.db made anew, from nothing and from a copy, and compared (RULES.md 10.19). */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import type { ShardFile } from '../../../../engine/admin/directory.ts';
import { backUp, rebuild, verifyProjections } from '../../../../engine/admin/projections.ts';
import { differences } from '../../../../engine/projector/contents.ts';
import { READ_DB_VERSION } from '../../../../shared/tables/readDb.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { seededRandom } from '../../../support/random.ts';

const SEED = 11;

let open: ProjectionRig[] = [];
describe('projections', () => {
  afterEach(() => {
    for (const rig of open) rig.close();
    open = [];
  });

  function rigOf(options: ConstructorParameters<typeof ProjectionRig>[0] = {}): ProjectionRig {
    const rig = new ProjectionRig(options);
    open.push(rig);
    return rig;
  }

  function filesOf({ directory, journalPaths }: ProjectionRig): ShardFile[] {
    const shards = journalPaths.length;
    return journalPaths.map((journalPath, shard) => ({ shard, shards, directory, journalPath, key: TEST_KEY }));
  }

  type Given = { from?: string; acceptLoss?: boolean; onLine?: (line: string) => void };

  function run(command: typeof rebuild, rig: ProjectionRig, { from, acceptLoss = false, onLine }: Given = {}) {
    const lines: string[] = [];
    const print = (line: string): void => {
      lines.push(line);
      onLine?.(line);
    };
    const isDone = command(filesOf(rig), { from, acceptLoss, time: 'then', nowMs: () => 0, print });
    return { isDone, lines, text: lines.join('\n') };
  }

  /** Cuts the journals behind two snapshots. */
  function trim(rig: ProjectionRig): void {
    for (let snapshot = 0; snapshot < 2; snapshot++) {
      rig.trade(40);
      rig.snapshot();
    }
    rig.project();
    rig.trim();
    assert.ok(rig.journals[0].firstSequence > 1);
  }

  function damage(rig: ProjectionRig, sql: string): void {
    const db = new Database(rig.readDbPath);
    db.exec(sql);
    db.close();
  }

  function firstOf(rig: ProjectionRig, select: string): unknown {
    const db = new Database(rig.readDbPath, { readonly: true });
    try {
      return db.prepare(`SELECT ${select}`).pluck().get();
    } finally {
      db.close();
    }
  }

  describe('read.db made anew', () => {
    it('is row for row the one that followed record by record, with restarts', () => {
      const rig = rigOf({ shards: 2 });
      for (let part = 0; part < 5; part++) {
        rig.trade(30);
        rig.project();
      }
      rig.decide(1_000_000);
      rig.project();
      const followed = rig.contents();
      assert.ok(
        followed['trades']!.rows > 20 && followed['fund_movements']!.rows > 8 && followed['positions']!.rows > 8,
      );
      const { isDone, text } = run(rebuild, rig);
      assert.ok(isDone, text);
      const records = rig.journals.reduce((sum, { lastSequence }) => sum + lastSequence, 0);
      assert.match(text, new RegExp(`^${records} records to follow\n${records} of ${records}\n`));
      assert.match(text, /read\.db is made, with the history from the first record on/);
      assert.deepEqual(differences(followed, rig.contents()), []);
      assert.deepEqual(
        readdirSync(rig.directory).filter((name) => /^read\.db(?!$|-wal$|-shm$)/.test(name)),
        [],
        'nothing is left beside it',
      );
      rig.trade(10);
      rig.project();
      assert.deepEqual(differences(rig.undisturbed(), rig.contents()), [], 'and is followed on');
    });

    it('leaves the old one when it is interrupted at any step, and is made by the next try', () => {
      const rig = rigOf();
      rig.trade(30);
      rig.project();
      const before = rig.contents();
      const steps = run(rebuild, rig).lines.length;
      assert.ok(steps >= 4);
      for (let step = 1; step < steps; step++) {
        let lines = 0;
        const onLine = (): void => {
          if (++lines === step) throw new Error('interrupted');
        };
        assert.throws(() => run(rebuild, rig, { onLine }), /interrupted/);
        assert.deepEqual(differences(before, rig.contents()), []);
      }
      // A process that is killed leaves its file, too.
      for (const suffix of ['', '-wal', '-shm']) writeFileSync(`${rig.readDbPath}.rebuilding${suffix}`, 'half a file');
      assert.ok(run(rebuild, rig).isDone);
      assert.deepEqual(differences(before, rig.contents()), []);
    });

    it('replaces one that is damaged, missing or of another version, and keeps what it replaced', () => {
      const rig = rigOf();
      rig.trade(30);
      rig.project();
      const expected = rig.contents();
      writeFileSync(rig.readDbPath, 'anything but a database. '.repeat(200));
      assert.ok(run(rebuild, rig).isDone);
      assert.deepEqual(differences(expected, rig.contents()), []);
      assert.match(readFileSync(`${rig.readDbPath}.before-then`, 'utf8'), /^anything/);
      damage(rig, `DROP TABLE trades; PRAGMA user_version = ${READ_DB_VERSION + 1}`);
      assert.ok(run(rebuild, rig).isDone);
      assert.deepEqual(differences(expected, rig.contents()), []);
      rmSync(rig.readDbPath);
      assert.ok(run(rebuild, rig).isDone);
      assert.deepEqual(differences(expected, rig.contents()), []);
    });
  });

  describe('a copy of read.db', () => {
    it('taken while the projector follows brings back what trimmed journals do not have any more', () => {
      const rig = rigOf();
      const copy = join(temporaryDirectory(), 'read.db.copy');
      rig.trade(30);
      rig.snapshot();
      rig.trade(10);
      const projector = rig.projector();
      projector.step(true);
      rig.trade(10);
      assert.ok(backUp(rig.directory, copy, () => undefined));
      while (projector.step(true));
      projector.close();
      assert.throws(() => backUp(rig.directory, copy, () => undefined), /exists/);
      rig.trade(40);
      const expected = rig.undisturbed();
      rig.snapshot();
      rig.project();
      rig.trim();
      assert.ok(rig.journals[0].firstSequence > 1);
      rmSync(rig.readDbPath);
      const { isDone, text } = run(rebuild, rig, { from: copy });
      assert.ok(isDone, text);
      assert.deepEqual(differences(expected, rig.contents()), []);
      assert.ok(existsSync(copy), 'the copy stays');
    });

    it('is refused when the journals do not continue it, or it is damaged, of another version or missing', () => {
      const rig = rigOf();
      const folder = temporaryDirectory();
      const old = join(folder, 'old');
      rig.trade(10);
      rig.project();
      backUp(rig.directory, old, () => undefined);
      trim(rig);
      assert.throws(() => run(rebuild, rig, { from: old }), /do not have the record after it any more/);
      const bad = join(folder, 'bad');
      writeFileSync(bad, 'anything but a database. '.repeat(200));
      assert.throws(() => run(rebuild, rig, { from: bad }), /is damaged, or of another version/);
      assert.throws(() => run(rebuild, rig, { from: join(folder, 'none') }), /does not exist/);
      const other = new Database(old);
      other.pragma('user_version = 1');
      other.close();
      assert.throws(() => run(rebuild, rig, { from: old }), /of another version/);
      assert.ok(run(verifyProjections, rig).isDone, 'nothing was changed');
    });
  });

  describe('read.db made anew from trimmed journals', () => {
    it('gives up history that the old one has with consent only, and keeps that one', () => {
      const rig = rigOf();
      trim(rig);
      const before = rig.contents();
      const refused = run(rebuild, rig);
      assert.equal(refused.isDone, false);
      assert.match(refused.text, /has history from before \S+ that the journals do not have any more/);
      assert.deepEqual(differences(before, rig.contents()), []);
      const { isDone, text } = run(rebuild, rig, { acceptLoss: true });
      assert.ok(isDone, text);
      assert.match(text, /with the history from 20\S+ on/);
      assert.deepEqual(differences(before, rig.contents(`${rig.readDbPath}.before-then`)), []);
      assert.ok(run(verifyProjections, rig).isDone);
      assert.ok(run(rebuild, rig).isDone, 'there is nothing more to lose');
    });
  });

  describe('the comparison of read.db', () => {
    it('finds a value that was changed, by the journals or, where they were trimmed, by the state', () => {
      const rig = rigOf();
      rig.trade(40);
      rig.project();
      assert.deepEqual(run(verifyProjections, rig).lines.at(-1), 'ok');
      damage(rig, 'UPDATE trades SET lots = lots + 1 WHERE id = (SELECT max(id) FROM trades)');
      assert.match(run(verifyProjections, rig).text, /problem: trades has \d+ rows, \d+ follow from .* other values/);
      damage(rig, 'UPDATE trades SET lots = lots - 1 WHERE id = (SELECT max(id) FROM trades)');
      assert.ok(run(verifyProjections, rig).isDone);
      const day = 'WHERE market = (SELECT min(market) FROM candles) AND span_ms = 86400000';
      damage(rig, `UPDATE candles SET high_ticks = high_ticks + 1 ${day}`);
      assert.match(run(verifyProjections, rig).text, /problem: candles has \d+ rows, \d+ follow from .* other values/);
      damage(rig, `UPDATE candles SET high_ticks = high_ticks - 1 ${day}`);
      assert.ok(run(verifyProjections, rig).isDone);
      trim(rig);
      damage(rig, 'UPDATE positions SET quantity_atomic = quantity_atomic + 1 WHERE account = 2 AND market = 0');
      assert.match(run(verifyProjections, rig).text, /problem: shard 0: position 2\/0\/0 differs from the engine's/);
      damage(rig, 'UPDATE positions SET quantity_atomic = quantity_atomic - 1 WHERE account = 2 AND market = 0');
      damage(
        rig,
        'UPDATE orders SET remaining_lots = 1 WHERE id = (SELECT max(id) FROM orders WHERE slot IS NOT NULL)',
      );
      assert.match(run(verifyProjections, rig).text, /problem: shard 0: open order [0-9a-f]{64} differs/);
      damage(rig, 'DELETE FROM orders WHERE id = (SELECT max(id) FROM orders WHERE slot IS NOT NULL)');
      assert.match(run(verifyProjections, rig).text, /problem: shard 0: open order [0-9a-f]{64} is missing/);
    });

    it('finds an order that is not what was signed for it, also where its journal was trimmed', () => {
      const rig = rigOf();
      trim(rig);
      const order = firstOf(rig, 'lower(hex(id)) FROM orders WHERE slot IS NULL AND remaining_lots = 0 AND side = 0');
      const isIt = `WHERE lower(hex(id)) = '${order}'`;
      for (const [column, change, problem] of [
        ['limit_ticks', '+ 1', /limit in ticks: the row says \d+, its signed amounts \d+/],
        ['lots', '+ 1', /lots: the row says \d+, its signed amounts \d+/],
        ['taker_amount', '* 0', /an amount that was signed is missing/],
        ['remaining_lots', '- 1', /more remains than was ordered/],
        ['filled_notional_micro', '* 3', /its fills come to \d+ micro-USDC, at its limit they come to \d+/],
      ] as const) {
        const value = firstOf(rig, `${column} FROM orders ${isIt}`);
        damage(rig, `UPDATE orders SET ${column} = ${column} ${change} ${isIt}`);
        assert.match(run(verifyProjections, rig).text, problem);
        damage(rig, `UPDATE orders SET ${column} = ${value} ${isIt}`);
        assert.ok(run(verifyProjections, rig).isDone);
      }
    });

    it('takes read.db where it stands: an exchange ends before all is followed (RULES.md 10.19)', () => {
      const rig = rigOf({ shards: 2 });
      rig.trade(40);
      rig.project();
      rig.trade(20);
      const { isDone, text } = run(verifyProjections, rig);
      assert.ok(isDone, text);
      assert.match(text, /the next start follows the records up to/);
      damage(rig, 'UPDATE trades SET lots = lots + 1 WHERE id = (SELECT max(id) FROM trades)');
      assert.match(run(verifyProjections, rig).text, /problem: trades has \d+ rows/);
      rig.project();
      trim(rig);
      rig.trade(20);
      rig.snapshot();
      assert.ok(run(verifyProjections, rig).isDone, 'also when a snapshot is newer than read.db');
      damage(rig, 'UPDATE cursors SET chain_low = chain_low + 1 WHERE shard = 1');
      assert.match(run(verifyProjections, rig).text, /problem: shard 1: the journal does not go on after record/);
    });

    it(`finds flipped bits, unless no row has changed (seed ${SEED})`, () => {
      const rig = rigOf();
      rig.trade(40);
      rig.project();
      const good = readFileSync(rig.readDbPath);
      const expected = rig.contents();
      const random = seededRandom(SEED);
      // Most of a small file is empty.
      const places = [...good.keys()].filter((at) => at >= 100 && good[at] !== 0);
      let found = 0;
      for (let flip = 0; flip < 15; flip++) {
        const bytes = Buffer.from(good);
        const at = places[Math.floor(random() * places.length)]!;
        bytes[at] ^= 1 << Math.floor(random() * 8);
        writeFileSync(rig.readDbPath, bytes);
        const isSame = (): boolean => differences(expected, rig.contents()).length === 0;
        let isRight: boolean;
        try {
          isRight = run(verifyProjections, rig).isDone;
        } catch (error) {
          assert.match(String(error), /is missing, damaged or of another version|SqliteError/, `byte ${at}`);
          isRight = false;
        }
        if (isRight) assert.ok(isSame(), `byte ${at} has changed a row`);
        else found++;
      }
      assert.ok(found >= 5, `${found} found`);
      assert.ok(run(rebuild, rig).isDone);
      assert.deepEqual(differences(expected, rig.contents()), []);
    });
  });
});

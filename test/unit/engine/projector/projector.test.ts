import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { markPath } from '../../../../engine/journal/file.ts';
import type { Keyed } from '../../../../engine/journal/shardKey.ts';
import { readOpeningState } from '../../../../engine/projector/openingState.ts';
import { BATCH_RECORDS, Projector } from '../../../../engine/projector/projector.ts';
import { CLOSE_REASON, MATCH_TYPE, ORDER_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { isDamaged } from '../../../../shared/base/damagedDatabase.ts';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';
import { setAside } from '../../../../shared/base/setAside.ts';
import { READ_DB_VERSION } from '../../../../shared/tables/readDb.ts';
import { NOT_KNOWN, Progress } from '../../../../shared/wire/progress.ts';
import type { ProjectorPort } from '../../../../shared/wire/projectorThread.ts';
import type { ProjectorOptions } from '../../../../shared/wire/threads.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { TEST_KEY, TEST_SECRET } from '../../../support/journalKey.ts';
import { JournalScript } from '../../../support/records.ts';

const folder = temporaryDirectory();

const MARKET_UUIDS = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const;
const T0 = Date.UTC(2026, 0, 1);
const ANN = 1;
const BOB = 2;
const DAY_MS = 86_400_000;
const NO_ROWS = { markets: [], events: [] };

let runs = 0;
let open: { close(): void }[] = [];
describe('the projector', () => {
  afterEach(() => {
    for (const resource of open) resource.close();
    open = [];
  });

  /** Journals, progress cells and a read.db of their own; market n belongs to shard n. */
  class Exchange {
    readonly options: Keyed<ProjectorOptions>;
    readonly progress: Progress;
    readonly scripts: JournalScript[] = [];

    constructor(shards = 1) {
      const run = join(folder, `${runs++}`);
      const journalPaths = Array.from({ length: shards }, (_, shard) => `${run}-journal-${shard}.db`);
      this.options = {
        journalPaths,
        keys: journalPaths.map(() => TEST_KEY),
        readDbPath: `${run}-read.db`,
        progress: Progress.create(shards),
      };
      this.progress = new Progress(this.options.progress);
      for (let shard = 0; shard < shards; shard++) {
        const script = new JournalScript(journalPaths[shard], shard, shards);
        open.push(script.journal);
        script.record(T0, (events) => events.market(shard, MARKET_UUIDS[shard]));
        this.scripts.push(script);
      }
    }

    get script(): JournalScript {
      return this.scripts[0];
    }

    projector(): Projector {
      const projector = new Projector(this.options);
      open.push(projector);
      return projector;
    }

    commit(): void {
      for (const [shard, script] of this.scripts.entries())
        this.progress.setCommitted(shard, script.journal.lastSequence);
    }

    catchUp(projector: Projector): void {
      this.commit();
      while (projector.step(true));
    }

    read(sql: string): Record<string, unknown>[] {
      const db = new Database(this.options.readDbPath, { readonly: true });
      try {
        return db.prepare(sql).all() as Record<string, unknown>[];
      } finally {
        db.close();
      }
    }

    dump(): unknown {
      return ['orders', 'trades', 'markets', 'cursors'].map((table) => this.read(`SELECT * FROM ${table} ORDER BY 1`));
    }

    /** The columns that fills and closes move. */
    order(hash: Uint8Array): Record<string, unknown> {
      const hex = Buffer.from(hash).toString('hex');
      const [row] = this.read(`
      SELECT status, reason, slot, remaining_lots, filled_notional_micro, shard_sequence, updated_ms
      FROM orders WHERE hash = x'${hex}'`);
      return row!;
    }
  }

  /** One of each: mint, partial fills, cancel, expiry, a slot used twice. Returns the shard's last sequence number. */
  function trade(script: JournalScript, market: number): number {
    const at = (minute: number): number => T0 + minute * 60_000;
    script.record(at(1), (events) => events.place({ slot: 0, account: ANN, market, limitTicks: 60, lots: 20_000 }));
    script.record(at(2), (events) => {
      const taker = { slot: 1, account: BOB, market, limitTicks: 45, lots: 12_000, outcome: OUTCOME.NO };
      events.order({ ...taker, clientId: 'of bob', group: 3 });
      events.fill({
        maker: 0,
        taker: 1,
        yesTicks: 60,
        lots: 12_000,
        matchType: MATCH_TYPE.MINT,
        makerFee: 6000,
        takerFee: 6000,
      });
      events.filled(1);
    });
    script.record(at(3), (events) => events.place({ slot: 1, account: BOB, market, limitTicks: 30, lots: 50_000 }));
    script.record(at(4), (events) => events.closed(1, CLOSE_REASON.USER));
    script.record(at(5), (events) => events.place({ slot: 1, account: BOB, market, limitTicks: 31, lots: 10_000 }));
    return script.record(at(6), (events) => events.closed(1, CLOSE_REASON.EXPIRED));
  }

  /** The records that have private frames. */
  function tailOf(exchange: Exchange): unknown[] {
    return exchange.read('SELECT shard_sequence FROM private_tail').map((row) => row['shard_sequence']);
  }

  describe('the projection of orders', () => {
    it('has every column of an accepted order', () => {
      const exchange = new Exchange();
      exchange.script.record(T0 + 5, (events) =>
        events.place({
          slot: 3,
          account: ANN,
          market: 0,
          limitTicks: 65,
          lots: 10_000,
          side: SIDE.SELL,
          outcome: OUTCOME.NO,
          timeInForce: TIME_IN_FORCE.GTD,
          postOnly: true,
          clientId: 'of ann',
          group: 3,
        }),
      );
      exchange.catchUp(exchange.projector());
      const [row] = exchange.read('SELECT * FROM orders');
      const { id, hash, ...columns } = row as { id: Uint8Array; hash: Uint8Array };
      assert.equal(bytesToUuid(id), timeOrderedId(T0 + 5, 0, ID_KIND.ORDER, 1));
      assert.deepEqual([...hash], [...new Array(30).fill(4), 0, 1]);
      assert.deepEqual(columns, {
        account: ANN,
        market: 0,
        shard: 0,
        slot: 3,
        side: SIDE.SELL,
        outcome: OUTCOME.NO,
        limit_ticks: 65,
        maker_amount: 1_000_000,
        taker_amount: 650_000,
        lots: 10_000,
        remaining_lots: 10_000,
        filled_notional_micro: 0,
        time_in_force: TIME_IN_FORCE.GTD,
        post_only: 1,
        fee_bps: 50,
        expiration_sec: 0,
        status: ORDER_STATUS.OPEN,
        reason: null,
        client_order_id: 'of ann',
        order_group: 3,
        order_sequence: 1,
        shard_sequence: 2,
        created_ms: T0 + 5,
        updated_ms: T0 + 5,
      });
    });

    it('counts what each party of a fill pays at the price of its own outcome', () => {
      const exchange = new Exchange();
      let maker: Uint8Array = new Uint8Array();
      let taker: Uint8Array = new Uint8Array();
      exchange.script.record(T0 + 1, (events) => {
        maker = events.place({ slot: 0, account: ANN, market: 0, limitTicks: 40, lots: 10_000, outcome: OUTCOME.NO });
      });
      exchange.script.record(T0 + 2, (events) => {
        taker = events.order({ slot: 1, account: BOB, market: 0, limitTicks: 70, lots: 4000 });
        events.fill({
          maker: 0,
          taker: 1,
          yesTicks: 60,
          lots: 4000,
          matchType: MATCH_TYPE.MINT,
        });
        events.filled(1);
      });
      exchange.catchUp(exchange.projector());
      assert.deepEqual(exchange.order(maker), {
        status: ORDER_STATUS.PARTIALLY_FILLED,
        reason: null,
        slot: 0,
        remaining_lots: 6000,
        filled_notional_micro: 4000 * 40,
        shard_sequence: 3,
        updated_ms: T0 + 2,
      });
      assert.deepEqual(exchange.order(taker), {
        status: ORDER_STATUS.FILLED,
        reason: CLOSE_REASON.FILLED,
        slot: null,
        remaining_lots: 0,
        filled_notional_micro: 4000 * 60,
        shard_sequence: 3,
        updated_ms: T0 + 2,
      });
    });

    it('adds up fills of several batches', () => {
      const exchange = new Exchange();
      const projector = exchange.projector();
      let maker: Uint8Array = new Uint8Array();
      exchange.script.record(T0 + 1, (events) => {
        maker = events.place({ slot: 0, account: ANN, market: 0, limitTicks: 40, lots: 10_000, side: SIDE.SELL });
      });
      for (const [index, _remaining] of [7000, 4000, 1000].entries()) {
        exchange.catchUp(projector);
        exchange.script.record(T0 + 2 + index, (events) => {
          events.order({ slot: 1, account: BOB, market: 0, limitTicks: 40, lots: 3000 });
          events.fill({
            maker: 0,
            taker: 1,
            yesTicks: 40,
            lots: 3000,
          });
          events.filled(1);
        });
      }
      exchange.catchUp(projector);
      const { status, remaining_lots, filled_notional_micro } = exchange.order(maker);
      assert.deepEqual(
        [status, remaining_lots, filled_notional_micro],
        [ORDER_STATUS.PARTIALLY_FILLED, 1000, 9000 * 40],
      );
    });

    it('ends an order with the status and reason of its close', () => {
      const exchange = new Exchange();
      const expected = [
        [CLOSE_REASON.USER, ORDER_STATUS.CANCELLED],
        [CLOSE_REASON.HEARTBEAT, ORDER_STATUS.CANCELLED],
        [CLOSE_REASON.EXPIRED, ORDER_STATUS.EXPIRED],
        [CLOSE_REASON.MARKET_CLOSED, ORDER_STATUS.CANCELLED],
        [CLOSE_REASON.SELF_TRADE, ORDER_STATUS.CANCELLED],
        [CLOSE_REASON.ADMIN, ORDER_STATUS.CANCELLED],
        [CLOSE_REASON.FAK_REMAINDER, ORDER_STATUS.CANCELLED],
      ] as const;
      for (const [reason] of expected) {
        exchange.script.record(T0 + 1, (events) => {
          events.place({ slot: 0, account: ANN, market: 0, limitTicks: 50, lots: 10_000 });
          events.closed(0, reason);
        });
      }
      exchange.catchUp(exchange.projector());
      const rows = exchange.read('SELECT reason, status FROM orders ORDER BY id');
      assert.deepEqual(
        rows.map(({ reason, status }) => [reason, status]),
        expected,
      );
      assert.deepEqual(exchange.read('SELECT 1 FROM orders WHERE slot IS NOT NULL'), []);
    });

    it('tells the orders of a slot apart when it is given away again inside one batch', () => {
      const exchange = new Exchange();
      trade(exchange.script, 0);
      exchange.catchUp(exchange.projector());
      const rows = exchange.read('SELECT account, limit_ticks, status, slot, client_order_id FROM orders ORDER BY id');
      assert.deepEqual(
        rows.map((row) => Object.values(row)),
        [
          [ANN, 60, ORDER_STATUS.PARTIALLY_FILLED, 0, null],
          [BOB, 45, ORDER_STATUS.FILLED, null, 'of bob'],
          [BOB, 30, ORDER_STATUS.CANCELLED, null, null],
          [BOB, 31, ORDER_STATUS.EXPIRED, null, null],
        ],
      );
    });
  });

  describe('the projection of trades', () => {
    it('has one row per fill with both parties', () => {
      const exchange = new Exchange();
      trade(exchange.script, 0);
      exchange.catchUp(exchange.projector());
      const rows = exchange.read('SELECT * FROM trades') as { id: Uint8Array }[];
      assert.equal(rows.length, 1);
      const { id, maker_order_id, taker_order_id, ...columns } = rows[0] as Record<string, unknown>;
      assert.equal(bytesToUuid(id as Uint8Array), timeOrderedId(T0 + 120_000, 0, ID_KIND.TRADE, 1));
      assert.equal(bytesToUuid(maker_order_id as Uint8Array), timeOrderedId(T0 + 60_000, 0, ID_KIND.ORDER, 1));
      assert.equal(bytesToUuid(taker_order_id as Uint8Array), timeOrderedId(T0 + 120_000, 0, ID_KIND.ORDER, 2));
      assert.deepEqual(columns, {
        market: 0,
        match_type: MATCH_TYPE.MINT,
        yes_ticks: 60,
        lots: 12_000,
        maker_account: ANN,
        maker_side: SIDE.BUY,
        maker_outcome: OUTCOME.YES,
        maker_fee: 6000,
        taker_account: BOB,
        taker_side: SIDE.BUY,
        taker_outcome: OUTCOME.NO,
        taker_fee: 6000,
        matched_ms: T0 + 120_000,
        after_us: 0,
      });
    });
  });

  describe('the projection of markets', () => {
    it('keeps volumes exact beyond the safe integers', () => {
      const exchange = new Exchange();
      const lots = 10 ** 13;
      const fills = 12;
      exchange.script.record(T0 + 1, (events) => {
        for (let fill = 0; fill < fills; fill++) {
          events.order({ slot: 0, account: ANN + 2 * fill, market: 0, limitTicks: 99, lots, side: SIDE.SELL });
          events.order({ slot: 1, account: BOB + 2 * fill, market: 0, limitTicks: 99, lots });
          events.fill({
            maker: 0,
            taker: 1,
            yesTicks: 99,
            lots,
          });
          events.filled(0);
          events.filled(1);
        }
      });
      exchange.catchUp(exchange.projector());
      const [row] = exchange.read('SELECT CAST(volume_micro AS TEXT) AS volume FROM markets');
      assert.equal(row!['volume'], String(BigInt(fills) * 99n * 10n ** 13n));
    });
  });

  describe('a projector', () => {
    it('comes to the same rows record by record, in one go, and after a restart at every record', () => {
      const [stepwise, whole, restarted] = [new Exchange(2), new Exchange(2), new Exchange(2)];
      for (const exchange of [stepwise, whole, restarted]) {
        for (const [shard, script] of exchange.scripts.entries()) trade(script, shard);
      }
      const last = stepwise.script.journal.lastSequence;

      const follower = stepwise.projector();
      for (let sequence = 1; sequence <= last; sequence++) {
        for (const shard of [0, 1]) stepwise.progress.setCommitted(shard, sequence);
        while (follower.step(true));
      }
      whole.catchUp(whole.projector());
      for (let sequence = 1; sequence <= last; sequence++) {
        for (const shard of [0, 1]) restarted.progress.setCommitted(shard, sequence);
        const projector = new Projector(restarted.options);
        while (projector.step(true));
        projector.close();
      }
      assert.deepEqual(stepwise.dump(), whole.dump());
      assert.deepEqual(restarted.dump(), whole.dump());
      assert.equal(whole.read('SELECT * FROM orders').length, 8);
    });

    it('goes on after a restart where it was, with the open orders it had', () => {
      const exchange = new Exchange();
      const reference = new Exchange();
      for (const { script } of [exchange, reference]) trade(script, 0);
      const first = new Projector(exchange.options);
      exchange.catchUp(first);
      first.close();
      for (const { script } of [exchange, reference]) {
        script.record(T0 + DAY_MS, (events) => {
          events.order({ slot: 5, account: BOB, market: 0, limitTicks: 60, lots: 8000, side: SIDE.SELL });
          events.fill({
            maker: 0,
            taker: 5,
            yesTicks: 60,
            lots: 8000,
          });
          events.filled(0);
          events.filled(5);
        });
      }
      exchange.catchUp(exchange.projector());
      reference.catchUp(reference.projector());
      assert.deepEqual(exchange.dump(), reference.dump());
      const [maker] = exchange.read('SELECT status, filled_notional_micro FROM orders WHERE account = 1');
      assert.deepEqual(maker, { status: ORDER_STATUS.FILLED, filled_notional_micro: 20_000 * 60 });
    });

    it('makes read.db again when it was written by another version, and keeps a copy of that one', () => {
      const exchange = new Exchange();
      trade(exchange.script, 0);
      const first = new Projector(exchange.options);
      exchange.catchUp(first);
      first.close();
      const expected = exchange.dump();
      const db = new Database(exchange.options.readDbPath);
      db.exec('DELETE FROM trades; ALTER TABLE orders ADD COLUMN other INTEGER; CREATE TABLE relic (a INTEGER)');
      db.pragma(`user_version = ${READ_DB_VERSION + 1}`);
      db.close();
      exchange.catchUp(exchange.projector());
      assert.deepEqual(exchange.dump(), expected);
      assert.deepEqual(exchange.read("SELECT 1 FROM sqlite_schema WHERE name = 'relic'"), []);
      const copy = new Database(`${exchange.options.readDbPath}.version-${READ_DB_VERSION + 1}`, { readonly: true });
      assert.deepEqual(copy.prepare('SELECT count(*) AS relics FROM relic').all(), [{ relics: 0 }]);
      copy.close();
    });

    it('makes read.db again when it is no database at all', () => {
      const exchange = new Exchange();
      trade(exchange.script, 0);
      const first = new Projector(exchange.options);
      exchange.catchUp(first);
      first.close();
      const expected = exchange.dump();
      const text = 'anything but a database. '.repeat(200);
      writeFileSync(exchange.options.readDbPath, text);
      // The thread ends with it, which the log says, and the next run finds none.
      assert.throws(() => exchange.projector(), isDamaged);
      const aside = setAside(exchange.options.readDbPath);
      exchange.catchUp(exchange.projector());
      assert.equal(readFileSync(aside!, 'utf8'), text);
      assert.deepEqual(exchange.dump(), expected);
    });

    it('makes read.db again when a journal was set back to another history', () => {
      const exchange = new Exchange();
      const last = trade(exchange.script, 0);
      const first = new Projector(exchange.options);
      exchange.catchUp(first);
      first.close();
      exchange.script.journal.close();
      const path = exchange.options.journalPaths[0];
      for (const file of [path, `${path}-wal`, `${path}-shm`, markPath(path)]) rmSync(file, { force: true });
      const replaced = new JournalScript(exchange.options.journalPaths[0]);
      open = [replaced.journal];
      replaced.record(T0, (events) => events.market(0, MARKET_UUIDS[0]));
      replaced.record(T0 + 7, (events) =>
        events.place({ slot: 0, account: BOB, market: 0, limitTicks: 9, lots: 10_000 }),
      );
      assert.ok(replaced.journal.lastSequence < last);
      // A journal goes back only while no process runs, so the next one has cells of its own.
      const memory = Progress.create(1);
      const progress = new Progress(memory);
      progress.setCommitted(0, 2);
      const projector = new Projector({ ...exchange.options, progress: memory });
      while (projector.step(true));
      projector.close();
      assert.deepEqual(exchange.read('SELECT account, limit_ticks FROM orders'), [{ account: BOB, limit_ticks: 9 }]);
      assert.equal(progress.projected(0), 2);
    });

    it('goes on behind a trimmed journal, and refuses to begin without the state before it', () => {
      const exchange = new Exchange();
      const last = trade(exchange.script, 0);
      const first = new Projector(exchange.options);
      exchange.catchUp(first);
      first.close();
      const expected = exchange.dump();
      exchange.script.journal.trim(last - 1);
      const second = new Projector(exchange.options);
      exchange.catchUp(second);
      second.close();
      assert.deepEqual(exchange.dump(), expected);
      rmSync(exchange.options.readDbPath);
      assert.throws(
        () => new Projector(exchange.options, null, undefined, readOpeningState).step(true),
        /was trimmed and starts at \d+, and no snapshot can be used: put a backup of read.db/,
      );
    });

    it('announces a shard only after the shard has recovered', () => {
      const exchange = new Exchange(2);
      const projector = exchange.projector();
      exchange.progress.setCommitted(1, 1);
      while (projector.step(true));
      assert.equal(exchange.progress.projected(0), NOT_KNOWN);
      assert.equal(exchange.progress.projected(1), 1);
    });

    it('stops at a damaged record and announces no part of it', () => {
      const exchange = new Exchange();
      const last = trade(exchange.script, 0);
      const intruder = new Database(exchange.options.journalPaths[0]);
      intruder.exec(`UPDATE journal SET bytes = zeroblob(80) WHERE sequence = ${last}`);
      intruder.close();
      const projector = exchange.projector();
      assert.throws(() => exchange.catchUp(projector), new RegExp(`sequence ${last}: checksum mismatch`));
      assert.equal(exchange.progress.projected(0), 0);
      assert.deepEqual(exchange.read('SELECT * FROM orders'), []);
    });

    it('leaves unpublished records to the next step, unless a query waits for them', () => {
      const exchange = new Exchange();
      const last = trade(exchange.script, 0);
      const projector = exchange.projector();
      exchange.commit();
      assert.equal(projector.step(false), false);
      assert.equal(projector.behind(), last);
      exchange.progress.setLogged(0, 3);
      exchange.script.record(T0 + DAY_MS, () => undefined);
      exchange.commit();
      assert.equal(projector.step(false), true);
      assert.equal(exchange.progress.projected(0), last, 'what was there at the step before is taken in any case');
      assert.deepEqual(tailOf(exchange), [3, 4, 5, 6, 7], 'and needs frames only from the record told on');
      exchange.script.record(T0 + DAY_MS, () => undefined);
      exchange.commit();
      exchange.progress.setLogged(0, last + 1);
      projector.step(true);
      assert.equal(exchange.progress.projected(0), last + 2);
      assert.deepEqual(tailOf(exchange), []);
    });

    it('takes a record at once when it is told already, and then keeps no frames before it', () => {
      const exchange = new Exchange();
      const last = trade(exchange.script, 0);
      const projector = exchange.projector();
      exchange.commit();
      exchange.progress.setLogged(0, last);
      assert.equal(projector.step(false), true);
      assert.equal(exchange.progress.projected(0), last);
      assert.deepEqual(tailOf(exchange), [last]);
      assert.deepEqual(exchange.read('SELECT * FROM private_tail_starts'), [{ shard: 0, shard_sequence: last }]);
    });

    it('follows whole rows: to the end of the one with the last record that is due', () => {
      const exchange = new Exchange();
      const { journal } = exchange.script;
      const batches = [4, 6, 5].map((records) => {
        for (let record = 0; record < records; record++) exchange.script.add(T0, () => undefined);
        journal.commit();
        return journal.lastSequence;
      });
      const projector = exchange.projector();
      exchange.commit();
      exchange.progress.setLogged(0, batches[0]! + 2);
      assert.equal(projector.step(false), true);
      assert.equal(exchange.progress.projected(0), batches[1]);
      assert.equal(projector.step(true), true);
      assert.equal(exchange.progress.projected(0), batches[2]);
    });

    it('lets no more records wait than one batch has', () => {
      const exchange = new Exchange();
      for (let record = 0; record < BATCH_RECORDS + 10; record++) exchange.script.record(T0, () => undefined);
      const committed = exchange.script.journal.lastSequence;
      const projector = exchange.projector();
      exchange.commit();
      assert.equal(projector.step(false), true);
      assert.equal(exchange.progress.projected(0), committed - BATCH_RECORDS);
      assert.equal(projector.behind(), BATCH_RECORDS);
    });

    it('follows as a thread of its own, into a new file if the old one is to be set aside', async () => {
      const exchange = new Exchange();
      writeFileSync(exchange.options.readDbPath, 'the old file');
      const { port1: gatewayPort, port2: catalogPort } = new MessageChannel();
      const question = once(gatewayPort, 'message');
      const worker = startThread(exchange.options, { catalogPort, makesAnew: true, unfilledKeptMs: 1e12 });
      const failed = new Promise<never>((_, reject) => worker.once('error', reject));
      exchange.commit();
      assert.equal(await Promise.race([exchange.progress.awaitProjected(0, 1, 30_000), failed]), true);
      const last = trade(exchange.script, 0);
      exchange.commit();
      assert.equal(await Promise.race([exchange.progress.awaitProjected(0, last, 30_000), failed]), true);
      assert.deepEqual(await question, [{ after: 0 }]);
      gatewayPort.postMessage({ after: 0, revision: 7, hasMore: false, startsOver: false, marketCount: 0, ...NO_ROWS });
      exchange.progress.ringProjector();
      assert.equal(await Promise.race([exchange.progress.awaitCatalog(7, 30_000), failed]), true);
      await worker.terminate();
      gatewayPort.close();
      assert.equal(exchange.read('SELECT * FROM orders').length, 4);
      assert.equal(readFileSync(`${exchange.options.readDbPath}.damaged`, 'utf8'), 'the old file');
    });

    it('archives orders as a thread of its own', async () => {
      const exchange = new Exchange();
      exchange.script.record(T0, (events) => {
        events.place({ slot: 7, account: 1, market: 0, limitTicks: 50, lots: 10_000 });
        events.closed(7, CLOSE_REASON.USER);
      });
      exchange.script.record(T0 + 3 * 86_400_000, () => undefined);
      const { port1: gatewayPort, port2: catalogPort } = new MessageChannel();
      const worker = startThread(exchange.options, { catalogPort, makesAnew: false, unfilledKeptMs: 86_400_000 });
      const failed = new Promise<never>((_, reject) => worker.once('error', reject));
      exchange.commit();
      const last = exchange.script.journal.lastSequence;
      assert.equal(await Promise.race([exchange.progress.awaitProjected(0, last, 30_000), failed]), true);
      const listed = 'SELECT 1 FROM archived_files WHERE left_account IS NULL';
      const isArchived = async () => exchange.read(listed).length > 0;
      await Promise.race([eventually('a file of the archive', isArchived), failed]);
      await worker.terminate();
      gatewayPort.close();
      assert.deepEqual(exchange.read('SELECT * FROM orders'), []);
      const [row] = exchange.read('SELECT account, cancelled, expired FROM archived_accounts');
      assert.deepEqual(row, { account: 1, cancelled: 1, expired: 0 });
    });

    it('begins as a thread while a shard has made the file of its journal and nothing in it', async () => {
      const folder = temporaryDirectory();
      const journalPath = join(folder, 'journal.db');
      writeFileSync(journalPath, '');
      const { port1: gatewayPort, port2: catalogPort } = new MessageChannel();
      const question = once(gatewayPort, 'message');
      const options = {
        journalPaths: [journalPath],
        readDbPath: join(folder, 'read.db'),
        progress: Progress.create(1),
      };
      const worker = startThread(options, { catalogPort, makesAnew: false, unfilledKeptMs: 1e12 });
      const failed = new Promise<never>((_, reject) => worker.once('error', reject));
      assert.deepEqual(await Promise.race([question, failed]), [{ after: 0 }]);
      await worker.terminate();
      gatewayPort.close();
    });
  });
});

function startThread(options: Omit<ProjectorOptions, 'journalKey'>, port: ProjectorPort): Worker {
  const { journalPaths, readDbPath, progress } = options;
  return new Worker(new URL('../../../../engine/projector/main.ts', import.meta.url), {
    workerData: { journalPaths, readDbPath, progress, journalKey: TEST_SECRET, ...port },
    transferList: [port.catalogPort],
  });
}

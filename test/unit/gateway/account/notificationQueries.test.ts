/** Notifications that follow from the read model, beside a plain list of all rows (RULES.md 14.60 to 14.65). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import Database from 'better-sqlite3';
import { OrderArchive } from '../../../../engine/projector/orderArchive.ts';
import { ArchivedOrders } from '../../../../gateway/account/archivedOrdersQueries.ts';
import {
  type NotificationPlace,
  NotificationQueries,
  newestFirst,
} from '../../../../gateway/account/notificationQueries.ts';
import {
  CLOSE_REASON,
  type CloseReason,
  closedStatus,
  FUND_MOVEMENT,
  MARKET_STATUS,
  ORDER_STATUS,
} from '../../../../shared/base/codes.ts';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { ID_KIND, movementIdBytes, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import { CURSORS } from '../../../../shared/tables/cursors.ts';
import { FUND_MOVEMENTS } from '../../../../shared/tables/fundMovements.ts';
import { MARKETS } from '../../../../shared/tables/markets.ts';
import { ORDERS } from '../../../../shared/tables/orders.ts';
import { POSITIONS } from '../../../../shared/tables/positions.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';
import { MARKET_STATS } from '../../../../shared/tables/statsMarkets.ts';
import { insert, type Table } from '../../../../shared/tables/table.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(41);
const random = seededRandom(seed);
const below = (n: number): number => Math.floor(random() * n);
const SHARDS = 3;
const ACCOUNTS = 3;
const MARKETS_MADE = 30;
const T0 = Date.UTC(2026, 0, 1);
const ALL = { after: null, limit: 10_000, read: null, mostUnread: 10_000 } as const;

type Expected = NotificationPlace & {
  readonly account: number;
  readonly shard: number;
  readonly shardSequence: number;
};

/** Every column 0 or, where that is no value of its own, empty. */
function writer(db: Database.Database, table: Table): (row: object) => void {
  const zeros = Object.fromEntries(table.inserted.map((column) => [column, 0]));
  const statement = db.prepare(insert(table));
  return (row) => void statement.run({ ...zeros, ...row });
}

/** A read model in which many things happen in one millisecond, some of its orders in the archive. */
function made(): { db: Database.Database; expected: Expected[] } {
  const db = new Database(join(temporaryDirectory(), 'read.db'));
  after(() => db.close());
  db.exec(`PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; ${READ_DB_SCHEMA}`);
  const expected: Expected[] = [];
  const writers = [MARKETS, MARKET_STATS, ORDERS, POSITIONS, FUND_MOVEMENTS, CURSORS].map((table) => writer(db, table));
  const [market, marketStats, order, position, movement, cursor] = writers;
  for (let shard = 0; shard < SHARDS; shard++) cursor!({ shard, sequence: 1000 });
  for (let index = 0; index < MARKETS_MADE; index++) {
    const uuid = Buffer.alloc(16, below(256)).fill(index, 0, 1);
    const [isDecided, shard, shardSequence, createdMs] = [below(3) > 0, below(SHARDS), 1 + below(1000), T0 + below(50)];
    market!({ market: index, uuid, ticks_per_unit: 100 });
    const status = below(2) === 0 ? MARKET_STATUS.RESOLVED : MARKET_STATUS.CANCELLED;
    const decision = { resolved_ms: createdMs, decided_sequence: shardSequence, payout_yes_ppm: 250_000, status };
    marketStats!({ market: index, shard, status: MARKET_STATUS.ACTIVE, ...(isDecided ? decision : {}) });
    for (let account = 1; account <= ACCOUNTS; account++) {
      const held = [below(3), below(3)];
      for (const [outcome, how] of held.entries()) {
        position!({ account, market: index, outcome, quantity_atomic: how === 1 ? 5 : 0, is_paid: how === 2 ? 1 : 0 });
      }
      const isHeld = held.some((how) => how > 0);
      if (isDecided && isHeld) expected.push({ account, id: uuid, createdMs, shard, shardSequence });
    }
  }
  for (let sequence = 1; sequence <= 1500; sequence++) {
    const [account, shard, shardSequence, updated_ms] = [
      1 + below(ACCOUNTS),
      below(SHARDS),
      1 + below(1000),
      T0 + below(50),
    ];
    const id = timeOrderedIdBytes(T0 - below(2), shard, ID_KIND.ORDER, sequence);
    const isOpen = below(4) === 0;
    const reason = below(9) as CloseReason;
    const state = isOpen
      ? { slot: sequence, status: ORDER_STATUS.OPEN, reason: null }
      : { slot: null, status: closedStatus(reason), reason };
    order!({
      id,
      hash: id,
      account,
      market: below(MARKETS_MADE),
      shard,
      lots: 5,
      remaining_lots: state.status === ORDER_STATUS.FILLED ? 0 : 5,
      shard_sequence: shardSequence,
      updated_ms,
      ...state,
      client_order_id: null,
    });
    if (isOpen || reason === CLOSE_REASON.USER) continue;
    expected.push({ account, id, createdMs: updated_ms, shard, shardSequence });
  }
  for (let n = 0; n < 200; n++) {
    const [account, shard, shardSequence, moved_ms, kind] = [
      1 + below(ACCOUNTS),
      below(SHARDS),
      1 + n,
      T0 + below(50),
      below(7),
    ];
    const id = movementIdBytes(moved_ms, shard, shardSequence, 0);
    movement!({ account, id, kind, usdc_micro: 5, market: null, reference_hash: null, moved_ms });
    if (kind !== FUND_MOVEMENT.DEPOSIT && kind !== FUND_MOVEMENT.WITHDRAWAL) continue;
    expected.push({ account, id, createdMs: moved_ms, shard, shardSequence });
  }
  archiveSome(db);
  return { db, expected: expected.sort(newestFirst) };
}

/** Some files, one of them half left, and orders in read.db before and after. */
function archiveSome(db: Database.Database): void {
  const archive = new OrderArchive(db);
  const halfLeft = db.prepare('SELECT 1 FROM archived_files WHERE left_account > 0').pluck();
  const isHalf = (): boolean => halfLeft.get() === 1;
  for (let steps = 0; steps < 40 || !isHalf(); steps++) {
    const isMore = archive.step(T0 + 40, { keptMs: 0, spanMs: 1, fileOrders: 100, blockOrders: 9, stepOrders: 30 });
    assert.ok(isMore, 'there is more to archive');
  }
  const files = db.prepare<[], number>('SELECT count(*) FROM archived_files').pluck().get()!;
  const archived = db.prepare<[], number>('SELECT sum(cancelled + expired) FROM archived_accounts').pluck().get()!;
  assert.ok(files > 2 && archived > 200, `${archived} orders in ${files} files`);
}

const { db, expected } = made();
const queries = new NotificationQueries(db);
const ofAccount = (account: number): Expected[] => expected.filter((row) => row.account === account);
const idsOf = (rows: readonly NotificationPlace[]): string[] => rows.map(({ id }) => bytesToUuid(id));

test(`RULES.md 14.60: ends of orders not cancelled by the account, decisions, payments (seed ${seed})`, () => {
  for (let account = 1; account <= ACCOUNTS; account++) {
    const found = queries.page({ ...ALL, account });
    assert.ok(found.rows.length > 300);
    assert.deepEqual(idsOf(found.rows), idsOf(ofAccount(account)));
    assert.deepEqual(
      found.rows.map(({ createdMs, shard, shardSequence }) => [createdMs, shard, shardSequence]),
      ofAccount(account).map(({ createdMs, shard, shardSequence }) => [createdMs, shard, shardSequence]),
    );
    assert.deepEqual([found.unread, found.heads], [found.rows.length, [1000, 1000, 1000]]);
  }
  assert.deepEqual(queries.page({ ...ALL, account: ACCOUNTS + 1 }).rows, []);
});

test(`RULES.md 14.62: pages of any length are the list, without a gap and without a repetition (seed ${seed})`, () => {
  for (const limit of [1, 2, 7, 20, 100]) {
    const account = 1 + below(ACCOUNTS);
    const ids: string[] = [];
    for (let after: NotificationPlace | null = null; ; ) {
      const { rows } = queries.page({ ...ALL, account, after, limit, mostUnread: 0 });
      ids.push(...idsOf(rows));
      if (rows.length < limit) break;
      after = rows.at(-1)!;
    }
    assert.deepEqual(ids, idsOf(ofAccount(account)), `${limit} a page`);
  }
});

test(`RULES.md 14.62: pages that read few blocks of the archive are short and complete (seed ${seed})`, () => {
  const archive = ArchivedOrders.of(db);
  const usual = archive.blocksOfQuery;
  archive.blocksOfQuery = 2;
  let short = 0;
  for (const limit of [1, 7, 100]) {
    const account = 1 + below(ACCOUNTS);
    const ids: string[] = [];
    for (let after: NotificationPlace | null = null; ; ) {
      const { rows, end } = queries.page({ ...ALL, account, after, limit, mostUnread: 0 });
      ids.push(...idsOf(rows));
      if (rows.length < limit && end === null) break;
      if (rows.length < limit) short++;
      after = rows.length < limit ? end : rows.at(-1)!;
    }
    assert.deepEqual(ids, idsOf(ofAccount(account)), `${limit} a page`);
  }
  archive.blocksOfQuery = usual;
  assert.ok(short > 3, `${short} short pages`);
});

test('RULES.md 14.64: unread notifications are those after the sequences of a mark, counted up to a bound', () => {
  for (let tries = 0; tries < 20; tries++) {
    const account = 1 + below(ACCOUNTS);
    const through = Array.from({ length: SHARDS }, () => below(1001));
    const fromMs = T0 + below(50);
    const unread = ofAccount(account).filter(
      ({ createdMs, shard, shardSequence }) => createdMs >= fromMs && shardSequence > through[shard]!,
    );
    const task = { ...ALL, account, limit: 0, read: { fromMs, through } };
    assert.equal(queries.page(task).unread, unread.length);
    assert.equal(queries.page({ ...task, mostUnread: 5 }).unread, Math.min(5, unread.length));
  }
});

test('RULES.md 14.63: one is found by its id, by the account it is for and by no other', () => {
  for (let account = 1; account <= ACCOUNTS; account++) {
    const own = new Set(idsOf(ofAccount(account)));
    for (const row of expected) {
      const found = queries.one(account, row.id);
      assert.equal(found !== null, own.has(bytesToUuid(row.id)), bytesToUuid(row.id));
      if (found !== null) assert.deepEqual(Buffer.from(found.id), Buffer.from(row.id));
    }
  }
  const cancelled = db
    .prepare<[], Uint8Array>(`SELECT id FROM orders WHERE reason = ${CLOSE_REASON.USER}`)
    .pluck()
    .all();
  const open = db.prepare<[], Uint8Array>('SELECT id FROM orders WHERE slot IS NOT NULL').pluck().all();
  for (const id of [...cancelled, ...open]) {
    for (let account = 1; account <= ACCOUNTS; account++) assert.equal(queries.one(account, id), null);
  }
});

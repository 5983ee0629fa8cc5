/**
 * Brings read.db over a cut at which the markets of an exchange were divided among another number of shards
 * (engine/admin/README.md). Rows of the past stay: they are sums and ends, whose shards are those of before.
 *
 * Invariant:
 *   RESHARDEDROWS-1  All of it is one transaction, with the cursors: a repeat finds it done.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../shared/base/ids.ts';
import { DOUBLE_SHIFT, SLOT_STATE, WORD_SHIFT } from '../book/orders.ts';
import type { ShardState } from '../core/state.ts';
import type { JournalHead } from '../journal/row.ts';
import { FundMovementProjection } from '../projector/fundMovements.ts';
import { Cursors, openReadDb } from '../projector/readDb.ts';
import { AccountStats } from '../projector/statsAccounts.ts';
import { ExchangeStats } from '../projector/statsExchange.ts';

type Cut = {
  /** The number of shards before. */
  readonly before: number;
  /** By new shard: its state, and the head after which its journal begins. */
  readonly states: readonly ShardState[];
  readonly heads: readonly JournalHead[];
  /** The time of the cut. */
  readonly timeMs: number;
};

export function reshardReadDb(path: string, cut: Cut): void {
  const db = openReadDb(path, true);
  try {
    const cursors = new Cursors(db);
    if (cut.heads.every((head, shard) => cursors.load(shard).equals(head))) return;
    db.transaction(() => move(db, cut)).immediate();
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

function move(db: Database.Database, cut: Cut): void {
  const { before, heads, states, timeMs } = cut;
  const shards = Math.max(before, states.length);
  moveOrders(db, states);
  moveActiveMarkets(db, cut, shards);
  moveReservations(db, cut, shards);
  const movements = new FundMovementProjection(db, shards);
  const cursors = new Cursors(db);
  db.exec('DELETE FROM private_tail');
  const startTail = db.prepare('INSERT OR REPLACE INTO private_tail_starts (shard, shard_sequence) VALUES (?, ?)');
  for (const [shard, head] of heads.entries()) {
    movements.startAfter(shard, states[shard].matcher.tradeSequence);
    movements.flush(shard);
    startTail.run(shard, head.sequence + 1);
    cursors.save(shard, head, timeMs);
  }
}

function moveOrders(db: Database.Database, states: readonly ShardState[]): void {
  const open = db.prepare<[], number>('SELECT count(*) FROM orders WHERE slot IS NOT NULL').pluck();
  const update = db.prepare('UPDATE orders SET shard = ?, slot = ? WHERE id = ? AND slot IS NOT NULL');
  let moved = 0;
  for (const [shard, { orders }] of states.entries()) {
    for (let slot = 0; slot < orders.capacity; slot++) {
      const row = slot << WORD_SHIFT;
      if (orders.state[row] === SLOT_STATE.FREE) continue;
      const idShard = orders.origin[row] === 0 ? shard : orders.origin[row] - 1;
      const { createdMs, sequence } = orders;
      const [ms, number] = [createdMs[slot << DOUBLE_SHIFT], sequence[slot << DOUBLE_SHIFT]];
      const { changes } = update.run(shard, slot, timeOrderedIdBytes(ms, idShard, ID_KIND.ORDER, number));
      assert(changes === 1, 'RESHARDEDROWS-1: read.db has every open order');
      moved++;
    }
  }
  assert(moved === open.get(), 'RESHARDEDROWS-1: read.db has no other open order');
}

function moveActiveMarkets(db: Database.Database, { states, timeMs }: Cut, shards: number): void {
  const stats = new ExchangeStats(db, shards);
  const shardOf = db.prepare<[number], number>('SELECT shard FROM market_stats WHERE market = ?').pluck();
  const update = db.prepare('UPDATE market_stats SET shard = ? WHERE market = ?');
  for (const [shard, { markets }] of states.entries()) {
    for (const { index, status } of markets.all()) {
      const old = shardOf.get(index);
      assert(old !== undefined, 'RESHARDEDROWS-1: read.db has every market');
      if (old === shard) continue;
      update.run(shard, index);
      if (status !== MARKET_STATUS.ACTIVE) continue;
      stats.changedStatus(status, MARKET_STATUS.LOCKED, { shard: old, shardSequence: 0, timeMs });
      stats.changedStatus(null, status, { shard, shardSequence: 0, timeMs });
    }
  }
  stats.flush();
}

/** Rows of hours of the past keep what was reserved then. */
function moveReservations(db: Database.Database, { states, timeMs }: Cut, shards: number): void {
  const stats = new AccountStats(db);
  const reserved = db
    .prepare<[], { account: number; shard: number }>(
      'SELECT account, shard FROM account_stats WHERE reserved_micro <> 0',
    )
    .all();
  const isKept = (account: number, shard: number): boolean =>
    shard < states.length && states[shard].ledger.reservedOf(account) !== 0;
  for (const { account, shard } of reserved)
    if (!isKept(account, shard)) stats.reserves(account, 0, { shard, shardSequence: 0, timeMs });
  for (let shard = 0; shard < Math.min(states.length, shards); shard++) {
    const { ledger } = states[shard];
    for (let account = 1; account < ledger.accountCapacity; account++) {
      const micro = ledger.reservedMicro[account];
      if (micro !== 0) stats.reserves(account, micro, { shard, shardSequence: 0, timeMs });
    }
  }
  stats.flush();
}

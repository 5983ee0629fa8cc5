/**
 * The SQL about idempotency keys (RULES.md 6.7): recently journaled keys, and the effect of a command with a key: the
 * order that it placed or cancelled, in its state when the command was answered, or the conversion. Runs in a thread of
 * the query pool.
 */
import type Database from 'better-sqlite3';
import { ORDER_STATUS, statusOfFills } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { ORDER_KEYS } from '../../shared/tables/orderKeys.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { TRADES } from '../../shared/tables/trades.ts';
import { EXT_ROUTE } from '../../shared/wire/commands.ts';
import { type OrderRow, orderFacts, SELECT_ORDER } from '../account/orderQueries.ts';
import { firstIdAfter } from '../base/page.ts';
import type { KeyedOrder, KeyPage } from '../shardlink/journaledKeys.ts';
import type { Placed, PlacedFill } from './placed.ts';

const JOURNALED = select(ORDER_KEYS, 'id', 'account', 'route', 'key', 'fingerprint', 'time_ms');
const AMENDED = select(ORDER_KEYS, 'kept_place', 'changed_price');
const FILL = select(TRADES, 'id', 'yes_ticks', 'lots', 'match_type', 'maker_order_id');

/** `placed_sequence` is the record of the key, `shard_sequence` the one that changed the order last. */
type PlacedRow = OrderRow & SelectedBy<typeof AMENDED> & { readonly placed_sequence: number };

const PAGE_ROWS = 2000;

export class KeyQueries {
  readonly #since: Database.Statement<[number, number, number], SelectedBy<typeof JOURNALED>>;
  readonly #placed: Database.Statement<[KeyedOrder], PlacedRow>;
  readonly #fills: Database.Statement<[number, Uint8Array, Uint8Array, Uint8Array], SelectedBy<typeof FILL>>;
  readonly #cancelled: Database.Statement<[KeyedOrder & { hash: Uint8Array }], number>;

  readonly #converted: Database.Statement<[KeyedOrder], number>;

  constructor(db: Database.Database) {
    this.#since = db.prepare(`
      SELECT ${JOURNALED.sql} FROM order_keys
      WHERE time_ms >= ? AND id > ? ORDER BY id LIMIT ?`);
    const used = `
      order_keys.key = @key AND order_keys.account = @account AND order_keys.route = @route
      AND order_keys.row = @row AND order_keys.fingerprint = @fingerprint`;
    this.#placed = db.prepare(`
      SELECT found.*, ${AMENDED.sql}, order_keys.shard_sequence AS placed_sequence
      FROM order_keys JOIN (${SELECT_ORDER}) AS found ON found.id = order_keys.order_id WHERE ${used}`);
    // All fills of a taker are in the record that placed it, so they have the same time.
    this.#fills = db.prepare(`
      SELECT ${FILL.sql} FROM trades
      WHERE taker_account = ? AND id >= ? AND id < ? AND taker_order_id = ? ORDER BY id`);
    this.#cancelled = db
      .prepare<[KeyedOrder & { hash: Uint8Array }], number>(`
        SELECT count(*) FROM order_keys JOIN orders ON orders.id = order_keys.order_id
        WHERE ${used} AND orders.hash = @hash`)
      .pluck();
    this.#converted = db
      .prepare<[KeyedOrder], number>(`SELECT coalesce(max(time_ms), 0) FROM order_keys WHERE ${used}`)
      .pluck();
  }

  /** @param after 0 for the first page */
  journaled(sinceMs: number, after: number): KeyPage {
    const rows = this.#since.all(sinceMs, after, PAGE_ROWS);
    const keys = rows.map(({ account, route, key, fingerprint, time_ms: createdMs }) => ({
      account,
      route,
      key,
      fingerprint,
      createdMs,
    }));
    return { keys, next: rows.length < PAGE_ROWS ? null : rows.at(-1)!.id };
  }

  /** The order in its state right after its placing command; null if no command with this key placed it. */
  placed(order: KeyedOrder): Placed | null {
    const row = this.#placed.get(order);
    if (row === undefined) return null;
    const facts = orderFacts(row);
    const [from, to] = [firstIdAfter(facts.createdMs - 1), firstIdAfter(facts.createdMs)];
    const fills = this.#fills.all(order.account, from, to, row.id).map(
      (fill): PlacedFill => ({
        tradeId: bytesToUuid(fill.id),
        makerOrderId: bytesToUuid(fill.maker_order_id),
        matchType: fill.match_type,
        lots: fill.lots,
        ownTicks: ownTicks(facts.outcome, fill.yes_ticks, facts.ticksPerUnit),
      }),
    );
    const filledLots = fills.reduce((sum, { lots }) => sum + lots, 0);
    const remainingLots = facts.quantityLots - filledLots;
    // No later record changed the order, so the record that placed it also cancelled it.
    const isCancelled = facts.status === ORDER_STATUS.CANCELLED && row.shard_sequence === row.placed_sequence;
    const standing = statusOfFills(facts.quantityLots, remainingLots);
    const status = isCancelled && filledLots === 0 ? ORDER_STATUS.CANCELLED : standing;
    const filledNotionalMicro = fills.reduce((sum, fill) => sum + fill.lots * fill.ownTicks, 0);
    const isAmend = order.route === EXT_ROUTE.AMEND;
    return {
      facts: { ...facts, remainingLots, filledNotionalMicro, status: isCancelled ? ORDER_STATUS.CANCELLED : status },
      status,
      fills,
      replaced: isAmend ? { keptPriority: row.kept_place === 1, changedPrice: row.changed_price === 1 } : null,
    };
  }

  /** The time at which the conversion of funds with this key was carried out; 0 if none was. */
  convertedMs(use: KeyedOrder): number {
    return this.#converted.get(use)!;
  }

  /** True if a cancel with this key removed the order from the book. */
  hasCancelled(order: KeyedOrder, hash: Uint8Array): boolean {
    return this.#cancelled.get({ ...order, hash })! > 0;
  }
}

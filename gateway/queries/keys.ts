/**
 * The SQL of what idempotency keys have done (RULES.md 6.7): which of them were journaled lately, and what a command
 * with one did, exactly as it stood when it was answered. Runs in a thread of the query pool.
 */
import type Database from 'better-sqlite3';
import { ORDER_STATUS } from '../../shared/codes.ts';
import { EXT_ROUTE } from '../../shared/commands.ts';
import { bytesToUuid, toHex } from '../../shared/hex.ts';
import { ownTicks } from '../../shared/orderMath.ts';
import type { JournaledKey } from '../idempotency/answers.ts';
import type { Placed, PlacedFill } from '../placementResponse.ts';
import { type OrderRow, orderFacts, SELECT_ORDER } from './orders.ts';
import { firstIdAfter } from './page.ts';

/** `next` is where the next page begins, or null. */
export type KeyPage = { readonly keys: readonly JournaledKey[]; readonly next: number | null };

/** One order of a request with a key; `row` is its place in a batch. */
export type KeyedOrder = Omit<JournaledKey, 'createdMs'> & { readonly row: number };

type KeyRow = {
  readonly id: number;
  readonly account: number;
  readonly route: number;
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly time_ms: number;
};

type PlacedRow = OrderRow & {
  readonly last_sequence: number;
  readonly shard_sequence: number;
  readonly kept_place: number;
  readonly changed_price: number;
};

type FillRow = {
  readonly id: Uint8Array;
  readonly yes_ticks: number;
  readonly lots: number;
  readonly match_type: number;
  readonly maker_order_id: Uint8Array;
};

const PAGE_ROWS = 2000;

export class KeyQueries {
  readonly #since: Database.Statement<[number, number, number], KeyRow>;
  readonly #placed: Database.Statement<[KeyedOrder], PlacedRow>;
  readonly #fills: Database.Statement<[number, Uint8Array, Uint8Array, Uint8Array], FillRow>;
  readonly #cancelled: Database.Statement<[KeyedOrder & { hash: Uint8Array }], number>;

  constructor(db: Database.Database) {
    this.#since = db.prepare(`
      SELECT id, account, route, key, fingerprint, time_ms FROM order_keys
      WHERE time_ms >= ? AND id > ? ORDER BY id LIMIT ?`);
    const used = `
      order_keys.key = @key AND order_keys.account = @account AND order_keys.route = @route
      AND order_keys.row = @row AND order_keys.fingerprint = @fingerprint`;
    this.#placed = db.prepare(`
      SELECT found.*, order_keys.shard_sequence, kept_place, changed_price
      FROM order_keys JOIN (${SELECT_ORDER}) AS found ON found.id = order_keys.order_id WHERE ${used}`);
    // A taker's fills are all of the record that placed it, so of one moment.
    this.#fills = db.prepare(`
      SELECT id, yes_ticks, lots, match_type, maker_order_id FROM trades
      WHERE taker_account = ? AND id >= ? AND id < ? AND taker_order_id = ? ORDER BY id`);
    this.#cancelled = db
      .prepare<[KeyedOrder & { hash: Uint8Array }], number>(`
        SELECT count(*) FROM order_keys JOIN orders ON orders.id = order_keys.order_id
        WHERE ${used} AND orders.hash = @hash`)
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

  /** The order as it was when its placing command was done; null when no command with this key placed it. */
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
    // Nothing happened to it since: it was cancelled by what placed it.
    const isCancelled = facts.status === ORDER_STATUS.CANCELLED && row.last_sequence === row.shard_sequence;
    const standing =
      remainingLots === 0 ? ORDER_STATUS.FILLED : filledLots > 0 ? ORDER_STATUS.PARTIALLY_FILLED : ORDER_STATUS.OPEN;
    const status = isCancelled && filledLots === 0 ? ORDER_STATUS.CANCELLED : standing;
    const filledNotionalMicro = fills.reduce((sum, fill) => sum + fill.lots * fill.ownTicks, 0);
    const finalStatus = isCancelled ? ORDER_STATUS.CANCELLED : status;
    return {
      id: facts.id,
      hash: toHex(facts.hash),
      status,
      ticksPerUnit: facts.ticksPerUnit,
      fills,
      replaced:
        order.route === EXT_ROUTE.AMEND
          ? {
              facts: { ...facts, remainingLots, filledNotionalMicro, status: finalStatus },
              keptPlace: row.kept_place === 1,
              changedPrice: row.changed_price === 1,
            }
          : null,
    };
  }

  /** Whether a cancel with this key took the order off the book. */
  hasCancelled(order: KeyedOrder, hash: Uint8Array): boolean {
    return this.#cancelled.get({ ...order, hash })! > 0;
  }
}

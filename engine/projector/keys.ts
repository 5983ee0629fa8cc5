/**
 * Projection of the idempotency keys: the order that a command with a key placed or cancelled, and those facts of the
 * answer that are not in the order's row. A key is deleted some time after its answer expires (RULES.md 6.7).
 * Owner: the projector thread.
 *
 * A record is read in three steps: `startRecord` with its command, its events in their order, `endRecord`.
 *
 * Invariants:
 *   ORDERKEYS-1  Every accepted command with a key has one row, which names the order it placed or cancelled.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { ORDER_KEYS } from '../../shared/tables/orderKeys.ts';
import { ANY_COMMAND, COMMAND, EXT_ROUTE, EXTENDED_PLACE, KEYED_CANCEL } from '../../shared/wire/commands.ts';
import { EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { OpenOrder, RecordContext } from './orders.ts';
import { RowInserter } from './rowInserter.ts';

/** Longer than the eight days for which answers are kept: a key that still has an answer has its row. */
const KEPT_MS = 9 * 24 * 3_600_000;

export class KeyProjection {
  readonly #insert: RowInserter<typeof ORDER_KEYS>;
  readonly #limitTicks: Database.Statement<[Uint8Array], number>;
  readonly #forget: Database.Statement<[number]>;
  #words: Uint32Array = new Uint32Array(0);
  #command = 0;
  /** EXT_ROUTE of the record's command; NONE when it has no key. */
  #route: number = EXT_ROUTE.NONE;
  /** Index of the order in a request with many. */
  #row = 0;
  /** The order that the record placed or cancelled, as soon as an event names it. */
  #order: OpenOrder | null = null;
  #orderSequence = 0;
  /** Limit of the order that was replaced, 0 when none was. */
  #replacedTicks = 0;
  #keptPriority = false;
  #changedPrice = false;
  /** Time of the last record with a key. */
  #latestMs = 0;

  constructor(db: Database.Database) {
    this.#insert = new RowInserter(db, ORDER_KEYS);
    this.#limitTicks = db.prepare<[Uint8Array], number>('SELECT limit_ticks FROM orders WHERE id = ?').pluck();
    this.#forget = db.prepare('DELETE FROM order_keys WHERE time_ms < ?');
  }

  startRecord(words: Uint32Array, command: number): void {
    this.#words = words;
    this.#command = command;
    this.#order = null;
    this.#replacedTicks = 0;
    this.#keptPriority = false;
    this.#changedPrice = false;
    const type = words[command + ANY_COMMAND.type] & 0xffff;
    const bytes = words[command];
    const isExtended = type === COMMAND.REPLACE.TYPE || (type === COMMAND.PLACE.TYPE && bytes === EXTENDED_PLACE.BYTES);
    const isKeyedCancel = type === COMMAND.CANCEL.TYPE && bytes === KEYED_CANCEL.BYTES;
    const routeRow = isExtended ? words[command + EXTENDED_PLACE.keyUse] : isKeyedCancel ? EXT_ROUTE.BATCH_CANCEL : 0;
    this.#route = routeRow & 0xff;
    this.#row = routeRow >>> 8;
  }

  /** Notes the order of an ORDER event. */
  placed(order: OpenOrder, words: Uint32Array, word: number): void {
    if (this.#route === EXT_ROUTE.NONE) return;
    assert(this.#order === null, 'ORDERKEYS-1: a command with a key places one order');
    this.#order = order;
    this.#orderSequence = readSafe(words, word + EVENT.ORDER.sequence);
    this.#changedPrice = this.#replacedTicks !== 0 && this.#replacedTicks !== words[word + EVENT.ORDER.limitTicks];
  }

  /** Notes the priority in an ORDER_TAG event. */
  tagged(words: Uint32Array, word: number): void {
    if (this.#order !== null)
      this.#keptPriority = readSafe(words, word + EVENT.ORDER_TAG.priority) !== this.#orderSequence;
  }

  /** Applies a CLOSED event. Before the ORDER event of the record it is that of a cancelled or replaced order. */
  closed(order: OpenOrder): void {
    if (this.#route === EXT_ROUTE.NONE || this.#order !== null) return;
    if (this.#route === EXT_ROUTE.BATCH_CANCEL) this.#order = order;
    // An order that was placed in the same batch has no row yet.
    else this.#replacedTicks = order.unwritten?.limitTicks ?? this.#limitTicks.get(order.id)!;
  }

  endRecord(record: RecordContext): void {
    if (this.#route === EXT_ROUTE.NONE) return;
    assert(this.#order !== null, 'ORDERKEYS-1: an accepted command with a key has an order');
    assert(record.timeMs >= this.#latestMs, 'order keys: records come in the order of time');
    const isCancel = this.#route === EXT_ROUTE.BATCH_CANCEL;
    this.#insert.add({
      time_ms: record.timeMs,
      account: this.#order.account,
      route: this.#route,
      row: this.#row,
      key: this.#sixteenBytes(isCancel ? KEYED_CANCEL.key : EXTENDED_PLACE.key),
      fingerprint: this.#sixteenBytes(isCancel ? KEYED_CANCEL.fingerprint : EXTENDED_PLACE.fingerprint),
      order_id: this.#order.id,
      shard_sequence: record.shardSequence,
      kept_place: this.#keptPriority ? 1 : 0,
      changed_price: this.#changedPrice ? 1 : 0,
    });
    this.#latestMs = record.timeMs;
  }

  flush(): void {
    this.#insert.flush();
    if (this.#latestMs > 0) this.#forget.run(this.#latestMs - KEPT_MS);
    this.#latestMs = 0;
  }

  /** A copy: before the row is written the words hold the next record. */
  #sixteenBytes(offset: number): Uint8Array {
    const word = this.#command + offset;
    return new Uint8Array(this.#words.slice(word, word + UUID_BYTES / 4).buffer);
  }
}

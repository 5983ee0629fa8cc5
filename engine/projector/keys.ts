/**
 * Projection of the idempotency keys: the order that a command with a key placed or cancelled, and those facts of the
 * answer that are not in the order's row; of a split or merge, that it was done.
 * A key is deleted some time after its answer expires (RULES.md 6.7).
 * Owner: the projector thread.
 *
 * A record is read in three steps: `startRecord` with its command, its events in their order, `endRecord`.
 *
 * Invariants:
 *   ORDERKEYS-1  Every accepted command with a key has one row, which names the order it placed or cancelled, if it is
 *                one of orders.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { ORDER_KEYS } from '../../shared/tables/orderKeys.ts';
import {
  ANY_COMMAND,
  COMMAND,
  EXT_ROUTE,
  EXTENDED_PLACE,
  KEYED_CANCEL,
  KEYED_CONVERT,
} from '../../shared/wire/commands.ts';
import { EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { OpenOrder } from './orderPool.ts';
import type { RecordContext } from './orders.ts';
import { RowInserter } from './rowInserter.ts';

/**
 * Longer than the eight days for which answers are kept: a key that still has an answer has its row. Shorter than the
 * ten for which its order stays in read.db at least (RULES.md 10.34).
 */
const KEPT_MS = 9 * 24 * 3_600_000;
const NO_ORDER = new Uint8Array(0);

export class KeyProjection {
  readonly #insert: RowInserter<typeof ORDER_KEYS>;
  readonly #limitTicks: Database.Statement<[Uint8Array], number>;
  readonly #forget: Database.Statement<[number]>;
  #words: Uint32Array = new Uint32Array(0);
  #command = 0;
  /** Where the record's command has its key. */
  #fields: { readonly key: number; readonly fingerprint: number } = EXTENDED_PLACE;
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
    const isKeyedConvert = type === COMMAND.CONVERT.TYPE && bytes === KEYED_CONVERT.BYTES;
    const isOfSet = type === COMMAND.CONVERT_SET.TYPE && hasKey(words, command);
    const isConversion = isKeyedConvert || isOfSet;
    const ofOthers = isKeyedCancel ? EXT_ROUTE.BATCH_CANCEL : isConversion ? EXT_ROUTE.CONVERT : EXT_ROUTE.NONE;
    const routeRow = isExtended ? words[command + EXTENDED_PLACE.keyUse] : ofOthers;
    this.#fields = isKeyedCancel ? KEYED_CANCEL : isKeyedConvert ? KEYED_CONVERT : EXTENDED_PLACE;
    if (isOfSet) this.#fields = COMMAND.CONVERT_SET;
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
    else this.#replacedTicks = order.isWritten ? this.#limitTicks.get(order.id)! : order.limitTicks;
  }

  endRecord(record: RecordContext): void {
    if (this.#route === EXT_ROUTE.NONE) return;
    const order = this.#order;
    assert(
      order !== null || this.#route === EXT_ROUTE.CONVERT,
      'ORDERKEYS-1: an accepted command with a key, if it is no conversion, has an order',
    );
    assert(record.timeMs >= this.#latestMs, 'order keys: records come in the order of time');
    this.#insert.add({
      time_ms: record.timeMs,
      account: order?.account ?? this.#words[this.#command + ANY_COMMAND.account],
      route: this.#route,
      row: this.#row,
      key: this.#sixteenBytes(this.#fields.key),
      fingerprint: this.#sixteenBytes(this.#fields.fingerprint),
      order_id: order?.id ?? NO_ORDER,
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

/** By the fingerprint, a hash: a client may use the key of zeros. */
function hasKey(words: Uint32Array, command: number): boolean {
  const at = command + COMMAND.CONVERT_SET.fingerprint;
  return words[at] !== 0 || words[at + 1] !== 0 || words[at + 2] !== 0 || words[at + 3] !== 0;
}

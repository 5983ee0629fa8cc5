/**
 * Projection of idempotency keys: which order was placed, or cancelled, by a command that carried one, and what the
 * answer said that the order's row does not. A key is forgotten some time after its answer is (RULES.md 6.7).
 * Owner: the projector thread.
 *
 * A record is read in three steps: `begin` with its command, its events as they come, `end`.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/assert.ts';
import {
  CANCEL_FINGERPRINT,
  CANCEL_KEY,
  CMD_TYPE,
  COMMAND,
  EXT_FINGERPRINT,
  EXT_KEY,
  EXT_ROUTE,
  EXT_ROUTE_ROW,
  EXTENDED_PLACE_BYTES,
  KEYED_CANCEL_BYTES,
} from '../../shared/commands.ts';
import { ORDER_LIMIT_TICKS, ORDER_SEQUENCE, TAG_PRIORITY } from '../../shared/events.ts';
import { UUID_BYTES } from '../../shared/hex.ts';
import { readSafe } from '../../shared/record.ts';
import type { OpenOrder, RecordContext } from './orders.ts';

/** Longer than an answer is kept (eight days): a key that is still in use is never forgotten here first. */
const KEPT_MS = 9 * 24 * 3_600_000;

export class KeyProjection {
  readonly #insert: Database.Statement;
  readonly #limitTicks: Database.Statement<[Uint8Array], number>;
  readonly #forget: Database.Statement<[number]>;
  #words: Uint32Array = new Uint32Array(0);
  #command = 0;
  /** EXT_ROUTE of the record's command; NONE when it has no key. */
  #route: number = EXT_ROUTE.NONE;
  #row = 0;
  /** The order that is told of. */
  #order: OpenOrder | null = null;
  #sequence = 0;
  /** Of the order that gave way to it; 0 when none did. */
  #oldTicks = 0;
  #keptPlace = false;
  #changedPrice = false;
  /** Of the last record with a key. */
  #latestMs = 0;

  constructor(db: Database.Database) {
    this.#insert = db.prepare(`
      INSERT INTO order_keys (
        time_ms, account, route, row, key, fingerprint, order_id, shard_sequence, kept_place, changed_price
      ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#limitTicks = db.prepare<[Uint8Array], number>('SELECT limit_ticks FROM orders WHERE id = ?').pluck();
    this.#forget = db.prepare('DELETE FROM order_keys WHERE time_ms < ?');
  }

  begin(words: Uint32Array, command: number): void {
    this.#words = words;
    this.#command = command;
    this.#order = null;
    this.#oldTicks = 0;
    this.#keptPlace = false;
    this.#changedPrice = false;
    const type = words[command + CMD_TYPE]! & 0xffff;
    const bytes = words[command]!;
    const isExtended = type === COMMAND.REPLACE || (type === COMMAND.PLACE && bytes === EXTENDED_PLACE_BYTES);
    const isKeyedCancel = type === COMMAND.CANCEL && bytes === KEYED_CANCEL_BYTES;
    const routeRow = isExtended ? words[command + EXT_ROUTE_ROW]! : isKeyedCancel ? EXT_ROUTE.BATCH_CANCEL : 0;
    this.#route = routeRow & 0xff;
    this.#row = routeRow >>> 8;
  }

  /** An ORDER event, whose order this is. */
  placed(order: OpenOrder, words: Uint32Array, word: number): void {
    if (this.#route === EXT_ROUTE.NONE) return;
    this.#order = order;
    this.#sequence = readSafe(words, word + ORDER_SEQUENCE);
    this.#changedPrice = this.#oldTicks !== 0 && this.#oldTicks !== words[word + ORDER_LIMIT_TICKS]!;
  }

  /** An ORDER_TAG event. */
  tagged(words: Uint32Array, word: number): void {
    if (this.#order !== null) this.#keptPlace = readSafe(words, word + TAG_PRIORITY) !== this.#sequence;
  }

  /** A CLOSED event: of the order that is cancelled or gives way, if none was placed before. */
  closed(order: OpenOrder): void {
    if (this.#route === EXT_ROUTE.NONE || this.#order !== null) return;
    if (this.#route === EXT_ROUTE.BATCH_CANCEL) this.#order = order;
    // One that was placed in the same batch has no row yet.
    else this.#oldTicks = order.unwritten?.limitTicks ?? this.#limitTicks.get(order.id)!;
  }

  end(record: RecordContext): void {
    if (this.#route === EXT_ROUTE.NONE) return;
    assert(this.#order !== null, 'projector: an accepted command with a key has an order');
    const isCancel = this.#route === EXT_ROUTE.BATCH_CANCEL;
    this.#insert.run(
      record.timeMs,
      this.#order.account,
      this.#route,
      this.#row,
      this.#sixteenBytes(isCancel ? CANCEL_KEY : EXT_KEY),
      this.#sixteenBytes(isCancel ? CANCEL_FINGERPRINT : EXT_FINGERPRINT),
      this.#order.id,
      record.shardSequence,
      this.#keptPlace ? 1 : 0,
      this.#changedPrice ? 1 : 0,
    );
    this.#latestMs = record.timeMs;
  }

  flush(): void {
    if (this.#latestMs > 0) this.#forget.run(this.#latestMs - KEPT_MS);
    this.#latestMs = 0;
  }

  #sixteenBytes(offset: number): Uint8Array {
    return new Uint8Array(this.#words.buffer, this.#words.byteOffset + (this.#command + offset) * 4, UUID_BYTES);
  }
}

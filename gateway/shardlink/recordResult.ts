/**
 * The effects of a record on the order it placed: collected while the events of the record are applied, read by the
 * handler of its reply, then cleared. There is one for each shard, and its columns are reused, so a placement allocates
 * nothing here.
 * Owner: the gateway thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON, type CloseReason, ORDER_STATUS, type OrderStatus } from '../../shared/base/codes.ts';
import { ANY_EVENT, closeReasonAt, EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { grown, NONE } from './growingColumn.ts';

const FIRST_FILLS = 64;

export class RecordResult {
  shardSequence = 0;
  timeMs = 0;
  /** The slot of the order that the record placed, or NONE. */
  slot = NONE;
  fills = 0;
  /** The fills, one column for each field, valid below `fills`. */
  makerSlot = new Uint32Array(FIRST_FILLS);
  matchType = new Uint8Array(FIRST_FILLS);
  yesTicks = new Uint16Array(FIRST_FILLS);
  lots = new Float64Array(FIRST_FILLS);
  tradeSequence = new Float64Array(FIRST_FILLS);
  #isClosed = false;
  #closeReason: CloseReason = CLOSE_REASON.FILLED;

  start(words: Uint32Array, word: number): void {
    this.clear();
    this.shardSequence = readSafe(words, word + EVENT.RECORD.shardSequence);
    this.timeMs = readSafe(words, word + EVENT.RECORD.timeMs);
  }

  clear(): void {
    this.slot = NONE;
    this.fills = 0;
    this.#isClosed = false;
  }

  order(words: Uint32Array, word: number): void {
    this.slot = words[word + ANY_EVENT.slot];
  }

  fill(words: Uint32Array, word: number): void {
    assert(
      words[word + EVENT.FILL.takerSlot] === this.slot,
      'record result: the taker of a fill is the order of its record',
    );
    const at = this.fills++;
    this.makerSlot = grown(this.makerSlot, this.fills);
    this.matchType = grown(this.matchType, this.fills);
    this.yesTicks = grown(this.yesTicks, this.fills);
    this.lots = grown(this.lots, this.fills);
    this.tradeSequence = grown(this.tradeSequence, this.fills);
    this.makerSlot[at] = words[word + EVENT.FILL.makerSlot];
    this.matchType[at] = words[word + EVENT.FILL.matchType];
    this.yesTicks[at] = words[word + EVENT.FILL.yesTicks];
    this.lots[at] = readSafe(words, word + EVENT.FILL.lots);
    this.tradeSequence[at] = readSafe(words, word + EVENT.FILL.tradeSequence);
  }

  closed(words: Uint32Array, word: number): void {
    if (words[word + ANY_EVENT.slot] !== this.slot) return;
    this.#isClosed = true;
    this.#closeReason = closeReasonAt(words, word);
  }

  /** The status in the answer: an order that was cancelled after a fill is `partially_filled` there (RULES.md 2). */
  status(): OrderStatus {
    if (this.#isClosed && this.#closeReason === CLOSE_REASON.FILLED) return ORDER_STATUS.FILLED;
    if (this.fills > 0) return ORDER_STATUS.PARTIALLY_FILLED;
    return this.#isClosed ? ORDER_STATUS.CANCELLED : ORDER_STATUS.OPEN;
  }

  /** The status in the order's own record, where it is cancelled when its remainder was. */
  finalStatus(): OrderStatus {
    const isCancelled = this.#isClosed && this.#closeReason !== CLOSE_REASON.FILLED;
    return isCancelled ? ORDER_STATUS.CANCELLED : this.status();
  }
}

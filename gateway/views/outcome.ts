/**
 * What the record at hand did to its incoming order: collected while a record's events pass, read by the handler of its
 * reply, then forgotten. One instance a shard; the lists are reused, so a placement allocates nothing here.
 * Owner: the gateway thread.
 */
import { assert } from '../../shared/assert.ts';
import { CLOSE_REASON, type CloseReason, ORDER_STATUS, type OrderStatus } from '../../shared/codes.ts';
import {
  EV_FLAGS,
  EV_SLOT,
  FILL_LOTS,
  FILL_TAKER_SLOT,
  FILL_TRADE_SEQUENCE,
  FILL_YES_TICKS,
  RECORD_SEQUENCE,
  RECORD_TIME_MS,
} from '../../shared/events.ts';
import { readSafe } from '../../shared/record.ts';
import { grown, NONE } from './columns.ts';

const FIRST_FILLS = 64;

export class Outcome {
  shardSequence = 0;
  timeMs = 0;
  /** Slot of the order this record accepted, or NONE. */
  slot = NONE;
  fills = 0;
  /** Columns of the fills, valid below `fills`. */
  makerSlot = new Uint32Array(FIRST_FILLS);
  matchType = new Uint8Array(FIRST_FILLS);
  yesTicks = new Uint16Array(FIRST_FILLS);
  lots = new Float64Array(FIRST_FILLS);
  tradeSequence = new Float64Array(FIRST_FILLS);
  #isClosed = false;
  #closeReason: CloseReason = CLOSE_REASON.FILLED;

  begin(words: Uint32Array, word: number): void {
    this.clear();
    this.shardSequence = readSafe(words, word + RECORD_SEQUENCE);
    this.timeMs = readSafe(words, word + RECORD_TIME_MS);
  }

  /** After its reply a record is over: a refusal that follows has no record and must not see this one's order. */
  clear(): void {
    this.slot = NONE;
    this.fills = 0;
    this.#isClosed = false;
  }

  order(words: Uint32Array, word: number): void {
    this.slot = words[word + EV_SLOT]!;
  }

  fill(words: Uint32Array, word: number): void {
    assert(words[word + FILL_TAKER_SLOT] === this.slot, 'outcome: the taker of a fill is the order of its record');
    const at = this.fills++;
    this.makerSlot = grown(this.makerSlot, this.fills);
    this.matchType = grown(this.matchType, this.fills);
    this.yesTicks = grown(this.yesTicks, this.fills);
    this.lots = grown(this.lots, this.fills);
    this.tradeSequence = grown(this.tradeSequence, this.fills);
    this.makerSlot[at] = words[word + EV_SLOT]!;
    this.matchType[at] = words[word + EV_FLAGS]!;
    this.yesTicks[at] = words[word + FILL_YES_TICKS]!;
    this.lots[at] = readSafe(words, word + FILL_LOTS);
    this.tradeSequence[at] = readSafe(words, word + FILL_TRADE_SEQUENCE);
  }

  closed(words: Uint32Array, word: number): void {
    if (words[word + EV_SLOT] !== this.slot) return;
    this.#isClosed = true;
    this.#closeReason = words[word + EV_FLAGS]! as CloseReason;
  }

  /** As a placement answers it: an order that was stopped short after a fill says `partially_filled` (RULES.md 2). */
  status(): OrderStatus {
    if (this.#isClosed && this.#closeReason === CLOSE_REASON.FILLED) return ORDER_STATUS.FILLED;
    if (this.fills > 0) return ORDER_STATUS.PARTIALLY_FILLED;
    return this.#isClosed ? ORDER_STATUS.CANCELLED : ORDER_STATUS.OPEN;
  }

  /** As its record then says it: the rest of an order that was stopped short is cancelled. */
  finalStatus(): OrderStatus {
    const isCancelled = this.#isClosed && this.#closeReason !== CLOSE_REASON.FILLED;
    return isCancelled ? ORDER_STATUS.CANCELLED : this.status();
  }
}

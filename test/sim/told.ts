/**
 * Reads what a shard tells of its orders, out of the event ring or out of a journal row, in the words of the oracle: by
 * order number instead of slot. Checks on the way that the public frames of a market are numbered without a gap.
 */
import assert from 'node:assert/strict';
import { CLOSE_REASON } from '../../shared/codes.ts';
import * as ev from '../../shared/events.ts';
import { readSafe } from '../../shared/record.ts';
import type { Told } from '../support/engine.ts';

export type SeenOrder = { readonly hash: Uint32Array; readonly id: number };

export class ToldReader {
  /** The last accepted order. */
  accepted: SeenOrder | undefined;
  fills = 0;
  /** Order number by slot. */
  readonly #orderAt = new Map<number, number>();
  /** Last frame of each market. */
  readonly #frames = new Map<number, number>();

  /** What the records between two words tell. */
  read(words: Uint32Array, from: number, end: number): Told[] {
    const told: Told[] = [];
    for (let word = from; word < end; word += words[word]! >>> 2) {
      this.#countFrame(words, word);
      const one = this.#readOne(words, word);
      if (one !== undefined) told.push(one);
    }
    return told;
  }

  /** A shard that has recovered says where its open orders are: where they were. */
  checkPlace(words: Uint32Array, word: number): void {
    assert.equal(
      this.#orderAt.get(words[word + ev.EV_SLOT]!),
      readSafe(words, word + ev.ORDER_SEQUENCE),
      'a recovered order has the slot it had',
    );
  }

  frameOf(market: number): number {
    return this.#frames.get(market) ?? 0;
  }

  #countFrame(words: Uint32Array, word: number): void {
    const sequence = readSafe(words, word + ev.EV_MARKET_SEQUENCE);
    if (sequence === 0) return;
    const type = ev.typeOf(words[word + ev.EV_TYPE]!);
    const market = words[word + ev.EV_MARKET]!;
    assert.equal(sequence, this.frameOf(market) + 1, 'public frames are numbered without a gap');
    this.#frames.set(market, sequence + (type === ev.EVENT.FILL ? 1 : 0));
  }

  #readOne(words: Uint32Array, word: number): Told | undefined {
    const type = ev.typeOf(words[word + ev.EV_TYPE]!);
    const slot = words[word + ev.EV_SLOT]!;
    if (type === ev.EVENT.ORDER) {
      const id = readSafe(words, word + ev.ORDER_SEQUENCE);
      this.#orderAt.set(slot, id);
      this.accepted = { id, hash: words.slice(word + ev.ORDER_HASH, word + ev.ORDER_HASH + 8) };
      return { kind: 'order', order: id };
    }
    const order = this.#orderAt.get(slot)!;
    switch (type) {
      case ev.EVENT.REST:
        return { kind: 'rest', order, lots: readSafe(words, word + ev.REST_REMAINING_LOTS) };
      case ev.EVENT.CLOSED: {
        const left = readSafe(words, word + ev.CLOSED_REMAINING_LOTS);
        return { kind: 'closed', order, reason: words[word + ev.EV_FLAGS]!, left };
      }
      case ev.EVENT.DORMANT:
        return { kind: 'dormant', order };
      case ev.EVENT.WOKEN:
        return { kind: 'woken', order };
      case ev.EVENT.FILL:
        this.fills++;
        return {
          kind: 'fill',
          maker: order,
          taker: this.#orderAt.get(words[word + ev.FILL_TAKER_SLOT]!)!,
          lots: readSafe(words, word + ev.FILL_LOTS),
          ticks: words[word + ev.FILL_YES_TICKS]!,
          matchType: words[word + ev.EV_FLAGS]!,
          makerFee: readSafe(words, word + ev.FILL_MAKER_FEE),
          takerFee: readSafe(words, word + ev.FILL_TAKER_FEE),
        };
      default:
        return undefined;
    }
  }
}

/** No rule says in which order a closing market lets its orders go: by number here. */
export function inRuleOrder(told: readonly Told[]): Told[] {
  const sorted: Told[] = [];
  let closing: { order: number }[] = [];
  const flush = (): void => {
    sorted.push(...(closing.sort((a, b) => a.order - b.order) as Told[]));
    closing = [];
  };
  for (const one of told) {
    if (one.kind === 'closed' && one.reason === CLOSE_REASON.MARKET_CLOSED) closing.push(one);
    else {
      flush();
      sorted.push(one);
    }
  }
  flush();
  return sorted;
}

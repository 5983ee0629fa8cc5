/**
 * Answers about a book, rendered once for each sequence of the market, so that polling clients cost only look-ups. Only
 * the time at the end of an answer is new each time. Owner: the gateway thread.
 *
 * Invariants:
 *   RENDERED-1  A kept text, except its time, follows from the views at its sequence: every change of a shown book
 *               changes the sequence of its market.
 *   RENDERED-2  At most CAPACITY texts are kept; the one that was rendered first makes room.
 */
import { assert } from '../../../shared/base/assert.ts';

/** A text has at most about 20 kB: a hundred levels of both outcomes. */
const CAPACITY = 1024;
/** The number of variants of one market's texts. */
const VARIANTS = 1024;
const CLOSING_BRACE = '}';

type Kept = { readonly sequence: number; readonly text: string };

export class RenderedBooks {
  readonly #kept = new Map<number, Kept>();

  /**
   * The JSON of the result of `render`, with `timestamp` as its last member.
   * @param variant the kind of answer, a number below 1024
   */
  show(market: number, variant: number, sequence: number, timestamp: number, render: () => object): string {
    assert(variant < VARIANTS, 'rendered: a variant has its own number');
    const key = market * VARIANTS + variant;
    const kept = this.#kept.get(key);
    const text = kept?.sequence === sequence ? kept.text : this.#render(key, sequence, render);
    return `${text},"timestamp":${timestamp}}`;
  }

  #render(key: number, sequence: number, render: () => object): string {
    const text = JSON.stringify(render());
    assert(text.endsWith(CLOSING_BRACE) && text.length > 2, 'rendered: an object with members');
    const open = text.slice(0, -CLOSING_BRACE.length);
    this.#kept.delete(key);
    if (this.#kept.size >= CAPACITY) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(key, { sequence, text: open });
    return open;
  }
}

/**
 * Answers about a book, rendered once for each sequence of the market, so that polling clients cost only look-ups. Only
 * the time at the end of an answer is new each time. An answer is kept as the bytes that are sent, once it was asked
 * for by itself: uWebSockets.js copies bytes as they are, while a text has to be put together, measured and encoded
 * first, which took a fifth of the time of a GET of 20 levels.
 * Owner: the thread that answers.
 *
 * Invariants:
 *   RENDERED-1  A kept answer, except its time, follows from the views at its sequence: every change of a shown book
 *               changes the sequence of its market.
 *   RENDERED-2  At most CAPACITY answers are kept; the one that was rendered first makes room.
 *   RENDERED-3  The bytes that were given are right until they are asked for again: who sends them later copies them.
 */
import { assert } from '../../shared/base/assert.ts';

/** A text has at most about 20 kB: a hundred levels of both outcomes. */
const CAPACITY = 1024;
/** The number of variants of one market's texts. */
const VARIANTS = 1024;
const CLOSING_BRACE = '}';

type Kept = {
  readonly sequence: number;
  /** Up to its time. */
  readonly text: string;
  /** The whole of it at `timestamp`; empty: it was not asked for by itself. */
  bytes: Buffer;
  timestamp: number;
};

const NO_BYTES = Buffer.alloc(0);

export class RenderedBooks {
  readonly #kept = new Map<number, Kept>();

  /**
   * The JSON of the result of `render`, with `timestamp` as its last member.
   * @param variant the kind of answer, a number below 1024
   */
  show(market: number, variant: number, sequence: number, timestamp: number, render: () => object): string {
    return textAt(this.#of(market, variant, sequence, render), timestamp);
  }

  /** The same as bytes (RENDERED-3). */
  bytes(market: number, variant: number, sequence: number, timestamp: number, render: () => object): Buffer {
    const kept = this.#of(market, variant, sequence, render);
    if (kept.timestamp === timestamp) return kept.bytes;
    const time = `${timestamp}${CLOSING_BRACE}`;
    const at = kept.bytes.length - time.length;
    if (kept.bytes !== NO_BYTES && String(kept.timestamp).length === time.length - CLOSING_BRACE.length) {
      kept.bytes.write(time, at, 'latin1');
    } else kept.bytes = Buffer.from(textAt(kept, timestamp));
    kept.timestamp = timestamp;
    return kept.bytes;
  }

  #of(market: number, variant: number, sequence: number, render: () => object): Kept {
    assert(variant < VARIANTS, 'rendered: a variant has its own number');
    const key = market * VARIANTS + variant;
    const kept = this.#kept.get(key);
    return kept?.sequence === sequence ? kept : this.#render(key, sequence, render);
  }

  #render(key: number, sequence: number, render: () => object): Kept {
    const text = JSON.stringify(render());
    assert(text.endsWith(CLOSING_BRACE) && text.length > 2, 'rendered: an object with members');
    const open = text.slice(0, -CLOSING_BRACE.length);
    this.#kept.delete(key);
    if (this.#kept.size >= CAPACITY) this.#kept.delete(this.#kept.keys().next().value!);
    const kept = { sequence, text: open, bytes: NO_BYTES, timestamp: Number.NaN };
    this.#kept.set(key, kept);
    return kept;
  }
}

function textAt({ text }: Kept, timestamp: number): string {
  return `${text},"timestamp":${timestamp}${CLOSING_BRACE}`;
}

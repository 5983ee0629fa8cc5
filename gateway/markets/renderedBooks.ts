/**
 * Renders answers about a book once for each sequence number of the market, so that polling clients cost only lookups.
 * Only the time at the end of an answer is new each time. An answer is kept as bytes once it was requested by itself:
 * uWebSockets.js copies bytes as they are, while a text has to be assembled, measured and encoded first, which took a
 * fifth of the time of a GET of 20 levels.
 * Owner: the thread that answers.
 *
 * Invariants:
 *   RENDERED-1  A kept answer, except its time, follows from the views at its sequence number: every change of a shown
 *               book changes the sequence number of its market.
 *   RENDERED-2  At most CAPACITY answers are kept; the one rendered first is removed.
 *   RENDERED-3  Returned bytes are valid until the next call: a caller that sends them later copies them.
 */
import { assert } from '../../shared/base/assert.ts';

/** A text has at most about 20 kB: a hundred levels of both outcomes. */
const CAPACITY = 1024;
/** The number of variants of one market's texts. */
const VARIANTS = 1024;
const CLOSING_BRACE = '}';

type Kept = {
  readonly sequence: number;
  /** The answer up to its time. */
  readonly text: string;
  /** The whole answer at `timestamp`; empty if it was not requested by itself. */
  bytes: Buffer;
  timestamp: number;
};

const NO_BYTES = Buffer.alloc(0);

export class RenderedBooks {
  readonly #kept = new Map<number, Kept>();

  /**
   * Returns the JSON of `render`'s result, with `timestamp` as its last member.
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

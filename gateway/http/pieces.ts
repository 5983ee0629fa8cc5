/**
 * Long texts without long turns of the event loop: computed one piece per turn, with orders first, as longAnswers.ts
 * writes them; cached texts are sent again in pieces. Owner: the gateway thread.
 *
 * Invariants:
 *   PIECES-1  A turn of the event loop computes one piece of one text, however many are being computed.
 *   PIECES-2  Texts take turns: each that is not finished goes to the end of the queue.
 */
import { assert } from '../../shared/base/assert.ts';
import { SpareTurns } from '../base/spareTurns.ts';
import type { Call } from './call.ts';
import { PIECE_MS, takePiece } from './longAnswers.ts';
import { okBytes, okInRows } from './respond.ts';

/** A piece of a long answer has 64 rows, and a slice is one of them. */
const SLICE_BYTES = 2 * 1024;
/** Bytes that are kept cost no conversion: as many as a piece has at most. */
const LONGEST_AT_ONCE = 128 * 1024;
/** The bits by which UTF-8 marks the bytes of a character after its first. */
const CONTINUATION_MASK = 0b1100_0000;
const CONTINUATION = 0b1000_0000;

type Unfinished = {
  readonly rows: Iterator<string>;
  /** As bytes: converting a text of megabytes at the end would block the thread for milliseconds. */
  readonly pieces: Buffer[];
  readonly resolve: (text: Buffer) => void;
  readonly reject: (error: unknown) => void;
};

export class TextsInTurns {
  readonly #spareTurns: SpareTurns;
  /** The first has the next turn. */
  readonly #unfinished: Unfinished[] = [];

  constructor(areOrdersUnderway: () => boolean) {
    this.#spareTurns = new SpareTurns(() => this.#turn(), areOrdersUnderway);
  }

  /** The whole text of these rows, as UTF-8. */
  join(rows: Iterator<string>): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#unfinished.push({ rows, pieces: [], resolve, reject });
      this.#spareTurns.request();
    });
  }

  /** PIECES-1 */
  #turn(): void {
    const next = this.#unfinished.shift();
    assert(next !== undefined, 'PIECES-1: a turn is for a text');
    const endMs = performance.now() + PIECE_MS;
    try {
      const { text, isLast } = takePiece(next.rows, () => performance.now() < endMs);
      next.pieces.push(Buffer.from(text));
      if (isLast) next.resolve(Buffer.concat(next.pieces));
      // PIECES-2
      else this.#unfinished.push(next);
    } catch (error) {
      next.reject(error);
    }
    if (this.#unfinished.length > 0) this.#spareTurns.request();
  }
}

/** Answers with a text of any length, kept as bytes: one that is not too long is sent as it is. */
export function okKept(call: Call, body: Buffer): void {
  if (body.length <= LONGEST_AT_ONCE) okBytes(call, body);
  else okInRows(call, textSlicesOf(body));
}

export function* textSlicesOf(body: Buffer): Generator<string> {
  for (let from = 0; from < body.length; ) {
    let end = Math.min(from + SLICE_BYTES, body.length);
    // A character that a slice would cut is moved to the next slice.
    while (end < body.length && (body[end] & CONTINUATION_MASK) === CONTINUATION) end--;
    yield body.toString('utf8', from, end);
    from = end;
  }
}

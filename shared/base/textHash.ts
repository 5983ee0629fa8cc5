/**
 * The hash of a short text for a table that clients can fill, under a key that this process draws at random and never
 * reveals: clients can neither choose texts that collide nor know which texts share a place. Nothing durable may depend
 * on it. Threads that share a table share its key.
 */

/** The second word is never 0, so that no hash looks like an empty cell. */
export type Hash64 = { readonly first: number; readonly second: number };

/** HalfSipHash-1-3 of a text, in 64 bits. It holds the result of the last call. */
export class TextHash implements Hash64 {
  first = 0;
  second = 1;
  readonly #low: number;
  readonly #high: number;

  constructor(key: Int32Array = crypto.getRandomValues(new Int32Array(2))) {
    this.#low = key[0];
    this.#high = key[1];
  }

  /** @param text ASCII, of at most 255 characters. */
  of(text: string): void {
    const blocks = (text.length >>> 2) + 1;
    // Without these two operators V8 does not know the type of the fields and adds in floating point.
    let a = this.#low | 0;
    let b = (this.#high | 0) ^ 0xee;
    let c = this.#low ^ 0x6c796765;
    let d = this.#high ^ 0x74656462;
    for (let round = 0; round < blocks + 6; round++) {
      let block = 0;
      if (round < blocks) block = blockOf(text, round * 4);
      else if (round === blocks) c ^= 0xee;
      else if (round === blocks + 3) {
        this.first = (b ^ d) >>> 0;
        b ^= 0xdd;
      }
      d ^= block;
      a = (a + b) | 0;
      b = ((b << 5) | (b >>> 27)) ^ a;
      a = (a << 16) | (a >>> 16);
      c = (c + d) | 0;
      d = ((d << 8) | (d >>> 24)) ^ c;
      a = (a + d) | 0;
      d = ((d << 7) | (d >>> 25)) ^ a;
      c = (c + b) | 0;
      b = ((b << 13) | (b >>> 19)) ^ c;
      c = (c << 16) | (c >>> 16);
      a ^= block;
    }
    this.second = (b ^ d) >>> 0 || 1;
  }
}

/** Four characters; the last block has the rest of the text, and its length. */
function blockOf(text: string, at: number): number {
  const left = text.length - at;
  if (left >= 4) {
    const low = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
    return low | (text.charCodeAt(at + 2) << 16) | (text.charCodeAt(at + 3) << 24);
  }
  let block = text.length << 24;
  for (let index = 0; index < left; index++) block |= text.charCodeAt(at + index) << (8 * index);
  return block;
}

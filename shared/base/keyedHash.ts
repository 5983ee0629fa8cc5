/**
 * The place of a 128-bit key in a hash table that clients can fill: HalfSipHash-1-3 of its four words, under a key that
 * this process draws at random and never reveals. A client can choose the hashes of its orders by trying salts, but
 * which of them share a place depends on the key.
 *
 * Nothing durable may depend on the result: every process has another key, so a table is filled anew at each start.
 * All keys have the same length, so the block that encodes the length is left out.
 */
export class KeyedHash {
  readonly #low: number;
  readonly #high: number;

  /** @param key the two words of the key; only tests pass it. */
  constructor(key: Int32Array = crypto.getRandomValues(new Int32Array(2))) {
    this.#low = key[0];
    this.#high = key[1];
  }

  /** A signed word that depends on every bit of the four words at `word`. */
  of(words: Uint32Array, word: number): number {
    // Without these two operators V8 does not know the type of the fields and adds in floating point.
    let a = this.#low | 0;
    let b = this.#high | 0;
    let c = a ^ 0x6c796765;
    let d = b ^ 0x74656462;
    for (let round = 0; round < 7; round++) {
      const block = round < 4 ? words[word + round] | 0 : 0;
      if (round === 4) c ^= 0xff;
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
    return b ^ d;
  }
}

/**
 * Token ids as the catalogue names them, by their bytes in records: turning 32 bytes into decimal text takes longer
 * than all other checks of an order, and the same few tokens come over and over. The text of a token never changes, so
 * nothing here can be stale; a token whose place another one takes is converted again.
 */
import { uint256ToDecimal } from '../../shared/base/hex.ts';

const PLACES = 4096;
const TOKEN_WORDS = 8;

export class TokenTexts {
  readonly #words = new Uint32Array(PLACES * TOKEN_WORDS);
  readonly #texts: string[] = new Array(PLACES).fill('0');

  /** @param word the first of the eight words of the token. */
  of(words: Uint32Array, bytes: Uint8Array, word: number): string {
    const mixed = words[word + 1] ^ words[word + 5] ^ words[word + 7];
    const place = (Math.imul(mixed, 0x9e37_79b1) >>> 20) & (PLACES - 1);
    const kept = place * TOKEN_WORDS;
    for (let i = 0; i < TOKEN_WORDS; i++) {
      if (this.#words[kept + i] !== words[word + i]) return this.#convert(words, bytes, word, place);
    }
    return this.#texts[place];
  }

  #convert(words: Uint32Array, bytes: Uint8Array, word: number, place: number): string {
    const text = uint256ToDecimal(bytes, word * 4);
    for (let i = 0; i < TOKEN_WORDS; i++) this.#words[place * TOKEN_WORDS + i] = words[word + i];
    this.#texts[place] = text;
    return text;
  }
}

/**
 * Converts token ids between their texts in the catalogue and their bytes in records, and caches the result: a
 * conversion takes longer than all other checks of an order, and the same few tokens come over and over. The text of a
 * token never changes, so nothing here can be stale; a token that another one has displaced is converted again.
 */
import { tryParseUint256, UINT256_BYTES, uint256ToDecimal } from '../../shared/base/hex.ts';

const PLACES = 4096;
const TOKEN_WORDS = 8;
/** The last digits of a token decide its slot. */
const PLACE_DIGITS = 4;

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

export class TokenBytes {
  /** Null: the slot is empty. */
  readonly #texts: (string | null)[] = new Array(PLACES).fill(null);
  readonly #bytes = new Uint8Array(PLACES * UINT256_BYTES);

  /** Writes the 32 bytes of a token. Returns false if the text is no token. */
  write(text: string, out: Uint8Array, offset: number): boolean {
    const place = placeOf(text);
    const kept = place * UINT256_BYTES;
    if (this.#texts[place] !== text) {
      this.#texts[place] = null;
      if (!tryParseUint256(text, this.#bytes, kept)) return false;
      this.#texts[place] = text;
    }
    for (let i = 0; i < UINT256_BYTES; i++) out[offset + i] = this.#bytes[kept + i];
    return true;
  }
}

function placeOf(text: string): number {
  let digits = 0;
  for (let index = Math.max(0, text.length - PLACE_DIGITS); index < text.length; index++) {
    digits = digits * 10 + text.charCodeAt(index);
  }
  return digits & (PLACES - 1);
}

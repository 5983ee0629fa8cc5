/** Printable ASCII in the words of a record, with zeros after its end. */
import { assert } from '../base/assert.ts';
import { CLIENT_ID_MAX_BYTES } from './commands.ts';

/** Reads from `word` up to the first zero byte, at most `length` bytes. */
export function readText(words: Uint32Array, word: number, length: number): string {
  const bytes = new Uint8Array(words.buffer, words.byteOffset + word * 4, length);
  const end = bytes.indexOf(0);
  return String.fromCharCode(...(end < 0 ? bytes : bytes.subarray(0, end)));
}

/** Writes from `word` on, where all words are still zero. */
export function writeText(words: Uint32Array, word: number, text: string): void {
  assert(text.length <= CLIENT_ID_MAX_BYTES, 'texts: a text in a record has at most 64 bytes');
  const bytes = new Uint8Array(words.buffer, words.byteOffset + word * 4, text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
}

/** The client order id in events, commands and private frames: printable ASCII, with zeros after its end. */
import { assert } from '../base/assert.ts';
import { CLIENT_ID_MAX_BYTES, EXTENDED_PLACE } from './commands.ts';
import { EVENT } from './events.ts';

/** The id in the ORDER_TAG event at `word`; null if the order has none. */
export function readClientId(words: Uint32Array, word: number): string | null {
  const length = words[word + EVENT.ORDER_TAG.clientIdBytes];
  assert(length <= CLIENT_ID_MAX_BYTES, 'clientId: a client order id has at most 64 bytes');
  return length === 0 ? null : readText(words, word + EVENT.ORDER_TAG.clientId, length);
}

/** Writes the id into the extension of the placing command at `word`, whose words are still zero there. */
export function writeClientId(words: Uint32Array, word: number, clientId: string): void {
  words[word + EXTENDED_PLACE.clientIdBytes] = clientId.length;
  writeText(words, word + EXTENDED_PLACE.clientId, clientId);
}

/** Reads from `word` up to the first zero byte, at most `length` bytes. */
export function readText(words: Uint32Array, word: number, length: number): string {
  const bytes = new Uint8Array(words.buffer, words.byteOffset + word * 4, length);
  const end = bytes.indexOf(0);
  return String.fromCharCode(...(end < 0 ? bytes : bytes.subarray(0, end)));
}

/** Writes from `word` on, where all words are still zero. */
export function writeText(words: Uint32Array, word: number, text: string): void {
  assert(text.length <= CLIENT_ID_MAX_BYTES, 'clientId: a client order id has at most 64 bytes');
  const bytes = new Uint8Array(words.buffer, words.byteOffset + word * 4, text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
}

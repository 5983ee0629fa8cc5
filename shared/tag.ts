/**
 * The client order id in events, commands and private frames: printable ASCII, zero behind its bytes.
 */
import { assert } from './assert.ts';
import { CLIENT_ID_MAX_BYTES, EXT_CLIENT_ID, EXT_CLIENT_ID_BYTES } from './commands.ts';
import { TAG_CLIENT_ID, TAG_CLIENT_ID_BYTES } from './events.ts';

/** Of the ORDER_TAG event at `word`; null when the order has none. */
export function readClientId(words: Uint32Array, word: number): string | null {
  const length = words[word + TAG_CLIENT_ID_BYTES]!;
  assert(length <= CLIENT_ID_MAX_BYTES, 'tag: a client order id has at most 64 bytes');
  return length === 0 ? null : readText(words, word + TAG_CLIENT_ID, length);
}

/** Into the extension of the placing command at `word`, whose words there are still zero. */
export function writeClientId(words: Uint32Array, word: number, clientId: string): void {
  words[word + EXT_CLIENT_ID_BYTES] = clientId.length;
  writeText(words, word + EXT_CLIENT_ID, clientId);
}

/** From `word` on up to the first zero byte, at most `length` bytes. */
export function readText(words: Uint32Array, word: number, length: number): string {
  const bytes = new Uint8Array(words.buffer, words.byteOffset + word * 4, length);
  const end = bytes.indexOf(0);
  return String.fromCharCode(...(end < 0 ? bytes : bytes.subarray(0, end)));
}

/** From `word` on, where everything is still zero. */
export function writeText(words: Uint32Array, word: number, text: string): void {
  assert(text.length <= CLIENT_ID_MAX_BYTES, 'tag: a client order id has at most 64 bytes');
  const bytes = new Uint8Array(words.buffer, words.byteOffset + word * 4, text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
}

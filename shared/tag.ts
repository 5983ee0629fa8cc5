/** The client order id inside an ORDER_TAG event and an extended PLACE: printable ASCII, zero behind its bytes. */
import { assert } from './assert.ts';
import { CLIENT_ID_MAX_BYTES, EXT_CLIENT_ID, EXT_CLIENT_ID_BYTES } from './commands.ts';
import { TAG_CLIENT_ID, TAG_CLIENT_ID_BYTES } from './events.ts';

/** Of the ORDER_TAG event at `word`; null when the order has none. */
export function readClientId(words: Uint32Array, word: number): string | null {
  const length = words[word + TAG_CLIENT_ID_BYTES]!;
  if (length === 0) return null;
  assert(length <= CLIENT_ID_MAX_BYTES, 'tag: a client order id has at most 64 bytes');
  const start = words.byteOffset + (word + TAG_CLIENT_ID) * 4;
  return String.fromCharCode(...new Uint8Array(words.buffer, start, length));
}

/** Into the extension of the placing command at `word`, whose words there are still zero. */
export function writeClientId(words: Uint32Array, word: number, clientId: string): void {
  assert(clientId.length <= CLIENT_ID_MAX_BYTES, 'tag: a client order id has at most 64 bytes');
  words[word + EXT_CLIENT_ID_BYTES] = clientId.length;
  const bytes = new Uint8Array(words.buffer, words.byteOffset + (word + EXT_CLIENT_ID) * 4, clientId.length);
  for (let i = 0; i < clientId.length; i++) bytes[i] = clientId.charCodeAt(i);
}

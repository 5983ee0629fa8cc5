/** The client order id in events, commands and private frames: printable ASCII, with zeros after its end. */
import { assert } from '../base/assert.ts';
import { CLIENT_ID_MAX_BYTES, EXTENDED_PLACE } from './commands.ts';
import { EVENT } from './events.ts';
import { readText, writeText } from './texts.ts';

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

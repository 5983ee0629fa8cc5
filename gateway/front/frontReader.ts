/**
 * A front thread does of a request that changes orders what needs nothing that is shared: it reads the headers,
 * verifies the signature with a copy of the key's secret, and scans the body: its orders become the records of their
 * commands. All that decides is left to the gateway thread, in the stages that every call passes; so a body that cannot
 * be scanned is parsed there, and what is not rightly signed is passed on as it came, and refused there.
 * Owner: the front thread.
 *
 * Invariants:
 *   FRONTREADER-1  A copy of a secret lets nothing in: the gateway thread looks the key up, and takes the verification
 *                only as one with the secret that the key has then. Copies need not be recalled.
 *   FRONTREADER-2  So many copies are kept, the latest; those of the keys that have come to this thread.
 */
import { COMMAND } from '../../shared/wire/commands.ts';
import { isSigned } from '../access/authenticator.ts';
import { HMAC_BLOCK_BYTES, HmacKey } from '../base/hmacKey.ts';
import type { RequestHeaders } from '../http/headers.ts';
import { BodyScanner } from '../trading/bodyScanner.ts';
import type { FrontCall, HeldHead } from './frontCall.ts';
import type { Outgoing } from './outgoing.ts';
import { changesOrders, formOf, partsOfRead } from './readByFront.ts';
import { FROM_FRONT, TO_FRONT } from './records.ts';

const { PLACE } = COMMAND;
const { READ_CALL, KEY_WANTED } = FROM_FRONT;
const { KEY } = TO_FRONT;
/** FRONTREADER-2: some hundred bytes each. */
const MOST_KEYS = 16_384;
/** Of a key id as the exchange issues it, and more. */
const MOST_ID_BYTES = 64;
/** A full batch, or one with the most hashes, has half of it. */
const MOST_BODY_BYTES = 32_768;

export class FrontReader {
  readonly #out: Outgoing;
  readonly #bodies = new BodyScanner();
  readonly #keys = new Map<string, HmacKey>();

  constructor(out: Outgoing) {
    this.#out = out;
  }

  /** True for a request that `trySend` may take, as far as its headers show. */
  canTake(method: string, path: string, { bodyBytes, authorization, keyId }: RequestHeaders): boolean {
    if (!changesOrders(method, path)) return false;
    return bodyBytes >= 0 && bodyBytes <= MOST_BODY_BYTES && authorization === '' && keyId !== '';
  }

  /** @returns false when the call has to be passed on as it came: nothing has been sent of it then. */
  trySend(call: FrontCall, { line, headers, peer }: HeldHead, body: Buffer): boolean {
    const { keyId } = headers;
    const { method, path, query } = line;
    const secret = this.#keys.get(keyId);
    const target = query === null ? path : `${path}?${query}`;
    if (secret === undefined || !isSigned(secret, headers, method, target, body)) {
      this.#want(keyId);
      return false;
    }
    const form = formOf(line);
    const scanned = form === null ? null : this.#bodies[form](body);
    const parts = partsOfRead(line, headers, scanned);
    const text = parts.join('');
    if (Buffer.byteLength(text) !== text.length) return false;
    const orders = scanned?.orders ?? [];
    const ordersBytes = orders.length * PLACE.BYTES;
    const out = this.#out;
    const length = READ_CALL.BYTES + ordersBytes + parts.length * 4 + text.length + body.length;
    const word = out.claim(READ_CALL.TYPE, call.slot, call.serial, length);
    const { words, bytes } = out;
    words[word + READ_CALL.verifiedWith] = secret.number;
    words[word + READ_CALL.peerBytes] = peer.length;
    bytes.set(peer, (word + READ_CALL.peer) * 4);
    words[word + READ_CALL.orders] = orders.length;
    const ordersAt = word + READ_CALL.WORDS;
    // They are one after the other there, too.
    if (scanned !== null) words.set(scanned.orders[0].records.words.subarray(0, orders.length * PLACE.WORDS), ordersAt);
    words[word + READ_CALL.parts] = parts.length;
    words[word + READ_CALL.textBytes] = text.length;
    words[word + READ_CALL.bodyBytes] = body.length;
    const lengthsAt = ordersAt + ordersBytes / 4;
    for (let index = 0; index < parts.length; index++) words[lengthsAt + index] = parts[index].length;
    const textAt = (lengthsAt + parts.length) * 4;
    bytes.write(text, textAt, 'latin1');
    bytes.set(body, textAt + text.length);
    out.publish();
    return true;
  }

  /** The gateway thread has sent a key. */
  keep(words: Uint32Array, bytes: Buffer, word: number): void {
    const idAt = (word + KEY.WORDS) * 4;
    const keyId = bytes.toString('latin1', idAt, idAt + words[word + KEY.idBytes]);
    this.#keys.delete(keyId);
    if (this.#keys.size >= MOST_KEYS) this.#keys.delete(this.#keys.keys().next().value!);
    const copy = {
      number: words[word + KEY.number],
      innerBlock: blockAt(bytes, word + KEY.innerBlock),
      outerBlock: blockAt(bytes, word + KEY.outerBlock),
    };
    this.#keys.set(keyId, new HmacKey(copy));
  }

  /** Its copy is missing, or of a former secret; or the signature is wrong. */
  #want(keyId: string): void {
    if (keyId.length > MOST_ID_BYTES || Buffer.byteLength(keyId) !== keyId.length) return;
    const out = this.#out;
    const word = out.claim(KEY_WANTED.TYPE, 0, 0, KEY_WANTED.BYTES + keyId.length);
    out.words[word + KEY_WANTED.idBytes] = keyId.length;
    out.bytes.write(keyId, (word + KEY_WANTED.WORDS) * 4, 'latin1');
    out.publish();
  }
}

/** A copy: the memory of the ring is used again. */
function blockAt(bytes: Buffer, word: number): Uint8Array {
  return new Uint8Array(bytes.subarray(word * 4, word * 4 + HMAC_BLOCK_BYTES));
}

/**
 * A front thread does of a usual placement what needs nothing that is shared: it reads the headers, verifies the
 * signature with a copy of the key's secret, and reads the body into the record of its command. All that decides is
 * left to the gateway thread, in the stages that every call passes; so whatever is not usual, or not right, is passed
 * on as it came, and refused there.
 * Owner: the front thread.
 *
 * Invariants:
 *   PREPARING-1  A copy of a secret lets nothing in: the gateway thread looks the key up, and takes the verification
 *                only as one with the secret that the key has then. Copies need not be recalled.
 *   PREPARING-2  So many copies are kept, the latest; those of the keys that have placed at this thread.
 */
import { isSigned } from '../access/authenticator.ts';
import { HMAC_BLOCK_BYTES, HmacKey } from '../access/hmacKey.ts';
import type { RequestHeaders } from '../http/headers.ts';
import { UsualPlacements } from '../trading/usualPlacement.ts';
import type { FrontCall } from './frontCall.ts';
import type { Outgoing } from './outgoing.ts';
import { PREPARED_METHOD, PREPARED_PATH, preparedText } from './prepared.ts';
import { FROM_FRONT, TO_FRONT } from './records.ts';

const { PREPARED, KEY_WANTED } = FROM_FRONT;
const { KEY } = TO_FRONT;
/** PREPARING-2: some hundred bytes each. */
const MOST_KEYS = 16_384;
/** Of a key id as the exchange issues it, and more. */
const MOST_ID_BYTES = 64;
/** A usual body has half of it. */
const MOST_BODY_BYTES = 4096;

export class Preparing {
  readonly #out: Outgoing;
  readonly #usual = new UsualPlacements();
  readonly #keys = new Map<string, HmacKey>();

  constructor(out: Outgoing) {
    this.#out = out;
  }

  /** True for a request that `trySend` may take, as far as its headers show. */
  canTake(method: string, path: string, query: string | null, headers: RequestHeaders): boolean {
    if (method !== PREPARED_METHOD || path !== PREPARED_PATH || query !== null) return false;
    const { bodyBytes, authorization, keyId } = headers;
    return bodyBytes > 0 && bodyBytes <= MOST_BODY_BYTES && authorization === '' && keyId !== '';
  }

  /** @returns false when the call has to be passed on as it came: nothing has been sent of it then. */
  trySend(call: FrontCall, headers: RequestHeaders, peer: Uint8Array, body: Buffer): boolean {
    const { keyId } = headers;
    const secret = this.#keys.get(keyId);
    if (secret === undefined || !isSigned(secret, headers, PREPARED_METHOD, PREPARED_PATH, body)) {
      this.#want(keyId);
      return false;
    }
    const usual = this.#usual.read(body) === null ? null : this.#usual;
    if (usual === null) return false;
    const text = preparedText(headers, usual);
    if (Buffer.byteLength(text) !== text.length) return false;
    const out = this.#out;
    const word = out.claim(PREPARED.TYPE, call.slot, call.serial, PREPARED.BYTES + text.length + body.length);
    const { words, bytes } = out;
    words[word + PREPARED.verifiedWith] = secret.number;
    words[word + PREPARED.peerBytes] = peer.length;
    bytes.set(peer, (word + PREPARED.peer) * 4);
    words.set(usual.words, word + PREPARED.order);
    words[word + PREPARED.textBytes] = text.length;
    words[word + PREPARED.bodyBytes] = body.length;
    const textAt = (word + PREPARED.WORDS) * 4;
    bytes.write(text, textAt, 'latin1');
    bytes.set(body, textAt + text.length);
    out.publish();
    return true;
  }

  /** The gateway thread has sent a key. */
  keep(words: Uint32Array, bytes: Buffer, word: number): void {
    const idAt = (word + KEY.WORDS) * 4;
    const keyId = bytes.toString('latin1', idAt, idAt + words[word + KEY.idBytes]!);
    this.#keys.delete(keyId);
    if (this.#keys.size >= MOST_KEYS) this.#keys.delete(this.#keys.keys().next().value!);
    const copy = {
      number: words[word + KEY.number]!,
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

/**
 * The fast verifier is itself checked: a shard passes one check in SPOT_EVERY, and the first accepted order of every
 * signer, to a thread that asks the reference (noble) the same question in the background (spotMain.ts). After one
 * different answer the fast verifier is out of service in that shard: from the next order on the reference decides.
 *
 *   shard    SpotChecked   decides as the fast checks do, and copies some questions into its queue
 *   checker  SpotChecker   asks the reference, counts differences
 *
 * The digest in a question is computed again, by the hasher that gateway and clients use, so a wrong digest is noticed
 * as well as a wrong verdict.
 *
 * It needs a thread of its own because the reference takes a millisecond per question: in a shard the next order would
 * wait so long, and a shard under load is never idle. The checker pauses after each question, so that it uses a small
 * share of a core, and less if the core is needed elsewhere.
 *
 * Invariants:
 *   SPOT-1  One thread writes a queue and one reads it. A slot is written before `written` passes it, and free again
 *           once `read` has passed it. If the queue is full, the shard only counts the question and does not wait.
 *   SPOT-2  A signer is known once a question about one of its accepted orders is in the queue. If the queue was full,
 *           the signer's next order is used. Signers whose addresses have the same place in the table displace each
 *           other; the only effect is that they are checked again.
 *   SPOT-3  A difference is counted before the question is passed, and nothing lowers the count while the process runs,
 *           so a shard that is rebuilt continues with the reference.
 */
import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES, HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import { SIGNATURE_BYTES } from '../../shared/crypto/signature.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { SPOT_QUEUE, SPOT_SLOT, SPOT_SLOTS, spotQueueWord, spotSlotByte } from '../../shared/wire/spotLayout.ts';
import type { SpotMessage } from '../../shared/wire/threads.ts';
import { LoneChecks, type OrderChecks, type OrderDigests } from './orderChecks.ts';
import type { Verifier } from './verifier.ts';

const { PLACE } = COMMAND;
/** A prime, so that no pattern in the order of checks, such as places in a batch, is missed. */
export const SPOT_EVERY = 1009;
/** The number of known signers: a power of two. */
const KNOWN_SIGNERS = 8192;

type SpotCheckedParts = {
  readonly memory: SharedArrayBuffer;
  readonly shard: number;
  /** The fast checks, which answer until a difference is found. */
  readonly checks: OrderChecks;
  /** These two decide after a difference was found. */
  readonly digests: OrderDigests;
  readonly reference: Verifier;
  readonly every?: number;
};

export class SpotChecked implements OrderChecks {
  readonly #checks: OrderChecks;
  readonly #digests: OrderDigests;
  readonly #reference: LoneChecks;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #shard: number;
  readonly #queueWord: number;
  readonly #known = new Uint8Array(KNOWN_SIGNERS * ADDRESS_BYTES);
  readonly #every: number;
  /** Checks until the next one that is queued in any case. */
  #left: number;
  #written: number;

  constructor({ memory, shard, checks, digests, reference, every = SPOT_EVERY }: SpotCheckedParts) {
    this.#checks = checks;
    this.#digests = digests;
    this.#reference = new LoneChecks(digests, reference);
    this.#words = new Int32Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#shard = shard;
    this.#queueWord = spotQueueWord(shard);
    this.#every = every;
    this.#left = every;
    this.#written = Atomics.load(this.#words, this.#queueWord + SPOT_QUEUE.written);
  }

  setDomain(chainId: number, exchange: Uint8Array): void {
    this.#checks.setDomain(chainId, exchange);
    this.#digests.setDomain(chainId, exchange);
  }

  isFor(chainId: number, exchange: Uint8Array): boolean {
    return this.#checks.isFor(chainId, exchange);
  }

  writeHash(words: Uint32Array, bytes: Uint8Array, word: number): void {
    (this.#isOut ? this.#reference : this.#checks).writeHash(words, bytes, word);
  }

  isSigned(words: Uint32Array, bytes: Uint8Array, word: number): boolean {
    if (this.#isOut) return this.#reference.isSigned(words, bytes, word);
    const isSigned = this.#checks.isSigned(words, bytes, word);
    const signerAt = (word + PLACE.signerAddress) * 4;
    this.#left--;
    if (this.#left > 0 && (!isSigned || this.#isKnown(bytes, signerAt))) return isSigned;
    if (this.#left <= 0) this.#left = this.#every;
    if (this.#show(isSigned, words, bytes, word) && isSigned) this.#know(bytes, signerAt);
    return isSigned;
  }

  /** SPOT-3. */
  get #isOut(): boolean {
    return Atomics.load(this.#words, this.#queueWord + SPOT_QUEUE.differences) !== 0;
  }

  /** Writes a question into the queue (SPOT-1). @returns false if there is no room. */
  #show(isSigned: boolean, words: Uint32Array, bytes: Uint8Array, word: number): boolean {
    const queue = this.#queueWord;
    const written = this.#written;
    const waiting = (written - Atomics.load(this.#words, queue + SPOT_QUEUE.read)) | 0;
    assert(waiting >= 0 && waiting <= SPOT_SLOTS, 'SPOT-1: the reader is behind the writer');
    if (waiting === SPOT_SLOTS) {
      Atomics.add(this.#words, queue + SPOT_QUEUE.missed, 1);
      return false;
    }
    const at = spotSlotByte(this.#shard, written);
    this.#words[(at + SPOT_SLOT.isAccepted) >> 2] = isSigned ? 1 : 0;
    this.#digests.placeDigest(words, bytes, word, this.#bytes, at + SPOT_SLOT.digest);
    copy(bytes, (word + PLACE.signature) * 4, this.#bytes, at + SPOT_SLOT.signature, SIGNATURE_BYTES);
    copy(bytes, (word + PLACE.signerAddress) * 4, this.#bytes, at + SPOT_SLOT.signer, ADDRESS_BYTES);
    this.#written = (written + 1) | 0;
    Atomics.store(this.#words, queue + SPOT_QUEUE.written, this.#written);
    return true;
  }

  #isKnown(bytes: Uint8Array, signerAt: number): boolean {
    const at = placeOf(bytes, signerAt);
    for (let i = 0; i < ADDRESS_BYTES; i++) if (this.#known[at + i] !== bytes[signerAt + i]) return false;
    return true;
  }

  /** SPOT-2. */
  #know(bytes: Uint8Array, signerAt: number): void {
    copy(bytes, signerAt, this.#known, placeOf(bytes, signerAt), ADDRESS_BYTES);
  }
}

type Difference = SpotMessage['difference'];

/** The side of the checker thread. */
export class SpotChecker {
  readonly #reference: Verifier;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #shards: number;
  #shard = 0;

  constructor(memory: SharedArrayBuffer, shards: number, reference: Verifier) {
    this.#reference = reference;
    this.#words = new Int32Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#shards = shards;
  }

  /** Asks one question again. @returns the difference; null if there is none; undefined if no question waits. */
  next(): Difference | null | undefined {
    for (let tried = 0; tried < this.#shards; tried++) {
      this.#shard = (this.#shard + 1) % this.#shards;
      const found = this.#nextOf(this.#shard);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #nextOf(shard: number): Difference | null | undefined {
    const words = this.#words;
    const queue = spotQueueWord(shard);
    const read = Atomics.load(words, queue + SPOT_QUEUE.read);
    if (read === Atomics.load(words, queue + SPOT_QUEUE.written)) return undefined;
    const at = spotSlotByte(shard, read);
    const question = this.#bytes.slice(at, at + SPOT_SLOT.BYTES);
    const accepted = words[(at + SPOT_SLOT.isAccepted) >> 2] === 1;
    const { digest, signature, signer } = SPOT_SLOT;
    const isRight = this.#reference.verify(question, digest, question, signature, question, signer) === accepted;
    if (!isRight) Atomics.add(words, queue + SPOT_QUEUE.differences, 1);
    Atomics.store(words, queue + SPOT_QUEUE.read, (read + 1) | 0);
    if (isRight) return null;
    return {
      shard,
      accepted,
      digest: toHex(question, digest, HASH_BYTES),
      signature: toHex(question, signature, SIGNATURE_BYTES),
      signer: toHex(question, signer, ADDRESS_BYTES),
    };
  }
}

/** A place in the table of signers: addresses are hashes, so their first bytes are evenly distributed. */
function placeOf(address: Uint8Array, offset: number): number {
  return (((address[offset] << 8) | address[offset + 1]) & (KNOWN_SIGNERS - 1)) * ADDRESS_BYTES;
}

/** Copies in a loop, because for a few bytes a subarray costs more. */
function copy(from: Uint8Array, fromOffset: number, to: Uint8Array, toOffset: number, length: number): void {
  for (let i = 0; i < length; i++) to[toOffset + i] = from[fromOffset + i];
}

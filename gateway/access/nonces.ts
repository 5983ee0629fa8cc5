/**
 * The nonces that each key has used recently, in memory, and the signatures of version 1, which has no nonce: there the
 * signature itself must not be repeated. Owner: the gateway thread.
 *
 * Invariants:
 *   NONCES-1  A nonce is refused for at least PERIOD_MS after its use. A timestamp is acceptable for at most 60 s (30 s
 *             of skew either way), so a nonce is forgotten only when its own timestamp is not acceptable any more.
 *   NONCES-2  Nonces from before the start are unknown, so timestamps up to `floorSec` are not covered. The floor rises
 *             with every dropped generation, which keeps NONCES-1 when the wall clock is set back.
 *   NONCES-3  A generation holds at most MAX_PER_KEY nonces of a key, and about twice MAX_NONCES of all keys: from
 *             MAX_NONCES on only keys that have used fewer than the average may add one. A full one refuses, it never
 *             forgets early.
 *   NONCES-4  A timestamp ahead of this clock is stored durably, per key, before it is accepted: after a restart it may
 *             still be current, and the floor alone would accept it a second time.
 */
import { TextHash } from '../../shared/base/textHash.ts';
import { NonceSet } from './nonceSet.ts';

/** Timestamps ahead of the server's clock, kept over restarts. */
export type AheadTimestamps = {
  /** The latest one that an earlier process accepted from this key, 0 for none. */
  aheadBeforeStart(keyId: string): number;
  acceptedAhead(keyId: string, timestampSec: number): void;
};

/** One and a half times the 60 s for which a timestamp can be acceptable. */
const PERIOD_MS = 90_000;
/** The most by which a client's clock may differ from this one (RULES.md 4.3). */
export const MAX_SKEW_SEC = 30;
/** Reached by one key with over 11,000 signed requests a second for a whole period. */
const MAX_PER_KEY = 1 << 20;
/** Some 16 bytes each; reached by 46,000 admitted requests a second for a whole period. */
const MAX_NONCES = 1 << 22;

type Generation = Map<string, NonceSet>;

export class NonceMemory {
  readonly #ahead: AheadTimestamps;
  readonly #maxPerKey: number;
  readonly #maxNonces: number;
  readonly #hash = new TextHash();
  #current: Generation = new Map();
  /** The nonces in #current. */
  #count = 0;
  #previous: Generation = new Map();
  #startedMs: number;
  #floorSec: number;

  /** `floorSec` is the second in which the process started: nonces signed until then may have been used before. */
  constructor(floorSec: number, ahead: AheadTimestamps, maxPerKey = MAX_PER_KEY, maxNonces = MAX_NONCES) {
    this.#ahead = ahead;
    this.#floorSec = floorSec;
    this.#startedMs = floorSec * 1000;
    this.#maxPerKey = maxPerKey;
    this.#maxNonces = maxNonces;
  }

  /** Another process has accepted requests until then; their nonces are unknown here. */
  forgetBefore(floorSec: number): void {
    this.#floorSec = Math.max(this.#floorSec, floorSec);
  }

  /** The latest timestamp that this process cannot accept from any key. */
  get floorSec(): number {
    return this.#floorSec;
  }

  /** The latest timestamp that this process cannot accept from the key: it does not know what was signed until then. */
  unknownUntilSec(keyId: string): number {
    return Math.max(this.#floorSec, this.#ahead.aheadBeforeStart(keyId));
  }

  /** Call only with a valid signature of a timestamp after `unknownUntilSec`. */
  tryUse(keyId: string, nonce: string, timestampSec: number, nowMs: number): boolean {
    if (nowMs - this.#startedMs >= PERIOD_MS) this.#rotate(nowMs);
    this.#hash.of(nonce);
    if (this.#previous.get(keyId)?.has(this.#hash)) return false;
    let used = this.#current.get(keyId);
    if (used === undefined) {
      used = new NonceSet();
      this.#current.set(keyId, used);
    }
    if (used.size >= this.#maxPerKey) return false;
    if (this.#count >= this.#maxNonces && used.size >= this.#maxNonces / this.#current.size) return false;
    if (!used.tryAdd(this.#hash)) return false;
    this.#count++;
    if (timestampSec > Math.floor(nowMs / 1000)) this.#ahead.acceptedAhead(keyId, timestampSec);
    return true;
  }

  /** The request that used the nonce was not admitted after all: it may be sent again. */
  giveBack(keyId: string, nonce: string): void {
    this.#hash.of(nonce);
    if (this.#current.get(keyId)?.tryDelete(this.#hash)) this.#count--;
    else this.#previous.get(keyId)?.tryDelete(this.#hash);
  }

  /** The nonces that are remembered of the key. */
  known(keyId: string): number {
    return (this.#current.get(keyId)?.size ?? 0) + (this.#previous.get(keyId)?.size ?? 0);
  }

  /** Whole generations are dropped at once, so forgetting costs nothing per nonce, and idle keys use no memory. */
  #rotate(nowMs: number): void {
    // Nonces of the dropped generation were signed at most the skew after the last moment at which it was written.
    this.#floorSec = Math.max(this.#floorSec, Math.floor(this.#startedMs / 1000) + MAX_SKEW_SEC);
    this.#previous = this.#current;
    this.#current = new Map();
    this.#count = 0;
    this.#startedMs = nowMs;
  }
}

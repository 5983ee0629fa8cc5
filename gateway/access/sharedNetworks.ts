/**
 * The IPv6 /64s that are subjects of their own in this period (prefixes.ts), in memory that all gateway threads share:
 * a front counts a request from one of them as the gateway thread would (RULES.md 4.10). For any other network only the
 * gateway thread decides the subject.
 * Owner: the gateway thread writes, fronts read.
 *
 *   buffer   start of the period | slots, WAYS to a bucket
 *   slot     the network, its four groups | start of the period in which it was entered
 *
 * Invariants:
 *   SHAREDNETWORKS-1  A network shown in a period is a subject of its own until that period ends. The network of a slot
 *                     is written before its period: a reader that sees the period sees the whole network.
 *   SHAREDNETWORKS-2  Slots of earlier periods are free. A network that finds no free slot is not shown. The hash has a
 *                     key, so no client can choose which bucket is full.
 */
import { TextHash } from '../../shared/base/textHash.ts';

/** The longest window of the limits of addresses: for that long they are counted under the same subject. */
export const NETWORKS_PERIOD_MS = 60_000;
/** 131,072 networks in 2 MiB, more than are known in a period (PREFIXES-2). */
const BUCKETS = 1 << 14;
const WAYS = 8;
const SLOT_CELLS = 2;
const SLOTS_AT = 1;
const NO_PERIOD = -1n;
const GROUP_BITS = 16n;

export type SharedNetworksBuffers = { readonly memory: SharedArrayBuffer; readonly key: Int32Array };

export class SharedNetworks {
  readonly #cells: BigInt64Array;
  readonly #hash: TextHash;

  static create(): SharedNetworksBuffers {
    const memory = new SharedArrayBuffer((SLOTS_AT + BUCKETS * WAYS * SLOT_CELLS) * BigInt64Array.BYTES_PER_ELEMENT);
    new BigInt64Array(memory)[0] = NO_PERIOD;
    return { memory, key: crypto.getRandomValues(new Int32Array(2)) };
  }

  constructor({ memory, key }: SharedNetworksBuffers) {
    this.#cells = new BigInt64Array(memory);
    this.#hash = new TextHash(key);
  }

  /** Begins a period in which no network is shown yet. */
  start(nowMs: number): void {
    Atomics.store(this.#cells, 0, BigInt(nowMs));
  }

  /** From now until the end of the period this /64 is a subject of its own. */
  add(network: string): void {
    const period = Atomics.load(this.#cells, 0);
    const first = this.#bucketOf(network);
    for (let slot = first; slot < first + WAYS * SLOT_CELLS; slot += SLOT_CELLS) {
      if (Atomics.load(this.#cells, slot + 1) === period) continue;
      Atomics.store(this.#cells, slot, bitsOf(network));
      Atomics.store(this.#cells, slot + 1, period);
      return;
    }
  }

  /** True if the gateway thread counts this /64 as a subject of its own at that time. */
  has(network: string, nowMs: number): boolean {
    const period = Atomics.load(this.#cells, 0);
    if (period === NO_PERIOD || Math.abs(nowMs - Number(period)) >= NETWORKS_PERIOD_MS) return false;
    const bits = bitsOf(network);
    const first = this.#bucketOf(network);
    for (let slot = first; slot < first + WAYS * SLOT_CELLS; slot += SLOT_CELLS) {
      // SHAREDNETWORKS-1: this order matters.
      if (Atomics.load(this.#cells, slot + 1) === period && Atomics.load(this.#cells, slot) === bits) return true;
    }
    return false;
  }

  #bucketOf(network: string): number {
    this.#hash.of(network);
    return SLOTS_AT + (this.#hash.first & (BUCKETS - 1)) * WAYS * SLOT_CELLS;
  }
}

/** The four groups of a /64 are 64 bits. */
function bitsOf(network: string): bigint {
  let bits = 0n;
  for (const group of network.split(':')) bits = (bits << GROUP_BITS) | BigInt(Number.parseInt(group, 16));
  return BigInt.asIntN(64, bits);
}

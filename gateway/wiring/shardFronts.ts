/**
 * The front threads at the shards: each is served by every thread of a shard that is READY, over rings of their own.
 * Owner: main, which starts both kinds of threads and passes on what they have to know of each other.
 *
 *   absent ──both are there──► asked ──the shard sends its state──► attached ──one of the two ends──► absent
 *
 * Invariants:
 *   SHARDFRONTS-1  Rings are for one thread of a front and one thread of a shard: whichever ends, the other gets new
 *                  ones with its successor.
 *   SHARDFRONTS-2  A shard is asked to let a front go only after the front's thread has ended, so that what is in its
 *                  command ring by then is all there will be.
 *   SHARDFRONTS-3  A front gets `attached` and `lost` of a shard in turns.
 */
import { assert } from '../../shared/base/assert.ts';
import { wakeConsumer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { FrontRequest } from '../../shared/wire/threads.ts';
import type { LaneRings } from '../shardlink/lane.ts';
import type { ShardNews } from '../shardlink/shardNews.ts';

/** A thread of a front, which main has started. */
type Front = {
  /** Sends it a message; what `transfer` names is handed over instead of being copied. */
  readonly send: (message: ShardNews, transfer?: ArrayBuffer[]) => void;
  /** It does not read its events: it has to be ended, and another may be started. */
  readonly onCutOff: () => void;
};

/** A front at a thread of a shard. */
type Pair = {
  readonly front: number;
  readonly shard: number;
  /** `bell`: the command ring of main at the thread of the shard, which sleeps there. */
  readonly rings: LaneRings & { readonly bell: SharedArrayBuffer };
  isAttached: boolean;
};

/** Of a front: what it has no room for stays with the shard for a while (OUTLET-3). */
const EVENT_RING_BYTES = 4 * 1024 * 1024;
const COMMAND_RING_BYTES = 1024 * 1024;

export class ShardFronts {
  readonly #postTo: (shard: number, request: FrontRequest) => void;
  readonly #fronts = new Map<number, Front>();
  /** By shard: the bell of its thread, where that is READY. */
  readonly #bells = new Map<number, SharedArrayBuffer>();
  /** By the number under which the shard knows the front: each pair has one of its own (SHARDFRONTS-1). */
  readonly #pairs = new Map<number, Pair>();
  #lastNumber = 0;

  constructor(postTo: (shard: number, request: FrontRequest) => void) {
    this.#postTo = postTo;
  }

  /** A thread of the front has started. */
  add(front: number, thread: Front): void {
    assert(!this.#fronts.has(front), 'SHARDFRONTS-1: a front has one thread at a time');
    this.#fronts.set(front, thread);
    for (const [shard, bell] of this.#bells) this.#ask(front, shard, bell);
  }

  /** SHARDFRONTS-2. The thread of the front has ended. */
  remove(front: number): void {
    this.#fronts.delete(front);
    for (const [number, pair] of this.#pairs) {
      if (pair.front !== front) continue;
      this.#pairs.delete(number);
      this.#post(pair, { detach: number });
    }
  }

  shardReady(shard: number, bell: SharedArrayBuffer): void {
    this.#bells.set(shard, bell);
    for (const front of this.#fronts.keys()) this.#ask(front, shard, bell);
  }

  shardLost(shard: number): void {
    this.#bells.delete(shard);
    for (const [number, pair] of this.#pairs) {
      if (pair.shard !== shard) continue;
      this.#pairs.delete(number);
      if (pair.isAttached) this.#fronts.get(pair.front)?.send({ lost: shard });
    }
  }

  /** A shard has sent its state for a front. */
  attached(number: number, state: ArrayBuffer[]): void {
    const pair = this.#pairs.get(number);
    // One of the two threads may have ended meanwhile.
    if (pair === undefined) return;
    pair.isAttached = true;
    this.#fronts.get(pair.front)?.send({ attached: pair.shard, rings: pair.rings, state }, state);
  }

  /** A shard does not serve a front any more. */
  cutOff(number: number): void {
    const pair = this.#pairs.get(number);
    if (pair !== undefined) this.#fronts.get(pair.front)?.onCutOff();
  }

  #ask(front: number, shard: number, bell: SharedArrayBuffer): void {
    const [commandRing, eventRing] = [createRingBuffer(COMMAND_RING_BYTES), createRingBuffer(EVENT_RING_BYTES)];
    const pair = { front, shard, rings: { commandRing, eventRing, bell }, isAttached: false };
    this.#pairs.set(++this.#lastNumber, pair);
    this.#post(pair, { attach: { front: this.#lastNumber, rings: { commandRing, eventRing } } });
  }

  /** The shard reads its messages between two batches, when it is awake. */
  #post({ shard, rings }: Pair, request: FrontRequest): void {
    this.#postTo(shard, request);
    wakeConsumer(rings.bell);
  }
}

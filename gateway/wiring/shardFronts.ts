/**
 * Connects front threads to shards: every shard thread that is READY serves every front, over a pair of rings for these
 * two threads alone.
 * Owner: main, which starts both kinds of threads and passes on what they have to know of each other.
 *
 *   absent ──both are there──► asked ──the shard sends its state──► attached ──one of the two ends──► absent
 *
 * Invariants:
 *   SHARDFRONTS-1  A pair of rings belongs to one thread of a front and one thread of a shard: if either ends, the
 *                  other gets new rings with its successor.
 *   SHARDFRONTS-2  A shard is asked to release a front only after the front's thread has ended, so that no command is
 *                  added to its ring after that.
 *   SHARDFRONTS-3  A front gets `attached` and `lost` of a shard alternately.
 */
import { assert } from '../../shared/base/assert.ts';
import { wakeConsumer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { FrontRequest } from '../../shared/wire/threads.ts';
import type { LaneRings } from '../shardlink/lane.ts';
import type { ShardNews } from '../shardlink/shardNews.ts';

/** A thread of a front, which main has started. */
type Front = {
  /** Sends it a message; objects named in `transfer` are handed over instead of being copied. */
  readonly send: (message: ShardNews, transfer?: ArrayBuffer[]) => void;
  /** The front does not read its events: it has to be ended, and another may be started. */
  readonly onCutOff: () => void;
};

/** A front thread and the shard thread that serves it. */
type Pair = {
  readonly front: number;
  readonly shard: number;
  /** `bell`: main's command ring at the thread of the shard, which sleeps on that ring. */
  readonly rings: LaneRings & { readonly bell: SharedArrayBuffer };
  isAttached: boolean;
};

/** Events of one front: events that do not fit stay with the shard for a while (OUTLET-3). */
const EVENT_RING_BYTES = 4 * 1024 * 1024;
const COMMAND_RING_BYTES = 1024 * 1024;

export class ShardFronts {
  readonly #postTo: (shard: number, request: FrontRequest) => void;
  readonly #fronts = new Map<number, Front>();
  /** By shard: the bell of its thread, if that is READY. */
  readonly #bells = new Map<number, SharedArrayBuffer>();
  /** By the number under which the shard knows the front: each pair has its own number (SHARDFRONTS-1). */
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

  /** SHARDFRONTS-2: called when the thread of the front has ended. */
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
    // One of the two threads may have ended in the meantime.
    if (pair === undefined) return;
    pair.isAttached = true;
    this.#fronts.get(pair.front)?.send({ attached: pair.shard, rings: pair.rings, state }, state);
  }

  /** The shard no longer serves this front. */
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

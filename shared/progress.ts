/**
 * How far each shard's journal is committed and how far the projector has followed it, in shared memory.
 * Owner: `committed` of a shard is written by that shard's thread, `projected` by the projector,
 * `trimmable` by the thread that makes snapshots, `told` by the gateway; everybody reads.
 *
 *   byte 0    COMMIT_BELL        grows with every commit of any shard      shards
 *   byte 4    PROJECTOR_ASLEEP   1 while the projector may be waiting      projector
 *   byte 8    PROJECTION_BELL    grows with every step of the projector    projector
 *   byte 12   WAITERS            readers waiting for the projector         readers
 *   byte 16   committed sequences, one 64-bit cell per shard, then as many projected ones, then as many trimmable ones,
 *             then as many told ones
 *
 * Invariants:
 *   G1  A cell only grows, but for the projector's cells when read.db is rebuilt. NOT_KNOWN until its owner has
 *       recovered.
 *   G2  A cell is stored before its bell rings, and a waiter reads the bell before the cells: a step between its look
 *       and its wait changes the bell, so the wait returns at once and no wake-up is lost.
 *   G3  The projector never lingers while WAITERS is above zero.
 */
import { assert } from './assert.ts';

export const NOT_KNOWN = -1;

const COMMIT_BELL = 0;
const PROJECTOR_ASLEEP = 1;
const PROJECTION_BELL = 2;
const WAITERS = 3;
const HEADER_BYTES = 16;
const CELLS_BYTES = 32;

export class Progress {
  readonly shards: number;
  readonly #bells: Int32Array;
  readonly #committed: BigInt64Array;
  readonly #projected: BigInt64Array;
  readonly #trimmable: BigInt64Array;
  readonly #told: BigInt64Array;

  static create(shards: number): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(HEADER_BYTES + CELLS_BYTES * shards);
    new BigInt64Array(buffer, HEADER_BYTES, 2 * shards).fill(BigInt(NOT_KNOWN));
    return buffer;
  }

  constructor(buffer: SharedArrayBuffer) {
    this.shards = (buffer.byteLength - HEADER_BYTES) / CELLS_BYTES;
    assert(Number.isInteger(this.shards) && this.shards >= 1, 'progress: the buffer holds four cells per shard');
    this.#bells = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#committed = new BigInt64Array(buffer, HEADER_BYTES, this.shards);
    this.#projected = new BigInt64Array(buffer, HEADER_BYTES + 8 * this.shards, this.shards);
    this.#trimmable = new BigInt64Array(buffer, HEADER_BYTES + 16 * this.shards, this.shards);
    this.#told = new BigInt64Array(buffer, HEADER_BYTES + 24 * this.shards, this.shards);
  }

  committed(shard: number): number {
    return Number(Atomics.load(this.#committed, shard));
  }

  /** Called after recovery and after every commit, so a system call is made only for a projector that sleeps. */
  setCommitted(shard: number, shardSequence: number): void {
    Atomics.store(this.#committed, shard, BigInt(shardSequence));
    Atomics.add(this.#bells, COMMIT_BELL, 1);
    if (Atomics.load(this.#bells, PROJECTOR_ASLEEP) === 1) Atomics.notify(this.#bells, COMMIT_BELL);
  }

  projected(shard: number): number {
    return Number(Atomics.load(this.#projected, shard));
  }

  setProjected(shard: number, shardSequence: number): void {
    Atomics.store(this.#projected, shard, BigInt(shardSequence));
    Atomics.add(this.#bells, PROJECTION_BELL, 1);
    Atomics.notify(this.#bells, PROJECTION_BELL);
  }

  /** Rows up to here are behind two good snapshots; the shard may forget those the projector has passed as well. */
  trimmable(shard: number): number {
    return Math.min(Number(Atomics.load(this.#trimmable, shard)), this.projected(shard));
  }

  setTrimmable(shard: number, shardSequence: number): void {
    Atomics.store(this.#trimmable, shard, BigInt(shardSequence));
  }

  /** What happened in the records before this one is in the gateway's log of private frames, also after a power cut. */
  told(shard: number): number {
    return Number(Atomics.load(this.#told, shard));
  }

  setTold(shard: number, shardSequence: number): void {
    Atomics.store(this.#told, shard, BigInt(shardSequence));
  }

  /** The bell as it is now: read it, look at the cells, and only then wait for it to change. */
  commitBell(): number {
    return Atomics.load(this.#bells, COMMIT_BELL);
  }

  /** Blocks the projector until the bell is no longer `seenBell`, at most `timeoutMs`. */
  waitForCommit(seenBell: number, timeoutMs: number): void {
    Atomics.store(this.#bells, PROJECTOR_ASLEEP, 1);
    Atomics.wait(this.#bells, COMMIT_BELL, seenBell, timeoutMs);
    Atomics.store(this.#bells, PROJECTOR_ASLEEP, 0);
  }

  /**
   * Blocks the projector for `timeoutMs`, but only as long as nobody waits for it: what is committed meanwhile becomes
   * one transaction instead of many, and the thread keeps off the processors that orders need.
   */
  lingerUnlessAwaited(timeoutMs: number): void {
    Atomics.wait(this.#bells, WAITERS, 0, timeoutMs);
  }

  /** Whether somebody waits for the projector. */
  isAwaited(): boolean {
    return Atomics.load(this.#bells, WAITERS) > 0;
  }

  /** Resolves to true once the projector has passed `shardSequence`, or to false after `timeoutMs`. */
  async awaitProjected(shard: number, shardSequence: number, timeoutMs: number): Promise<boolean> {
    if (this.projected(shard) >= shardSequence) return true;
    Atomics.add(this.#bells, WAITERS, 1);
    Atomics.notify(this.#bells, WAITERS);
    try {
      return await this.#passes(shard, shardSequence, timeoutMs);
    } finally {
      Atomics.sub(this.#bells, WAITERS, 1);
    }
  }

  async #passes(shard: number, shardSequence: number, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const seenBell = Atomics.load(this.#bells, PROJECTION_BELL);
      if (this.projected(shard) >= shardSequence) return true;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      const waiting = Atomics.waitAsync(this.#bells, PROJECTION_BELL, seenBell, leftMs);
      if (waiting.async) await waiting.value;
    }
  }
}

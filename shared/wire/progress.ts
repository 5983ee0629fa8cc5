/**
 * Progress of each shard's journal, of the projector, of trimming and of the log of private frames, in shared memory.
 * Owner: `committed`, `reserve` and `damages` of a shard are written by that shard's thread, `projected` and `kept` by
 * the projector, `settled` by settlement, `recorded`, `historyAt` and `historyMs` by the public history, `trimmable` by
 * the thread that makes snapshots, `logged` by the gateway; all threads read.
 *
 *   buffer   BELLS (RECORDS.md) | committed | projected | trimmable | logged | reserve | kept | settled | recorded |
 *            historyAt | historyMs | damages: a 64-bit cell for each shard | catalogue, history, generation: a 64-bit
 *            cell each, written by the projector | doubt: one that the gateway writes | making: one that the projector
 *            writes
 *
 * Invariants:
 *   PROGRESS-1  A cell only grows, except those of the reserve, and the projector's when read.db is rebuilt. It is
 *               NOT_KNOWN until its owner has recovered.
 *   PROGRESS-2  A cell is stored before its bell is changed, and a waiter reads the bell before the cells: progress
 *               between its look and its wait changes the bell, so the wait returns at once and no wake-up is lost.
 *   PROGRESS-3  The projector never lingers while WAITERS is above zero.
 */
import { assert } from '../base/assert.ts';
import { record, u32 } from './layout.ts';

export const NOT_KNOWN = -1;

export const BELLS = record(
  'BELLS',
  {
    commit: u32('grows with every commit of any shard; written by shards'),
    projectorAsleep: u32('1 while the projector may be waiting; written by it'),
    projection: u32('grows with every step of the projector; written by it'),
    waiters: u32('how many readers wait for the projector; written by them'),
  },
  'The words of the progress memory on which threads wait: the cells follow.',
);
const CELLS_BYTES = 88;
/** No journal waits: nothing settles on a chain, or no history is written. */
const NO_WAIT = BigInt(Number.MAX_SAFE_INTEGER);
const PROJECTOR_BYTES = 40;

export class Progress {
  readonly shards: number;
  readonly #bells: Int32Array;
  readonly #committed: BigInt64Array;
  readonly #projected: BigInt64Array;
  readonly #trimmable: BigInt64Array;
  readonly #logged: BigInt64Array;
  readonly #reserve: BigInt64Array;
  readonly #kept: BigInt64Array;
  readonly #settled: BigInt64Array;
  readonly #recorded: BigInt64Array;
  readonly #historyAt: BigInt64Array;
  readonly #historyMs: BigInt64Array;
  readonly #damages: BigInt64Array;
  readonly #catalog: BigInt64Array;
  readonly #history: BigInt64Array;
  readonly #generation: BigInt64Array;
  readonly #doubt: BigInt64Array;
  readonly #making: BigInt64Array;

  static create(shards: number): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(BELLS.BYTES + CELLS_BYTES * shards + PROJECTOR_BYTES);
    new BigInt64Array(buffer, BELLS.BYTES, 2 * shards).fill(BigInt(NOT_KNOWN));
    new BigInt64Array(buffer, BELLS.BYTES + 48 * shards, 2 * shards).fill(NO_WAIT);
    return buffer;
  }

  constructor(buffer: SharedArrayBuffer) {
    this.shards = (buffer.byteLength - BELLS.BYTES - PROJECTOR_BYTES) / CELLS_BYTES;
    assert(Number.isInteger(this.shards) && this.shards >= 1, 'progress: the buffer holds eleven cells per shard');
    this.#bells = new Int32Array(buffer, 0, BELLS.BYTES / 4);
    this.#committed = new BigInt64Array(buffer, BELLS.BYTES, this.shards);
    this.#projected = new BigInt64Array(buffer, BELLS.BYTES + 8 * this.shards, this.shards);
    this.#trimmable = new BigInt64Array(buffer, BELLS.BYTES + 16 * this.shards, this.shards);
    this.#logged = new BigInt64Array(buffer, BELLS.BYTES + 24 * this.shards, this.shards);
    this.#reserve = new BigInt64Array(buffer, BELLS.BYTES + 32 * this.shards, this.shards);
    this.#kept = new BigInt64Array(buffer, BELLS.BYTES + 40 * this.shards, this.shards);
    this.#settled = new BigInt64Array(buffer, BELLS.BYTES + 48 * this.shards, this.shards);
    this.#recorded = new BigInt64Array(buffer, BELLS.BYTES + 56 * this.shards, this.shards);
    this.#historyAt = new BigInt64Array(buffer, BELLS.BYTES + 64 * this.shards, this.shards);
    this.#historyMs = new BigInt64Array(buffer, BELLS.BYTES + 72 * this.shards, this.shards);
    this.#damages = new BigInt64Array(buffer, BELLS.BYTES + 80 * this.shards, this.shards);
    const single = BELLS.BYTES + CELLS_BYTES * this.shards;
    this.#catalog = new BigInt64Array(buffer, single, 1);
    this.#history = new BigInt64Array(buffer, single + 8, 1);
    this.#generation = new BigInt64Array(buffer, single + 16, 1);
    this.#doubt = new BigInt64Array(buffer, single + 24, 1);
    this.#making = new BigInt64Array(buffer, single + 32, 1);
  }

  committed(shard: number): number {
    return Number(Atomics.load(this.#committed, shard));
  }

  /** Called after recovery and after every commit; a system call is made only if the projector sleeps. */
  setCommitted(shard: number, shardSequence: number): void {
    const before = Atomics.exchange(this.#committed, shard, BigInt(shardSequence));
    assert(before <= shardSequence, 'PROGRESS-1: a shard never commits less than before');
    this.ringProjector();
  }

  /** Wakes the projector if it sleeps, because there is something to follow. */
  ringProjector(): void {
    Atomics.add(this.#bells, BELLS.commit, 1);
    if (Atomics.load(this.#bells, BELLS.projectorAsleep) === 1) Atomics.notify(this.#bells, BELLS.commit);
  }

  projected(shard: number): number {
    return Number(Atomics.load(this.#projected, shard));
  }

  setProjected(shard: number, shardSequence: number): void {
    Atomics.store(this.#projected, shard, BigInt(shardSequence));
    this.#ringReaders();
  }

  /** The catalogue's changes up to this revision are in the read model; 0 before the first. */
  catalogRevision(): number {
    return Number(Atomics.load(this.#catalog, 0));
  }

  setCatalogRevision(revision: number): void {
    Atomics.store(this.#catalog, 0, BigInt(revision));
    this.#ringReaders();
  }

  /** The time in milliseconds from which the history in the read model is complete; 0: from the first record. */
  historyFromMs(): number {
    return Number(Atomics.load(this.#history, 0));
  }

  setHistoryFromMs(timeMs: number): void {
    Atomics.store(this.#history, 0, BigInt(timeMs));
  }

  /** Grows whenever read.db may have been replaced by another file: a reader then opens it again. */
  generation(): number {
    return Number(Atomics.load(this.#generation, 0));
  }

  startGeneration(): number {
    return Number(Atomics.add(this.#generation, 0, 1n)) + 1;
  }

  /** A query found the file of this generation damaged. */
  doubt(generation: number): void {
    Atomics.store(this.#doubt, 0, BigInt(generation));
    this.ringProjector();
  }

  isDoubted(generation: number): boolean {
    return Atomics.load(this.#doubt, 0) === BigInt(generation);
  }

  /** True while read.db is being rebuilt: then it shows an earlier state of the exchange. */
  isBeingMade(): boolean {
    return Atomics.load(this.#making, 0) === 1n;
  }

  setBeingMade(isBeingMade: boolean): void {
    Atomics.store(this.#making, 0, isBeingMade ? 1n : 0n);
  }

  #ringReaders(): void {
    Atomics.add(this.#bells, BELLS.projection, 1);
    Atomics.notify(this.#bells, BELLS.projection);
  }

  /**
   * The shard may delete rows up to this sequence number: two intact snapshots cover them, and read.db, settlement.db
   * and the public history have their consequences even after a power cut.
   */
  trimmable(shard: number): number {
    const durable = Math.min(Number(Atomics.load(this.#trimmable, shard)), this.#keptOf(shard));
    const settled = Math.min(durable, Number(Atomics.load(this.#settled, shard)));
    return Math.min(settled, Number(Atomics.load(this.#recorded, shard)));
  }

  /** True while rows wait to be deleted until read.db is durable. */
  isTrimAwaited(shard: number): boolean {
    return Math.min(Number(Atomics.load(this.#trimmable, shard)), this.projected(shard)) > this.#keptOf(shard);
  }

  /** read.db has the records up to this sequence number on disk. */
  setKept(shard: number, shardSequence: number): void {
    Atomics.store(this.#kept, shard, BigInt(shardSequence));
  }

  /** settlement.db has the records up to this sequence number on disk. Never called if nothing settles on a chain. */
  setSettled(shard: number, shardSequence: number): void {
    Atomics.store(this.#settled, shard, BigInt(shardSequence));
  }

  /** The public history has the records up to this one on disk. Never called if none is written. */
  setRecorded(shard: number, shardSequence: number): void {
    Atomics.store(this.#recorded, shard, BigInt(shardSequence));
  }

  /** The last record in the public history, durable or not, and its time. */
  setHistoryAt(shard: number, shardSequence: number, timeMs: number): void {
    Atomics.store(this.#historyMs, shard, BigInt(timeMs));
    Atomics.store(this.#historyAt, shard, BigInt(shardSequence));
  }

  /** The records that the public history does not have yet, and the age of its last one; zeros if none is written. */
  historyLag(shard: number, nowMs: number): { readonly records: number; readonly ms: number } {
    const records = this.committed(shard) - Number(Atomics.load(this.#historyAt, shard));
    if (Atomics.load(this.#recorded, shard) === NO_WAIT || records <= 0) return { records: 0, ms: 0 };
    const lastMs = Number(Atomics.load(this.#historyMs, shard));
    return { records, ms: lastMs === 0 ? 0 : Math.max(0, nowMs - lastMs) };
  }

  #keptOf(shard: number): number {
    return Number(Atomics.load(this.#kept, shard));
  }

  setTrimmable(shard: number, shardSequence: number): void {
    Atomics.store(this.#trimmable, shard, BigInt(shardSequence));
  }

  /** The gateway's log of private frames has the frames of all records before this one, even after a power cut. */
  logged(shard: number): number {
    return Number(Atomics.load(this.#logged, shard));
  }

  setLogged(shard: number, shardSequence: number): void {
    Atomics.store(this.#logged, shard, BigInt(shardSequence));
  }

  /** The bytes that the journal can still take on a full disk, as of the shard's last housekeeping. */
  reserveBytes(shard: number): number {
    return Number(Atomics.load(this.#reserve, shard));
  }

  setReserveBytes(shard: number, bytes: number): void {
    Atomics.store(this.#reserve, shard, BigInt(bytes));
  }

  /** Damages that the shard has found in its runs of hashes since the process began. */
  damages(shard: number): number {
    return Number(Atomics.load(this.#damages, shard));
  }

  noteDamage(shard: number): void {
    Atomics.add(this.#damages, shard, 1n);
  }

  /** The current bell: read it, then the cells, and only then wait for it to change. */
  commitBell(): number {
    return Atomics.load(this.#bells, BELLS.commit);
  }

  /** Blocks the projector until the bell is no longer `seenBell`, at most `timeoutMs`. */
  waitForCommit(seenBell: number, timeoutMs: number): void {
    Atomics.store(this.#bells, BELLS.projectorAsleep, 1);
    Atomics.wait(this.#bells, BELLS.commit, seenBell, timeoutMs);
    Atomics.store(this.#bells, BELLS.projectorAsleep, 0);
  }

  /**
   * Blocks the projector for `timeoutMs`, but only while no reader waits for it: the commits of that time become one
   * transaction instead of many, and the processors stay free for orders.
   */
  lingerUnlessAwaited(timeoutMs: number): void {
    Atomics.wait(this.#bells, BELLS.waiters, 0, timeoutMs);
  }

  /** True while a reader waits for the projector. */
  isAwaited(): boolean {
    return Atomics.load(this.#bells, BELLS.waiters) > 0;
  }

  /** Resolves to true once the projector has passed `shardSequence`, or to false after `timeoutMs`. */
  awaitProjected(shard: number, shardSequence: number, timeoutMs: number): Promise<boolean> {
    return this.#await(() => this.projected(shard) >= shardSequence, timeoutMs);
  }

  /** The same for the changes of the catalogue. */
  awaitCatalog(revision: number, timeoutMs: number): Promise<boolean> {
    return this.#await(() => this.catalogRevision() >= revision, timeoutMs);
  }

  async #await(isThere: () => boolean, timeoutMs: number): Promise<boolean> {
    if (isThere()) return true;
    Atomics.add(this.#bells, BELLS.waiters, 1);
    Atomics.notify(this.#bells, BELLS.waiters);
    try {
      return await this.#passes(isThere, timeoutMs);
    } finally {
      Atomics.sub(this.#bells, BELLS.waiters, 1);
    }
  }

  async #passes(isThere: () => boolean, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const seenBell = Atomics.load(this.#bells, BELLS.projection);
      if (isThere()) return true;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      const waiting = Atomics.waitAsync(this.#bells, BELLS.projection, seenBell, leftMs);
      if (waiting.async) await waiting.value;
    }
  }
}

/**
 * The rehearsal of a start: before the exchange is ready, made-up clients trade on other exchanges, which are then
 * thrown away. Each of these has its own data directory, stores, views, link, HTTP server and shards; only the code is
 * the same, in the same threads, so that V8 has compiled the hot functions when the first real order comes. Without it
 * the first thousands of orders run at a third of their speed.
 *
 * Code that V8 compiles relies on what V8 has seen so far: a field never changed, a function was called for one object
 * only, a branch was never taken. At the first exception V8 discards the code. So the rehearsal has three acts:
 *
 *   prelude  runs before the exchange is made, with a shard in a thread of its own: V8 has then seen what the fields of
 *            objects hold, so the exchange's objects have the layout of later ones
 *   first    is short, so that little is compiled, and has every exception in it: another exchange, its end, and all
 *            rare requests (rehearsal/tour.ts)
 *   second   is long; the code compiled in it stays valid for the exchange that follows
 *
 *   gateway thread   sockets ─► Edge ─► Trading ─rings─►  shard thread   engine, journal, verifier
 *                    (rehearsalStage.ts sends to it)       (engine/shard/main.ts serves it before the shard itself)
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   REHEARSAL-1  It shares nothing with the exchange but code and processors: no file, no memory, no counter. The
 *                functions that check signatures count as code (SHARD-2).
 *   REHEARSAL-2  Its orders end after MOST_MS at the latest. A failure in it is logged and stops no start.
 *   REHEARSAL-3  Its server listens on loopback, on a port of the system's choice, and takes only keys that never leave
 *                this file.
 */
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { ShardOptions } from '../../shared/wire/threads.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { RehearsalAct } from './rehearsalAct.ts';

/** Inside the data directory: the same disk, and the same right to write. */
const DIRECTORY = 'rehearsal';
/** The disk space that its files may need in that time, with some to spare. */
const ROOM_BYTES = 128 << 20;
const PRELUDE_TURNS = 2;
/**
 * In the last act a function that is called once per order is called far more often than the 3,000 times after which V8
 * compiles it, and 3,000 times more in case the first compilation was discarded.
 */
const TURNS = [2, 60];
/** A shard that has not come by then, because the machine is busy or the shard fails, is not waited for. */
const MOST_MS = 5000;
/** The time within which a thread has certainly loaded its code and started its own threads. */
const LOADED_WITHIN_MS = 60_000;
const FAILED = 'the rehearsal has failed: the first orders will be slower';
/** Logged if the machine was too busy; this is no fault. */
const CUT_SHORT = 'the rehearsal was cut short: the first orders will be slower';
const LATE = -1;

export class Rehearsal {
  readonly #directory: string;
  readonly #prelude: RehearsalAct;
  readonly #acts: readonly RehearsalAct[];
  readonly #log: Logger;
  readonly #mostMs: number;
  #startMs = performance.now();
  #orders = 0;
  #isLate = false;
  #preludeEnd: Promise<unknown> | undefined;

  /** Returns the rehearsal; null if the settings want none, or if it cannot begin. */
  static prepare(config: Config, shards: number, log: Logger, mostMs = MOST_MS): Rehearsal | null {
    try {
      // A killed process may have left the directory, and its files may be what fills the disk now.
      rmSync(join(config.dataDir, DIRECTORY), { recursive: true, force: true });
      if (!config.rehearse) return null;
      // The rehearsal must not take the last disk space of the journals.
      const { bavail, bsize } = statfsSync(config.dataDir);
      if (bavail * bsize < config.diskReserveBytes + ROOM_BYTES) return null;
      return new Rehearsal(config, shards, log, mostMs);
    } catch (error) {
      log.warn({ err: error }, FAILED);
      return null;
    }
  }

  private constructor(config: Config, shards: number, log: Logger, mostMs: number) {
    this.#mostMs = mostMs;
    this.#directory = join(config.dataDir, DIRECTORY);
    this.#log = log;
    this.#prelude = new RehearsalAct(config, join(this.#directory, 'prelude'), 1, PRELUDE_TURNS);
    this.#acts = TURNS.map((turns, act) => new RehearsalAct(config, join(this.#directory, String(act)), shards, turns));
  }

  /** The rehearsal's shards that the thread of a real shard serves first. */
  readonly shardsOf = (real: ShardOptions): ShardOptions[] => this.#acts.map((act) => act.shardOf(real));

  /** To be called before the exchange is made. REHEARSAL-2 holds from now on. */
  async begin(): Promise<void> {
    this.#startMs = performance.now();
    try {
      const thread = this.#prelude.startThread();
      const lost = new Promise<never>((_, reject) => thread.once('error', reject));
      const ended = new Promise((resolve) => thread.once('exit', resolve));
      this.#preludeEnd = ended;
      await this.#perform(this.#prelude, () => thread.postMessage('stop'), lost);
      if (this.#isLate) endLate(thread, ended);
    } catch (error) {
      this.#log.warn({ err: error }, FAILED);
    }
  }

  /** Plays the acts. Resolves when the shards' threads may go on (REHEARSAL-2). */
  async run(endShards: () => void): Promise<void> {
    for (const act of this.#acts) await this.#perform(act, endShards);
    const ms = Math.round(performance.now() - this.#startMs);
    this.#log.debug({ orders: this.#orders, ms }, 'rehearsed');
  }

  /** @param lost rejects when its shard has ended */
  async #perform(act: RehearsalAct, endShards: () => void, lost?: Promise<never>): Promise<void> {
    const wasLate = this.#isLate;
    try {
      if (!wasLate) await this.#play(act, lost);
      if (this.#isLate && !wasLate) this.#log.warn({ ms: this.#mostMs }, CUT_SHORT);
    } catch (error) {
      this.#log.warn({ err: error }, FAILED);
    }
    endShards();
    act.wakeShards();
    await this.#leave(act);
  }

  async #play(act: RehearsalAct, lost?: Promise<never>): Promise<void> {
    const played = act.play();
    const restMs = this.#mostMs - (performance.now() - this.#startMs);
    const orders = await Promise.race([played, lost ?? played, sleep(restMs, LATE, { ref: false })]);
    // The play may still wait for something that fails when everything is closed.
    played.catch(() => {});
    lost?.catch(() => {});
    this.#isLate = orders === LATE;
    if (!this.#isLate) this.#orders += orders;
  }

  async #leave(act: RehearsalAct): Promise<void> {
    try {
      await act.leave();
    } catch (error) {
      this.#log.warn({ err: error }, FAILED);
    }
  }

  /**
   * Closes what is left of the rehearsal while the shards recover, and removes its files when the shards' threads have
   * left it.
   */
  async end(haveShardsLeft: Promise<void>): Promise<void> {
    try {
      await Promise.all([haveShardsLeft, this.#preludeEnd]);
      for (const act of [this.#prelude, ...this.#acts]) await act.close();
      rmSync(this.#directory, { recursive: true, force: true });
    } catch (error) {
      this.#log.warn({ err: error, directory: this.#directory }, 'the files of the rehearsal could not be removed');
    }
  }
}

/**
 * A late thread ends by itself when it reads its stop, beside the start. Only one that waits for ever, for room in its
 * ring of events, is terminated, and not before it has loaded everything: Node aborts the process if a thread is
 * terminated while it loads a native addon.
 */
function endLate(thread: Worker, ended: Promise<unknown>): void {
  const timer = setTimeout(() => void thread.terminate(), LOADED_WITHIN_MS);
  timer.unref();
  void ended.then(() => clearTimeout(timer));
}

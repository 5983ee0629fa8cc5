/**
 * The rehearsal of a start: before the exchange is ready, made-up clients trade on ones that are thrown away. Each has
 * its own data directory, stores, views, link, HTTP server and shards; only the code is the same, in the same threads,
 * so that V8 has compiled what is hot when the first real order comes. Without it the first thousands of orders run at
 * half speed. There are two acts, because code that V8 has compiled for the objects of one exchange alone fits no
 * other; for the second it compiles code that fits all.
 *
 *   gateway thread   sockets ─► Edge ─► Trading ─rings─►  shard thread   engine, journal, verifier
 *                    (rehearsalStage.ts sends to it)       (engine/shard/main.ts serves it before the shard itself)
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   REHEARSAL-1  It shares nothing with the exchange but code and processors: no file, no memory, no counter.
 *   REHEARSAL-2  Its orders end after MOST_MS at the latest, and whatever fails in it is logged and stops no start.
 *   REHEARSAL-3  Its server listens on loopback, on a port of the system's choice, and takes only keys that never leave
 *                this file.
 */
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShardOptions } from '../../shared/wire/threads.ts';
import type { Config } from '../process/config.ts';
import type { Logger } from '../process/log.ts';
import { RehearsalAct } from './rehearsalAct.ts';

/** Inside the data directory: the same disk, and the same right to write. */
const DIRECTORY = 'rehearsal';
/** The room that its files may need for that time, with some to spare. */
const ROOM_BYTES = 128 << 20;
const ACTS = 2;
/** Shards that have not come by then, on a busy machine or because they fail, are not waited for. */
const MOST_MS = 4000;
const FAILED = 'the rehearsal has failed: the first orders will be slower';
/** On a busy machine, and no fault. */
const CUT_SHORT = 'the rehearsal was cut short: the first orders will be slower';
const LATE = -1;

export class Rehearsal {
  readonly #directory: string;
  readonly #acts: readonly RehearsalAct[];
  readonly #log: Logger;
  readonly #mostMs: number;

  /** Null when there is none, or when it cannot begin. */
  static prepare(config: Config, shards: number, log: Logger, mostMs = MOST_MS): Rehearsal | null {
    try {
      // A process that was killed may have left it, and its room may be what is missing now.
      rmSync(join(config.dataDir, DIRECTORY), { recursive: true, force: true });
      if (!config.rehearse) return null;
      // Nothing may take the last room of the journals.
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
    this.#acts = Array.from(
      { length: ACTS },
      (_, act) => new RehearsalAct(config, join(this.#directory, String(act)), shards),
    );
  }

  /** The shards that the thread of the real one serves first. */
  readonly shardsOf = (real: ShardOptions): ShardOptions[] => this.#acts.map((act) => act.shardOf(real));

  /** Resolves when the shards' threads may go on: REHEARSAL-2. */
  async run(endShards: () => void): Promise<void> {
    const startMs = performance.now();
    let orders = 0;
    let isLate = false;
    for (const act of this.#acts) {
      try {
        const played: number = isLate ? LATE : await this.#play(act, startMs);
        if (played !== LATE) orders += played;
        else if (!isLate) this.#log.warn({ ms: this.#mostMs }, CUT_SHORT);
        isLate = played === LATE;
      } catch (error) {
        this.#log.warn({ err: error }, FAILED);
      }
      endShards();
      act.wakeShards();
    }
    this.#log.debug({ orders, ms: Math.round(performance.now() - startMs) }, 'rehearsed');
  }

  /** @returns the number of orders, or LATE. */
  async #play(act: RehearsalAct, startMs: number): Promise<number> {
    const played = act.play();
    const restMs = this.#mostMs - (performance.now() - startMs);
    const orders = await Promise.race([played, sleep(restMs, LATE, { ref: false })]);
    // It may still wait for something that fails when everything is closed.
    played.catch(() => {});
    return orders;
  }

  /** Closes what is left of it, while the shards recover, and removes its files when their threads have left it. */
  async end(haveShardsLeft: Promise<void>): Promise<void> {
    try {
      for (const act of this.#acts) await act.leave();
      await haveShardsLeft;
      for (const act of this.#acts) await act.close();
      rmSync(this.#directory, { recursive: true, force: true });
    } catch (error) {
      this.#log.warn({ err: error, directory: this.#directory }, 'the files of the rehearsal are left');
    }
  }
}

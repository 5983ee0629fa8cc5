/**
 * The tasks that are repeated while the exchange accepts requests, and how often each runs.
 * Owner: the gateway thread.
 */

import type { JournalHeads } from '../base/journalHeads.ts';
import type { Logger } from '../base/log.ts';
import type { Volumes } from '../markets/volumes.ts';
import type { AdminFeed } from '../operator/feed.ts';
import type { Answers } from '../shardlink/answers.ts';
import type { Control } from './control.ts';

type PeriodicTaskOptions = {
  /** Parts whose state changes with time. */
  readonly ticking: readonly { tick(): void }[];
  readonly volumes: Volumes;
  readonly feed: AdminFeed;
  readonly stats: () => object;
  readonly answers: Answers;
  readonly control: Pick<Control, 'reserve' | 'changes'>;
  readonly journalHeads: JournalHeads;
  /** Notes which accounts are online. */
  readonly noteOnline: () => void;
  readonly log: Logger;
};

/** Bounds how late an order expires or a market opens while no commands come. */
const TICK_MS = 250;
/** Volumes in answers are at most one second old (RULES.md 9.4); the read model may use up a part of this second. */
const VOLUMES_MS = 400;
/** Time between two reports on the administrator's feed. */
const STATS_MS = 1000;
/**
 * Time between two deletions of old answers. It also bounds how many keys are looked up in the read model after a
 * crash.
 */
const ANSWERS_MS = 10_000;
/** Time between two checks of the write-ahead log of control.db, and of the disk space that is kept for a full disk. */
const CONTROL_MS = 5000;
/** Time between two notes in control.db of the ends of the journals, which shards report every ten seconds. */
const HEADS_MS = 30_000;
/** The volumes of 24 hours in answers are at most ten seconds old (RULES.md 13.8). */
const VOLUMES_24H_MS = 8000;
/** Time between two notes of the accounts that have a socket open. */
const ONLINE_MS = 60_000;

export class PeriodicTasks {
  readonly #options: PeriodicTaskOptions;
  #timers: NodeJS.Timeout[] = [];

  constructor(options: PeriodicTaskOptions) {
    this.#options = options;
  }

  /** The tasks of a standby, which change nothing that clients see. */
  startReading(): void {
    const { feed, stats } = this.#options;
    this.#timers = [
      setInterval(() => this.refreshVolumes(), VOLUMES_MS),
      setInterval(() => this.refreshVolumes24h(), VOLUMES_24H_MS),
      setInterval(() => feed.report('stats', stats), STATS_MS),
      setInterval(() => this.#keepRoom(), CONTROL_MS),
    ];
  }

  start(): void {
    this.stop();
    this.startReading();
    const { ticking, answers } = this.#options;
    this.#timers.push(
      setInterval(() => {
        for (const each of ticking) each.tick();
      }, TICK_MS),
      setInterval(() => answers.tick(), ANSWERS_MS),
      setInterval(() => this.saveHeads(), HEADS_MS),
      setInterval(() => this.noteOnline(), ONLINE_MS),
    );
  }

  #keepRoom(): void {
    const { control } = this.#options;
    control.changes.checkpoint();
    control.reserve.refill();
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Refreshes the volumes. If they cannot be read, the old ones stay. */
  async refreshVolumes(): Promise<void> {
    const { volumes, log } = this.#options;
    await volumes.refresh().catch((error) => log.warn({ err: error }, 'volumes could not be read'));
  }

  async refreshAllVolumes(): Promise<void> {
    await this.refreshVolumes();
    await this.refreshVolumes24h();
  }

  async refreshVolumes24h(): Promise<void> {
    const { volumes, log } = this.#options;
    await volumes.refresh24h().catch((error) => log.warn({ err: error }, 'volumes of 24 hours could not be read'));
  }

  /** Notes the accounts that are online; later, if the disk is full. */
  noteOnline(): void {
    const { noteOnline, log } = this.#options;
    try {
      noteOnline();
    } catch (error) {
      log.warn({ err: error }, 'accounts that are online could not be noted in control.db');
    }
  }

  /** If the disk is full, control.db keeps the older heads: it then says less about the journals, but nothing wrong. */
  saveHeads(): void {
    const { journalHeads, log } = this.#options;
    try {
      journalHeads.save();
    } catch (error) {
      log.warn({ err: error }, 'the ends of the journals could not be noted in control.db');
    }
  }
}

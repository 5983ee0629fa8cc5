/**
 * What has to be done again and again while the exchange takes requests, and how often.
 * Owner: the gateway thread.
 */
import type { AdminFeed } from './adminFeed.ts';
import type { Volumes } from './control/volumes.ts';
import type { Answers } from './idempotency/answers.ts';
import type { Logger } from './log.ts';

export type UpkeepOptions = {
  /** Whatever time alone moves on. */
  readonly ticking: readonly { tick(): void }[];
  readonly volumes: Volumes;
  readonly feed: AdminFeed;
  readonly stats: () => object;
  readonly answers: Answers;
  readonly log: Logger;
};

/** Bounds how late an order expires or a market opens when nobody sends anything. */
const TICK_MS = 250;
/** How old the volumes in a list may be; its answers may be kept a minute anyway. */
const VOLUMES_MS = 5000;
/** How often the administrator's feed tells how things stand. */
const STATS_MS = 1000;
/** How often old answers are looked for, and how much a crash leaves to be looked up in the read model. */
const ANSWERS_MS = 10_000;

export class Upkeep {
  readonly #options: UpkeepOptions;
  #timers: NodeJS.Timeout[] = [];

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  start(): void {
    const { ticking, feed, stats, answers } = this.#options;
    this.#timers = [
      setInterval(() => {
        for (const each of ticking) each.tick();
      }, TICK_MS),
      setInterval(() => this.refreshVolumes(), VOLUMES_MS),
      setInterval(() => feed.report('stats', stats), STATS_MS),
      setInterval(() => answers.tick(), ANSWERS_MS),
    ];
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Old volumes are shown rather than none. */
  async refreshVolumes(): Promise<void> {
    const { volumes, log } = this.#options;
    await volumes.refresh().catch((error) => log.warn({ err: error }, 'volumes could not be read'));
  }
}

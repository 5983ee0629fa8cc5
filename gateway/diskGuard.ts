/**
 * Keeps the last of the disk for those who want out: below the reserve nothing new is taken on, while cancels and
 * withdrawals, which have to be journaled as well, still find room. It ends by itself once there is clearly more.
 * Owner: the gateway thread.
 */
import { statfs } from 'node:fs/promises';
import type { Logger } from './log.ts';

const LOOK_EVERY_MS = 250;
/** Times the reserve: a disk around the limit must not switch with every look. */
const RESUME_FACTOR = 1.5;

export class DiskGuard {
  /** There is less room than the reserve. */
  isLow = false;
  readonly #reserveBytes: number;
  readonly #freeBytes: () => Promise<number>;
  readonly #log: Logger;
  readonly #onChange: (isLow: boolean) => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    reserveBytes: number,
    free: () => Promise<number>,
    log: Logger,
    onChange: (isLow: boolean) => void = () => {},
  ) {
    this.#onChange = onChange;
    this.#reserveBytes = reserveBytes;
    this.#freeBytes = free;
    this.#log = log;
  }

  /** Looks now, which this resolves after, and from then on. */
  async start(): Promise<void> {
    await this.look();
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.start(), LOOK_EVERY_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async look(): Promise<void> {
    const free = await this.#freeBytes();
    const isLow = free < this.#reserveBytes * (this.isLow ? RESUME_FACTOR : 1);
    if (isLow === this.isLow) return;
    this.isLow = isLow;
    const facts = { free_bytes: free, reserve_bytes: this.#reserveBytes };
    if (isLow) this.#log.error(facts, 'the disk is nearly full: only cancels, withdrawals and reads go on');
    else this.#log.info(facts, 'the disk has room again');
    this.#onChange(isLow);
  }
}

/** What a process without privileges may still write. A disk that does not even say has no room to rely on. */
export async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/**
 * Reserves the last part of the disk for cancels and withdrawals, which have to be journaled too: while less than the
 * reserve is free, orders and all other requests that need space are refused. The guard ends by itself once clearly
 * more is free.
 * Owner: the gateway thread.
 */
import { statfs } from 'node:fs/promises';
import type { Logger } from '../base/log.ts';
import { DiskTrend } from './diskTrend.ts';

const CHECK_EVERY_MS = 250;
/** The guard ends when this many times the reserve is free, so that it does not switch with every check. */
const RESUME_FACTOR = 1.5;

export class DiskGuard {
  /** True if less than the reserve is free. */
  isLow = false;
  /** Free bytes at the last check. */
  freeBytes = 0;
  readonly reserveBytes: number;
  readonly trend = new DiskTrend();
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
    this.reserveBytes = reserveBytes;
    this.#freeBytes = free;
    this.#log = log;
  }

  /** Checks now, and at intervals from then on. Resolves after the first check. */
  async start(): Promise<void> {
    await this.check();
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.start(), CHECK_EVERY_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async check(): Promise<void> {
    const free = await this.#freeBytes();
    this.freeBytes = free;
    this.trend.note(free, performance.now());
    const isLow = free < this.reserveBytes * (this.isLow ? RESUME_FACTOR : 1);
    if (isLow === this.isLow) return;
    this.isLow = isLow;
    const facts = { free_bytes: free, reserve_bytes: this.reserveBytes };
    if (isLow)
      this.#log.error(
        facts,
        'the disk is nearly full: only cancels, withdrawals and reads are served; free some space',
      );
    else this.#log.info(facts, 'the disk has space again: all requests are served');
    this.#onChange(isLow);
  }
}

/** Returns the bytes that a process without privileges may still write. A disk that does not answer counts as full. */
export async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

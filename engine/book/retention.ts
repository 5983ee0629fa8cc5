/**
 * When an accepted order may be forgotten: from then on the shard refuses it whether or not its hash is remembered, so
 * that remembering could change nothing but the text of the refusal.
 *
 *   its market is decided                 a decided market never trades again (a locked one may)
 *   its expiration has passed             by the time of a journaled order, which never runs back
 *
 * Two words say both, and the account that placed it:
 *
 *   word 0  account, 26 bits; the lowest 6 bits of the market
 *   word 1  expiration, 16 bits; the highest 16 bits of the market
 *
 * The market is its index + 1, and 0 if no decision matters or the index is too large for its 22 bits. The expiration
 * is the hour at whose start it has surely passed, counted in a circle of 65,535 hours (7 years) from 1, and 0 if it
 * never passes or lies more than half of the circle ahead. Such an order is remembered longer than
 * necessary, never shorter.
 * Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { MAX_ACCOUNTS } from '../../shared/base/codes.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

const ACCOUNT_BITS = 26;
const ACCOUNT_MASK = (1 << ACCOUNT_BITS) - 1;
const LOW_MARKET_BITS = 32 - ACCOUNT_BITS;
const LOW_MARKET_MASK = (1 << LOW_MARKET_BITS) - 1;
const HIGH_SHIFT = 16;
const HOUR_MASK = (1 << HIGH_SHIFT) - 1;
/** A market's index + 1 is below it. */
const MARKET_END = 1 << (LOW_MARKET_BITS + HIGH_SHIFT);
const CIRCLE = 65_535;
const HALF = 32_767;
const HOUR_SEC = 3600;
const HOUR_MS = 3_600_000;

assert(MAX_ACCOUNTS <= 2 ** ACCOUNT_BITS, 'HASHES-1: every account fits into its bits');

/** The market and the hour of what is never forgotten. */
export const FOR_EVER = -1;

export class Retention {
  /** 1 for each decided market. */
  #decided = new Uint8Array(64);
  /** 0 before the first journaled order: then no expiration has passed. */
  #hour = 0;
  readonly #onMore: () => void;

  /** @param onMore called when more may be forgotten than before. */
  constructor(onMore: () => void) {
    this.#onMore = onMore;
  }

  /** The hour that journaled time has come to, or 0. */
  get hour(): number {
    return this.#hour;
  }

  /** The market is decided, and stays so. */
  decide(market: number): void {
    if (market >= this.#decided.length) {
      const larger = new Uint8Array(2 ** Math.ceil(Math.log2(market + 1)));
      larger.set(this.#decided);
      this.#decided = larger;
    }
    this.#decided[market] = 1;
    this.#onMore();
  }

  /** Journaled time has come to this hour (`hourOfMs`). */
  reach(hour: number): void {
    if (hour === this.#hour) return;
    assert(hour > this.#hour, 'ENGINE-2: journaled time never runs back');
    this.#hour = hour;
    this.#onMore();
  }

  /** An hour as entries keep it, or 0. @param lastHour `hourAfterSec` of an expiration, or FOR_EVER */
  kept(lastHour: number): number {
    if (lastHour === FOR_EVER || lastHour - this.#hour > HALF) return 0;
    return 1 + (lastHour % CIRCLE);
  }

  /** The hour; decided markets are known from the markets. */
  persist(io: SnapshotIo): void {
    this.#hour = io.number(this.#hour);
  }

  mayForget(low: number, high: number): boolean {
    const market = (low >>> ACCOUNT_BITS) | ((high >>> HIGH_SHIFT) << LOW_MARKET_BITS);
    if (market !== 0 && this.#decided[market - 1] === 1) return true;
    const hour = high & HOUR_MASK;
    if (hour === 0 || this.#hour === 0) return false;
    const passed = (this.#hour % CIRCLE) - (hour - 1);
    return (passed < 0 ? passed + CIRCLE : passed) < HALF;
  }
}

/** The hour of a time. */
export function hourOfMs(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS);
}

/** The first hour in which an expiration has passed; FOR_EVER for 0, which never passes. */
export function hourAfterSec(expirationSec: number): number {
  return expirationSec === 0 ? FOR_EVER : Math.ceil(expirationSec / HOUR_SEC);
}

/** The market of an entry, or FOR_EVER if its entry does not say it. */
export function marketIn(low: number, high: number): number {
  return ((low >>> ACCOUNT_BITS) | ((high >>> HIGH_SHIFT) << LOW_MARKET_BITS)) - 1;
}

export function accountIn(low: number): number {
  return low & ACCOUNT_MASK;
}

export function lowWord(account: number, market: number): number {
  assert(account <= ACCOUNT_MASK, 'HASHES-1: an account fits into its bits');
  return account | ((numberOf(market) & LOW_MARKET_MASK) << ACCOUNT_BITS);
}

/** @param hour as kept */
export function highWord(market: number, hour: number): number {
  return hour | ((numberOf(market) >>> LOW_MARKET_BITS) << HIGH_SHIFT);
}

function numberOf(market: number): number {
  return market + 1 < MARKET_END ? market + 1 : 0;
}

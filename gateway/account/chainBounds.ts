/**
 * Limits the work that one account causes on the chain, where the operator pays for each movement (RULES.md 17.46): a
 * minimum amount, and a number of movements a day. The counts are kept in memory: a restart forgets them. Owner: the
 * gateway thread.
 *
 * Invariants:
 *   CHAINBOUNDS-1  An account may make at most `mostADay` movements at once, and as many again in each 24 hours (a
 *                  token bucket).
 *   CHAINBOUNDS-2  An amount below the minimum moves only if it is everything that the account has, and once in 24
 *                  hours.
 *   CHAINBOUNDS-3  No fee is charged before the contract was found to take fees: otherwise the chain would never carry
 *                  out a movement with a fee.
 *   CHAINBOUNDS-4  At most as many splits and merges wait for the chain as one block takes: the next split and
 *                  the trades that need it wait for them.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { MovementBounds } from '../shardlink/settlementPort.ts';

type ChainBoundsConfig = {
  /** Of a withdrawal, split or merge, in micro-USDC. */
  readonly leastMovementMicro: number;
  readonly mostMovementsADay: number;
  readonly movementFeeMicro: number;
};

type FeeFacts = {
  /** True once the contracts on the chain were found to match the settings. */
  readonly hasAgreed: () => boolean;
  /** The last report of settlement, another object each time; null before the first. */
  readonly report: () => { readonly waitingSets: number } | null;
};

type Used = {
  /** Movements counted at `atMs`; they expire evenly over a day. */
  movements: number;
  atMs: number;
  /** The time at which the account last moved a remainder; null if none is remembered. */
  restMs: number | null;
};

const DAY_MS = 86_400_000;
/** As many as the operator sends for one block (shared/chain/envelopes.ts). */
const MOST_WAITING_SETS = 16;
/** About a block. */
const SETS_AGAIN_MS = 2000;
/** The number of accounts after which entries that are no longer needed are removed. */
const SWEPT_AFTER = 10_000;

export class ChainBounds implements MovementBounds {
  readonly #config: ChainBoundsConfig;
  readonly #clock: Clock;
  readonly #facts: FeeFacts;
  readonly #used = new Map<number, Used>();
  #sweepAt = SWEPT_AFTER;
  #report: object | null = null;
  /** Splits and merges since that report. */
  #setsSince = 0;

  constructor(config: ChainBoundsConfig, clock: Clock, facts: FeeFacts) {
    this.#config = config;
    this.#facts = facts;
    this.#clock = clock;
  }

  /** The fee of the next movement (RULES.md 17.50), micro-USDC. */
  get feeMicro(): number {
    return this.#config.movementFeeMicro;
  }

  /** The bounds as clients see them. */
  get shown(): { movement_fee_usdc_micro: string; least_movement_usdc_micro: string; most_movements_a_day: number } {
    const { leastMovementMicro, mostMovementsADay } = this.#config;
    return {
      movement_fee_usdc_micro: String(this.feeMicro),
      least_movement_usdc_micro: String(leastMovementMicro),
      most_movements_a_day: mostMovementsADay,
    };
  }

  /**
   * Counts a movement, or refuses it.
   * @param wholeMicro everything that the account could move, without the fee: the only amount allowed below the
   * minimum
   */
  take(account: number, field: string, amountMicro: number, wholeMicro: number): Refusal | null {
    const { leastMovementMicro, mostMovementsADay } = this.#config;
    if (this.feeMicro > 0 && !this.#facts.hasAgreed()) return NOT_COMPARED;
    const nowMs = this.#clock.nowMs();
    const used = this.#usedBy(account, nowMs);
    const isRest = amountMicro < leastMovementMicro;
    if (isRest && amountMicro !== wholeMicro) return tooLittle(field, leastMovementMicro);
    const restLeftMs = used.restMs === null ? 0 : used.restMs + DAY_MS - nowMs;
    if (isRest && restLeftMs > 0) return later('a rest below the least amount leaves once a day', restLeftMs);
    const over = used.movements + 1 - mostMovementsADay;
    if (over > 0) return later('too many movements on the chain', (over * DAY_MS) / mostMovementsADay);
    used.movements++;
    if (isRest) used.restMs = nowMs;
    this.#used.set(account, used);
    this.#sweep(nowMs);
    return null;
  }

  /** As `take`, for a split or merge of all accounts together (CHAINBOUNDS-4). */
  takeSets(account: number, field: string, amountMicro: number, wholeMicro: number): Refusal | null {
    const report = this.#facts.report();
    if (report !== this.#report) this.#setsSince = 0;
    this.#report = report;
    if (report !== null && report.waitingSets + this.#setsSince >= MOST_WAITING_SETS) {
      return later('too many splits and merges wait for the chain', SETS_AGAIN_MS);
    }
    const refusal = this.take(account, field, amountMicro, wholeMicro);
    if (refusal === null) this.#setsSince++;
    return refusal;
  }

  /** The movement was refused elsewhere, so it does not count. */
  giveBack(account: number, amountMicro: number): void {
    const used = this.#used.get(account);
    if (used === undefined) return;
    used.movements = Math.max(0, used.movements - 1);
    if (amountMicro < this.#config.leastMovementMicro) used.restMs = null;
  }

  /** The number of remembered accounts, for tests. */
  get size(): number {
    return this.#used.size;
  }

  #usedBy(account: number, nowMs: number): Used {
    const used = this.#used.get(account) ?? { movements: 0, atMs: nowMs, restMs: null };
    const forgotten = (Math.max(0, nowMs - used.atMs) / DAY_MS) * this.#config.mostMovementsADay;
    used.movements = Math.max(0, used.movements - forgotten);
    used.atMs = nowMs;
    return used;
  }

  #sweep(nowMs: number): void {
    if (this.#used.size < this.#sweepAt) return;
    for (const [account, { atMs }] of this.#used) if (nowMs - atMs > DAY_MS) this.#used.delete(account);
    this.#sweepAt = Math.max(SWEPT_AFTER, 2 * this.#used.size);
  }
}

const NOT_COMPARED: Refusal = {
  row: ERRORS.SETTLEMENT_UNHEALTHY,
  message: 'the chain was not compared with the settings yet, so it is not known whether the contract takes the fee',
};

function tooLittle(field: string, leastMicro: number): Refusal {
  const message = `the least amount on the chain is ${leastMicro}, or all there is`;
  return { row: ERRORS.VALIDATION_ERROR, message, details: { field, rule: 'minimum', value: String(leastMicro) } };
}

function later(message: string, waitMs: number): Refusal {
  return { row: ERRORS.RATE_LIMITED, message, retryAfterSec: Math.ceil(waitMs / 1000) };
}

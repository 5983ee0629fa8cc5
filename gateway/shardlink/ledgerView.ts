/**
 * The totals of all money: deposits less withdrawals, and where that money is now. The administrator may ask while the
 * exchange trades, so the columns are copied at one moment (a millisecond for a hundred thousand positions) and added
 * up afterwards in steps. Sums over all accounts may exceed the safe integers, so they are bigint.
 */
import { FEE_ACCOUNT, isDecided } from '../../shared/base/codes.ts';
import { PPM } from '../../shared/base/payout.ts';
import type { AccountViews } from './accountViews.ts';
import type { MarketViews } from './marketViews.ts';

export type LedgerTotals = {
  /** accounts + fees + collateral = total, and the collateral of each market covers its tokens exactly. */
  readonly balanced: boolean;
  /** Deposits less withdrawals. */
  readonly totalMicro: bigint;
  /** Available and reserved of all users. */
  readonly accountsMicro: bigint;
  readonly feesMicro: bigint;
  /** USDC locked for the tokens of all markets. */
  readonly collateralMicro: bigint;
  /** All tokens, by market index. */
  readonly yesAtomic: Float64Array;
  readonly noAtomic: Float64Array;
};

/** Cells that one step adds up: some ten microseconds. */
const CELLS_A_STEP = 1024;

export class LedgerCopy {
  readonly #totalMicro: bigint;
  /** Columns by account, of each shard. */
  readonly #usdc: readonly Float64Array[];
  /** By position: its market, and the tokens. */
  readonly #positionMarkets: Uint32Array;
  readonly #yes: readonly Float64Array[];
  readonly #no: readonly Float64Array[];
  readonly #positions: number;
  /** By market. */
  readonly #collateralMicro: Float64Array;
  readonly #roundingPpm: Float64Array;
  /** As `setOf` of the views; the payouts of decided members, and the excess of each set, at the moment of the copy. */
  readonly #setOf: Float64Array;
  readonly #paid: ReadonlyMap<number, number>;
  readonly #excessMicro: ReadonlyMap<number, number>;
  readonly #markets: MarketViews;

  constructor(accounts: AccountViews, markets: MarketViews) {
    const { shards, pairs } = accounts;
    this.#totalMicro = shards.reduce((sum, shard) => sum + shard.depositsMicro - shard.withdrawalsMicro, 0n);
    this.#usdc = shards.flatMap(({ netMicro, reservedMicro }) => [netMicro.slice(), reservedMicro.slice()]);
    // Pairs that have no position yet may lie beyond the columns: they hold nothing.
    this.#positions = Math.min(pairs.count, accounts.yesAvailable.length);
    this.#positionMarkets = pairs.markets.slice(0, this.#positions);
    const ofPositions = (column: Float64Array): Float64Array => column.slice(0, this.#positions);
    this.#yes = [accounts.yesAvailable, accounts.yesReserved].map(ofPositions);
    this.#no = [accounts.noAvailable, accounts.noReserved].map(ofPositions);
    this.#collateralMicro = markets.collateralMicro.slice(0, markets.count);
    this.#roundingPpm = markets.roundingPpm.slice(0, markets.count);
    this.#setOf = markets.setOf.slice(0, markets.count);
    this.#excessMicro = new Map(markets.excessMicro);
    this.#paid = decidedMembers(markets);
    this.#markets = markets;
  }

  /** Adds up, a part in each step. */
  *add(): Generator<void, LedgerTotals> {
    const users = new ExactSum();
    const fees = new ExactSum();
    for (const column of this.#usdc) {
      fees.add(column[FEE_ACCOUNT]);
      for (const [from, to] of stepsOf(FEE_ACCOUNT + 1, column.length)) {
        for (let account = from; account < to; account++) users.add(column[account]);
        yield;
      }
    }
    const yes = yield* this.#supply(this.#yes);
    const no = yield* this.#supply(this.#no);
    const collateral = new ExactSum();
    let areSetsCovered = true;
    for (const [from, to] of stepsOf(0, yes.length)) {
      for (let market = from; market < to; market++) {
        collateral.add(this.#collateralMicro[market]);
        areSetsCovered &&= this.#isCovered(market, yes[market], no[market]);
      }
      yield;
    }
    for (const excess of this.#excessMicro.values()) collateral.add(excess);
    const sum = users.total + fees.total + collateral.total;
    return {
      balanced: areSetsCovered && sum === this.#totalMicro,
      totalMicro: this.#totalMicro,
      accountsMicro: users.total,
      feesMicro: fees.total,
      collateralMicro: collateral.total,
      yesAtomic: yes,
      noAtomic: no,
    };
  }

  /** By market. All tokens of a market, owed or owned, add up to a safe integer (RULES.md 3.2 and 3.5). */
  *#supply(columns: readonly Float64Array[]): Generator<void, Float64Array> {
    const supply = new Float64Array(this.#collateralMicro.length);
    for (const column of columns) {
      for (const [from, to] of stepsOf(0, this.#positions)) {
        for (let pair = from; pair < to; pair++) supply[this.#positionMarkets[pair]] += column[pair];
        yield;
      }
    }
    return supply;
  }

  /**
   * RULES.md 9.8: a full set is worth one USDC until the market is decided; then each token is worth its payout. A
   * market that was decided after the copy had only full sets, which also pay one USDC.
   */
  #isCovered(market: number, yesAtomic: number, noAtomic: number): boolean {
    const markets = this.#markets;
    const collateralMicro = this.#collateralMicro[market];
    const setOf = this.#setOf[market];
    const paidPpm = this.#paid.get(market);
    // Before its decision a member of a set has another number of Yes tokens (RULES.md 19.2).
    if (setOf !== 0 && paidPpm === undefined)
      return noAtomic === collateralMicro && yesAtomic === collateralMicro + (this.#excessMicro.get(setOf - 1) ?? 0);
    const isPaying = markets.has(market) && isDecided(markets.status(market));
    if (!isPaying) return yesAtomic === collateralMicro && noAtomic === collateralMicro;
    const payoutYes = BigInt(paidPpm ?? markets.payoutYesPpm(market));
    const worth = BigInt(yesAtomic) * payoutYes + BigInt(noAtomic) * (BigInt(PPM) - payoutYes);
    return BigInt(collateralMicro) * BigInt(PPM) === worth + BigInt(this.#roundingPpm[market]);
  }
}

/** The payouts of the decided members of all event sets. */
function decidedMembers(markets: MarketViews): Map<number, number> {
  const paid = new Map<number, number>();
  for (let market = 0; market < markets.count; market++) {
    if (markets.setOf[market] === 0 || !isDecided(markets.status(market))) continue;
    paid.set(market, markets.payoutYesPpm(market));
  }
  return paid;
}

function* stepsOf(start: number, end: number): Generator<readonly [from: number, to: number]> {
  for (let from = start; from < end; from += CELLS_A_STEP) yield [from, Math.min(from + CELLS_A_STEP, end)];
}

/** An exact sum of safe integers: it moves its number into a bigint before the number exceeds the safe integers. */
class ExactSum {
  #spilled = 0n;
  #part = 0;

  add(value: number): void {
    const next = this.#part + value;
    if (Number.isSafeInteger(next)) {
      this.#part = next;
    } else {
      this.#spilled += BigInt(this.#part);
      this.#part = value;
    }
  }

  get total(): bigint {
    return this.#spilled + BigInt(this.#part);
  }
}

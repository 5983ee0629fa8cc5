/**
 * The totals of all money: deposits less withdrawals, and where that money is now. Computed by walking the views when
 * the administrator asks. Sums over all accounts may exceed the safe integers, so they are bigint.
 */
import { FEE_ACCOUNT, isDecided } from '../../shared/base/codes.ts';
import { PPM } from '../../shared/base/payout.ts';
import type { AccountViews } from './accounts.ts';
import type { MarketViews } from './markets.ts';

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
  readonly sets: readonly MarketSets[];
};

type MarketSets = { readonly market: number; readonly yesAtomic: bigint; readonly noAtomic: bigint };

export function ledgerTotals(accounts: AccountViews, markets: MarketViews): LedgerTotals {
  let totalMicro = 0n;
  const usersMicro = new ExactSum();
  const feesMicro = new ExactSum();
  for (const shard of accounts.shards) {
    totalMicro += shard.depositsMicro - shard.withdrawalsMicro;
    for (let account = 0; account < shard.netMicro.length; account++) {
      const sum = account === FEE_ACCOUNT ? feesMicro : usersMicro;
      sum.add(shard.netMicro[account]);
      sum.add(shard.reservedMicro[account]);
    }
  }
  const sets = tokenSupply(accounts, markets);
  let collateralMicro = 0n;
  let areSetsCovered = true;
  for (const set of sets) {
    collateralMicro += BigInt(markets.collateralMicro(set.market));
    areSetsCovered &&= isCovered(set, markets);
  }
  const balanced = areSetsCovered && usersMicro.total + feesMicro.total + collateralMicro === totalMicro;
  return {
    balanced,
    totalMicro,
    accountsMicro: usersMicro.total,
    feesMicro: feesMicro.total,
    collateralMicro,
    sets,
  };
}

/** RULES.md 9.8: a full set is one USDC until the market is decided, from then on each token is worth what it pays. */
function isCovered({ market, yesAtomic, noAtomic }: MarketSets, markets: MarketViews): boolean {
  const collateral = BigInt(markets.collateralMicro(market));
  const isPaying = markets.has(market) && isDecided(markets.status(market));
  if (!isPaying) return yesAtomic === collateral && noAtomic === collateral;
  const payoutYes = BigInt(markets.payoutYesPpm(market));
  const worth = yesAtomic * payoutYes + noAtomic * (BigInt(PPM) - payoutYes);
  return collateral * BigInt(PPM) === worth + BigInt(markets.roundingPpm(market));
}

function tokenSupply(accounts: AccountViews, markets: MarketViews): MarketSets[] {
  const yes = Array.from({ length: markets.count }, () => new ExactSum());
  const no = Array.from({ length: markets.count }, () => new ExactSum());
  // Pairs without a position yet may lie beyond the columns: they hold nothing.
  const rows = Math.min(accounts.pairs.count, accounts.yesAvailable.length);
  for (let pair = 0; pair < rows; pair++) {
    const market = accounts.pairs.markets[pair];
    yes[market].add(accounts.yesAvailable[pair]);
    yes[market].add(accounts.yesReserved[pair]);
    no[market].add(accounts.noAvailable[pair]);
    no[market].add(accounts.noReserved[pair]);
  }
  return yes.map((sum, market) => ({ market, yesAtomic: sum.total, noAtomic: no[market].total }));
}

/**
 * A sum of safe integers that stays exact: a number that is moved into a bigint before it exceeds the safe integers.
 */
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

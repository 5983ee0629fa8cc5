/**
 * The gain of an account since a moment, over time: its worth, less that at the beginning, less what was paid in and
 * plus what was paid out since (RULES.md 14.25), exact in micro-USDC. It follows the entries of a statement, and values
 * tokens at the last price of their market.
 */
import type { Statement, StatementEntry } from '../../../shared/client/types.ts';
import { FINEST } from './format.ts';

/** The price of Yes at a moment in Unix seconds, in the finest ticks. */
export type PriceAt = (time: number) => number;

type Holding = { yes: bigint; no: bigint };
type Account = Pick<Statement, 'opening' | 'entries'>;

/** The worth of what was never traded (RULES.md 14.25). */
const HALF = FINEST / 2;
const SECOND_MS = 1000;
/** These bring or take funds of the account's person: they are no gain. */
const PAID: readonly StatementEntry['type'][] = ['deposit', 'withdrawal', 'carried'];

/** The markets whose prices are needed. */
export function marketsOf({ opening, entries }: Account): string[] {
  const ids = [...opening.tokens, ...entries].map(({ market_id }) => market_id);
  return [...new Set(ids.filter((id) => id !== null))];
}

/** @param times in Unix seconds, rising */
export function gainsOf(account: Account, prices: ReadonlyMap<string, PriceAt>, times: readonly number[]): bigint[] {
  let usdc = BigInt(account.opening.usdc_micro);
  let paid = 0n;
  const held = new Map<string, Holding>();
  const holdingOf = (marketId: string): Holding => {
    const holding = held.get(marketId) ?? { yes: 0n, no: 0n };
    held.set(marketId, holding);
    return holding;
  };
  for (const { market_id, outcome_index, quantity_atomic } of account.opening.tokens) {
    holdingOf(market_id)[outcome_index === 0 ? 'yes' : 'no'] += BigInt(quantity_atomic);
  }
  const worthAt = (time: number): bigint => {
    let worth = usdc;
    for (const [id, { yes, no }] of held) {
      const ticks = BigInt(prices.get(id)?.(time) ?? HALF);
      worth += (yes * ticks + no * (BigInt(FINEST) - ticks)) / BigInt(FINEST);
    }
    return worth;
  };
  const opening = times.length === 0 ? 0n : worthAt(times[0]);
  let next = 0;
  return times.map((time) => {
    for (; next < account.entries.length; next += 1) {
      const entry = account.entries[next];
      if (Date.parse(entry.time) > time * SECOND_MS) break;
      usdc += BigInt(entry.usdc_delta_micro);
      if (PAID.includes(entry.type)) paid += BigInt(entry.usdc_delta_micro);
      if (entry.market_id === null) continue;
      const holding = holdingOf(entry.market_id);
      holding.yes += BigInt(entry.yes_delta_atomic);
      holding.no += BigInt(entry.no_delta_atomic);
    }
    return worthAt(time) - opening - paid;
  });
}

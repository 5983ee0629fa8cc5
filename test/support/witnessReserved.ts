/**
 * Open orders lock a part of the balances of their account: a buy order locks its remaining USDC, a sell order locks
 * outcome tokens (RULES.md 3.1).
 */
import type { Json } from './server.ts';

/** The remainder of each open order. */
export type OpenOrders = Map<string, string>;
/** USDC, or the outcome of which an order sells tokens. */
export type LockedAsset = 'usdc' | 0 | 1;
type Tokens = readonly [yesAtomic: number, noAtomic: number];
/** As in an answer, with a row for each market. */
export type Reserved = { readonly usdcMicro: number; readonly tokens: ReadonlyMap<string, Tokens> };

/** @param markets the markets in which the account has orders */
export function reservedIn({ usdc, tokens }: Json, markets: readonly string[]): Reserved {
  const rows = new Map<string, [number, number]>(markets.map((id) => [id, [0, 0]]));
  for (const { market_id, outcome_index, reserved } of tokens) {
    const row = rows.get(market_id);
    if (row !== undefined) row[outcome_index as 0 | 1] = Number(reserved);
  }
  return { usdcMicro: Number(usdc.reserved), tokens: rows };
}

/**
 * True if each market was in one of its states, as its tokens show, and the USDC of all of them together equal the
 * answer. Markets may be in different shards, whose events come one after the other, so each has a state of its own.
 */
export function areExplained(
  { usdcMicro, tokens }: Reserved,
  states: ReadonlyMap<string, readonly OpenOrders[]>,
  locks: ReadonlyMap<string, LockedAsset>,
): boolean {
  let sums = new Set([0]);
  for (const [market, [yesAtomic, noAtomic]] of tokens) {
    const fitting = states.get(market)!.map((open) => lockedBy(open, locks));
    const ofMarket = fitting.filter((locked) => locked[0] === yesAtomic && locked[1] === noAtomic);
    sums = new Set([...sums].flatMap((sum) => ofMarket.map((locked) => sum + locked.usdc)));
  }
  return sums.has(usdcMicro);
}

function lockedBy(open: OpenOrders, locks: ReadonlyMap<string, LockedAsset>) {
  const locked = { usdc: 0, 0: 0, 1: 0 };
  for (const [hash, remaining] of open) locked[locks.get(hash)!] += Number(remaining);
  return locked;
}

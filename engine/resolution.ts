/**
 * The end of a market (RULES.md 3.4, 9.6): it is decided what its tokens pay, holders are paid out of its collateral,
 * and at the settlement whoever did not claim, the fee account included. Owner: the shard thread.
 *
 *   active, locked, resolving ──decide──► resolved  ──settle──► settled
 *   any of them, draft, pending ─decide─► cancelled ──settle──► cancelled, all paid
 *
 * Each payout is rounded down once. What that keeps back stays in the collateral, counted to the millionth of a micro
 * (G2 in market.ts), until the settlement gives it to the fee account: then it is whole micros.
 */
import { assert } from '../shared/assert.ts';
import { CLOSE_REASON, FEE_ACCOUNT, isDecided, MARKET_STATUS, MOVEMENT, OUTCOME } from '../shared/codes.ts';
import { addSafe, mulSafe } from '../shared/int.ts';
import { PPM, payoutMicro, roundingPpm } from '../shared/payout.ts';
import { collectResting } from './dormancy.ts';
import { type Market, mayDecide } from './market.ts';
import { NONE, WORDS } from './orders.ts';
import type { ShardState } from './state.ts';

/** Ends every open order of a market, the dormant ones too. */
export function closeBook({ orders, matcher }: ShardState, market: Market): void {
  const open: number[] = [];
  collectResting(market.book.bids, orders, open);
  collectResting(market.book.asks, orders, open);
  for (let slot = market.book.dormantHead; slot !== NONE; slot = orders.next[slot << WORDS]!) open.push(slot);
  for (const slot of open) matcher.close(market, slot, CLOSE_REASON.MARKET_CLOSED);
  assert(market.openOrders === 0, 'O1: a closed market has no open order left');
}

/** @param status RESOLVED or CANCELLED. */
export function decide(state: ShardState, market: Market, status: number, payoutYesPpm: number, timeMs: number): void {
  assert(mayDecide(market.status, status), 'G2: a market is decided once');
  assert(payoutYesPpm <= PPM, 'G2: a set pays one USDC');
  closeBook(state, market);
  market.status = status;
  market.payoutYesPpm = payoutYesPpm;
  market.resolvedMs = timeMs;
  state.markets.touch(market);
  state.markets.plan();
}

/** What the account's tokens of a decided market pay. */
export function claimableMicro({ ledger }: ShardState, market: Market, account: number): number {
  const yes = ledger.availableTokens(account, market.index, OUTCOME.YES);
  const no = ledger.availableTokens(account, market.index, OUTCOME.NO);
  return payoutMicro(yes, no, market.payoutYesPpm);
}

/** Turns all the account's tokens of a decided market into what they pay. */
export function payClaim(state: ShardState, market: Market, account: number): void {
  const { ledger, emit } = state;
  assert(isDecided(market.status), 'G2: only a decided market pays');
  const yes = ledger.availableTokens(account, market.index, OUTCOME.YES);
  const no = ledger.availableTokens(account, market.index, OUTCOME.NO);
  const micro = payoutMicro(yes, no, market.payoutYesPpm);
  ledger.addTokens(account, market.index, OUTCOME.YES, -yes);
  ledger.addTokens(account, market.index, OUTCOME.NO, -no);
  market.collateralMicro = addSafe(market.collateralMicro, -micro);
  market.roundingPpm = addSafe(market.roundingPpm, roundingPpm(yes, no, market.payoutYesPpm));
  state.markets.touch(market);
  if (micro < 0) ledger.collect(account, -micro);
  if (micro <= 0) return;
  ledger.credit(account, micro);
  emit.funds(account, market.index, MOVEMENT.CLAIM, micro);
}

/** Pays every holder that is left, by account number, and gives the fee account what rounding kept back. */
export function settle(state: ShardState, market: Market, timeMs: number): void {
  const { account, market: marketOf, count } = state.ledger.positions;
  const holders: number[] = [];
  for (let row = 0; row < count; row++) if (marketOf[row] === market.index) holders.push(account[row]!);
  holders.sort((a, b) => a - b);
  for (const holder of holders) payClaim(state, market, holder);

  const rest = market.collateralMicro;
  assert(mulSafe(rest, PPM) === market.roundingPpm, 'G2: what nobody is paid is what rounding kept back');
  market.collateralMicro = 0;
  market.roundingPpm = 0;
  state.ledger.credit(FEE_ACCOUNT, rest);
  if (rest > 0) state.emit.funds(FEE_ACCOUNT, market.index, MOVEMENT.CLAIM, rest);
  if (market.status === MARKET_STATUS.RESOLVED) market.status = MARKET_STATUS.SETTLED;
  market.settledMs = timeMs;
  state.markets.touch(market);
}

/**
 * The end of a market (RULES.md 3.4, 9.6). The decision fixes the payout of its tokens; holders who claim are paid out
 * of its collateral; the settlement pays all the others, the fee account included. Owner: the shard thread.
 *
 *   active, locked, resolving ──decide──► resolved  ──settle──► settled
 *   any of them, draft, pending ─decide─► cancelled ──settle──► cancelled, all paid
 *
 * Each payout is rounded down once. The rounded-off parts stay in the collateral, counted to the millionth of a micro
 * (MARKET-2 in market.ts), until the settlement gives them to the fee account: then they are whole micros.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON, FEE_ACCOUNT, isDecided, MARKET_STATUS, MOVEMENT, OUTCOME } from '../../shared/base/codes.ts';
import { addSafe, mulSafe } from '../../shared/base/int.ts';
import { PPM, payoutMicro, roundingPpm } from '../../shared/base/payout.ts';
import { type Market, mayDecide } from '../book/market.ts';
import { NONE, WORD_SHIFT } from '../book/orders.ts';
import { collectResting } from './dormancy.ts';
import type { ShardState } from './state.ts';

/** Ends every open order of a market, the dormant ones too. */
export function closeBook({ closing, orders }: ShardState, market: Market): void {
  const open: number[] = [];
  collectResting(market.book.bids, orders, open);
  collectResting(market.book.asks, orders, open);
  for (let slot = market.book.dormantHead; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) open.push(slot);
  for (const slot of open) closing.close(market, slot, CLOSE_REASON.MARKET_CLOSED);
  assert(market.openOrders === 0, 'MARKET-4: a market whose book was closed has no open order');
}

/** @param status RESOLVED or CANCELLED. */
export function decide(state: ShardState, market: Market, status: number, payoutYesPpm: number, timeMs: number): void {
  assert(mayDecide(market.status, status), 'MARKET-2: a market is decided once');
  assert(payoutYesPpm <= PPM, 'MARKET-2: a set pays one USDC');
  closeBook(state, market);
  market.status = status;
  market.payoutYesPpm = payoutYesPpm;
  market.resolvedMs = timeMs;
  state.markets.touch(market);
  state.markets.planTransition();
}

/** The payout for the account's tokens of a decided market. */
export function claimableMicro({ ledger }: ShardState, market: Market, account: number): number {
  const yes = ledger.availableTokens(account, market.index, OUTCOME.YES);
  const no = ledger.availableTokens(account, market.index, OUTCOME.NO);
  return payoutMicro(yes, no, market.payoutYesPpm);
}

/** Pays the account for all its tokens of a decided market. */
export function payClaim(state: ShardState, market: Market, account: number): void {
  const { ledger, emit } = state;
  assert(isDecided(market.status), 'MARKET-2: only a decided market pays');
  const yes = ledger.availableTokens(account, market.index, OUTCOME.YES);
  const no = ledger.availableTokens(account, market.index, OUTCOME.NO);
  const micro = payoutMicro(yes, no, market.payoutYesPpm);
  ledger.addTokens(account, market.index, OUTCOME.YES, -yes);
  ledger.addTokens(account, market.index, OUTCOME.NO, -no);
  assert(ledger.reservedTokens(account, market.index, OUTCOME.YES) === 0, 'MARKET-2: no Yes token is reserved');
  assert(ledger.reservedTokens(account, market.index, OUTCOME.NO) === 0, 'MARKET-2: no No token is reserved');
  market.collateralMicro = addSafe(market.collateralMicro, -micro);
  market.roundingPpm = addSafe(market.roundingPpm, roundingPpm(yes, no, market.payoutYesPpm));
  state.markets.touch(market);
  if (micro < 0) ledger.collect(account, -micro);
  if (micro <= 0) return;
  ledger.credit(account, micro);
  emit.funds(account, market.index, MOVEMENT.CLAIM, micro);
}

/** Pays the remaining holders by account number, and gives the fee account the rounded-off parts. */
export function settle(state: ShardState, market: Market, timeMs: number): void {
  assert(isDecided(market.status) && market.settledMs === 0, 'MARKET-3: a decided market is settled once');
  const { accounts, markets, count } = state.ledger.positions.pairs;
  const holders: number[] = [];
  for (let row = 0; row < count; row++) if (markets[row] === market.index) holders.push(accounts[row]);
  holders.sort((a, b) => a - b);
  for (const holder of holders) payClaim(state, market, holder);

  const roundedOff = market.collateralMicro;
  assert(mulSafe(roundedOff, PPM) === market.roundingPpm, 'MARKET-2: the collateral left is what rounding kept back');
  assert(roundedOff >= 0, 'MARKET-2: rounding never pays more than the collateral');
  market.collateralMicro = 0;
  market.roundingPpm = 0;
  state.ledger.credit(FEE_ACCOUNT, roundedOff);
  if (roundedOff > 0) state.emit.funds(FEE_ACCOUNT, market.index, MOVEMENT.CLAIM, roundedOff);
  if (market.status === MARKET_STATUS.RESOLVED) market.status = MARKET_STATUS.SETTLED;
  market.settledMs = timeMs;
  state.markets.touch(market);
}

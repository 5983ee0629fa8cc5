/**
 * The end of a market (RULES.md 3.4, 9.5, 9.6): its book is closed, its tokens get a payout, its holders are paid.
 * Owner: the shard thread.
 *
 *   active, locked ──decide──► resolving ──last order closed──► resolved  ──settle, last holder paid──► settled
 *   any before resolved ─────► resolving ──last order closed──► cancelled ──settle, last holder paid──► cancelled
 *
 * A command changes the status and closes orders or pays holders up to the limit of its record; records of later steps
 * do the rest (steps.ts). A market whose orders fit into the first record is never seen as resolving.
 *
 * Each payout is rounded down once. The rounded-off parts stay in the collateral, counted to the millionth of a micro
 * (MARKET-2 in market.ts), until the last holder is paid: then they are whole micros, and the fee account's, or of a
 * member of an event set, the set's, until all of its markets are settled.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON, FEE_ACCOUNT, isDecided, MARKET_STATUS, MOVEMENT, OUTCOME } from '../../shared/base/codes.ts';
import { addSafe, mulSafe } from '../../shared/base/int.ts';
import { NO_ROW } from '../../shared/base/pairTable.ts';
import { PPM, payoutMicro, roundingPpm } from '../../shared/base/payout.ts';
import { NO_TICK } from '../book/levels.ts';
import { type Market, mayDecide, maySettle } from '../book/market.ts';
import { NONE } from '../book/orders.ts';
import { decideClosed, keepRounding } from './decisions.ts';
import type { ShardState } from './state.ts';

/** Starts closing all open orders of the market, including dormant ones. */
export function startClosing({ markets }: ShardState, market: Market): void {
  assert(market.status !== MARKET_STATUS.ACTIVE, 'MARKET-5: a market that is being closed trades nothing');
  assert(!market.isSettling, 'MARKET-6: a market that is being settled is closed');
  markets.touch(market);
  if (market.isClosing) return;
  market.isClosing = true;
  markets.endings.add(market);
}

/** Closes up to `most` orders, and when none is left, puts the decision into effect. @returns the number closed */
export function closeOrders(state: ShardState, market: Market, most: number, timeMs: number): number {
  const { closing, markets } = state;
  assert(market.isClosing, 'MARKET-5: only a market that is closing loses all its orders');
  let closed = 0;
  while (market.openOrders > 0 && closed < most) {
    closing.close(market, firstToClose(market), CLOSE_REASON.MARKET_CLOSED);
    closed++;
  }
  markets.touch(market);
  if (market.openOrders > 0) return closed;
  market.isClosing = false;
  markets.endings.remove(market);
  decideClosed(state, market, timeMs);
  return closed;
}

/** Bids before asks, best level first, in queue order; then the dormant ones by priority. */
function firstToClose({ book: { asks, bids, dormantHead } }: Market): number {
  if (bids.bestTick !== NO_TICK) return bids.head[bids.bestTick];
  if (asks.bestTick !== NO_TICK) return asks.head[asks.bestTick];
  assert(dormantHead !== NONE, 'MARKET-4: an open order rests or is dormant');
  return dormantHead;
}

/** @param status RESOLVED or CANCELLED: the market's status once its last order is closed */
export function decide(state: ShardState, market: Market, status: number, payoutYesPpm: number): void {
  assert(mayDecide(market, status), 'MARKET-2: a market is decided once');
  assert(payoutYesPpm <= PPM, 'MARKET-2: a set pays one USDC');
  market.decision = status;
  market.decisionYesPpm = payoutYesPpm;
  market.status = MARKET_STATUS.RESOLVING;
  startClosing(state, market);
  state.markets.transitions.plan(market);
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

/** Starts paying every holder who does not claim. */
export function startSettling({ ledger, markets }: ShardState, market: Market): void {
  assert(maySettle(market), 'MARKET-3: a decided market is settled once');
  assert(!market.isClosing, 'MARKET-5: a decided market is closed');
  markets.touch(market);
  market.cursor = ledger.positions.firstOf(market.index);
  if (market.isSettling) markets.endings.add(market);
  else assert(market.collateralMicro === 0, 'MARKET-1: without holders there is no collateral');
}

/**
 * Pays up to `most` holders, in the order in which they first had or sold tokens of the market. After the last one the
 * fee account receives the rounding remainder, and the market is settled. @returns the number of holders passed; some
 * had claimed before
 */
export function payHolders(state: ShardState, market: Market, most: number, timeMs: number): number {
  const { ledger, markets } = state;
  const { positions } = ledger;
  const hasHolders = market.isSettling;
  markets.touch(market);
  let passed = 0;
  while (market.cursor !== NO_ROW && passed < most) {
    payClaim(state, market, positions.pairs.accounts[market.cursor]);
    market.cursor = positions.nextOf(market.cursor);
    passed++;
  }
  if (market.isSettling) return passed;
  if (hasHolders) markets.endings.remove(market);
  finishSettling(state, market, timeMs);
  return passed;
}

function finishSettling(state: ShardState, market: Market, timeMs: number): void {
  const { emit, ledger, markets } = state;
  const roundedOff = market.collateralMicro;
  assert(mulSafe(roundedOff, PPM) === market.roundingPpm, 'MARKET-2: the collateral left is what rounding kept back');
  assert(roundedOff >= 0, 'MARKET-2: rounding never pays more than the collateral');
  market.collateralMicro = 0;
  market.roundingPpm = 0;
  if (market.status === MARKET_STATUS.RESOLVED) market.status = MARKET_STATUS.SETTLED;
  market.settledMs = timeMs;
  const left = market.set === null ? roundedOff : keepRounding(state, market.set, roundedOff);
  ledger.credit(FEE_ACCOUNT, left);
  if (left > 0) emit.funds(FEE_ACCOUNT, market.index, MOVEMENT.CLAIM, left);
  markets.touch(market);
}

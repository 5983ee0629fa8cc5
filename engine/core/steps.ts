/**
 * Work that may take more than one record: the end of a market, and changes that are due by time (RULES.md 9.18). A
 * record closes orders and pays holders up to a number of rows; the steps that the shard runs between its commands do
 * the rest. So no record is longer than ROWS_OF_RECORD allows, however large a market is, and other markets continue
 * trading between two steps. A step is a command in the journal like any other, and a replay does the same. A part of
 * apply.ts, bound by the rules stated there. Owner: the shard thread.
 *
 * Invariants:
 *   STEPS-1  A record handles no more rows than its command states. A row is an order that is closed, a holder that is
 *            passed, or a market whose status changes by time.
 *   STEPS-2  While a market is being ended a step changes something, so the steps come to an end.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON, MARKET_STATUS } from '../../shared/base/codes.ts';
import type { Market } from '../book/market.ts';
import { WORD_SHIFT } from '../book/orders.ts';
import { closeOrders, payHolders, startClosing } from './resolution.ts';
import type { ShardState } from './state.ts';

/** The shard handles this many rows in a fifth of a millisecond (bench/resolution.bench.ts). */
export const ROWS_OF_RECORD = 256;

/** Continues with the markets that are being ended, one after the other. */
export function step(state: ShardState, rows: number, timeMs: number): void {
  const { endings } = state.markets;
  let left = rows;
  while (left > 0 && !endings.isEmpty) {
    const market = endings.first;
    const handled = goOn(state, market, left, timeMs);
    assert(handled <= left, 'STEPS-1: a record handles no more rows than it may');
    assert(handled > 0 || !market.isEnding, 'STEPS-2: a step does something, or was the last');
    left -= Math.max(handled, 1);
    if (market.isEnding) endings.rotate();
  }
}

/** @returns the number of rows handled */
export function goOn(state: ShardState, market: Market, rows: number, timeMs: number): number {
  return market.isClosing ? closeOrders(state, market, rows, timeMs) : payHolders(state, market, rows, timeMs);
}

/** The next time at which time alone changes something: a command at or after it is preceded by a TICK. */
export function nextDueMs({ expiry, markets }: ShardState): number {
  return Math.min(markets.transitions.firstMs, expiry.firstMs);
}

/**
 * Makes the changes that are due by time, in order of time. At the same moment markets come first, so a close precedes
 * an expiry.
 */
export function tick(state: ShardState, rows: number, timeMs: number): void {
  const { closing, expiry, markets, orders } = state;
  let left = rows;
  while (left > 0) {
    const dueMs = nextDueMs(state);
    if (dueMs > timeMs) return;
    left--;
    const market = markets.transitions.first;
    if (market !== undefined && market.dueMs === dueMs) {
      left -= moveMarket(state, market, left, dueMs, timeMs);
      continue;
    }
    const slot = expiry.first();
    const of = markets.get(orders.market[slot << WORD_SHIFT]);
    assert(of !== undefined, 'ORDERS-1: the market of an open order is known');
    closing.close(of, slot, CLOSE_REASON.EXPIRED);
  }
}

/** @returns the number of orders closed */
function moveMarket(state: ShardState, due: Market, rows: number, dueMs: number, timeMs: number): number {
  const { markets } = state;
  const market = markets.get(due.index);
  assert(market === due, 'TRANSITIONS-1: a market that is due is one of the shard');
  let closed = 0;
  if (market.status === MARKET_STATUS.PENDING && market.startMs <= dueMs) {
    market.status = MARKET_STATUS.ACTIVE;
    markets.touch(market);
  } else {
    market.status = MARKET_STATUS.LOCKED;
    market.isClosed = true;
    startClosing(state, market);
    closed = closeOrders(state, market, rows, timeMs);
  }
  markets.transitions.plan(market);
  return closed;
}

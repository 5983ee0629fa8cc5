/** An account's past: its orders and trades, page by page from read.db (RULES.md 7.1, 7.4). */
import { USER_ORDERS, USER_ORDERS_QUERY, USER_TRADES, USER_TRADES_QUERY } from '../../../shared/api/history.ts';
import { ORDER_STATUS, SIDE } from '../../../shared/base/codes.ts';
import { UUID_BYTES, uuidToBytes } from '../../../shared/base/hex.ts';
import { withZone } from '../../../shared/base/time.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import { type Page, SINCE_EVER } from '../../queries/page.ts';
import type { QueryPool } from '../../queries/pool.ts';

type HistoryDeps = { readonly queries: Pick<QueryPool, 'userOrders' | 'userTrades'> };

/** The words by which clients filter, as masks of ORDER_STATUS. */
const STATUS_MASKS: ReadonlyMap<string, number> = new Map([
  ['open', maskOf(ORDER_STATUS.OPEN, ORDER_STATUS.PARTIALLY_FILLED)],
  ['partially_filled', maskOf(ORDER_STATUS.PARTIALLY_FILLED)],
  ['filled', maskOf(ORDER_STATUS.FILLED)],
  ['cancelled', maskOf(ORDER_STATUS.CANCELLED)],
  ['expired', maskOf(ORDER_STATUS.EXPIRED)],
]);
const SIDE_MASKS: ReadonlyMap<string, number> = new Map([
  ['BUY', maskOf(SIDE.BUY)],
  ['SELL', maskOf(SIDE.SELL)],
]);
const ANY = 0xff;

const READ = { method: 'GET', access: 'read:account', limit: 'unlisted' } as const;

const LIST_ORDERS = {
  ...READ,
  path: '/v1/user/orders/v2',
  summary: 'The orders of the account, newest first.',
  query: USER_ORDERS_QUERY,
  answers: { 200: USER_ORDERS },
} as const satisfies RouteSpec;

const LIST_TRADES = {
  ...READ,
  path: '/v1/user/trades/v2',
  summary: 'The trades of the account, newest first.',
  query: USER_TRADES_QUERY,
  answers: { 200: USER_TRADES },
} as const satisfies RouteSpec;

export function historyRoutes(deps: HistoryDeps): Route[] {
  return [route(LIST_ORDERS, (call) => listOrders(call, deps)), route(LIST_TRADES, (call) => listTrades(call, deps))];
}

async function listOrders(call: CallOf<typeof LIST_ORDERS>, { queries }: HistoryDeps): Promise<void> {
  const { status, side, outcome, since, sort, limit, offset } = call.query;
  const result = await queries.userOrders(call.principal.accountIndex, {
    statuses: status === undefined ? ANY : statusMask(status),
    sides: sideMask(side),
    outcomes: outcome === undefined ? ANY : maskOf(outcome),
    sinceMs: sinceMs(since),
    sort,
    limit,
    offset,
  });
  if (result.ok) ok(call, { orders: result.value.rows, ...totalOf(result.value), limit, offset });
  else refuse(call, { row: result.row });
}

async function listTrades(call: CallOf<typeof LIST_TRADES>, { queries }: HistoryDeps): Promise<void> {
  const { market_id, side, since, limit, offset } = call.query;
  const result = await queries.userTrades(call.principal.accountIndex, {
    market: market_id === undefined ? null : uuidBytes(market_id),
    takerSides: sideMask(side),
    sinceMs: sinceMs(since),
    limit,
    offset,
  });
  if (result.ok) ok(call, { trades: result.value.rows, ...totalOf(result.value), limit, offset });
  else refuse(call, { row: result.row });
}

/** The member that says that the total is a floor is there only if it is one. */
function totalOf({ total, isFloor }: Page<unknown>): object {
  return isFloor ? { total, count_is_estimate: true } : { total };
}

function statusMask(list: string): number {
  let mask = 0;
  for (const word of list.split(',')) mask |= STATUS_MASKS.get(word)!;
  return mask;
}

function sideMask(side: string | undefined): number {
  return side === undefined ? ANY : SIDE_MASKS.get(side)!;
}

function sinceMs(since: string | undefined): number {
  return since === undefined ? SINCE_EVER : Date.parse(withZone(since));
}

function uuidBytes(uuid: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  uuidToBytes(uuid, bytes, 0);
  return bytes;
}

function maskOf(...codes: readonly number[]): number {
  return codes.reduce((mask, code) => mask | (1 << code), 0);
}

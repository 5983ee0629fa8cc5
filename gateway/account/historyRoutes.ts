/** An account's past: its orders, trades and activity, page by page from read.db (RULES.md 14.1 to 14.7). */
import {
  EFFECTIVE_LIMIT,
  LEGACY_ORDERS_SHOWN,
  LEGACY_USER_ORDERS,
  LEGACY_USER_TRADES,
  LEGACY_USER_TRADES_QUERY,
  TRADE_SETTLEMENT,
  USER_ACTIVITY,
  USER_ACTIVITY_QUERY,
  USER_ORDERS,
  USER_ORDERS_QUERY,
  USER_TRADES,
  USER_TRADES_QUERY,
} from '../../shared/api/history.ts';
import { ORDER_STATUS, SIDE } from '../../shared/base/codes.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { LIST, type List, readCursor, writeCursor } from '../base/cursors.ts';
import { boundOf, FILLS_EVER, type HistoryPage, MAX_OFFSET, microsOf, type Position } from '../base/page.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { StoredActivity } from './activityQueries.ts';
import type { AccountReads } from './reads.ts';

type HistoryDeps = {
  readonly queries: Pick<AccountReads, 'userOrders' | 'newestOrders' | 'ofAccount'>;
  readonly catalog: Pick<Catalog, 'byIndex'>;
};

/** The words by which clients filter, as bit masks of ORDER_STATUS. */
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

const READ = { method: 'GET', access: 'read:account' } as const;

const LIST_ORDERS = {
  ...READ,
  path: '/v1/user/orders/v2',
  id: 'listOrders',
  summary: 'The orders of the account, newest first.',
  query: USER_ORDERS_QUERY,
  answers: { 200: USER_ORDERS },
} as const satisfies RouteSpec;

const LIST_LEGACY_ORDERS = {
  ...READ,
  path: '/v1/user/orders',
  id: 'listLegacyOrders',
  summary: 'The newest orders of the account, in the first version of the list.',
  answers: { 200: LEGACY_USER_ORDERS },
} as const satisfies RouteSpec;

const LIST_TRADES = {
  ...READ,
  path: '/v1/user/trades/v2',
  id: 'listTrades',
  summary: 'The trades of the account, newest first.',
  query: USER_TRADES_QUERY,
  answers: { 200: USER_TRADES },
} as const satisfies RouteSpec;

const SHOW_SETTLEMENT = {
  ...READ,
  path: '/v1/trades/:id/settlement',
  id: 'getTradeSettlement',
  summary: 'How far a trade of the account has come on the chain, and when.',
  params: ID_PARAM,
  answers: { 200: TRADE_SETTLEMENT },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const LIST_LEGACY_TRADES = {
  ...READ,
  path: '/v1/user/trades',
  id: 'listLegacyTrades',
  summary: 'The trades of the account, newest first, in the first version of the list.',
  query: LEGACY_USER_TRADES_QUERY,
  answers: { 200: LEGACY_USER_TRADES },
} as const satisfies RouteSpec;

const LIST_ACTIVITY = {
  ...READ,
  path: '/v1/user/activity',
  id: 'listActivity',
  summary: 'Orders of the account that were placed, cancelled or expired, and its fills, newest first.',
  query: USER_ACTIVITY_QUERY,
  answers: { 200: USER_ACTIVITY },
} as const satisfies RouteSpec;

export function historyRoutes(deps: HistoryDeps): Route[] {
  return [
    route(LIST_ORDERS, (call) => listOrders(call, deps)),
    route(LIST_LEGACY_ORDERS, (call) => listLegacyOrders(call, deps)),
    route(LIST_TRADES, (call) => listTrades(call, deps)),
    route(SHOW_SETTLEMENT, (call) => showSettlement(call, deps)),
    route(LIST_LEGACY_TRADES, (call) => listLegacyTrades(call, deps)),
    route(LIST_ACTIVITY, (call) => listActivity(call, deps)),
  ];
}

async function listOrders(call: CallOf<typeof LIST_ORDERS>, { queries }: HistoryDeps): Promise<void> {
  const { status, side, outcome, since, sort, limit } = call.query;
  const start = startOf(call, call.query, sort === 'created_at' ? LIST.ORDERS_BY_CREATION : LIST.ORDERS_BY_UPDATE);
  if (start === null) return;
  const result = await queries.userOrders(call, {
    statuses: status === undefined ? ANY : statusMask(status),
    sides: sideMask(side),
    outcomes: outcome === undefined ? ANY : maskOf(outcome),
    sinceMs: boundOf(since),
    sort,
    limit,
    ...start.from,
  });
  answerPage(call, result, start, limit, (orders) => ({ orders }));
}

async function listLegacyOrders(call: CallOf<typeof LIST_LEGACY_ORDERS>, { queries }: HistoryDeps): Promise<void> {
  const result = await queries.newestOrders(call, LEGACY_ORDERS_SHOWN);
  if (result.ok) ok(call, { orders: result.value });
  else refuse(call, { row: result.row });
}

async function listTrades(call: CallOf<typeof LIST_TRADES>, { queries }: HistoryDeps): Promise<void> {
  const { market_id, side, since, limit } = call.query;
  const start = startOf(call, call.query, LIST.TRADES);
  if (start === null) return;
  const filters = {
    market: marketBytes(market_id),
    takerSides: sideMask(side),
    sinceMicros: microsOf(since),
    limit,
    ...start.from,
  };
  const account = call.principal.accountIndex;
  const result = await queries.ofAccount(call, 'userTrades', { account, filters });
  answerPage(call, result, start, limit, (trades) => ({ trades }));
}

async function showSettlement(call: CallOf<typeof SHOW_SETTLEMENT>, { queries }: HistoryDeps): Promise<void> {
  const id = new Uint8Array(UUID_BYTES);
  const unknown = { row: ERRORS.RESOURCE_NOT_FOUND, message: 'trade not found' };
  if (!uuidToBytes(call.params.id, id, 0)) return refuse(call, unknown);
  const account = call.principal.accountIndex;
  const found = await queries.ofAccount(call, 'tradeSettlement', { account, id });
  if (!found.ok) refuse(call, { row: found.row });
  else if (found.value === null) refuse(call, unknown);
  else ok(call, { trade_id: call.params.id.toLowerCase(), ...found.value });
}

async function listLegacyTrades(call: CallOf<typeof LIST_LEGACY_TRADES>, { queries }: HistoryDeps): Promise<void> {
  const limit = Math.min(call.query.limit, EFFECTIVE_LIMIT);
  const start = startOf(call, call.query, null)!;
  const filters = {
    market: marketBytes(call.query.market_id),
    takerSides: ANY,
    sinceMicros: FILLS_EVER,
    limit,
    ...start.from,
  };
  const account = call.principal.accountIndex;
  const result = await queries.ofAccount(call, 'legacyTrades', { account, filters });
  answerPage(call, result, start, limit, (trades) => ({ trades }));
}

async function listActivity(call: CallOf<typeof LIST_ACTIVITY>, { queries, catalog }: HistoryDeps): Promise<void> {
  const limit = Math.min(call.query.limit, EFFECTIVE_LIMIT);
  const start = startOf(call, call.query, LIST.ACTIVITY);
  if (start === null) return;
  const filters = {
    market: marketBytes(call.query.market_id),
    type: call.query.type ?? null,
    limit,
    ...start.from,
  };
  const account = call.principal.accountIndex;
  const result = await queries.ofAccount(call, 'userActivity', { account, filters });
  answerPage(call, result, start, limit, (rows) => ({ activity: rows.map((row) => withLabel(row, catalog)) }));
}

/** The label belongs to the five fields of the party: all six are present, or none. */
function withLabel({ record, market }: StoredActivity, catalog: HistoryDeps['catalog']): object {
  const outcome = record.party_outcome_index;
  return { ...record, party_outcome_name: outcome === null ? null : catalog.byIndex(market).details.outcomes[outcome] };
}

/** Where a page starts; a list without cursors is null. */
type Start = {
  readonly list: List | null;
  readonly offset: number;
  readonly from: { readonly offset: number; readonly after: Position | null };
};

/** Null if the call was refused. With a cursor, the offset is ignored. */
function startOf(call: AccountCall, query: { offset: number; cursor?: string }, list: List | null): Start | null {
  const { offset, cursor } = query;
  if (list === null || cursor === undefined) return { list, offset, from: { offset, after: null } };
  const after = readCursor(list, cursor);
  if (after !== null) return { list, offset, from: { offset: 0, after } };
  return refuseField(call, 'cursor', 'known');
}

type PageResult<T> =
  | { readonly ok: true; readonly value: HistoryPage<T> }
  | { readonly ok: false; readonly row: ErrorRow };

function answerPage<T>(
  call: AccountCall,
  result: PageResult<T>,
  { list, offset, from }: Start,
  limit: number,
  rowsOf: (rows: readonly T[]) => object,
): void {
  if (!result.ok) return refuse(call, { row: result.row });
  const { rows, total, isFloor, next, mostOffset, archivedBeforeMs } = result.value;
  const most = Math.min(mostOffset ?? MAX_OFFSET, MAX_OFFSET);
  // There may be more rows, so an empty page would be a wrong answer.
  if (from.offset > most && (isFloor || mostOffset !== null)) {
    refuseField(call, 'offset', 'maximum', offset, `at most ${most}`);
    return;
  }
  const cursor = list === null ? {} : { next_cursor: next === null ? null : writeCursor(list, next) };
  // The member that marks the total as a lower bound is present only if it is one.
  const estimate = isFloor ? { count_is_estimate: true } : {};
  const archived = archivedBeforeMs === null ? {} : { archived_before: new Date(archivedBeforeMs).toISOString() };
  ok(call, { ...rowsOf(rows), total, ...estimate, limit, offset, ...cursor, ...archived });
}

function statusMask(list: string): number {
  let mask = 0;
  for (const word of list.split(',')) mask |= STATUS_MASKS.get(word)!;
  return mask;
}

function sideMask(side: string | undefined): number {
  return side === undefined ? ANY : SIDE_MASKS.get(side)!;
}

function marketBytes(uuid: string | undefined): Uint8Array | null {
  if (uuid === undefined) return null;
  const bytes = new Uint8Array(UUID_BYTES);
  uuidToBytes(uuid, bytes, 0);
  return bytes;
}

function maskOf(...codes: readonly number[]): number {
  return codes.reduce((mask, code) => mask | (1 << code), 0);
}

/** An account's past: its orders and trades, page by page from read.db (RULES.md 7.1, 7.4). */
import { ORDER_STATUS, SIDE } from '../../shared/codes.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/hex.ts';
import type { Call } from '../call.ts';
import { SINCE_EVER } from '../queries/page.ts';
import type { QueryPool } from '../queries/pool.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';

export type HistoryDeps = { readonly queries: Pick<QueryPool, 'userOrders' | 'userTrades'> };

/** What a client's word for a status stands for, as a mask of ORDER_STATUS. */
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

const STATUS_WORD = `(?:${[...STATUS_MASKS.keys()].join('|')})`;

const MAX_ORDERS = 200;
const MAX_TRADES = 100;
const DEFAULT_LIMIT = 50;

const SIDE_SCHEMA = { type: 'string', enum: [...SIDE_MASKS.keys()] } as const;
const SINCE_SCHEMA = { type: 'string', format: 'date-time' } as const;
const OFFSET_SCHEMA = { type: 'integer', minimum: 0, default: 0 } as const;

type OrdersQuery = {
  readonly status?: string;
  readonly side?: string;
  readonly outcome?: number;
  readonly since?: string;
  readonly sort: 'created_at' | 'updated_at';
  readonly limit: number;
  readonly offset: number;
};

const ORDERS_QUERY = {
  type: 'object',
  properties: {
    status: { type: 'string', pattern: `^${STATUS_WORD}(?:,${STATUS_WORD})*$` },
    side: SIDE_SCHEMA,
    outcome: { type: 'integer', minimum: 0, maximum: 1 },
    since: SINCE_SCHEMA,
    sort: { type: 'string', enum: ['created_at', 'updated_at'], default: 'updated_at' },
    limit: { type: 'integer', minimum: 1, maximum: MAX_ORDERS, default: DEFAULT_LIMIT },
    offset: OFFSET_SCHEMA,
  },
};

type TradesQuery = {
  readonly market_id?: string;
  readonly side?: string;
  readonly since?: string;
  readonly limit: number;
  readonly offset: number;
};

const TRADES_QUERY = {
  type: 'object',
  properties: {
    market_id: { type: 'string', format: 'uuid' },
    side: SIDE_SCHEMA,
    since: SINCE_SCHEMA,
    limit: { type: 'integer', minimum: 1, maximum: MAX_TRADES, default: DEFAULT_LIMIT },
    offset: OFFSET_SCHEMA,
  },
};

const READ = { method: 'GET', access: 'read:account', limit: 'unlisted' } as const;

export function historyRoutes(deps: HistoryDeps): Route[] {
  return [
    { ...READ, path: '/v1/user/orders/v2', query: ORDERS_QUERY, handler: (call) => listOrders(call, deps) },
    { ...READ, path: '/v1/user/trades/v2', query: TRADES_QUERY, handler: (call) => listTrades(call, deps) },
  ];
}

async function listOrders(call: Call, { queries }: HistoryDeps): Promise<void> {
  // The schema has passed it.
  const { status, side, outcome, since, sort, limit, offset } = call.query as unknown as OrdersQuery;
  const result = await queries.userOrders(call.key!.accountIndex, {
    statuses: status === undefined ? ANY : statusMask(status),
    sides: sideMask(side),
    outcomes: outcome === undefined ? ANY : maskOf(outcome),
    sinceMs: sinceMs(since),
    sort,
    limit,
    offset,
  });
  if (result.ok) ok(call, { orders: result.value.rows, total: result.value.total, limit, offset });
  else fail(call, result.row);
}

async function listTrades(call: Call, { queries }: HistoryDeps): Promise<void> {
  const { market_id, side, since, limit, offset } = call.query as unknown as TradesQuery;
  const result = await queries.userTrades(call.key!.accountIndex, {
    market: market_id === undefined ? null : uuidBytes(market_id),
    takerSides: sideMask(side),
    sinceMs: sinceMs(since),
    limit,
    offset,
  });
  if (result.ok) ok(call, { trades: result.value.rows, total: result.value.total, limit, offset });
  else fail(call, result.row);
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
  return since === undefined ? SINCE_EVER : Date.parse(since);
}

function uuidBytes(uuid: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  uuidToBytes(uuid, bytes, 0);
  return bytes;
}

function maskOf(...codes: readonly number[]): number {
  return codes.reduce((mask, code) => mask | (1 << code), 0);
}

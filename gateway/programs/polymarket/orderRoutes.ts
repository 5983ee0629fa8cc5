/** Orders: placed, cancelled, and shown while they are open. */
import type { ExchangeClient } from '../../../shared/client/client.ts';
import type { OrderRecord } from '../../../shared/client/types.ts';
import type { Accounts } from './accounts.ts';
import type { Auth } from './auth.ts';
import type { Catalogue } from './catalogue.ts';
import type { Faults } from './faults.ts';
import { idOf, orderJson, wholeJson } from './orderJson.ts';
import type { Placing } from './placing.ts';
import { type Asked, jsonOf, listOf, objectOf, pageOf, Refusal, type Route } from './reply.ts';
import { refusalOf } from './server.ts';
import type { KeyRow, PolymarketStore } from './store.ts';
import type { Transactions } from './transactions.ts';

const MOST_PLACED = 15;
const MOST_CANCELLED = 3000;
const CANCELS_AT_ONCE = 200;
const PAGE = 500;
const ORDERS_PAGE = 200;
/** Open orders that are read of one account. */
const MOST_OPEN = 20_000;
const NOT_FOUND = 404;

export type Trading = {
  readonly auth: Auth;
  readonly accounts: Accounts;
  readonly store: PolymarketStore;
  readonly catalogue: Catalogue;
  readonly placing: Placing;
  readonly faults: Faults;
  readonly transactions: Transactions;
};

export function orderRoutes(parts: Trading): readonly Route[] {
  const { auth, placing, faults } = parts;
  const place = async (value: unknown, key: KeyRow): Promise<object> => {
    faults.beforeOrder();
    return placing.place(value, key);
  };
  const cancel = (path: string, chosen: (asked: Asked, key: KeyRow) => Promise<readonly string[]>): Route => ({
    ...{ method: 'DELETE', path },
    answer: async (asked) => {
      const key = auth.key(asked);
      return cancelled(parts, key, await chosen(asked, key));
    },
  });
  const openIds = async (key: KeyRow, isChosen: (record: OrderRecord) => boolean) =>
    (await openOrders(parts, key)).filter(isChosen).map(({ order_hash }) => idOf(parts.store, order_hash));
  return [
    { method: 'POST', path: '/order', answer: (asked) => place(jsonOf(asked), auth.key(asked)) },
    {
      ...{ method: 'POST', path: '/orders' },
      answer: async (asked) => {
        const key = auth.key(asked);
        const results: object[] = [];
        // In their order: one that follows may rest on what one before has done.
        for (const value of listOf(jsonOf(asked), MOST_PLACED)) results.push(await placed(place(value, key)));
        return results;
      },
    },
    cancel('/order', async (asked) => [idIn(objectOf(jsonOf(asked))['orderID'])]),
    cancel('/orders', async (asked) => listOf(jsonOf(asked), MOST_CANCELLED).map(idIn)),
    cancel('/cancel-all', (_, key) => openIds(key, () => true)),
    cancel('/cancel-market-orders', async (asked, key) => openIds(key, await filterOf(parts, objectOf(jsonOf(asked))))),
    {
      ...{ method: 'GET', path: '/data/orders' },
      answer: async (asked) => {
        const key = auth.key(asked);
        const { query } = asked;
        const isChosen = await filterOf(parts, Object.fromEntries(query));
        const id = query.get('id');
        const isAsked = ({ order_hash }: OrderRecord) => id === null || idOf(parts.store, order_hash) === id;
        const rows = (await openOrders(parts, key)).filter((record) => isChosen(record) && isAsked(record));
        const shown = rows.map((record) => orderJson(record, key, parts)).filter((row) => row !== null);
        return pageOf(shown, query, PAGE);
      },
    },
    { method: 'GET', path: '/data/order/:id', answer: (asked, id) => oneOrder(parts, auth.key(asked), id) },
    // Orders of the time before a new contract: there has been none.
    {
      ...{ method: 'GET', path: '/data/pre-migration-orders' },
      answer: (asked) => {
        auth.key(asked);
        return pageOf([], asked.query, PAGE);
      },
    },
  ];
}

/** A row of several, in which a refusal is a row as well. */
async function placed(placing: Promise<object>): Promise<object> {
  try {
    return await placing;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    const amounts = { takingAmount: '', makingAmount: '', transactionsHashes: [], tradeIDs: [] };
    return { success: false, errorMsg: refusal.message, error: refusal.message, orderID: '', status: '', ...amounts };
  }
}

async function oneOrder({ store, accounts, catalogue }: Trading, key: KeyRow, id: string): Promise<object> {
  await catalogue.all();
  const client = accounts.client(key.address);
  const row = store.order(id);
  const parts = row?.address === key.address ? store.parts(row.number).map(({ order_hash }) => order_hash) : [id];
  if (!parts.every((hash) => /^0x[0-9a-fA-F]{64}$/.test(hash))) throw new Refusal(400, 'Invalid orderID');
  const records = await Promise.all(parts.map((hash) => recordOf(client, hash)));
  const found = records.filter((record) => record !== null);
  const known = { store, catalogue };
  const json =
    row === undefined ? found.map((record) => orderJson(record, key, known)).at(0) : wholeJson(row, found, key, known);
  if (!json) throw new Refusal(NOT_FOUND, 'order not found');
  return json;
}

async function recordOf(client: ExchangeClient, hash: string): Promise<OrderRecord | null> {
  return client.getOrder(hash).catch((error: unknown) => {
    if (refusalOf(error)?.status === NOT_FOUND) return null;
    throw error;
  });
}

async function openOrders({ accounts, catalogue }: Trading, key: KeyRow): Promise<readonly OrderRecord[]> {
  await catalogue.all();
  const client = accounts.client(key.address);
  const orders: OrderRecord[] = [];
  let cursor: string | undefined;
  while (orders.length < MOST_OPEN) {
    const status = 'open,partially_filled';
    const page = await client.userOrders({
      status,
      sort: 'created_at',
      limit: ORDERS_PAGE,
      ...(cursor ? { cursor } : {}),
    });
    orders.push(...page.orders);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return orders;
}

/** Of a market, of a token of it, or of all. */
async function filterOf(
  { catalogue }: Trading,
  { market, asset_id }: Readonly<Record<string, unknown>>,
): Promise<(record: OrderRecord) => boolean> {
  const condition = typeof market === 'string' && market !== '' ? await catalogue.condition(market) : null;
  const token = typeof asset_id === 'string' && asset_id !== '' ? await catalogue.token(asset_id) : null;
  return ({ market_id, outcome_index }) =>
    (condition === null || condition.market.id === market_id) &&
    (token === null || (token.listed.market.id === market_id && token.outcome === outcome_index));
}

function idIn(value: unknown): string {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)) return value;
  throw new Refusal(400, 'Invalid orderID');
}

/** Each is cancelled or not by itself, and the answer says why not. */
async function cancelled({ store, accounts }: Trading, key: KeyRow, ids: readonly string[]): Promise<object> {
  const client = accounts.client(key.address);
  const idOfHash = new Map<string, string>();
  for (const id of new Set(ids)) {
    const row = store.order(id);
    const parts = row?.address === key.address ? store.parts(row.number) : [];
    for (const hash of parts.length === 0 ? [id] : parts.map(({ order_hash }) => order_hash)) idOfHash.set(hash, id);
  }
  const canceled = new Set<string>();
  const not_canceled: Record<string, string> = {};
  const hashes = [...idOfHash.keys()];
  for (let from = 0; from < hashes.length; from += CANCELS_AT_ONCE) {
    const { results } = await client.cancelOrders(hashes.slice(from, from + CANCELS_AT_ONCE));
    for (const result of results) {
      const id = idOfHash.get(result.order_hash ?? '') ?? '';
      if (result.status === 'cancelled') canceled.add(id);
      else
        not_canceled[id] =
          result.code === 'NOT_FOUND' ? 'order not found' : "order can't be found - already canceled or matched";
    }
  }
  for (const id of canceled) delete not_canceled[id];
  return { canceled: [...canceled], not_canceled };
}

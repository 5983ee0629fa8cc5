/** Trades, balances and notifications of an account. */
import type { Notification, UserTrade } from '../../../shared/client/types.ts';
import type { Faults } from './faults.ts';
import { type TradeJson, tradeJson } from './orderJson.ts';
import type { Trading } from './orderRoutes.ts';
import { type Asked, FIRST_CURSOR, LAST_CURSOR, Refusal, type Route } from './reply.ts';
import type { KeyRow } from './store.ts';

const TRADES_PAGE = 100;
/** Pages in which a trade is looked for by its id. */
const PAGES_OF_ID = 5;
const MOST_NOTIFICATIONS = 100;
const MOST_DROPPED = 100;
/** An allowance that never ends: the exchange asks for none. */
const MOST_ALLOWANCE = String(2n ** 256n - 1n);
/** Their numbers of notifications; others of ours have none there. */
const TYPES: Partial<Readonly<Record<Notification['type'], number>>> = {
  order_cancelled: 1,
  order_expired: 1,
  order_filled: 2,
  market_resolved: 4,
};

export function accountRoutes(parts: Trading): readonly Route[] {
  const { auth } = parts;
  const balance = async (asked: Asked): Promise<object> => balanceOf(parts, auth.key(asked), asked.query);
  return [
    { method: 'GET', path: '/data/trades', answer: (asked) => trades(parts, auth.key(asked), asked.query) },
    { method: 'GET', path: '/balance-allowance', answer: balance },
    { method: 'GET', path: '/balance-allowance/update', answer: balance },
    { method: 'GET', path: '/notifications', answer: (asked) => notifications(parts, auth.key(asked)) },
    {
      ...{ method: 'DELETE', path: '/notifications' },
      answer: async (asked) => {
        const client = parts.accounts.client(auth.key(asked).address);
        const ids = (asked.query.get('ids') ?? '').split(',').filter((id) => id !== '');
        if (ids.length > MOST_DROPPED) throw new Refusal(400, `ids: at most ${MOST_DROPPED} at once`);
        if (ids.length === 0) await client.account.markAllRead();
        for (const id of ids) await client.account.markRead(id);
        return 'OK';
      },
    },
  ];
}

async function trades(parts: Trading, key: KeyRow, query: URLSearchParams): Promise<object> {
  await parts.catalogue.all();
  const client = parts.accounts.client(key.address);
  const [market, id] = [query.get('market'), query.get('id')];
  const market_id = market === null ? undefined : (await parts.catalogue.condition(market)).market.id;
  const isChosen = chosenBy(query);
  const data: TradeJson[] = [];
  let cursor = cursorOf(query);
  for (let page = 0; page < (id === null ? 1 : PAGES_OF_ID) && cursor !== LAST_CURSOR; page++) {
    const at = cursor === FIRST_CURSOR ? {} : { cursor };
    const answer = await client.userTrades({
      limit: TRADES_PAGE,
      ...at,
      ...(market_id === undefined ? {} : { market_id }),
    });
    for (const trade of answer.trades) {
      const shown = shownTrade(parts, trade, key).filter(isChosen);
      if (shown.length === 0) continue;
      const hash = await parts.transactions.of(client, trade);
      data.push(...shown.map((json) => (hash === null ? json : { ...json, transaction_hash: hash })));
    }
    cursor = answer.next_cursor ?? LAST_CURSOR;
    if (id !== null && data.length > 0) cursor = LAST_CURSOR;
  }
  return { limit: TRADES_PAGE, count: data.length, next_cursor: id === null ? cursor : LAST_CURSOR, data };
}

function cursorOf(query: URLSearchParams): string {
  const cursor = query.get('next_cursor') ?? FIRST_CURSOR;
  if (cursor.length <= 200) return cursor;
  throw new Refusal(400, 'next_cursor: not one of a page');
}

/** As a fault on request shows it: a late fill is not there yet, and a settlement may have failed. */
export function shownTrade(parts: Trading, trade: UserTrade, key: KeyRow): readonly TradeJson[] {
  const { faults } = parts;
  if (!faults.isShown(Date.parse(trade.matched_at))) return [];
  const json = tradeJson(trade, key, { address: key.address }, parts);
  if (json === null) return [];
  return [asSettled(json, faults)];
}

function asSettled(json: TradeJson, faults: Faults): TradeJson {
  faults.onTrade(json.id);
  return faults.isFailed(json.id) ? { ...json, status: 'FAILED' } : json;
}

function chosenBy(query: URLSearchParams): (trade: TradeJson) => boolean {
  const [id, asset, maker] = ['id', 'asset_id', 'maker_address'].map((name) => query.get(name)?.toLowerCase() ?? null);
  const [before, after] = ['before', 'after'].map((name) => {
    const text = query.get(name);
    if (text !== null && !/^\d{1,12}$/.test(text)) throw new Refusal(400, `${name}: expected Unix seconds`);
    return text === null ? null : Number(text);
  });
  return (trade) =>
    (id === null || trade.id === id) &&
    (asset === null || trade.asset_id === asset || trade.maker_orders.some(({ asset_id }) => asset_id === asset)) &&
    (maker === null ||
      trade.maker_address.toLowerCase() === maker ||
      trade.maker_orders.some(({ maker_address }) => maker_address.toLowerCase() === maker)) &&
    (before === null || Number(trade.match_time) < before) &&
    (after === null || Number(trade.match_time) > after);
}

/** Reserves of open orders are part of it, as at Polymarket, where orders lock nothing. */
async function balanceOf({ accounts, catalogue }: Trading, key: KeyRow, query: URLSearchParams): Promise<object> {
  const type = query.get('asset_type');
  if (type !== 'COLLATERAL' && type !== 'CONDITIONAL') throw new Refusal(400, 'asset_type: COLLATERAL or CONDITIONAL');
  const token = type === 'CONDITIONAL' ? await catalogue.token(query.get('token_id') ?? '') : null;
  const { usdc, tokens } = await accounts.client(key.address).balances();
  const held =
    token === null
      ? usdc
      : tokens.find(
          ({ market_id, outcome_index }) => market_id === token.listed.market.id && outcome_index === token.outcome,
        );
  const balance = held === undefined ? '0' : String(BigInt(held.available) + BigInt(held.reserved));
  return { balance, allowance: MOST_ALLOWANCE, allowances: { [`0x${'0'.repeat(40)}`]: MOST_ALLOWANCE } };
}

async function notifications({ accounts }: Trading, key: KeyRow): Promise<readonly object[]> {
  const { items } = await accounts.client(key.address).account.notifications({ limit: MOST_NOTIFICATIONS });
  return items.flatMap(({ id, type, title, body, read_at, created_at }) => {
    const number = TYPES[type];
    if (number === undefined || read_at !== null) return [];
    return [{ id, type: number, owner: key.key, timestamp: Date.parse(created_at), payload: { title, message: body } }];
  });
}

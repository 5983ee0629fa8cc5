/** Showing orders and trades, and cancelling orders. */
import type { Outcome } from '../../../base/codes.ts';
import { errorMessage } from '../../../base/thrown.ts';
import { isRefusal } from '../../answers.ts';
import type { ExchangeClient } from '../../client.ts';
import { UnknownOutcomeError } from '../../placedOrder.ts';
import type { OrderRecord, UserOrder } from '../../types.ts';
import { command, type Result } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { UsageError } from '../frame/errors.ts';
import { MarketNames } from '../frame/marketNames.ts';
import { numberOf, SIDE_OF, unitsOf } from '../frame/orderForm.ts';
import { OUTCOME_OPTION } from '../frame/outcomeNames.ts';
import { nextLine, PAGE_OPTIONS, pageQuery } from '../frame/pages.ts';
import { pause, writeLine } from '../frame/terminal.ts';
import { columns, decimal, facts, shownPrice } from '../frame/text.ts';

const UNAUTHORIZED = 401;
const OPEN_PAGE = 200;
const HASH_FORM = /^0x[0-9a-fA-F]{64}$/;

const order = command({
  name: 'order',
  summary: 'Show one order and its queue position',
  arguments: { hash: { description: 'the order hash' } },
  examples: ['order 0x…', 'order 0x… --json'],
  json: 'the answer of GET /v1/orders/{hash}, with `queue` (GET /v1/orders/{hash}/queue) while it is open',
  run: async (context, { hash }) => {
    const client = await context.client();
    const record = await client.getOrder(hash);
    const names = await MarketNames.of(context, client, [record]);
    const what = `${record.side} ${names.outcome(record.market_id, record.outcome_index)}`;
    const average = shownPrice(record.average_fill_price) ?? '-';
    const isOpen = record.status === 'open' || record.status === 'partially_filled';
    // The order may have been filled since.
    const queue = isOpen ? await client.queuePosition(hash).catch(() => null) : null;
    const ahead =
      queue && `${queue.ahead_orders ?? 'many'} orders, ${decimal(queue.ahead_token_quantity_atomic ?? 0)} tokens`;
    const lines = facts([
      [
        'order',
        `${what}, limit ${shownPrice(record.price)}, ${record.time_in_force}${record.post_only ? ', post-only' : ''}`,
      ],
      ['status', record.status],
      ['filled', `${decimal(record.filled_token_quantity_atomic)} tokens, at ${average} on average`],
      ['remaining', `${decimal(record.remaining)} ${record.side === 'BUY' ? 'USDC' : 'tokens'}`],
      ['ahead', ahead ?? undefined],
      ['market', names.title(record.market_id)],
      ['market id', record.market_id],
      ['order hash', record.order_hash],
      ['client id', record.client_order_id],
      ['group', record.order_group],
      ['placed', record.created_at],
    ]);
    return { value: queue === null ? record : { ...record, queue }, lines };
  },
});

const orders = command({
  name: 'orders',
  summary: 'List orders: all of them, or the open ones of a market',
  options: {
    market: { value: 'market', description: 'only the open orders of this market, oldest first' },
    open: { description: 'only open orders' },
    status: { value: 'names', description: 'of these statuses: open,filled,cancelled' },
    side: { value: 'side', description: 'buy or sell', choices: ['buy', 'sell'] },
    since: { value: 'time', description: 'changed since then: 2026-10-01T12:00:00' },
    ...PAGE_OPTIONS,
  },
  examples: ['orders --open', 'orders --market MARKET', 'orders --status filled --since 2026-10-01 --json'],
  json: 'the answer of GET /v1/user/orders/v2, or with --market of GET /v1/orders/open/{market}',
  run: async (context, given) => {
    const client = await context.client();
    if (given.market !== undefined) {
      const open = await client.openOrders(
        await context.marketId(given.market),
        given.limit === undefined ? {} : { limit: numberOf('limit', given.limit) },
      );
      return { value: open, lines: orderRows(open, await MarketNames.of(context, client, open)) };
    }
    const status = given.open ? 'open,partially_filled' : given.status;
    const side = given.side && SIDE_OF[given.side];
    const answer = await client.userOrders({ status, side, since: given.since, ...pageQuery(given) });
    const names = await MarketNames.of(context, client, answer.orders);
    return { value: answer, lines: [...orderRows(answer.orders, names), ...nextLine(answer.next_cursor)] };
  },
});

const trades = command({
  name: 'trades',
  summary: 'List your trades, the newest first',
  options: {
    market: { value: 'market', description: 'only of this market' },
    since: { value: 'time', description: 'since then' },
    ...PAGE_OPTIONS,
  },
  examples: ['trades --limit 20', 'trades --market MARKET --json'],
  json: 'the answer of GET /v1/user/trades/v2',
  run: async (context, given) => {
    const client = await context.client();
    const market_id = given.market && (await context.marketId(given.market));
    const answer = await client.userTrades({ market_id, since: given.since, ...pageQuery(given) });
    const names = await MarketNames.of(context, client, answer.trades);
    const rows = answer.trades.map((trade) => [
      trade.matched_at,
      trade.role,
      trade.party_side,
      trade.party_outcome_index === null ? null : names.outcome(trade.market_id, trade.party_outcome_index),
      trade.token_quantity_atomic === null ? null : decimal(trade.token_quantity_atomic),
      shownPrice(trade.price),
      names.title(trade.market_id),
    ]);
    const head = ['time', 'role', 'side', 'outcome', 'tokens', 'price', 'market'];
    return { value: answer, lines: [...columns(head, rows, 'no trades'), ...nextLine(answer.next_cursor)] };
  },
});

const cancel = command({
  name: 'cancel',
  summary: 'Cancel orders: by hash, of a market, or all',
  details: 'Cancels work while the exchange is paused and when placing is limited. --all ends those of other keys too.',
  arguments: { hashes: { description: 'order hashes', optional: true, many: true } },
  options: {
    market: { value: 'market', description: 'all open orders of this market' },
    outcome: { ...OUTCOME_OPTION, description: 'with --market: only of this token, yes, no or its name' },
    'client-id': { value: 'name', description: 'the order that you gave this name' },
    tombstone: { description: 'also refuse the order if it arrives only after this cancel' },
    all: { description: 'all open orders' },
  },
  examples: ['cancel 0x…', 'cancel 0x… 0x…', 'cancel --market MARKET', 'cancel --client-id quote-17', 'cancel --all'],
  json:
    'the answer of the route that is used: DELETE /v1/orders/{hash}, batch, cancel-market or cancel-all; ' +
    '`{results, cancelled, failed, total}` where they are cancelled one by one',
  run: async (context, given) => {
    const { hashes, market, all, tombstone } = given;
    const named = given['client-id'];
    const ways = [hashes.length > 0, market !== undefined, named !== undefined, all].filter(Boolean).length;
    if (ways !== 1) throw new UsageError('cancel needs one of: order hashes, --market, --client-id, --all');
    const wrong = hashes.find((hash) => !HASH_FORM.test(hash));
    if (wrong !== undefined) throw new UsageError(`${wrong} is not an order hash`);
    const client = await context.client();
    if (all) return cancelEverywhere(client);
    if (named !== undefined) return said(await client.cancelByClientId(named));
    if (market !== undefined) {
      const id = await context.marketId(market);
      return cancelEverywhere(
        client,
        id,
        given.outcome === undefined ? undefined : await context.outcome(id, given.outcome),
      );
    }
    if (hashes.length > 1) return cancelMany(client, hashes);
    return said(await (tombstone ? client.cancelWithTombstone(hashes[0]) : client.cancelOrder(hashes[0])));
  },
});

const heartbeat = command({
  name: 'heartbeat',
  summary: "Arm the dead-man's switch: open orders are cancelled unless another heartbeat follows",
  details:
    'The exchange cancels all open orders of the account, those of other keys too, when 15 seconds pass without one. ' +
    '--every keeps sending.',
  options: { every: { value: 'seconds', description: 'send one so often until Ctrl-C; at most 10' } },
  examples: ['heartbeat', 'heartbeat --every 5'],
  json: 'the answer of POST /v1/orders/heartbeat; with --every one on each line',
  run: async (context, { every }) => {
    const seconds = every === undefined ? 0 : numberOf('every', every);
    if (every !== undefined && (seconds < 1 || seconds > 10)) throw new UsageError('--every is 1 to 10 seconds');
    const client = await context.client();
    if (seconds > 0) return beat(context, client, seconds);
    const answer = await client.heartbeat();
    return { value: answer, lines: ['armed: send the next one within 15 seconds'] };
  },
});

const groups = [
  command({
    name: 'groups list',
    summary: 'List the order groups and how much each has filled',
    json: 'the answer of GET /v1/user/order-groups',
    run: async (context) => {
      const answer = await (await context.client()).orderGroups();
      const rows = answer.order_groups.map((group) => [
        group.name,
        group.window_seconds,
        decimal(group.max_token_quantity_atomic),
        decimal(group.filled_token_quantity_atomic),
        group.triggered ? 'tripped' : 'ready',
      ]);
      return { value: answer, lines: columns(['group', 'seconds', 'most', 'filled', 'state'], rows, 'no groups') };
    },
  }),
  command({
    name: 'groups set',
    summary: 'Limit how many tokens the orders of a group may fill within a time',
    arguments: { name: { description: 'the name of the group' } },
    options: {
      seconds: { value: 'number', description: 'the window', required: true },
      most: { value: 'tokens', description: 'what may be filled in a window', required: true },
    },
    examples: ['groups set quotes --seconds 10 --most 500'],
    json: 'the answer of PUT /v1/user/order-groups/{name}',
    run: async (context, { name, seconds, most }) => {
      const settings = {
        window_seconds: numberOf('seconds', seconds),
        max_token_quantity_atomic: unitsOf('most', most),
      };
      const answer = await (await context.client()).setOrderGroup(name, settings);
      return { value: answer, lines: [`${name}: at most ${most} tokens in ${seconds} s`] };
    },
  }),
  command({
    name: 'groups reset',
    summary: 'Accept orders of a tripped group again',
    arguments: { name: { description: 'the name of the group' } },
    examples: ['groups reset quotes'],
    json: 'the answer of POST /v1/user/order-groups/{name}/reset',
    run: async (context, { name }) => {
      const answer = await (await context.client()).resetOrderGroup(name);
      return { value: answer, lines: [`${name} accepts orders again`] };
    },
  }),
];

export const ORDERS = [order, orders, trades, cancel, heartbeat];
export const ORDER_GROUPS = groups;

function orderRows(rows: readonly OrderRecord[], names: MarketNames): string[] {
  const cells = rows.map((row) => [
    row.created_at,
    row.status,
    row.side,
    names.outcome(row.market_id, row.outcome_index),
    shownPrice(row.price),
    decimal(row.filled_token_quantity_atomic),
    shownPrice(row.average_fill_price),
    `${decimal(row.remaining)} ${row.side === 'BUY' ? 'USDC' : 'tokens'}`,
    row.order_hash,
    names.title(row.market_id),
  ]);
  const head = [
    'placed',
    'status',
    'side',
    'outcome',
    'limit',
    'filled',
    'average',
    'remaining',
    'order hash',
    'market',
  ];
  return columns(head, cells, 'no orders');
}

function said(answer: { message: string }): Result {
  return { value: answer, lines: [answer.message] };
}

function counted(answer: { message: string; cancelled: number }): Result {
  return { value: answer, lines: [`${answer.message}: ${answer.cancelled}`] };
}

/** A key with trade:bulk cancels all at once; a session or another key cancels one order after the other. */
async function cancelEverywhere(client: ExchangeClient, market?: string, outcome?: Outcome): Promise<Result> {
  try {
    return counted(await (market === undefined ? client.cancelAll() : client.cancelMarket(market, outcome)));
  } catch (error) {
    if (!isRefusal(error) || error.code !== 'INSUFFICIENT_SCOPE') throw error;
    return cancelOneByOne(client, market, outcome);
  }
}

async function cancelOneByOne(client: ExchangeClient, market?: string, outcome?: Outcome): Promise<Result> {
  const results: { order_hash: string; status: 'cancelled' | 'failed'; code?: string; error?: string }[] = [];
  for await (const { order_hash, market_id, outcome_index } of ownOpenOrders(client)) {
    if (market !== undefined && market_id !== market.toLowerCase()) continue;
    if (outcome !== undefined && outcome_index !== outcome) continue;
    try {
      await client.cancelOrder(order_hash);
      results.push({ order_hash, status: 'cancelled' });
    } catch (error) {
      const isOpen = error instanceof UnknownOutcomeError;
      if (!isOpen && (!isRefusal(error) || error.status === UNAUTHORIZED)) throw error;
      const code = isOpen ? 'NO_ANSWER' : error.code;
      results.push({ order_hash, status: 'failed', code, error: error.message });
    }
  }
  const failed = results.filter(({ status }) => status === 'failed');
  const cancelled = results.length - failed.length;
  const lines = [...failed.map((row) => `${row.order_hash}: ${row.error}`), `orders cancelled: ${cancelled}`];
  const value = { results, cancelled, failed: failed.length, total: results.length };
  return { value, lines, isBad: failed.length > 0 };
}

/** Reads all orders before cancelling the first, because a cancel would move the later ones. */
async function* ownOpenOrders(client: ExchangeClient): AsyncGenerator<UserOrder> {
  const found: UserOrder[] = [];
  let cursor: string | undefined;
  do {
    const query = { status: 'open,partially_filled', sort: 'created_at', limit: OPEN_PAGE, cursor } as const;
    const { orders, next_cursor } = await client.userOrders(query);
    found.push(...orders);
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
  yield* found;
}

async function cancelMany(client: ExchangeClient, hashes: string[]): Promise<Result> {
  const answer = await client.cancelOrders(hashes);
  const rows = answer.results.map((row) => [row.order_hash, row.status, row.status === 'failed' ? row.error : '']);
  const lines = [
    ...columns(['order hash', 'status', 'error'], rows),
    `${answer.cancelled} of ${answer.total} cancelled`,
  ];
  return { value: answer, lines, isBad: answer.failed > 0 };
}

/**
 * A failed heartbeat does not end the loop, because the switch then needs the next one all the more. Null: everything
 * is printed.
 */
async function beat(context: Context, client: ExchangeClient, seconds: number): Promise<null> {
  const { terminal, isJson } = context;
  do {
    try {
      const answer = await client.heartbeat();
      await writeLine(
        terminal.out,
        isJson ? JSON.stringify(answer) : `armed at ${new Date(answer.server_time * 1000).toISOString()}`,
      );
    } catch (error) {
      if (isRefusal(error) && error.status < 500 && error.status !== 429) throw error;
      context.note(`heartbeat failed: ${errorMessage(error)}`);
    }
  } while (await pause(terminal, seconds * 1000));
  return null;
}

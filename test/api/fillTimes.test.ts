/**
 * A fill is known by its market and its time (RULES.md 13.12): each fill of a market has another, and every list and
 * stream that has the fill says the same, before and after the process has died.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const MAKERS = 5;
const FORM = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

const server = await sharedServer();
const signed = (trader: Trader) => trader.client.prepareSigned('GET', '/v1/ws').headers;
const SCOPES = ['read:account', 'trade:orders', 'stream:market', 'stream:user'] as const;

/** One order that is filled by five. @returns the ids of the trades, in order */
async function sweep(market: OrderMarket, makers: readonly Trader[], taker: Trader): Promise<string[]> {
  for (const maker of makers) await maker.place(market, { price: '0.60', size: '2' });
  const { fills } = await taker.place(market, { outcomeIndex: 1, price: '0.40', size: String(2 * MAKERS) });
  assert.equal(fills.length, MAKERS);
  return fills.map(({ trade_id }) => trade_id);
}

async function tape(market: OrderMarket, count: number, since = ''): Promise<string[]> {
  return eventually('the fills on the tape', async () => {
    const path = `/v1/markets/fills/recent?limit=200${since === '' ? '' : `&since=${since}`}`;
    const { body } = await server.request('GET', path);
    const own = body.fills.filter(({ market_id }: Json) => market_id === market.id);
    return own.length >= count && own.map(({ filled_at }: Json) => filled_at).reverse();
  });
}

/** Times by trade, of one list. */
const times = (rows: readonly Json[], id: string, time: string): Map<string, string> =>
  new Map(rows.map((row) => [row[id], row[time]]));

test('RULES.md 13.12: five fills of one order have five times, the same in lists and in frames', async (t) => {
  const market = await makeMarket(server);
  const makers = await Promise.all(Array.from({ length: MAKERS }, () => makeTrader(server)));
  const taker = await makeTrader(server, { scopes: [...SCOPES] });
  const stream = await StreamClient.open(t, server.baseUrl, signed(taker));
  await stream.subscribe({ markets: [market.id], user: true });
  const ids = await sweep(market, makers, taker);
  await stream.settle();

  const onTape = await tape(market, MAKERS);
  assert.equal(onTape.length, MAKERS);
  for (const time of onTape) assert.match(time, FORM);
  assert.deepEqual(onTape, [...new Set(onTape)].sort(), 'distinct, and in the order of the fills');
  const expected = new Map(ids.map((id, at) => [id, onTape[at]!]));

  const { trades } = await taker.client.userTrades({ limit: 100 });
  assert.deepEqual(times(trades.toReversed(), 'id', 'matched_at'), expected);
  const legacy = (await taker.send('GET', '/v1/user/trades')).body.trades;
  assert.deepEqual(times(legacy.toReversed(), 'id', 'created_at'), expected);
  const activity = (await taker.send('GET', '/v1/user/activity')).body.activity;
  const filled = activity.filter(({ type }: Json) => type === 'fill');
  assert.deepEqual(times(filled.toReversed(), 'trade_id', 'created_at'), expected);
  const statement = (await taker.client.ledger.statement()).entries.filter(({ type }) => type === 'fill');
  assert.deepEqual(times(statement, 'id', 'time'), expected);
  const dataOf = (channel: string): Json[] => stream.of(channel).map(({ data }) => data);
  assert.deepEqual(times(dataOf('trade'), 'trade_id', 'filled_at'), expected);
  assert.deepEqual(times(dataOf('fill'), 'trade_id', 'filled_at'), expected);
  const settled = (await taker.send('GET', `/v1/trades/${ids[3]}/settlement`)).body;
  assert.equal(settled.history[0].at, expected.get(ids[3]!));

  // Each is the first of the list that begins with it.
  for (const [at, time] of onTape.entries()) {
    assert.deepEqual(await tape(market, MAKERS - at, time), onTape.slice(at));
    const since = await taker.client.userTrades({ limit: 100, since: time });
    assert.deepEqual(
      since.trades.map(({ id }) => id),
      ids.slice(at).toReversed(),
    );
  }

  await server.kill();
  await server.start();
  const again = taker.reconnected();
  const live = await StreamClient.open(t, server.baseUrl, signed(again));
  await live.subscribe({ markets: [market.id], user: true, user_since: 0 });
  await sweep(
    market,
    makers.map((maker) => maker.reconnected()),
    again,
  );
  await live.settle();
  const later = await tape(market, 2 * MAKERS);
  assert.deepEqual(later.slice(0, MAKERS), onTape, 'nothing has moved');
  assert.deepEqual(later, [...new Set(later)].sort());
  assert.deepEqual(
    live.of('fill').map(({ data }) => data.filled_at),
    later,
    'the private frames of before, and those since',
  );
});

/**
 * Checks of CCXT's structures: each has the members of its type, with the base class's own forms for them, and says of
 * itself what follows from them.
 */
import assert from 'node:assert/strict';
import type { Json } from '../support/server.ts';

const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isOr = (is: (value: unknown) => boolean, value: unknown): boolean => value === undefined || is(value);
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Members that have to be there: `n` a number, `N` a number or undefined, `s` and `S` texts, `b` and `B` flags. */
function members(row: Json, forms: Readonly<Record<string, string>>): void {
  for (const [name, form] of Object.entries(forms)) {
    assert.ok(name in row, `${name} is missing in ${JSON.stringify(row)}`);
    const is = { n: isNumber, s: isText, b: (value: unknown) => typeof value === 'boolean' }[form.toLowerCase()]!;
    const value = row[name];
    assert.ok(form === form.toLowerCase() ? is(value) : isOr(is, value), `${name} is ${value}`);
  }
  assert.notEqual(row.info, undefined, 'the answer itself is in info');
  assert.equal(row.symbol, undefined, 'symbols are of crypto');
}

function times(exchange: Json, row: Json, isRequired = true): void {
  if (row.timestamp === undefined && !isRequired) return;
  assert.ok(row.timestamp > 1_700_000_000_000 && Number.isInteger(row.timestamp), `${row.timestamp} is milliseconds`);
  assert.equal(row.datetime, exchange.iso8601(row.timestamp));
}

const OF_OUTCOME = { outcome: 's', outcomeId: 's', market: 's' };

export function assertMarket(exchange: Json, market: Json): void {
  members(market, {
    id: 's',
    market: 's',
    title: 's',
    active: 'b',
    resolved: 'b',
    taker: 'n',
    maker: 'n',
    created: 'n',
  });
  assert.equal(market.marketType, 'binary');
  assert.equal(market.outcomes.length, 2);
  for (const outcome of market.outcomes) {
    members(outcome, { ...OF_OUTCOME, label: 's', active: 'b', price: 'n' });
    assert.equal(outcome.outcome.split(':')[0], market.market);
    assert.match(outcome.outcome, /^[A-Za-z0-9_]+:[A-Z0-9_]+$/);
  }
  assert.equal(market.createdDatetime, exchange.iso8601(market.created));
}

export function assertEvent(exchange: Json, event: Json): void {
  members(event, { id: 's', event: 's', slug: 's', title: 's', active: 'b', resolved: 'b', created: 'n' });
  for (const market of event.markets) assertMarket(exchange, market);
}

export function assertBook(exchange: Json, book: Json): void {
  members({ info: {}, ...book }, { ...OF_OUTCOME, nonce: 'n' });
  times(exchange, book);
  for (const [side, sign] of [
    [book.bids, -1],
    [book.asks, 1],
  ]) {
    for (const [index, [price, amount]] of [...side].entries()) {
      assert.ok(price > 0 && price < 1 && amount > 0);
      if (index > 0) assert.ok((price - side[index - 1][0]) * sign > 0, 'the best price is first');
    }
  }
  if (book.bids.length > 0 && book.asks.length > 0) assert.ok(book.bids[0][0] < book.asks[0][0]);
}

export function assertTicker(exchange: Json, ticker: Json): void {
  const prices = { high: 'N', low: 'N', bid: 'N', ask: 'N', open: 'N', close: 'N', last: 'N', change: 'N' };
  const volumes = { baseVolume: 'n', quoteVolume: 'n', openInterest: 'n', bidVolume: 'N', askVolume: 'N' };
  members(ticker, { ...OF_OUTCOME, ...prices, ...volumes });
  times(exchange, ticker);
  if (ticker.high !== undefined) assert.ok(ticker.low <= ticker.last && ticker.last <= ticker.high);
  if (ticker.bid !== undefined && ticker.ask !== undefined) assert.ok(ticker.bid < ticker.ask);
}

export function assertCandle(candle: Json): void {
  assert.equal(candle.length, 6);
  const [start, open, high, low, close, volume] = candle;
  assert.ok(candle.every(isNumber), JSON.stringify(candle));
  assert.equal(start % 60_000, 0);
  assert.ok(low <= Math.min(open, close) && high >= Math.max(open, close) && volume > 0);
}

export function assertTrade(exchange: Json, trade: Json): void {
  members(trade, { ...OF_OUTCOME, id: 's', side: 's', takerOrMaker: 's', price: 'n', amount: 'n', cost: 'n' });
  times(exchange, trade);
  assert.ok(['buy', 'sell'].includes(trade.side) && ['taker', 'maker'].includes(trade.takerOrMaker));
  assert.ok(Math.abs(trade.price * trade.amount - trade.cost) < 1e-6);
}

export function assertOrder(exchange: Json, order: Json, status: string): void {
  const amounts = { price: 'n', amount: 'n', filled: 'n', remaining: 'n', average: 'N', cost: 'n' };
  members(order, { ...OF_OUTCOME, ...amounts, id: 's', side: 's', type: 's', timeInForce: 's', postOnly: 'b' });
  times(exchange, order, false);
  assert.match(order.id, /^0x[0-9a-f]{64}$/);
  assert.equal(order.status, status);
  assert.ok(Math.abs(order.filled + order.remaining - order.amount) < 1e-6);
}

export function assertPosition(position: Json): void {
  members(position, { ...OF_OUTCOME, contracts: 'n', side: 's', entryPrice: 'N', realizedPnl: 'N', collateral: 'N' });
}

export function assertBalance(balance: Json, code: string): void {
  const { free, used, total } = balance[code];
  assert.ok([free, used, total].every(isNumber));
  assert.ok(Math.abs(free + used - total) < 1e-6);
  assert.deepEqual([balance.free[code], balance.used[code], balance.total[code]], [free, used, total]);
}

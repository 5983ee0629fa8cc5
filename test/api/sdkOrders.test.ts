/** The client makes one call of several requests: amends and replacements, orders at the market, whole lists. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { generatePrivateKey } from 'viem/accounts';
import { type ApiError, ExchangeClient, type PlaceIntent } from '../../shared/client/index.ts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();

async function newcomer() {
  const market = await makeMarket(server);
  const wallet = generatePrivateKey();
  const { credentials } = await makeTrader(server, {
    privateKey: wallet,
    scopes: ['read:account', 'trade:orders', 'stream:market', 'manage:account'],
  });
  const client = new ExchangeClient({ baseUrl: server.baseUrl, credentials, wallet });
  const bid: PlaceIntent = { marketId: market.id, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10' };
  return { market, client, bid, other: await makeTrader(server) };
}

test('an amend without a size is for the unfilled quantity, and the old order is cancelled', async () => {
  const { market, client, bid, other } = await newcomer();
  const first = await client.place({ ...bid, clientOrderId: 'quote' });
  await other.place(market, { outcomeIndex: 1, price: '0.60', size: '6' });
  const second = await first.amend({ price: '0.41' });
  assert.deepEqual([second.body.taker_amount, second.body.client_order_id], ['4000000', 'quote']);
  assert.equal((await first.record()).status, 'cancelled');
  // With the same price and a smaller size the order keeps its place in the queue.
  const third = await second.amend({ quantityLots: 20_000n });
  assert.equal(third.answer?.time_priority, true);
  const no = await third.replace({ outcomeIndex: 1, priceTicks: 30n, size: '5' });
  assert.deepEqual([no.body.outcome_index, no.body.maker_amount, no.body.taker_amount], [1, '1500000', '5000000']);
  assert.deepEqual(
    (await client.openOrders(market.id)).map(({ order_hash }) => order_hash),
    [no.hash],
  );
  await no.cancel();
  await assert.rejects(no.amend({ price: '0.29' }), ({ code }: ApiError) => code === 'ORDER_NOT_CANCELLABLE');
});

test('a refused amend leaves the order, and an order that was filled meanwhile is not amended', async () => {
  const { market, client, bid, other } = await newcomer();
  const order = await client.place(bid);
  await assert.rejects(order.amend({ size: '10000000' }), ({ code }: ApiError) => code === 'INSUFFICIENT_BALANCE');
  await assert.rejects(order.amend({ price: '0.41', priceTicks: 42n }), /a price or priceTicks/);
  const { remaining } = await order.record();
  await other.place(market, { outcomeIndex: 1, price: '0.60', size: '1' });
  const late = order.amend({ price: '0.41', size: '10' }, { expectedRemaining: remaining });
  await assert.rejects(late, ({ code }: ApiError) => code === 'REMAINING_CHANGED');
  assert.equal((await order.record()).status, 'partially_filled');
});

test('an order in dollars takes exactly the tokens of its preview, and never costs more', async () => {
  const { market, client, other } = await newcomer();
  for (const price of ['0.50', '0.49', '0.45']) await other.place(market, { outcomeIndex: 1, price, size: '10' });
  // Yes is offered at 0.50, 0.51 and 0.55; the last one is beyond the limit.
  const order = { usd: '9', maxSlippage: '0.02' } as const;
  const preview = await client.previewMarket('BUY', market.id, order);
  assert.equal(preview.limitPrice, '0.52');
  assert.ok(preview.limitMicro <= 9_000_000n && preview.limitMicro > 8_999_900n);
  const bought = await client.buy(market.id, order);
  const { status, record } = await bought.done;
  assert.equal(status, 'filled');
  assert.equal(BigInt(record!.filled_token_quantity_atomic), preview.filledAtomic);
  assert.equal(record!.average_fill_price, preview.averagePrice);
  const { usdc, tokens } = await client.balances();
  assert.equal(1_000_000_000n - BigInt(usdc.available), preview.notionalMicro);
  assert.equal(BigInt(tokens[0]!.available), preview.receivedAtomic);

  const rest = await client.previewMarket('BUY', market.id, { usd: 100_000_000n, maxSlippage: '0' });
  assert.ok(rest.filledAtomic > 0n && rest.filledAtomic < rest.sizeAtomic, 'the book has less at this price');
  await other.place(market, { side: 'BUY', price: '0.30', size: '10' });
  const sold = await client.sell(market.id, { size: '5', maxSlippage: '0' });
  assert.deepEqual([sold.answer?.status, sold.body.side], ['filled', 'SELL']);
  client.close();
});

test('without offers, for less than a lot, or from a stale book nothing is bought, and words say why', async () => {
  const { market, client, other } = await newcomer();
  const order = { usd: '9', maxSlippage: '0.02' } as const;
  await assert.rejects(client.buy(market.id, order), /^RangeError: nothing is offered/);
  await other.place(market, { outcomeIndex: 1, price: '0.50', size: '10' });
  await assert.rejects(client.buy(market.id, { ...order, usd: 49n }), /pays for no lot/);
  await assert.rejects(client.buy(market.id, { maxSlippage: '0', size: '0.00015' }), /no whole number of lots/);
  await assert.rejects(client.buy(market.id, { ...order, usd: -9_000_000n }), /pays for no lot/);
  await assert.rejects(client.buy(market.id, { ...order, size: '10' }), /usd or a size/);
  await assert.rejects(client.buy(market.id, { ...order, usd: 9.5 }), /not a number/);
  await assert.rejects(client.buy(market.id, { ...order, usd: '99999999999' }), /is not a multiple of/);
  const whole = await client.previewMarket('BUY', market.id, { ...order, usd: 9 });
  assert.deepEqual(whole, await client.previewMarket('BUY', market.id, order), 'a whole number is exact');
  await assert.rejects(client.buy(market.id, { usd: 9 } as never), /has a maxSlippage/);
  await assert.rejects(client.sell(market.id, order as never), /^TypeError: a sale at the market has a size$/);
  await assert.rejects(
    client.previewMarket('buy' as never, market.id, order),
    /^TypeError: a side is 'BUY' or 'SELL', not buy$/,
  );
  const book = { marketId: market.id, state: 'stale', levels: () => assert.fail('it is not looked at') };
  await assert.rejects(client.buy(market.id, { ...order, book }), /the book is stale/);
  const wrong = { ...book, marketId: 'another', state: 'live' };
  await assert.rejects(client.buy(market.id, { ...order, book: wrong }), /the book is that of market another/);
});

test('a verified book computes the cost of an amount of tokens, and the tokens for an amount of dollars', async () => {
  const { market, client, other } = await newcomer();
  for (const price of ['0.50', '0.45']) await other.place(market, { outcomeIndex: 1, price, size: '10' });
  const stream = await client.openStream();
  const book = stream.openBook(market.id);
  await book.ready();
  const cost = book.depthOf('BUY', 12_000_000n);
  assert.deepEqual(cost, { filledAtomic: 12_000_000n, notionalMicro: 6_100_000n, levels: 2, lastPrice: '0.55' });
  assert.deepEqual(book.depthFor(6_100_000n, 100), cost);
  assert.deepEqual(book.depthOf('SELL', 1_000_000n).lastPrice, null);
  const order = { usd: '5', maxSlippage: '0' } as const;
  assert.deepEqual(
    await client.previewMarket('BUY', market.id, { ...order, book }),
    await client.previewMarket('BUY', market.id, order),
  );
  assert.match(inspect(book), /^BookStream \{[^}]*state: 'live'/);
  assert.throws(() => book.depthOf('buy' as never, 1n), /^TypeError: a side is/);
  assert.equal(book.depthOf('BUY', -1n).filledAtomic, 0n);
  const [user, changes] = [stream.openUser(), stream.openMarketChanges({ markets: [market.id] })];
  assert.match(inspect(user), /^UserStream \{ userSequence: null, isLive: false, cancelOnDisconnect: false \}$/);
  assert.match(inspect(changes), /^Channel \{\s+of: 'market',\s+isLive: false,\s+isClosed: false,\s+markets: \[/);
  assert.match(
    inspect(stream),
    /^ExchangeStream \{[^}]*books: \[ '[\w-]+' \],\s+user: true,\s+channels: \[ 'market' \]/,
  );
  stream.close();
});

test('fills and candles are read completely, newest first, over pages of any length', async () => {
  const { market, client, bid, other } = await newcomer();
  const order = await client.place({ ...bid, size: '20' });
  for (const size of ['1', '2', '3', '4', '5']) await other.place(market, { outcomeIndex: 1, price: '0.60', size });
  const quantities: unknown[] = [];
  for await (const fill of client.fills({ market_id: market.id, limit: 2 }))
    quantities.push(fill.token_quantity_atomic);
  assert.deepEqual(quantities, ['5000000', '4000000', '3000000', '2000000', '1000000']);
  const starts: number[] = [];
  let traded = 0n;
  for await (const candle of client.eachCandle(market.id, { interval: '1m', limit: 1 })) {
    starts.push(candle.start);
    traded += BigInt(candle.token_quantity_atomic);
  }
  assert.deepEqual([traded, starts], [15_000_000n, starts.toSorted((a, b) => b - a)]);
  assert.match(inspect(order), /^PlacedOrder \{[^}]*status: 'open'/);
  assert.match(inspect(client), /^ExchangeClient \{ baseUrl: 'http[^}]*key [\w-]+' \}$/);
});

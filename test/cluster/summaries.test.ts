/**
 * Changes of markets, tickers and candles at a standby: they come there as at the leader, and go on over a takeover
 * (RULES.md 8.23 to 8.25).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

/** The last fee is that of the orders below. */
const FEES = [10, 20, 50];

test('a client of a standby sees what changes at the leader, over a takeover too', { skip: NO_POSTGRES }, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const [standby] = cluster.standbys;
  const stream = new ExchangeStream({ baseUrl: standby!.baseUrl });
  t.after(() => stream.close());
  const fees: number[] = [];
  const all = stream.openMarketChanges({
    all: true,
    onEvent: (event) => {
      if (event.type === 'change') fees.push(event.frame.data.fee_bps);
    },
  });
  await eventually('changes are followed', async () => all.isLive);
  const market = await makeMarket(cluster);
  await eventually('the new market', async () => all.states.has(market.id));
  for (const fee of FEES) await cluster.admin.patchMarket(market.id, { fee_bps: fee });
  await eventually('the last change', async () => fees.at(-1) === FEES.at(-1));
  assert.deepEqual(fees.slice(1), FEES, 'each once and in order, after the market itself');

  const prices: string[] = [];
  const closes: (string | null)[] = [];
  const markets = [market.id];
  const tickers = stream.openTickers({
    markets,
    onEvent: (event) => {
      if (event.type === 'ticker' && event.ticker.last_price !== null) prices.push(event.ticker.last_price);
    },
  });
  const candles = stream.openCandles({
    markets,
    interval: '1d',
    onEvent: (event) => {
      if (event.type === 'candle') closes.push(event.frame.data.close);
    },
  });
  await eventually('both are followed', async () => tickers.isLive && candles.isLive);
  let [seller, buyer] = [await makeTrader(cluster), await makeTrader(cluster)];
  const tradeAt = async (price: string, mirror: string): Promise<void> => {
    await seller.place(market, { outcomeIndex: 1, price: mirror, size: '10' });
    await buyer.place(market, { price, size: '10' });
    const isShown = (shown: readonly (string | null)[]) => Number(shown.at(-1)) === Number(price);
    await eventually(`the trade at ${price}`, async () => isShown(prices) && isShown(closes));
  };
  await tradeAt('0.60', '0.40');

  await cluster.leader.kill();
  await cluster.awaitLeader([standby!]);
  await eventually('trading goes on', async () => (await standby!.request('GET', '/ready')).status === 200);
  [seller, buyer] = [seller.on(standby!), buyer.on(standby!)];
  await tradeAt('0.70', '0.30');
  await standby!.admin.patchMarket(market.id, { fee_bps: 40 });
  await eventually('the fee of the next leader', async () => all.states.get(market.id)?.data.fee_bps === 40);
});

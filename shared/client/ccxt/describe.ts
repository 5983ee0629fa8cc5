/**
 * The description of the exchange in the form of CCXT: what it can do (test/peers/ccxtLive.test.ts calls each method
 * that it names), its routes, its fees.
 */
import { Refusals } from './errors.ts';
import { type Dict, TICK_SIZE } from './upstream.ts';

export abstract class Described extends Refusals {
  describe(): Dict {
    return this.deepExtend(super.describe(), {
      id: 'pmx',
      name: 'Open Prediction Exchange',
      countries: [],
      version: 'v1',
      rateLimit: 100,
      certified: false,
      pro: true,
      has: this.capabilities(),
      timeframes: { '1m': '1m', '5m': '5m', '15m': '15m', '1h': '1h', '4h': '4h', '1d': '1d' },
      urls: {
        // Each exchange has its own, which a program gives.
        api: { rest: 'http://127.0.0.1:8080' },
        www: 'http://127.0.0.1:8080',
        doc: [],
      },
      api: this.routes(),
      requiredCredentials: { apiKey: true, secret: true, password: true, privateKey: false },
      fees: { trading: { tierBased: false, percentage: true, feeSide: 'get' } },
      precisionMode: TICK_SIZE,
      options: {
        fetchMarketsLimit: 1000,
        tradesLimit: 1000,
        ordersLimit: 1000,
        timeDifference: 0,
        domain: undefined,
        feeRates: {},
        bookLevels: {},
        readings: {},
        userSequence: undefined,
      },
      streaming: { keepAlive: 10000 },
      exceptions: { exact: this.extend(this.errorsByMessage(), this.errorsByCode()), broad: {} },
    });
  }

  /** Methods that are there, and kinds of orders. */
  capabilities(): Dict {
    return {
      cancelAllOrders: true,
      cancelOrder: true,
      cancelOrders: true,
      createLimitOrder: true,
      createMarketOrder: true,
      createOrder: true,
      createOrders: true,
      editOrder: true,
      fetchBalance: true,
      fetchClosedOrders: true,
      fetchEvent: true,
      fetchEvents: true,
      fetchMarkets: true,
      fetchMyTrades: true,
      fetchOHLCV: true,
      fetchOpenInterest: true,
      fetchOpenOrders: true,
      fetchOrder: true,
      fetchOrderBook: true,
      fetchOrderBooks: true,
      fetchOrders: true,
      fetchOutcome: true,
      fetchPosition: true,
      fetchPositions: true,
      fetchStatus: true,
      fetchTicker: true,
      fetchTickers: true,
      fetchTime: true,
      fetchTrades: true,
      fetchTradingFee: true,
      prediction: true,
      watchBalance: true,
      watchMyTrades: true,
      watchOrderBook: true,
      watchOrders: true,
      watchTrades: true,
      ws: true,
    };
  }

  /** A key's limit counts for each route by itself, so every request costs the same. */
  routes(): Dict {
    return {
      public: {
        get: {
          time: 1,
          'platform/config': 1,
          markets: 1,
          'markets/{id}': 1,
          'markets/{id}/candles': 1,
          'markets/{id}/ticker': 1,
          'markets/{id}/trades': 1,
          tickers: 1,
          'market-data/{id}/tick-size': 1,
          'orders/book/{id}': 1,
          'events/browse': 1,
          'events/{slug}/view': 1,
        },
      },
      private: {
        get: {
          'market-data/{id}/fee-rate': 1,
          'orders/open/{id}': 1,
          'orders/{hash}': 1,
          'user/balances': 1,
          'user/orders/v2': 1,
          'user/positions': 1,
          'user/trades/v2': 1,
        },
        post: { orders: 1, 'orders/batch': 1 },
        put: { 'orders/{hash}/amend': 1 },
        delete: { 'orders/{hash}': 1, 'orders/batch': 1, 'orders/cancel-all': 1, 'orders/cancel-market': 1 },
      },
    };
  }
}

/** The methods that CCXT's base makes of the routes in the description; CCXT's own build writes such a file. */
import { type Dict, PredictionExchange } from './upstream.ts';

type Request = (params?: Dict | Dict[]) => Promise<Dict>;

export abstract class Routes extends PredictionExchange {
  declare publicGetTime: Request;
  declare publicGetPlatformConfig: Request;
  declare publicGetMarkets: Request;
  declare publicGetMarketsId: Request;
  declare publicGetMarketsIdCandles: Request;
  declare publicGetMarketsIdTicker: Request;
  declare publicGetMarketsIdTrades: Request;
  declare publicGetTickers: Request;
  declare publicGetMarketDataIdTickSize: Request;
  declare publicGetOrdersBookId: Request;
  declare publicGetEventsBrowse: Request;
  declare publicGetEventsSlugView: Request;
  declare privateGetMarketDataIdFeeRate: Request;
  declare privateGetOrdersOpenId: Request;
  declare privateGetOrdersHash: Request;
  declare privateGetUserBalances: Request;
  declare privateGetUserOrdersV2: Request;
  declare privateGetUserPositions: Request;
  declare privateGetUserTradesV2: Request;
  declare privatePostOrders: Request;
  declare privatePostOrdersBatch: Request;
  declare privatePutOrdersHashAmend: Request;
  declare privateDeleteOrdersHash: Request;
  declare privateDeleteOrdersBatch: Request;
  declare privateDeleteOrdersCancelAll: Request;
  declare privateDeleteOrdersCancelMarket: Request;
}

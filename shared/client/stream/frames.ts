/** The frames of the stream (RULES.md 8) as types; GET /asyncapi.json describes them in full. */
import type { Candle, Market, MatchTypeName, OrderStatusName, SideName, Ticker } from '../types.ts';

export const STREAM_PATH = '/v1/ws';

export type FrameLevel = { price: string; num_orders: number; token_quantity_atomic: string };
export type FrameLevels = { bids: readonly FrameLevel[]; asks: readonly FrameLevel[] };
type MarketHead = { market_id: string; sequence: number; timestamp: number };

export type BookFrame = MarketHead & {
  channel: 'book';
  data: { outcome_0: FrameLevels; outcome_1: FrameLevels; checksum: number };
};

export type DeltaEvent = 'open' | 'fill' | 'cancel' | 'expire' | 'dormant' | 'wake';
export type DeltaFrame = MarketHead & {
  channel: 'book_delta';
  data: {
    event: DeltaEvent;
    order_id: string;
    outcome_index: 0 | 1;
    side: SideName;
    price: string;
    token_quantity_atomic: string;
    remaining_token_quantity_atomic: string;
    level: { outcome_index: 0; side: SideName; price: string; token_quantity_atomic: string; num_orders: number };
    checksum?: number;
  };
};

export type TradeFrame = MarketHead & {
  channel: 'trade';
  data: {
    trade_id: string;
    /** RFC 3339 with microseconds; with `market_id` it names the fill. */
    filled_at: string;
    outcome_index: 0 | 1;
    taker_side: SideName;
    price: string;
    token_quantity_atomic: string;
    notional_usdc_micro: string;
    match_type: MatchTypeName;
  };
};

export type BboFrame = MarketHead & {
  channel: 'bbo';
  data: {
    outcome_index: 0 | 1;
    best_bid: string | null;
    best_ask: string | null;
    best_bid_quantity_atomic: string | null;
    best_ask_quantity_atomic: string | null;
    spread: string | null;
    midpoint: string | null;
  };
};
export type MarketFrame = BookFrame | DeltaFrame | TradeFrame | BboFrame;

export type MarketChangeName = 'opened' | 'status' | 'stage' | 'fee' | 'times' | 'decision' | 'settled';
type MarketState = Pick<Market, 'status' | 'stage' | 'fee_bps' | 'trading_starts_at' | 'trading_ends_at'>;
type MarketEnd = Pick<Market, 'resolved_at' | 'settled_at' | 'payouts'>;
/** A change of a market; if `changed` is empty, the market as it is. */
export type MarketChangeFrame = MarketHead & {
  channel: 'market';
  previous_sequence: number;
  data: MarketState & MarketEnd & { changed: readonly MarketChangeName[]; event_id: string | null };
};
export type TickerFrame = { channel: 'ticker'; data: Ticker };
export type CandleFrame = {
  channel: 'candle';
  market_id: string;
  outcome_index: 0 | 1;
  interval: '1m' | '5m' | '15m' | '1h' | '4h' | '1d';
  data: Candle;
};

type PrivateHead = { user_sequence: number; timestamp: number };
/** The ids of an order, and the client's own name and group of it if it has them. */
type OrderKey = {
  order_id: string;
  order_hash: string;
  client_order_id?: string;
  order_group?: string;
  market_id: string;
};

export type FillFrame = PrivateHead & {
  channel: 'fill';
  data: OrderKey & {
    trade_id: string;
    role: 'maker' | 'taker';
    party_side: SideName;
    party_outcome_index: 0 | 1;
    price: string;
    token_quantity_atomic: string;
    notional_usdc_micro: string;
    fee_amount: string;
    fee_asset: 'USDC' | 'TOKEN';
    remaining: string;
    status: OrderStatusName;
  };
};

export type OrderStatusFrame = PrivateHead & {
  channel: 'order_status';
  data: OrderKey & { status: OrderStatusName; remaining: string; filled_amount: string; reason: string };
};
export type PrivateFrame = FillFrame | OrderStatusFrame;

export type HeartbeatFrame = {
  channel: 'heartbeat';
  data: { time: number; sequences: Record<string, number>; user_sequence?: number; market_sequence?: number };
};

export type AnswerFrame = { id?: string | number } & (
  | { channel: 'unsubscribed'; data: object }
  | {
      channel: 'subscribed';
      data: {
        markets: string[];
        user: boolean;
        user_sequence?: number;
        market?: { run: string; sequence: number };
      };
    }
  | { channel: 'pong'; data: { time: number } }
  | { channel: 'error'; data: { code: string; error: string; details?: unknown; retry_after_ms?: number } }
);

type ChannelFrame = MarketChangeFrame | TickerFrame | CandleFrame;

export type StreamFrame = MarketFrame | ChannelFrame | PrivateFrame | HeartbeatFrame | AnswerFrame;

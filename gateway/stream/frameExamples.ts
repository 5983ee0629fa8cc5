/** An example of every message of the stream, for its document; the tests check each against its schema. */
import type { CLIENT_MESSAGES, SERVER_FRAMES } from './frames.ts';

const MARKET = '0190a0b0-c0d0-7000-8000-0000000000af';
const ORDER = '0190a0b0-c0d0-7000-8000-000000000013';
const TRADE = '0190a0b0-c0d0-7000-8000-000000000014';
const HASH = '0x5f1c2a8be3d94e7f60a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607';
const TIMESTAMP = 1_790_000_000_000;
const FILLED_AT = '2026-09-21T14:13:20.000001Z';
/** Of 0.65:6000000|0.67:4000000. */
const CHECKSUM = 2_625_812_937;

const ACTIVE = { markets: [MARKET], user: true, user_sequence: 17, cancel_on_disconnect: false };
const MARKET_HEAD = { market_id: MARKET, timestamp: TIMESTAMP };
const TRADED = { token_quantity_atomic: '4000000', price: '0.65' };
const PRIVATE_ORDER = { order_id: ORDER, order_hash: HASH, client_order_id: 'quote 17', market_id: MARKET };

function level(price: string, tokens: string, notional: string): object {
  return {
    price,
    num_orders: 1,
    token_quantity_atomic: tokens,
    notional_usdc_micro: notional,
    size: notional,
  };
}

export const FRAME_EXAMPLES: Readonly<Record<keyof typeof CLIENT_MESSAGES | keyof typeof SERVER_FRAMES, object>> = {
  subscribe: {
    channel: 'subscribe',
    id: 1,
    data: { markets: [MARKET], snapshot: true, checksum: true, user: true, user_since: 17 },
  },
  unsubscribe: { channel: 'unsubscribe', id: 2, data: { markets: [MARKET] } },
  ping: { channel: 'ping', id: 3 },
  order: { channel: 'order', id: 7, data: { action: 'cancel', order_hash: HASH } },
  order_result: { channel: 'order_result', id: 7, data: { status: 200, body: { message: 'order cancelled' } } },
  subscribed: { channel: 'subscribed', id: 1, data: ACTIVE },
  unsubscribed: { channel: 'unsubscribed', id: 2, data: { ...ACTIVE, markets: [] } },
  pong: { channel: 'pong', id: 3, data: { time: TIMESTAMP } },
  error: {
    channel: 'error',
    id: 4,
    data: { code: 'INSUFFICIENT_SCOPE', error: 'API key lacks the required scope', details: { scope: 'stream:user' } },
  },
  heartbeat: {
    channel: 'heartbeat',
    data: { time: TIMESTAMP, sequences: { [MARKET]: 72 }, user_sequence: 17 },
  },
  market: {
    channel: 'market',
    ...MARKET_HEAD,
    sequence: 41,
    previous_sequence: 7,
    data: {
      changed: ['status', 'decision'],
      event_id: null,
      ...{ status: 'resolved', stage: 'open', fee_bps: 50 },
      ...{ trading_starts_at: '2026-09-01T00:00:00.000Z', trading_ends_at: '2026-09-21T12:00:00.000Z' },
      ...{ resolved_at: '2026-09-21T14:13:20.000Z', payouts: [1_000_000, 0] },
    },
  },
  ticker: {
    channel: 'ticker',
    data: {
      ...{ market_id: MARKET, outcome_index: 0, last_price: '0.65', change: '-0.05', open: '0.7', high: '0.7' },
      ...{ low: '0.65', token_quantity_atomic: '14000000', notional_usdc_micro: '9300000' },
      ...{ volume_usdc_micro: '9300000', trades: 2, best_bid: '0.65', best_ask: '0.67' },
      ...{ best_bid_quantity_atomic: '6000000', best_ask_quantity_atomic: '4000000', spread: '0.02' },
      ...{ midpoint: '0.66', open_interest_atomic: '14000000', sequence: 72, timestamp: TIMESTAMP },
    },
  },
  candle: {
    channel: 'candle',
    ...{ market_id: MARKET, outcome_index: 0, interval: '1m' },
    data: {
      ...{ start: 1_790_000_000, open: '0.7', high: '0.7', low: '0.65', close: '0.65' },
      ...{ token_quantity_atomic: '14000000', notional_usdc_micro: '9300000', volume_usdc_micro: '9300000' },
      ...{ trades: 2, is_open: true },
    },
  },
  trade: {
    channel: 'trade',
    ...MARKET_HEAD,
    sequence: 71,
    data: {
      trade_id: TRADE,
      filled_at: FILLED_AT,
      outcome_index: 0,
      taker_side: 'SELL',
      ...TRADED,
      notional_usdc_micro: '2600000',
      match_type: 'standard',
    },
  },
  book_delta: {
    channel: 'book_delta',
    ...MARKET_HEAD,
    sequence: 72,
    data: {
      event: 'fill',
      order_id: ORDER,
      outcome_index: 0,
      side: 'BUY',
      ...TRADED,
      remaining_token_quantity_atomic: '6000000',
      level: { outcome_index: 0, side: 'BUY', price: '0.65', token_quantity_atomic: '6000000', num_orders: 1 },
      checksum: CHECKSUM,
    },
  },
  bbo: {
    channel: 'bbo',
    ...MARKET_HEAD,
    sequence: 72,
    data: {
      outcome_index: 0,
      best_bid: '0.65',
      best_ask: '0.67',
      best_bid_quantity_atomic: '6000000',
      best_ask_quantity_atomic: '4000000',
      spread: '0.02',
      midpoint: '0.66',
    },
  },
  book: {
    channel: 'book',
    ...MARKET_HEAD,
    sequence: 72,
    data: {
      outcome_0: { bids: [level('0.65', '6000000', '3900000')], asks: [level('0.67', '4000000', '2680000')] },
      outcome_1: { bids: [level('0.33', '4000000', '1320000')], asks: [level('0.35', '6000000', '2100000')] },
      checksum: CHECKSUM,
    },
  },
  fill: {
    channel: 'fill',
    user_sequence: 18,
    timestamp: TIMESTAMP,
    data: {
      ...PRIVATE_ORDER,
      trade_id: TRADE,
      filled_at: FILLED_AT,
      role: 'maker',
      party_side: 'BUY',
      party_outcome_index: 0,
      ...TRADED,
      notional_usdc_micro: '2600000',
      fee_amount: '20000',
      fee_asset: 'TOKEN',
      remaining: '3900000',
      status: 'partially_filled',
    },
  },
  order_status: {
    channel: 'order_status',
    user_sequence: 19,
    timestamp: TIMESTAMP,
    data: { ...PRIVATE_ORDER, status: 'cancelled', remaining: '3900000', filled_amount: '2600000', reason: 'user' },
  },
};

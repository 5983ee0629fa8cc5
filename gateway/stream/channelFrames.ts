/**
 * The channels `market`, `ticker` and `candle` as JSON Schema, beside frames.ts: how each is subscribed to, and its
 * frame (RULES.md 8.23 to 8.25).
 */
import { CANDLE, CANDLE_INTERVALS } from '../../shared/api/candles.ts';
import { MARKET_STATUS_FIELD, PAYOUTS } from '../../shared/api/markets.ts';
import type { JsonSchema } from '../../shared/api/schema.ts';
import { STAGE_FIELD } from '../../shared/api/stages.ts';
import { TICKER } from '../../shared/api/tickers.ts';
import { namesOf } from '../../shared/base/namesOf.ts';
import { BOOLEAN, type FrameSpec, MARKETS, OUTCOME_INDEX, object, SEQUENCE, TIME_MS, UUID } from './frameFields.ts';
import { CHANGE_NAMES } from './summaryChanges.ts';

const RUN: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{16}$', description: 'numbers of another run are others' };
const TIME: JsonSchema = { type: 'string', pattern: '^[-+0-9]+T[0-9:.]+Z$' };
const EVENT_ID: JsonSchema = { type: ['string', 'null'], format: 'uuid' };
const SELECTED = {
  markets: MARKETS,
  events: { ...MARKETS, description: 'their markets, those that are made later as well' },
  all: { ...BOOLEAN, description: 'every market' },
};

const MARKET_WANTED: JsonSchema = {
  ...object(
    {
      ...SELECTED,
      snapshot: { ...BOOLEAN, description: 'a frame of each of them first, as they are' },
      after: {
        ...object({ run: RUN, sequence: SEQUENCE }),
        description: 'every change after this one again, or the markets as they are if they are not kept any more',
      },
    },
    ['markets', 'events', 'all', 'snapshot', 'after'],
  ),
  description: 'changes of these markets: of status, stage, fee, times, decision',
};
const MARKET_LEFT: JsonSchema = object(SELECTED, Object.keys(SELECTED));

const MARKET_ACTIVE: JsonSchema = {
  ...object({
    ...SELECTED,
    run: RUN,
    sequence: { ...SEQUENCE, description: 'every change up to this one was sent, or was before' },
  }),
  description: 'whose changes this connection is sent; present when there are any',
};

const MARKET_FRAME: FrameSpec = {
  summary: 'A market has changed, or is new; with nothing in `changed`: as it is.',
  schema: object({
    channel: { type: 'string', const: 'market' },
    market_id: UUID,
    sequence: { ...SEQUENCE, description: 'grows by 1 over the changes of all markets' },
    previous_sequence: { ...SEQUENCE, description: 'of the change of this market before; 0: none in this run' },
    timestamp: TIME_MS,
    data: object(
      {
        changed: { type: 'array', items: { type: 'string', enum: CHANGE_NAMES } },
        event_id: EVENT_ID,
        status: MARKET_STATUS_FIELD,
        stage: STAGE_FIELD,
        fee_bps: { type: 'integer', minimum: 0, maximum: 10_000 },
        trading_starts_at: TIME,
        trading_ends_at: TIME,
        resolved_at: TIME,
        settled_at: TIME,
        payouts: { ...PAYOUTS, description: 'millionths of a USDC that a Yes and a No token pay, once it is decided' },
      },
      ['resolved_at', 'settled_at', 'payouts'],
    ),
  }),
};

const TICKER_WANTED: JsonSchema = {
  ...object({ markets: MARKETS, all: BOOLEAN }, ['markets', 'all']),
  description: 'the ticker of each of these first, and then each change; of all only the changes',
};
const TICKER_ACTIVE: JsonSchema = {
  ...object({ markets: MARKETS, all: BOOLEAN }),
  description: 'whose tickers this connection is sent; present when there are any',
};
const TICKER_FRAME: FrameSpec = {
  summary: 'The ticker of Yes of a market, which has changed: as GET /v1/markets/:id/ticker has it.',
  schema: object({ channel: { type: 'string', const: 'ticker' }, data: TICKER }),
};

const INTERVAL: JsonSchema = { type: 'string', enum: CANDLE_INTERVALS };
const SERIES = { markets: MARKETS, interval: INTERVAL, outcome_index: OUTCOME_INDEX };
/** A second in the year 5138. */
const LATEST_SEC = 99_999_999_999;
const CANDLE_WANTED: JsonSchema = {
  ...object(
    {
      ...SERIES,
      after: {
        type: 'object',
        description: 'by market: every candle after the one that starts then, Unix seconds, 1,000 of them at most',
        propertyNames: { type: 'string', format: 'uuid' },
        additionalProperties: { type: 'integer', minimum: 0, maximum: LATEST_SEC },
      },
    },
    ['outcome_index', 'after'],
  ),
  description: 'the present candle of each of these markets, and then each change; outcome 0 without another',
};
const CANDLE_ACTIVE: JsonSchema = {
  type: 'array',
  items: object({ market_id: UUID, outcome_index: OUTCOME_INDEX, interval: INTERVAL }),
  description: 'whose candles this connection is sent; present when there are any',
};
const CANDLE_FRAME: FrameSpec = {
  summary: 'A candle as it is now; with `is_open` false it is the last frame of its interval.',
  schema: object({
    channel: { type: 'string', const: 'candle' },
    ...{ market_id: UUID, outcome_index: OUTCOME_INDEX, interval: INTERVAL },
    data: CANDLE,
  }),
};

/** Members of `subscribe`, of `unsubscribe`, and of their answers, by channel; and the frames. */
export const WANTED_CHANNELS = { market: MARKET_WANTED, ticker: TICKER_WANTED, candle: CANDLE_WANTED };
export const LEFT_CHANNELS = {
  market: MARKET_LEFT,
  ticker: object({ markets: MARKETS, all: BOOLEAN }, ['markets', 'all']),
  candle: object(SERIES, ['outcome_index']),
};
export const ACTIVE_CHANNELS = { market: MARKET_ACTIVE, ticker: TICKER_ACTIVE, candle: CANDLE_ACTIVE };
export const CHANNEL_FRAMES = { market: MARKET_FRAME, ticker: TICKER_FRAME, candle: CANDLE_FRAME };
export const CHANNEL_NAMES = namesOf(CHANNEL_FRAMES);

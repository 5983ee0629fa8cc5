/** The channel `market` as JSON Schema, beside frames.ts: how it is asked for, and its frame (RULES.md 8.23). */
import { MARKET_STATUS_FIELD, PAYOUTS } from '../../shared/api/markets.ts';
import type { JsonSchema } from '../../shared/api/schema.ts';
import { STAGE_FIELD } from '../../shared/api/stages.ts';
import { BOOLEAN, type FrameSpec, MARKETS, object, SEQUENCE, TIME_MS, UUID } from './frameFields.ts';
import { CHANGE_NAMES } from './summary/changes.ts';

const RUN: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{16}$', description: 'numbers of another run are others' };
const TIME: JsonSchema = { type: 'string', pattern: '^[-+0-9]+T[0-9:.]+Z$' };
const EVENT_ID: JsonSchema = { type: ['string', 'null'], format: 'uuid' };
const SELECTED = {
  markets: MARKETS,
  events: { ...MARKETS, description: 'their markets, those that are made later as well' },
  all: { ...BOOLEAN, description: 'every market' },
};

export const MARKET_WANTED: JsonSchema = {
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
export const MARKET_LEFT: JsonSchema = object(SELECTED, Object.keys(SELECTED));

export const MARKET_ACTIVE: JsonSchema = {
  ...object({
    ...SELECTED,
    run: RUN,
    sequence: { ...SEQUENCE, description: 'every change up to this one was sent, or was before' },
  }),
  description: 'whose changes this connection is sent; present when there are any',
};

export const MARKET_FRAME: FrameSpec = {
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

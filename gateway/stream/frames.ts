/**
 * Everything that is sent over the stream, as JSON Schema. The messages of clients are checked against these schemas;
 * the tests check the frames of the server against them. The AsyncAPI document is made from the same data
 * (asyncapi.ts).
 */
import { CLIENT_ORDER_ID_FORM, GROUP_NAME_FORM } from '../../shared/api/fields.ts';
import type { JsonSchema } from '../../shared/api/schema.ts';
import { MATCH_TYPE_NAMES, ORDER_STATUS_NAMES, SIDE_NAMES } from '../../shared/base/codes.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import { REASON_NAMES, ROLE_NAMES } from '../../shared/wire/privateRecord.ts';
import { ACTIVE_CHANNELS, CHANNEL_FRAMES, CHANNEL_NAMES, LEFT_CHANNELS, WANTED_CHANNELS } from './channelFrames.ts';
import { ORDER_ACTIONS } from './entryActions.ts';
import {
  BOOLEAN,
  type FrameSpec,
  MARKETS,
  OUTCOME_INDEX,
  object,
  type Properties,
  SEQUENCE,
  TIME_MS,
  UUID,
} from './frameFields.ts';
import { DELTA_EVENT_NAMES } from './marketRecord.ts';

/** Markets that one connection may subscribe to. */
export const MAX_MARKETS = 500;
/** Series of candles that one connection may follow. */
export const MAX_CANDLES = 100;

const MAX_ID_CHARACTERS = 64;

const FILL_TIME: JsonSchema = {
  type: 'string',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
  description: 'the time of the fill with microseconds, as in every list of trades: each fill of a market has its own',
};
const AMOUNT: JsonSchema = { type: 'string', pattern: '^(0|[1-9][0-9]*)$', description: 'atomic units' };
const PRICE: JsonSchema = { type: 'string', pattern: '^(0|1|0\\.[0-9]+)$', description: 'USDC per token' };
const SIDE: JsonSchema = { type: 'string', enum: SIDE_NAMES };
const STATUS: JsonSchema = { type: 'string', enum: ORDER_STATUS_NAMES };
const HASH: JsonSchema = { type: 'string', pattern: '^0x[0-9a-f]{64}$' };
const CHECKSUM: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: 2 ** 32 - 1,
  description: 'CRC-32 of the book: price:quantity of all levels, best first, bids then asks, Yes terms, joined by |',
};

/** The id of a message, by which its client recognises the answer. */
const ID: JsonSchema = {
  description: 'chosen by the client, echoed in the answer',
  anyOf: [
    { type: 'string', maxLength: MAX_ID_CHARACTERS },
    { type: 'integer', minimum: -MAX_SAFE, maximum: MAX_SAFE },
  ],
};

function nullable(schema: JsonSchema): JsonSchema {
  return { ...schema, type: [schema.type ?? [], 'null'].flat() };
}

function message(channel: string, summary: string, data: JsonSchema, isDataOptional = false): FrameSpec {
  const optional = isDataOptional ? ['id', 'data'] : ['id'];
  return { summary, schema: object({ channel: { type: 'string', const: channel }, id: ID, data }, optional) };
}

export const CLIENT_MESSAGES = {
  subscribe: message(
    'subscribe',
    'Adds markets, or the private frames of the account, to what this connection is sent.',
    object(
      {
        markets: MARKETS,
        user: BOOLEAN,
        snapshot: { ...BOOLEAN, description: 'a book frame of each of the markets first, then every frame after it' },
        from_sequence: {
          type: 'object',
          description:
            'by market: every frame after this sequence again, or a book frame if they are not kept any more',
          propertyNames: { type: 'string', format: 'uuid' },
          additionalProperties: SEQUENCE,
        },
        checksum: { ...BOOLEAN, description: 'a checksum on every book_delta of the markets' },
        user_since: { ...SEQUENCE, description: 'every private frame after this user_sequence again' },
        cancel_on_disconnect: {
          ...BOOLEAN,
          description:
            'cancel all open orders of the account when this connection ends; on a standby of a cluster, once it leads',
        },
        ...WANTED_CHANNELS,
      },
      [
        ...['markets', 'user', 'snapshot', 'from_sequence', 'checksum', 'user_since', 'cancel_on_disconnect'],
        ...CHANNEL_NAMES,
      ],
    ),
  ),
  unsubscribe: message(
    'unsubscribe',
    'Takes markets, or the private frames, away again; the latter ends cancel_on_disconnect too.',
    object({ markets: MARKETS, user: BOOLEAN, ...LEFT_CHANNELS }, ['markets', 'user', ...CHANNEL_NAMES]),
  ),
  ping: message('ping', 'Answered by pong.', object({}), true),
  order: {
    summary: 'A request about orders, answered by order_result as its route would be over HTTP.',
    schema: object({
      channel: { type: 'string', const: 'order' },
      id: ID,
      data: {
        type: 'object',
        required: ['action'],
        properties: {
          action: {
            type: 'string',
            enum: ORDER_ACTIONS,
            description:
              'POST /v1/orders, DELETE /v1/orders/:hash (or by-client-id/:id), POST /v1/orders/cancel-replace, ' +
              'PUT /v1/orders/:hash/amend, POST and DELETE /v1/orders/batch, DELETE /v1/orders/cancel-all and ' +
              'cancel-market, POST /v1/orders/heartbeat. The other members are the body of the route, with ' +
              'order_hash, client_order_id or tombstone of its path and query, and idempotency_key and deadline ' +
              'where it takes these headers.',
          },
        },
        additionalProperties: true,
      },
    }),
  },
} as const satisfies Record<string, FrameSpec>;

function answer(channel: string, summary: string, data: JsonSchema): FrameSpec {
  return message(channel, summary, data);
}

function marketFrame(channel: string, summary: string, data: JsonSchema): FrameSpec {
  const head = { market_id: UUID, sequence: SEQUENCE, timestamp: TIME_MS };
  return { summary, schema: object({ channel: { type: 'string', const: channel }, ...head, data }) };
}

function privateFrame(channel: string, summary: string, data: JsonSchema): FrameSpec {
  const head = { user_sequence: SEQUENCE, timestamp: TIME_MS };
  return { summary, schema: object({ channel: { type: 'string', const: channel }, ...head, data }) };
}

const ACTIVE = object(
  {
    markets: { ...MARKETS, description: 'every market that this connection subscribes to' },
    user: BOOLEAN,
    user_sequence: {
      ...SEQUENCE,
      description: 'private frames up to this one are not sent again; present when user is true',
    },
    cancel_on_disconnect: BOOLEAN,
    ...ACTIVE_CHANNELS,
  },
  ['user_sequence', ...CHANNEL_NAMES],
);

const LEVEL = object({
  price: PRICE,
  num_orders: { type: 'integer', minimum: 1 },
  token_quantity_atomic: AMOUNT,
  notional_usdc_micro: AMOUNT,
  size: AMOUNT,
});
const LEVELS = object({ bids: { type: 'array', items: LEVEL }, asks: { type: 'array', items: LEVEL } });

const ORDER_KEY = {
  order_id: UUID,
  order_hash: HASH,
  client_order_id: { type: 'string', pattern: CLIENT_ORDER_ID_FORM, description: 'present if the order has one' },
  order_group: { type: 'string', pattern: GROUP_NAME_FORM, description: 'present if the order is in one' },
};
/** The fields that only some orders have. */
const ORDER_NAMES = ['client_order_id', 'order_group'];

function orderObject(properties: Properties, optional: readonly string[] = []): JsonSchema {
  return object({ ...ORDER_KEY, ...properties }, [...ORDER_NAMES, ...optional]);
}

export const SERVER_FRAMES = {
  subscribed: answer('subscribed', 'The answer to subscribe: what is now active.', ACTIVE),
  unsubscribed: answer('unsubscribed', 'The answer to unsubscribe: what is now active.', ACTIVE),
  pong: answer('pong', 'The answer to ping.', object({ time: TIME_MS })),
  error: answer(
    'error',
    'A message that was refused, or why the connection is about to be closed.',
    object(
      {
        code: { type: 'string' },
        error: { type: 'string' },
        details: { type: 'object', additionalProperties: true },
        retry_after_ms: { type: 'integer', minimum: 1, description: 'with RATE_LIMITED: when the same is accepted' },
      },
      ['details', 'retry_after_ms'],
    ),
  ),
  order_result: {
    summary: 'The answer to order: status and body exactly as over HTTP.',
    schema: object({
      channel: { type: 'string', const: 'order_result' },
      id: ID,
      data: object(
        {
          status: { type: 'integer', description: 'the HTTP status' },
          body: { type: 'object', additionalProperties: true, description: 'the body of the route' },
          retry_after: { type: 'integer', minimum: 1, description: 'the header Retry-After, in seconds' },
          replayed: { type: 'boolean', const: true, description: 'the header Idempotency-Replayed' },
        },
        ['retry_after', 'replayed'],
      ),
    }),
  },
  heartbeat: {
    summary: 'Every 5 s: the last sequences that were sent on this connection.',
    schema: object({
      channel: { type: 'string', const: 'heartbeat' },
      data: object(
        {
          time: TIME_MS,
          sequences: { type: 'object', propertyNames: UUID, additionalProperties: SEQUENCE },
          user_sequence: SEQUENCE,
          market_sequence: { ...SEQUENCE, description: 'every change of markets up to this one was sent' },
        },
        ['user_sequence', 'market_sequence'],
      ),
    }),
  },
  ...CHANNEL_FRAMES,
  trade: marketFrame(
    'trade',
    "One fill, in terms of the taker's outcome.",
    object({
      trade_id: UUID,
      filled_at: FILL_TIME,
      outcome_index: OUTCOME_INDEX,
      taker_side: SIDE,
      price: PRICE,
      token_quantity_atomic: AMOUNT,
      notional_usdc_micro: AMOUNT,
      match_type: { type: 'string', enum: MATCH_TYPE_NAMES },
    }),
  ),
  book_delta: marketFrame(
    'book_delta',
    'One order event and the level after it: whoever applies the levels holds an exact book.',
    object(
      {
        event: { type: 'string', enum: DELTA_EVENT_NAMES.filter((name) => name !== '') },
        order_id: UUID,
        outcome_index: OUTCOME_INDEX,
        side: SIDE,
        price: PRICE,
        token_quantity_atomic: {
          ...AMOUNT,
          description: 'the quantity that the event adds (open, wake) or removes (all others)',
        },
        remaining_token_quantity_atomic: {
          ...AMOUNT,
          description: 'the quantity of the order that is in the book afterwards',
        },
        level: object({
          outcome_index: { type: 'integer', const: 0 },
          side: { ...SIDE, description: 'BUY for a bid, SELL for an ask' },
          price: PRICE,
          token_quantity_atomic: AMOUNT,
          num_orders: { type: 'integer', minimum: 0 },
        }),
        checksum: CHECKSUM,
      },
      ['checksum'],
    ),
  ),
  bbo: marketFrame(
    'bbo',
    'Best prices of one outcome after the frame with the same sequence.',
    object({
      outcome_index: OUTCOME_INDEX,
      best_bid: nullable(PRICE),
      best_ask: nullable(PRICE),
      best_bid_quantity_atomic: nullable(AMOUNT),
      best_ask_quantity_atomic: nullable(AMOUNT),
      spread: nullable(PRICE),
      midpoint: nullable(PRICE),
    }),
  ),
  book: marketFrame(
    'book',
    'Both outcomes in full depth. It stands for every frame up to its sequence.',
    object({ outcome_0: LEVELS, outcome_1: LEVELS, checksum: CHECKSUM }),
  ),
  fill: privateFrame(
    'fill',
    'One fill of an order of the account.',
    orderObject(
      {
        trade_id: UUID,
        market_id: UUID,
        filled_at: { ...FILL_TIME, description: `${FILL_TIME.description}; not in frames of before an upgrade` },
        role: { type: 'string', enum: ROLE_NAMES },
        party_side: SIDE,
        party_outcome_index: OUTCOME_INDEX,
        price: PRICE,
        token_quantity_atomic: AMOUNT,
        notional_usdc_micro: AMOUNT,
        fee_amount: AMOUNT,
        fee_asset: { type: 'string', enum: ['USDC', 'TOKEN'] },
        remaining: AMOUNT,
        status: STATUS,
      },
      ['filled_at'],
    ),
  ),
  order_status: privateFrame(
    'order_status',
    'An order of the account was placed, or is over: exactly one of these is its last.',
    orderObject({
      market_id: UUID,
      status: STATUS,
      remaining: AMOUNT,
      filled_amount: AMOUNT,
      reason: { type: 'string', enum: REASON_NAMES },
    }),
  ),
} as const satisfies Record<string, FrameSpec>;

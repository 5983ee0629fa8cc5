/** Requests that place, replace and cancel orders or read them, and their answers. */
import {
  MATCH_TYPE_NAMES,
  ORDER_STATUS_NAMES,
  type SELF_TRADE_NAMES,
  type SIDE_NAMES,
  TIME_IN_FORCE_NAMES,
} from '../base/codes.ts';
import { MAX_SAFE } from '../base/int.ts';
import { ORDER_FIELD_LIST, type OrderField, type OrderFieldForm, type PLACEMENT_FIELDS } from '../base/orderFields.ts';
import {
  ADDRESS,
  AMOUNT,
  ANY_MEMBERS,
  CLIENT_ORDER_ID,
  COUNT,
  FLAG,
  GROUP_NAME,
  HASH,
  MARKET_SEQUENCE,
  MESSAGE_TEXT,
  OUTCOME_INDEX,
  PRICE,
  SIDE_FIELD,
  TIME,
  UINT256,
  UNITS,
  UUID,
} from './fields.ts';
import { arrayOf, described, type FromSchema, type JsonSchema, object, orNull, type QueryOf } from './schema.ts';

export type SideName = (typeof SIDE_NAMES)[number];
export type TimeInForceName = (typeof TIME_IN_FORCE_NAMES)[number];
export type OrderStatusName = (typeof ORDER_STATUS_NAMES)[number];
export type MatchTypeName = (typeof MATCH_TYPE_NAMES)[number];
export type SelfTradeName = (typeof SELF_TRADE_NAMES)[number];

/** The schema of each form of an order's fields. */
const BY_FORM = {
  market: UUID,
  token: UINT256,
  uint256: UINT256,
  address: ADDRESS,
  noAddress: { type: 'string', pattern: '^0x0{40}$' },
  signature: { type: 'string' },
  integer: { type: 'integer', minimum: 0 },
  integerOrText: {
    anyOf: [
      { type: 'integer', minimum: 0, maximum: MAX_SAFE },
      { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,15})$' },
    ],
  },
  amount: AMOUNT,
  amountOrNone: { type: 'string', pattern: '^(?:0|[1-9][0-9]{0,15})$' },
  outcome: OUTCOME_INDEX,
  name: { type: 'string' },
  flag: FLAG,
  clientId: CLIENT_ORDER_ID,
  group: GROUP_NAME,
} as const satisfies Readonly<Record<OrderFieldForm, JsonSchema>>;

type Fields = typeof PLACEMENT_FIELDS;
type OrderFieldName = keyof Fields;
type SchemaOf<F extends OrderField> = F extends { readonly names: infer N }
  ? { readonly type: 'string'; readonly enum: N }
  : (typeof BY_FORM)[F['form']];
type RequiredName = { [N in OrderFieldName]: Fields[N] extends { isOptional: true } ? never : N }[OrderFieldName];
type PlacementSchema = {
  readonly type: 'object';
  readonly additionalProperties: false;
  readonly required: readonly RequiredName[];
  readonly properties: { readonly [N in OrderFieldName]: SchemaOf<Fields[N]> };
};

type Shown = { readonly unit?: string; readonly note?: string; readonly example?: string | number };
/** The words of the document of the interface for each field. Programs of clients do not load them. */
const SHOWN: { readonly [N in OrderFieldName]: Shown } = {
  market_id: { note: 'The market to trade in.' },
  token_id: { note: 'yes_token_id or no_token_id of the market, by outcome_index.' },
  maker: { note: 'The wallet that pays: one of the account.' },
  signer: { note: 'The wallet that signs: the maker or a delegate of it.' },
  taker: { note: 'The zero address.', example: `0x${'0'.repeat(40)}` },
  salt: { note: 'Random: it makes the order unique.' },
  nonce: { note: 'As it is signed: the nonce floor of the maker or a higher number.', example: 0 },
  expiration: { unit: 'Unix seconds', note: 'Unix seconds; 0 is never. Required by GTD.', example: 0 },
  fee_rate_bps: { note: 'maker_fee_bps of the market: no other is accepted.', example: 50 },
  signature: { note: '65 bytes, r, s and v, over the EIP-712 hash of the order.', example: `0x${'1b'.repeat(65)}` },
  outcome_index: { note: '0 is Yes, 1 is No.' },
  post_only: { note: 'Refused rather than filled at once.' },
  min_taker_net: { note: 'The least that a FOK or FAK order receives after fees, in atomic units.', example: '0' },
  self_trade_prevention: { note: 'Which order is cancelled when it meets one of the same account.' },
  side: {},
  maker_amount: { note: 'What the order gives.' },
  taker_amount: { note: 'What the order gets for all of it.' },
  time_in_force: { note: 'GTC where it is left out.' },
  client_order_id: { note: 'A name of your own; not signed.' },
  order_group: { note: 'The group whose fills it counts against; not signed.' },
};

function schemaOf({ form, names, most }: OrderField, { unit, note, example }: Shown): JsonSchema {
  return {
    ...BY_FORM[form],
    ...(names === undefined ? {} : { enum: names }),
    ...(most === undefined ? {} : { maximum: most }),
    ...(unit === undefined ? {} : { 'x-unit': unit }),
    ...(note === undefined ? {} : { description: note }),
    ...(example === undefined ? {} : { examples: [example] }),
  };
}

function isRequired(entry: readonly [string, OrderField]): entry is [RequiredName, OrderField] {
  return entry[1].isOptional !== true;
}

const shown: Readonly<Record<string, Shown>> = SHOWN;

/** Follows from the table of an order's fields, in whose order the members are validated (ORDERFIELDS-1). */
export const PLACEMENT: PlacementSchema = {
  type: 'object',
  additionalProperties: false,
  required: ORDER_FIELD_LIST.filter(isRequired).map(([name]) => name),
  properties: Object.fromEntries(
    ORDER_FIELD_LIST.map(([name, field]) => [name, schemaOf(field, shown[name])]),
  ) as PlacementSchema['properties'],
};
export type PlacementBody = FromSchema<PlacementSchema>;

const EXPECTED = {
  expected_remaining: described(
    AMOUNT,
    'Refuses the request unless this is the `remaining` of the old order: nothing was filled since it was read.',
  ),
} as const;

export const CANCEL_REPLACE = {
  type: 'object',
  additionalProperties: false,
  required: ['cancel_hash', 'new_order'],
  properties: { cancel_hash: HASH, new_order: PLACEMENT, ...EXPECTED },
} as const;

/**
 * `maker_amount` and `taker_amount` are in the schema only so that they cause a specific error, AMEND_RESIGN_REQUIRED.
 */
export const AMEND = {
  type: 'object',
  additionalProperties: false,
  properties: {
    new_order: PLACEMENT,
    ...EXPECTED,
    maker_amount: { description: 'Always refused: a change of amounts needs a new signature.' },
    taker_amount: { description: 'Always refused: a change of amounts needs a new signature.' },
  },
} as const;

/** Rows are validated one by one, so that a bad row fails alone and the request is not refused. */
export const BATCH_PLACE = {
  type: 'object',
  additionalProperties: false,
  required: ['orders'],
  properties: { orders: { type: 'array' } },
} as const;
export const BATCH_PLACE_DOCUMENTED = {
  ...BATCH_PLACE,
  properties: { orders: { type: 'array', minItems: 1, maxItems: 15, items: PLACEMENT } },
} as const;

export const BATCH_CANCEL = {
  type: 'object',
  additionalProperties: false,
  required: ['order_hashes'],
  // An element that is not a hash is a failed row, so the schema of the body does not check its form.
  properties: { order_hashes: { type: 'array', items: {} } },
} as const;

export const BATCH_CANCEL_DOCUMENTED = {
  ...BATCH_CANCEL,
  properties: { order_hashes: { type: 'array', items: HASH, maxItems: 200 } },
} as const;

export const CANCEL_MARKET = {
  type: 'object',
  additionalProperties: false,
  required: ['market_id'],
  properties: { market_id: UUID, outcome_index: OUTCOME_INDEX },
} as const;

/** The body of requests whose path says everything. */
export const NO_BODY = { type: 'object', additionalProperties: false, properties: {} } as const;

export const TOMBSTONE_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    tombstone: {
      type: 'boolean',
      default: false,
      description: 'An order of this hash that arrives within 60 seconds is refused, if none has yet.',
    },
  },
} as const;

export const FILL = object({
  trade_id: UUID,
  price: PRICE,
  token_quantity_atomic: UNITS,
  notional_usdc_micro: UNITS,
  match_type: { type: 'string', enum: MATCH_TYPE_NAMES },
  maker_order_id: UUID,
});
export type Fill = FromSchema<typeof FILL>;

const SIGNED_PRICE = described(PRICE, 'As signed; of a FOK or FAK perhaps 1.00 and more.');
const ORDER_STATUS_FIELD = { type: 'string', enum: ORDER_STATUS_NAMES } as const;
export const TAGS = { client_order_id: CLIENT_ORDER_ID, order_group: GROUP_NAME } as const;
const PLACED_FIELDS = { order_id: UUID, order_hash: HASH, status: ORDER_STATUS_FIELD } as const;

/** `open` rests, `cancelled` was cancelled or killed at once, `none` means that the order is filled. */
const REMAINDER = {
  remaining: described(UNITS, 'Of the asset that the order gives, at the signed price.'),
  remaining_status: { type: 'string', enum: ['open', 'cancelled', 'none'] },
} as const;

const PLACED_ORDER = { ...PLACED_FIELDS, matches: COUNT, fills: arrayOf(FILL), ...REMAINDER } as const;
export const PLACEMENT_RESPONSE = object(PLACED_ORDER, TAGS);
export type PlacementResponse = FromSchema<typeof PLACEMENT_RESPONSE>;

export const REPLACED_ORDER = object({
  order_hash: HASH,
  remaining: described(UNITS, 'What was left of it when it was cancelled.'),
  filled_amount: described(UNITS, 'What had been filled of the asset that it gave, at the signed price.'),
  filled_token_quantity_atomic: UNITS,
});
export type ReplacedOrder = FromSchema<typeof REPLACED_ORDER>;
const REPLACED = { replaced_order: described(REPLACED_ORDER, 'The old order, as it ended.') } as const;

/** The records of the binary entry have no room for the replaced order. */
export const CANCEL_REPLACE_RESPONSE = object({ cancelled_order_hash: HASH, order: PLACEMENT_RESPONSE }, REPLACED);
export type CancelReplaceResponse = FromSchema<typeof CANCEL_REPLACE_RESPONSE>;

/** Amounts are the signed ones. */
export const AMEND_RESPONSE = object(
  {
    ...PLACED_ORDER,
    price: SIGNED_PRICE,
    maker_amount: UNITS,
    taker_amount: UNITS,
    time_priority: FLAG,
    price_changed: FLAG,
    ...REPLACED,
  },
  TAGS,
);
export type AmendResponse = FromSchema<typeof AMEND_RESPONSE>;

const FAILED_FIELDS = {
  status: { const: 'failed' },
  error: { type: 'string', examples: ['insufficient balance'] },
  code: { type: 'string', examples: ['INSUFFICIENT_BALANCE'] },
} as const;
const DETAILS = { details: described(ANY_MEMBERS, 'As in a refusal.') } as const;

const ROW_INDEX = { index: COUNT } as const;
/** Here `matches` are the fills themselves. */
export const PLACED_ROW = object({
  ...ROW_INDEX,
  status: { const: 'success' },
  order_hash: HASH,
  order_id: UUID,
  response: object({ ...PLACED_FIELDS, matches: arrayOf(FILL), ...REMAINDER }, TAGS),
});
export type PlacedRow = FromSchema<typeof PLACED_ROW>;
export const BATCH_PLACE_RESPONSE = object({
  results: arrayOf({ anyOf: [PLACED_ROW, object({ ...ROW_INDEX, ...FAILED_FIELDS }, DETAILS)] }),
  succeeded: COUNT,
  failed: COUNT,
  total: COUNT,
});
export type BatchPlaceResponse = FromSchema<typeof BATCH_PLACE_RESPONSE>;

const CANCELLED_HASH = { order_hash: HASH } as const;
/** Null if the element is not a hash: values that were not understood are neither returned nor kept. */
const FAILED_HASH = { order_hash: orNull(HASH) } as const;
export const BATCH_CANCEL_RESPONSE = object({
  results: arrayOf({
    anyOf: [
      object({ ...CANCELLED_HASH, status: { const: 'cancelled' } }),
      object({ ...FAILED_HASH, ...FAILED_FIELDS }, DETAILS),
    ],
  }),
  cancelled: COUNT,
  failed: COUNT,
  total: COUNT,
});
export type BatchCancelResponse = FromSchema<typeof BATCH_CANCEL_RESPONSE>;

export const MESSAGE = object({ message: MESSAGE_TEXT });
export type Message = FromSchema<typeof MESSAGE>;

/** The answer to a cancel that found no order: when the order arrives, it will be refused. */
export const TOMBSTONE_RESPONSE = object({ message: MESSAGE_TEXT, tombstone_until: TIME });
export type TombstoneResponse = FromSchema<typeof TOMBSTONE_RESPONSE>;

export const CANCEL_ALL_RESPONSE = object({ cancelled: COUNT, message: MESSAGE_TEXT });
export type CancelAllResponse = FromSchema<typeof CANCEL_ALL_RESPONSE>;

export const CANCEL_MARKET_RESPONSE = object({ message: MESSAGE_TEXT, market_id: UUID, cancelled: COUNT });
export type CancelMarketResponse = FromSchema<typeof CANCEL_MARKET_RESPONSE>;

export const HEARTBEAT_RESPONSE = object({
  status: { const: 'ok' },
  server_time: { type: 'integer', description: 'Unix seconds.', examples: [1_790_856_000] },
});
export type HeartbeatResponse = FromSchema<typeof HEARTBEAT_RESPONSE>;

/** Null if an order stands too deep in a long queue to be counted. */
export const QUEUE_POSITION = object({
  ahead_orders: orNull(COUNT),
  ahead_token_quantity_atomic: orNull(UNITS),
  level_token_quantity_atomic: UNITS,
  sequence: MARKET_SEQUENCE,
});
export type QueuePosition = FromSchema<typeof QUEUE_POSITION>;

const WINDOW_SECONDS = { type: 'integer', minimum: 1, maximum: 3600, examples: [10] } as const;
export const ORDER_GROUP_SETTINGS = {
  type: 'object',
  additionalProperties: false,
  required: ['window_seconds', 'max_token_quantity_atomic'],
  properties: { window_seconds: WINDOW_SECONDS, max_token_quantity_atomic: AMOUNT },
} as const;
export type OrderGroupSettings = FromSchema<typeof ORDER_GROUP_SETTINGS>;

export const ORDER_GROUP = object({
  name: GROUP_NAME,
  window_seconds: WINDOW_SECONDS,
  max_token_quantity_atomic: AMOUNT,
  filled_token_quantity_atomic: described(UNITS, 'In the shard where it is closest to the maximum.'),
  triggered: FLAG,
});
export type OrderGroup = FromSchema<typeof ORDER_GROUP>;
export const ORDER_GROUPS = object({ order_groups: arrayOf(ORDER_GROUP) });
export type OrderGroups = FromSchema<typeof ORDER_GROUPS>;

export const ORDER_FIELDS = {
  id: UUID,
  order_hash: HASH,
  market_id: UUID,
  side: SIDE_FIELD,
  price: SIGNED_PRICE,
  status: ORDER_STATUS_FIELD,
  remaining: described(UNITS, 'Of the asset that the order gives, at the signed price.'),
  filled_amount: described(UNITS, 'What is done of the asset that the order gives, at the signed price.'),
  time_in_force: { type: 'string', enum: TIME_IN_FORCE_NAMES },
  post_only: FLAG,
  created_at: TIME,
  filled_token_quantity_atomic: UNITS,
  average_fill_price: described(orNull(PRICE), 'What was really paid or received for a token, before fees.'),
  sequence: described(MARKET_SEQUENCE, 'The order of arrival in its market.'),
  outcome_index: described(OUTCOME_INDEX, 'The outcome whose tokens are bought or sold.'),
} as const;

export const ORDER_RECORD = object(ORDER_FIELDS, TAGS);
export type OrderRecord = FromSchema<typeof ORDER_RECORD>;
export const OPEN_ORDERS = arrayOf(ORDER_RECORD);
export type OpenOrders = FromSchema<typeof OPEN_ORDERS>;

export const OPEN_ORDERS_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: described(
      { type: 'integer', minimum: 1, maximum: 1000 },
      'Without it all of them; a page with fewer rows is the last.',
    ),
    cursor: described(
      { type: 'integer', minimum: 0, maximum: MAX_SAFE },
      'The `sequence` of the last order of the page before.',
    ),
  },
} as const;
export type OpenOrdersQuery = QueryOf<typeof OPEN_ORDERS_QUERY>;

/** Schemas of cashing in and out (RULES.md 16). Amounts are decimal texts with their currency. */
import { TYPE_FIELD } from './chainFunds.ts';
import {
  ADDRESS,
  ANY_MEMBERS,
  CHAIN_ID,
  COUNT,
  FLAG,
  HASH,
  LINE,
  MESSAGE_TEXT,
  OFFSET,
  TEXT,
  TIME,
  UUID,
} from './fields.ts';
import { arrayOf, described, type FromSchema, inUnit, object, orNull } from './schema.ts';

const FIAT_KINDS = ['onramp', 'offramp'] as const;
export type FiatKind = (typeof FIAT_KINDS)[number];

/** In the order in which a session may pass them; the last four are final. */
export const FIAT_STATUSES = [
  'initiated',
  'awaiting_quote',
  'created',
  'processing',
  'completed',
  'failed',
  'expired',
  'cancelled',
] as const;
export type FiatStatus = (typeof FIAT_STATUSES)[number];

export const TRANSFER_STATES = [
  'awaiting_provider',
  'waiting_for_wallet',
  'submission_pending',
  'submitted_on_chain',
  'provider_funding_reconciling',
  'confirmed',
  'provider_processing',
  'complete',
  'expired',
  'recoverable_error',
] as const;
export type TransferState = (typeof TRANSFER_STATES)[number];

export const KIND = { type: 'string', enum: FIAT_KINDS } as const;
export const STATUS = { type: 'string', enum: FIAT_STATUSES } as const;
export const TRANSFER_STATE = { type: 'string', enum: TRANSFER_STATES } as const;
export const NAME = { type: 'string', pattern: '^[a-z0-9]{1,30}$', examples: ['sandbox'] } as const;
const DECIMAL = { type: 'string', pattern: '^[0-9]{1,9}(?:\\.[0-9]{1,6})?$', examples: ['25.5'] } as const;
const CURRENCY = { type: 'string', pattern: '^[A-Z]{3,5}$', examples: ['USD'] } as const;
const METHOD = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,40}$', examples: ['CARD'] } as const;
const REDIRECT_PATH = {
  type: 'string',
  pattern: '^/(?![/\\\\])[!-\\[\\]-~]{0,200}$',
  default: '/cash',
  examples: ['/cash'],
  description: 'A path of the page: where the provider sends the browser back.',
} as const;
const BYTES = { type: 'string', pattern: '^0x(?:[0-9a-fA-F]{2})*$', examples: ['0x12ab'] } as const;
const LAUNCH_URL = { type: 'string', examples: ['https://pay.example/?token=once'] } as const;

/** Currencies of the amounts, by direction: a person gives the amount. */
const GIVEN = { onramp: 'fiat_currency', offramp: 'USDC' } as const;
const NEW_AMOUNT = { ...DECIMAL, pattern: '^(?=.*[1-9])[0-9]{1,9}(?:\\.[0-9]{1,6})?$' } as const;
const NEW_SESSION = {
  provider: NAME,
  fiat_currency: { ...CURRENCY, default: 'USD' },
  wallet_address: ADDRESS,
  redirect_path: REDIRECT_PATH,
} as const;

export const NEW_ONRAMP = {
  type: 'object',
  properties: { ...NEW_SESSION, amount: inUnit(NEW_AMOUNT, GIVEN.onramp), payment_method: METHOD },
  additionalProperties: false,
} as const;

export const NEW_OFFRAMP = {
  type: 'object',
  properties: { ...NEW_SESSION, amount: inUnit(NEW_AMOUNT, GIVEN.offramp), cashout_method: METHOD },
  additionalProperties: false,
} as const;

export const COMPLETE_BODY = {
  type: 'object',
  properties: {
    provider_transaction_id: { type: 'string', minLength: 1, maxLength: 200, ...LINE, examples: ['tx-1'] },
  },
  additionalProperties: false,
} as const;

export const INTENT_BODY = {
  type: 'object',
  required: ['intent_id'],
  properties: { intent_id: UUID },
  additionalProperties: false,
} as const;

export const AUTHORIZATION_BODY = {
  type: 'object',
  required: ['intent_id', 'signature'],
  properties: {
    intent_id: UUID,
    // A wallet that is a contract may sign with any number of bytes.
    signature: { ...BYTES, minLength: 4, maxLength: 8194 },
  },
  additionalProperties: false,
} as const;

export const SESSIONS_QUERY = {
  type: 'object',
  properties: {
    kind: described(KIND, 'Only those in this direction.'),
    status: described(STATUS, 'Only those that stand so.'),
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    offset: OFFSET,
  },
} as const;

export const MONEY = object({ value: DECIMAL, currency: CURRENCY });

const SESSION_FIELDS = {
  id: UUID,
  kind: KIND,
  provider: NAME,
  status: STATUS,
  wallet_address: ADDRESS,
  asset: { type: 'string', examples: ['usdc'] },
  network: { type: 'string', examples: ['polygon'] },
  fiat_currency: CURRENCY,
  requested_amount: inUnit(orNull(DECIMAL), `${GIVEN.onramp} of an onramp, ${GIVEN.offramp} of an offramp`),
  sell_amount: described(orNull(MONEY), 'Of an off-ramp, once the provider has fixed it.'),
  buy_amount: described(orNull(MONEY), 'Of an on-ramp, once the provider has fixed it.'),
  provider_transaction_id: orNull({ type: 'string', examples: ['tx-1'] }),
  to_address: orNull(ADDRESS),
  tx_hash: orNull(HASH),
  failure_code: orNull({ type: 'string', examples: ['provider_failed'] }),
  created_at: TIME,
  updated_at: TIME,
  expires_at: TIME,
} as const;

export const FIAT_SESSION = object(SESSION_FIELDS);
export const CREATED_FIAT_SESSION = object({ ...SESSION_FIELDS, session_id: UUID, launch_url: LAUNCH_URL });
export const FIAT_SESSIONS = object({
  sessions: arrayOf(FIAT_SESSION),
  total: COUNT,
  limit: COUNT,
  offset: COUNT,
});
export const LAUNCH_TOKEN = object({ session_id: UUID, status: STATUS, launch_url: LAUNCH_URL });

export const AUTHORIZATION = object({ nonce: HASH, digest: HASH, signature: orNull(BYTES) });
const INTEGER_TEXT = { type: 'string', pattern: '^[0-9]{1,16}$', examples: ['25000000'] } as const;
export const TX_EVIDENCE = object({
  submitted_tx_hash: described(orNull(HASH), 'The transaction that the exchange has sent last.'),
  effective_tx_hash: described(orNull(HASH), 'The transaction that has moved the USDC.'),
  reported_tx_hash: described(orNull(HASH), 'Another transaction that the provider names.'),
  confirmations: COUNT,
  required_confirmations: COUNT,
});
export const SIGNING_DOMAIN = object({ name: TEXT, version: TEXT, chainId: CHAIN_ID, verifyingContract: ADDRESS });
export const TYPED_DATA = object({
  domain: SIGNING_DOMAIN,
  types: object({ TransferWithAuthorization: arrayOf(TYPE_FIELD), EIP712Domain: arrayOf(TYPE_FIELD) }),
  primaryType: { type: 'string', examples: ['TransferWithAuthorization'] },
  message: object({
    from: ADDRESS,
    to: ADDRESS,
    value: INTEGER_TEXT,
    validAfter: INTEGER_TEXT,
    validBefore: INTEGER_TEXT,
    nonce: HASH,
  }),
});

export const FIAT_TRANSFER = object({
  session_id: UUID,
  intent_id: orNull(UUID),
  transfer_state: TRANSFER_STATE,
  can_submit: FLAG,
  message: MESSAGE_TEXT,
  authorization: orNull(AUTHORIZATION),
  tx_evidence: TX_EVIDENCE,
  typed_data: described(orNull(TYPED_DATA), 'What the wallet signs (eth_signTypedData_v4).'),
});

/** Until the provider has fixed amount and destination, there is only a message. */
export const FIAT_TRANSACTION = object(
  { session_id: UUID, status: STATUS },
  {
    message: MESSAGE_TEXT,
    to_address: ADDRESS,
    asset: { type: 'string', examples: ['usdc'] },
    network: { type: 'string', examples: ['polygon'] },
    sell_amount: MONEY,
    tx_hash: orNull(HASH),
    created_at: TIME,
    transfer: object({
      intent_id: UUID,
      transfer_state: TRANSFER_STATE,
      can_submit: FLAG,
      authorization: object({ nonce: HASH, digest: HASH }),
    }),
  },
);

export const WEBHOOK_TAKEN = object({ message: MESSAGE_TEXT });

/** The ledger rail (RULES.md 16.40). */
export const RAIL = object({
  rail: described({ type: 'string', enum: ['ledger', 'evm'], examples: ['ledger'] }, 'The books, or a chain.'),
  domain: described(SIGNING_DOMAIN, 'Transfers are signed for it (EIP-712).'),
  provider_addresses: described(arrayOf(ADDRESS), 'On the ledger rail one end of every transfer is one of them.'),
  block: COUNT,
  finalized_block: COUNT,
  finalized_sec: inUnit(COUNT, 'Unix seconds'),
  required_confirmations: COUNT,
});

const RAIL_VALUE = {
  type: 'string',
  pattern: '^[1-9][0-9]{0,15}$',
  examples: ['25000000'],
  description: 'Micro-USDC.',
} as const;
const RAIL_AUTHORIZATION = {
  from: ADDRESS,
  to: ADDRESS,
  value: RAIL_VALUE,
  valid_after: { type: 'integer', minimum: 0, maximum: 9_007_199_254_740_991, examples: [0] },
  valid_before: { type: 'integer', minimum: 0, maximum: 9_007_199_254_740_991, examples: [1_790_000_000] },
  nonce: HASH,
} as const;

export const NEW_RAIL_TRANSFER = {
  type: 'object',
  required: [...Object.keys(RAIL_AUTHORIZATION), 'signature'],
  properties: { ...RAIL_AUTHORIZATION, signature: BYTES },
  additionalProperties: false,
} as unknown as {
  readonly type: 'object';
  readonly required: readonly (keyof typeof RAIL_AUTHORIZATION | 'signature')[];
  readonly properties: typeof RAIL_AUTHORIZATION & { readonly signature: typeof BYTES };
  readonly additionalProperties: false;
};

export const NEW_RAIL_CANCELLATION = {
  type: 'object',
  required: ['authorizer', 'nonce', 'signature'],
  properties: {
    authorizer: ADDRESS,
    nonce: HASH,
    signature: BYTES,
    valid_before: {
      type: 'integer',
      minimum: 1,
      maximum: 9_007_199_254_740_991,
      description: 'Of the authorization, in Unix seconds: the cancellation is kept so long; for ever without it.',
      examples: [1_790_000_600],
    },
  },
  additionalProperties: false,
} as const;

export const RAIL_SENT = object({ tx_hash: HASH });
export const RAIL_ARRIVALS = object({
  transfers: arrayOf(
    object({ tx_hash: HASH, from: ADDRESS, to: ADDRESS, value: RAIL_VALUE, nonce: HASH, block: COUNT }),
  ),
  cursor: { type: 'string', examples: ['1790000000000-0x12'] },
});
export const RAIL_ARRIVALS_QUERY = {
  type: 'object',
  properties: {
    after: {
      type: 'string',
      pattern: '^(?:[0-9]{1,15}-0x[0-9a-f]{64})?$',
      default: '',
      description: 'The `cursor` of the answer before.',
      examples: [''],
    },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  },
} as const;
export const RAIL_AUTHORIZATION_STATE = object({
  state: { type: 'string', enum: ['unused', 'used', 'cancelled'] },
  tx_hash: orNull(HASH),
  block: orNull(COUNT),
});

/** Shown to operators only. */
export const TRANSITION = object({
  subject: { type: 'string', enum: ['status', 'transfer'] },
  from: orNull(TEXT),
  to: TEXT,
  cause: { type: 'string', examples: ['provider_locked'] },
  evidence: orNull(described(ANY_MEMBERS, 'Whatever the step was decided by.')),
  at: TIME,
});
const ADMIN_FIELDS = {
  user_id: UUID,
  partner_reference: { type: 'string', examples: ['0123456789abcdef0123456789abcdef'] },
  provider_status: { type: 'string', examples: ['started'] },
  alarm: described(orNull(TEXT), 'Why someone has to look.'),
  transfer_state: orNull(TRANSFER_STATE),
} as const;
export const OPERATED_SESSION = object({ ...SESSION_FIELDS, ...ADMIN_FIELDS });
export const ADMIN_FIAT_SESSION = object({
  session: OPERATED_SESSION,
  transfer: orNull(FIAT_TRANSFER),
  envelopes: arrayOf(
    object({
      account_nonce: COUNT,
      fee: COUNT,
      tx_hash: HASH,
      state: { type: 'string', enum: ['built', 'accepted', 'dead'] },
      created_at: TIME,
    }),
  ),
  claimed_tx_hashes: arrayOf(HASH),
  transitions: arrayOf(TRANSITION),
  events: arrayOf(object({ event_id: TEXT, received_at: TIME, processed_at: orNull(TIME) })),
});
export const ADMIN_FIAT_SESSIONS = object({
  queues: object({
    open: COUNT,
    alarmed: COUNT,
    by_state: {
      type: 'object',
      additionalProperties: COUNT,
      description: 'Open sessions by transfer state, or by status of an on-ramp.',
    },
    waiting_events: COUNT,
    polls_under_way: COUNT,
    relay: { type: 'string', enum: ['idle', 'busy', 'waiting'] },
  }),
  sessions: arrayOf(OPERATED_SESSION),
});
export const ADMIN_FIAT_QUERY = {
  type: 'object',
  properties: {
    alarmed: { type: 'boolean', default: false, description: 'Only those that someone has to look at.' },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    offset: OFFSET,
  },
  additionalProperties: false,
} as const;

export type FiatSessionRecord = FromSchema<typeof FIAT_SESSION>;
export type CreatedFiatSession = FromSchema<typeof CREATED_FIAT_SESSION>;
export type FiatSessionPage = FromSchema<typeof FIAT_SESSIONS>;
export type LaunchToken = FromSchema<typeof LAUNCH_TOKEN>;
export type FiatTransfer = FromSchema<typeof FIAT_TRANSFER>;
export type FiatTransaction = FromSchema<typeof FIAT_TRANSACTION>;
/** Sessions as operators see them. */
export type OperatedFiatSession = FromSchema<typeof ADMIN_FIAT_SESSION>;
export type OperatedFiatSessions = FromSchema<typeof ADMIN_FIAT_SESSIONS>;

/** Schemas of signing in, and of the sessions of an account (RULES.md 15). */
import { PROFILE } from './accounts.ts';
import { ADDRESS, COUNT, FLAG, MESSAGE_TEXT, TIME, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

const TOKEN = { type: 'string', examples: ['eyJhbGciOiJFUzI1NiJ9.eyJzaWQiOiIwIn0.c2lnbmF0dXJl'] } as const;
const REFRESH_TOKEN = { type: 'string', maxLength: 200, examples: ['AZCgsMDQcACAAAAAAAAArwAAAAA'] } as const;
const TOKEN_DELIVERY = {
  type: 'string',
  enum: ['cookie', 'body'],
  description: 'Where the refresh token goes; `body` is for programs.',
} as const;
const REFERRAL_CODE = { type: 'string', maxLength: 200, examples: ['H7K2M9QX'] } as const;

/** The members of every sign-in, apart from its proof. */
const WISHES = { referral_code: REFERRAL_CODE, token_delivery: TOKEN_DELIVERY } as const;

export const WALLET_SIGNATURE = {
  type: 'string',
  pattern: '^0x[0-9a-fA-F]{130}$',
  examples: [`0x${'5f'.repeat(64)}1b`],
} as const;
export const WALLET_MESSAGE_QUERY = {
  type: 'object',
  required: ['address'],
  properties: { address: described(ADDRESS, 'The wallet that signs the message.') },
} as const;
export const WALLET_MESSAGE = object({
  nonce: { type: 'string', examples: ['6ab3f2d0c4e1907755d2a9b8c7e6f504'] },
  message: described({ type: 'string', examples: ['127.0.0.1:8080 wants you to sign in …'] }, 'EIP-4361.'),
  expires_at: TIME,
});
export const SIGNED_MESSAGE = {
  type: 'object',
  additionalProperties: false,
  required: ['message', 'signature'],
  properties: {
    message: { type: 'string', maxLength: 2000, examples: ['127.0.0.1:8080 wants you to sign in …'] },
    signature: WALLET_SIGNATURE,
  },
} as const;
/** A wallet that is a contract may sign with any number of bytes. */
export const LINK_MESSAGE = {
  ...SIGNED_MESSAGE,
  properties: {
    ...SIGNED_MESSAGE.properties,
    signature: { ...SIGNED_MESSAGE.properties.signature, pattern: '^0x(?:[0-9a-fA-F]{2})+$', maxLength: 8194 },
  },
} as const;
export const WALLET_SIGN_IN = {
  ...SIGNED_MESSAGE,
  properties: { ...SIGNED_MESSAGE.properties, ...WISHES },
} as const;

export const PRIVY_SIGN_IN = {
  type: 'object',
  additionalProperties: false,
  required: ['access_token'],
  properties: {
    access_token: { ...TOKEN, maxLength: 8192 },
    identity_token: { ...TOKEN, maxLength: 32_768, description: 'Has the e-mail address of the person.' },
    ...WISHES,
  },
} as const;

const PROVIDER_NAME = { type: 'string', pattern: '^[a-z0-9]{1,30}$', examples: ['google'] } as const;
export const OAUTH_PARAMS = { provider: PROVIDER_NAME } as const;
export const OAUTH_QUERY = {
  type: 'object',
  properties: {
    redirect_path: {
      type: 'string',
      maxLength: 512,
      description: 'Where the page goes on once the session is open: a path of the exchange.',
      examples: ['/portfolio'],
    },
    referral_code: described(REFERRAL_CODE, 'Of the account that has brought this one.'),
  },
} as const;
/** The header Location says where the browser goes. */
export const OAUTH_REDIRECT = object({});
export const OAUTH_CALLBACK = {
  type: 'object',
  additionalProperties: false,
  required: ['provider', 'code', 'state'],
  properties: {
    provider: PROVIDER_NAME,
    code: { type: 'string', minLength: 1, maxLength: 4096, examples: ['SplxlOBeZQQYbYS6WxSbIA'] },
    state: { type: 'string', maxLength: 200, examples: ['af0ifjsldkj'] },
    iss: { type: 'string', maxLength: 2048, examples: ['https://accounts.example.com'] },
    token_delivery: TOKEN_DELIVERY,
  },
} as const;

export const SESSION = object(
  {
    access_token: TOKEN,
    token_type: { const: 'Bearer' },
    expires_in: described(COUNT, 'Seconds.'),
    user: PROFILE,
    is_new: described(FLAG, 'The account was made by this sign-in.'),
  },
  {
    refresh_token: REFRESH_TOKEN,
    redirect_path: described({ type: 'string', examples: ['/portfolio'] }, 'Only from /v1/auth/callback.'),
  },
);

export const REFRESH_BODY = {
  type: 'object',
  additionalProperties: false,
  properties: { refresh_token: REFRESH_TOKEN },
} as const;

export const SESSION_MESSAGE = object({ message: MESSAGE_TEXT });
export const REVOKED_SESSIONS = object({ message: MESSAGE_TEXT, revoked: COUNT });

const SESSION_FIELDS = {
  id: UUID,
  method: { type: 'string', examples: ['wallet'] },
  user_agent: orNull({ type: 'string', examples: ['Mozilla/5.0'] }),
  created_at: TIME,
  authenticated_at: described(TIME, 'When the person last proved to be the one.'),
  refreshed_at: TIME,
  expires_at: described(TIME, 'Without a further refresh.'),
} as const;
export const OWN_SESSIONS = object({ sessions: arrayOf(object({ ...SESSION_FIELDS, is_current: FLAG })) });
export const ADMIN_SESSIONS = object({ sessions: arrayOf(object(SESSION_FIELDS)) });
export type AdminSessions = FromSchema<typeof ADMIN_SESSIONS>;
export type RevokedSessions = FromSchema<typeof REVOKED_SESSIONS>;
export type OwnSessions = FromSchema<typeof OWN_SESSIONS>;
export type SessionAnswer = FromSchema<typeof SESSION>;
export type SessionMessage = FromSchema<typeof SESSION_MESSAGE>;
export type WalletMessage = FromSchema<typeof WALLET_MESSAGE>;

export const TICKET_QUERY = {
  type: 'object',
  properties: {
    ticket: { type: 'string', maxLength: 100, description: 'Of POST /v1/auth/ws-ticket; used once.' },
  },
} as const;
export const TICKET = object({
  ticket: { type: 'string', examples: ['y0cG2sS2n6V2kq5nH1iO5d9o4tq0z8bF3rT7uW6xY1A'] },
  expires_in: described(COUNT, 'Seconds.'),
});

export const JWKS = object({
  keys: arrayOf(
    object({
      kty: { const: 'EC' },
      crv: { const: 'P-256' },
      x: { type: 'string', examples: ['MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4'] },
      y: { type: 'string', examples: ['4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM'] },
      kid: { type: 'string', examples: ['2026-10-01-1'] },
      alg: { const: 'ES256' },
      use: { const: 'sig' },
    }),
  ),
});

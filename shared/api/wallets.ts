/** Schemas of an account's wallets, as the account's person changes them (RULES.md 15.40 to 15.45). */
import { MAX_SAFE } from '../base/int.ts';
import { ADDRESS, COUNT, FLAG, TIME } from './fields.ts';
import { arrayOf, described, type FromSchema, object } from './schema.ts';
import { SIGNED_MESSAGE } from './sessions.ts';

export const DELEGATE_MESSAGE_QUERY = {
  type: 'object',
  required: ['signer'],
  properties: {
    signer: described(ADDRESS, 'The delegate.'),
    act: { type: 'string', enum: ['add', 'remove'], default: 'add', description: 'The message says which.' },
  },
} as const;

export const DELEGATE_BODY = {
  ...SIGNED_MESSAGE,
  required: ['signer', ...SIGNED_MESSAGE.required],
  properties: { signer: ADDRESS, ...SIGNED_MESSAGE.properties },
} as const;

export const WALLET_DELEGATES = object({
  address: ADDRESS,
  delegates: described(arrayOf(ADDRESS), 'Who else may sign orders that the wallet pays for.'),
});

const FLOOR = {
  type: 'integer',
  minimum: 0,
  maximum: MAX_SAFE,
  description: 'Orders of the wallet that are signed with a lower nonce are refused.',
  examples: [1],
} as const;
export const NONCE_FLOOR = object({ address: ADDRESS, nonce_floor: FLOOR });
export const NONCE_FLOOR_BODY = {
  type: 'object',
  required: ['nonce_floor'],
  properties: { nonce_floor: { ...FLOOR, description: 'At most 4294967296 above the floor of now.' } },
  additionalProperties: false,
} as const;
export const RAISED_NONCE_FLOOR = object({
  address: ADDRESS,
  nonce_floor: FLOOR,
  orders_cancelled: COUNT,
  is_complete: described(FLAG, 'False while a shard is away: it gets the floor before any other request.'),
});

export const STEP_UP = object({ authenticated_at: TIME });
export type WalletDelegates = FromSchema<typeof WALLET_DELEGATES>;
export type NonceFloor = FromSchema<typeof NONCE_FLOOR>;
export type RaisedNonceFloor = FromSchema<typeof RAISED_NONCE_FLOOR>;
export type StepUp = FromSchema<typeof STEP_UP>;

/** Schemas of the wallets of an account, as their person changes them (RULES.md 15.40 to 15.45). */
import { ADDRESS, TIME } from './fields.ts';
import { arrayOf, described, type FromSchema, object } from './schema.ts';
import { SIGNED_MESSAGE } from './sessions.ts';

export const DELEGATE_MESSAGE_QUERY = {
  type: 'object',
  required: ['signer'],
  properties: {
    signer: ADDRESS,
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

export const STEP_UP = object({ authenticated_at: TIME });
export type WalletDelegates = FromSchema<typeof WALLET_DELEGATES>;
export type StepUp = FromSchema<typeof STEP_UP>;

/** Schemas of deposits and withdrawals that a wallet makes itself, with a chain. */
import { NEW_MOVEMENT } from './accounts.ts';
import { ADDRESS, COUNT, HASH, UINT256 } from './fields.ts';
import { arrayOf, described, type FromSchema, inUnit, object } from './schema.ts';

const HEX = { type: 'string', pattern: '^0x(?:[0-9a-f]{2})*$', examples: ['0x5a'] } as const;
const TEXT_FIELD = { type: 'string', examples: ['USD Coin'] } as const;
export const TYPE_FIELD = object({ name: TEXT_FIELD, type: TEXT_FIELD });

export const NEW_DEPOSIT = {
  type: 'object',
  additionalProperties: false,
  required: ['amount_usdc_micro'],
  properties: { amount_usdc_micro: NEW_MOVEMENT.properties.amount_usdc_micro },
} as const;

export const DEPOSIT_AUTHORIZATION = object({
  permit: object({ account: ADDRESS, amount: inUnit(UINT256, 'micro-USDC'), nonce: HASH, deadline: COUNT }),
  permit_signature: HEX,
  typed_data: described(
    object({
      domain: object({ name: TEXT_FIELD, version: TEXT_FIELD, chainId: COUNT, verifyingContract: ADDRESS }),
      types: object({ ReceiveWithAuthorization: arrayOf(TYPE_FIELD) }),
      primaryType: { const: 'ReceiveWithAuthorization' },
      message: object({
        from: ADDRESS,
        to: ADDRESS,
        value: UINT256,
        validAfter: UINT256,
        validBefore: UINT256,
        nonce: HASH,
      }),
    }),
    'The wallet signs this (EIP-712).',
  ),
  transaction: described(
    object({ to: ADDRESS, chain_id: COUNT, data_before_signature: HEX, data_after_signature: TEXT_FIELD }),
    'Its data is data_before_signature, the 65 bytes of the signature and data_after_signature. Anybody may send it.',
  ),
});
export type DepositAuthorization = FromSchema<typeof DEPOSIT_AUTHORIZATION>;

export const NEW_WITHDRAWAL = {
  ...NEW_MOVEMENT,
  properties: {
    ...NEW_MOVEMENT.properties,
    to: described({ type: 'string', enum: ['wallet', 'unheld'] } as const, 'Absent: the wallet.'),
  },
} as const;
export type NewWithdrawal = FromSchema<typeof NEW_WITHDRAWAL>;

/** Schemas of money between the ledger and a chain, for administrators (RULES.md 17.27, 17.28). */
import { ADDRESS, SIGNED_UNITS, TEXT, TIME, UNITS, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, inUnit, object, orNull, type QueryOf } from './schema.ts';

/** A movement or a balance is of one asset: USDC or outcome tokens. */
const OF_ASSET = 'micro-USDC or atomic tokens, of the asset meant';

export const DIFFERENCE = object({
  holder: { type: 'string', enum: ['user', 'fees', 'all'], examples: ['user'] },
  user_id: described(orNull(UUID), 'Of a user.'),
  market_id: described(orNull(UUID), 'Of tokens; null: USDC.'),
  outcome: orNull({ type: 'string', enum: ['yes', 'no'], examples: ['yes'] }),
  ledger_atomic: inUnit(SIGNED_UNITS, OF_ASSET),
  under_way_atomic: inUnit(described(SIGNED_UNITS, 'To be added to what the ledger has.'), OF_ASSET),
  chain_atomic: inUnit(SIGNED_UNITS, OF_ASSET),
});

/** Present only with a chain. */
export const COMPARED_CHAIN = object({
  block: described(
    orNull({ type: 'integer', examples: [66_000_000] }),
    'The last one at which balances were compared.',
  ),
  differences: described(orNull(arrayOf(DIFFERENCE)), 'Null: settlement does not answer.'),
});
export type ChainDifference = FromSchema<typeof DIFFERENCE>;

export const WAITING_MONEY_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    offset: described({ type: 'integer', minimum: 0, maximum: 10_000, default: 0 }, 'So many rows are left out.'),
  },
} as const;
export type WaitingMoneyQuery = QueryOf<typeof WAITING_MONEY_QUERY>;

export const WAITING = object({
  kind: { type: 'string', enum: ['deposit', 'sets', 'exit', 'paid', 'taken', 'payment'], examples: ['deposit'] },
  wallet: ADDRESS,
  amount_atomic: inUnit(UNITS, OF_ASSET),
  reference: described(
    { ...TEXT, examples: ['chain:0x5f…:3'] },
    'The transaction and the number of its log; of a payment `record:<shard>:<sequence>` of the ledger.',
  ),
  reason: described(
    orNull({ ...TEXT, examples: ['unknown_wallet'] }),
    'Null: it is on its way into the ledger. Of a payment: why the chain refuses it.',
  ),
  found_at: TIME,
});
export const WAITING_MONEY = object({
  movements: described(arrayOf(WAITING), 'The oldest first; payments that the chain refuses come last.'),
  total: { type: 'integer', examples: [1] },
});
export type WaitingMoney = FromSchema<typeof WAITING_MONEY>;

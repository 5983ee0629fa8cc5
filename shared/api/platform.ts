/** The platform itself: probes, its clock, the contracts for which clients sign, and the administrator's switches. */
import { ADDRESS, ANY_MEMBERS, CHAIN_ID, COUNT, FLAG, PRICE, TIME, UNITS } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';
import { PLATFORM_STAGE_FIELDS, STAGE_FIELD } from './stages.ts';

/** Refusals of placing that clients can practise, in the order in which they are answered. */
export const DRILLS = ['NOT_MATCHING_LEADER', 'SETTLEMENT_UNHEALTHY'] as const;
export type DrillName = (typeof DRILLS)[number];

/**
 * Only for a member of a cluster; `stale_ms` only for a standby, or for a leader that the log does not answer (RULES.md
 * 18.4, 18.14).
 */
const ROLE_FIELDS = {
  role: { type: 'string', enum: ['leader', 'standby'] },
  stale_ms: described(COUNT, 'It shows at least what the log held so many milliseconds before.'),
} as const;
export type RoleFields = { role?: 'leader' | 'standby'; stale_ms?: number };
/** `draining`: the port is about to close, and a balancer must send nothing more there. */
export const HEALTH = object({ status: { type: 'string', enum: ['ok', 'draining'] } }, ROLE_FIELDS);
export type Health = FromSchema<typeof HEALTH>;
/**
 * The connection to the chain. An exchange without a chain keeps the funds itself, and is always connected to its own
 * ledger.
 */
export const CHAIN_HEALTH = object(
  { status: { type: 'string', enum: ['connected', 'disconnected'] } },
  { mode: { const: 'ledger' } },
);
export type ChainHealth = FromSchema<typeof CHAIN_HEALTH>;
export const READINESS_QUERY = object(
  {},
  { role: described({ type: 'string', enum: ['leader'] } as const, 'Only a leader is ready then: for writes.') },
);
export const READINESS = object(
  { status: { type: 'string', enum: ['starting', 'standby', 'ready', 'degraded', 'draining'] } },
  { reason: { type: 'string', examples: ['shard 1 is recovering'] }, ...ROLE_FIELDS },
);
/**
 * `starting` until recovery is done, `standby` for a member that follows, `draining` from the signal to stop,
 * `degraded` while a shard is away or a cluster's log cannot be used.
 */
export type Readiness = FromSchema<typeof READINESS>;

export const SERVER_TIME = object({
  time: { type: 'integer', description: 'Unix seconds.', examples: [1_790_856_000] },
});
export type ServerTime = FromSchema<typeof SERVER_TIME>;

const CONTRACT_FIELDS = {
  chain_id: CHAIN_ID,
  exchange_address: ADDRESS,
  market_factory_address: ADDRESS,
  usdc_address: ADDRESS,
  ctf_address: ADDRESS,
  fee_sweeper_address: ADDRESS,
} as const;
export const PLATFORM_CONTRACTS = object(CONTRACT_FIELDS);
export type PlatformContracts = FromSchema<typeof PLATFORM_CONTRACTS>;

/** Only with a chain: the fee of a withdrawal, split or merge, its least amount, and how many are allowed. */
const MOVEMENT_FIELDS = {
  movement_fee_usdc_micro: UNITS,
  least_movement_usdc_micro: UNITS,
  most_movements_a_day: COUNT,
} as const;
const CONFIG_FIELDS = {
  ...CONTRACT_FIELDS,
  outcome_slot_count: { const: 2 },
  platform_fee_bps: COUNT,
  paused: FLAG,
  stage: STAGE_FIELD,
  market_factory_paused: FLAG,
  total_markets: COUNT,
  total_volume: described(PRICE, 'USDC.'),
  total_fees_collected: described(PRICE, 'USDC.'),
  history_from: {
    type: ['string', 'null'],
    format: 'date-time',
    examples: [null],
    description: 'Lists of the past and sums over it begin here; null: they are complete (RULES.md 10.17).',
  },
  eip712_domain: object({
    name: { type: 'string', examples: ['Exchange'] },
    version: { type: 'string', examples: ['1'] },
    chainId: CHAIN_ID,
    verifyingContract: ADDRESS,
  }),
} as const;
export const PLATFORM_CONFIG = object(CONFIG_FIELDS, MOVEMENT_FIELDS);
export type PlatformConfig = FromSchema<typeof PLATFORM_CONFIG>;

/** Absent fields keep their value. */
export const NEW_CONTRACTS = {
  type: 'object',
  additionalProperties: false,
  required: ['exchange_address'],
  properties: {
    exchange_address: ADDRESS,
    chain_id: CHAIN_ID,
    market_factory_address: ADDRESS,
    usdc_address: ADDRESS,
    ctf_address: ADDRESS,
    fee_sweeper_address: ADDRESS,
  },
} as const;
export type NewContracts = FromSchema<typeof NEW_CONTRACTS>;

export const DRILL_NAME = { type: 'string', enum: DRILLS } as const;
export const DRILL = {
  type: 'object',
  additionalProperties: false,
  required: ['refusal', 'enabled'],
  properties: { refusal: DRILL_NAME, enabled: FLAG },
} as const;
export const ACTIVE_DRILLS = object({ drills: arrayOf(DRILL_NAME) });
export type ActiveDrills = FromSchema<typeof ACTIVE_DRILLS>;

/** The time until which the test alert rings. */
export const ALERT_TEST = object({ until: TIME });
export type AlertTestAnswer = FromSchema<typeof ALERT_TEST>;

export const PLATFORM_STATUS = object({
  paused: FLAG,
  ...PLATFORM_STAGE_FIELDS,
  drills: arrayOf(DRILL_NAME),
  disk_low: FLAG,
  contracts: PLATFORM_CONTRACTS,
  contracts_pending: {
    ...orNull(PLATFORM_CONTRACTS),
    description: 'A change that was started and is not in every shard yet; until it is, no orders are accepted.',
  },
  shards: arrayOf(object({ shard: COUNT, ready: FLAG })),
});
export type PlatformStatus = FromSchema<typeof PLATFORM_STATUS>;

/** A body without members, which may be left out. */
export const NO_FIELDS = { type: 'object', additionalProperties: false, properties: {} } as const;
/** A document whose form is described elsewhere. */
export const DOCUMENT = { ...ANY_MEMBERS, description: 'A document of its own kind.' } as const;

/** Schemas of the data that the operations page draws: counters since the start, and the present state. */
import { CLUSTER } from './cluster.ts';
import { ADDRESS, COUNT, FLAG, TIME, UUID } from './fields.ts';
import { OPERATOR_ROLES } from './operators.ts';
import { DRILL_NAME } from './platform.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';
import { PLATFORM_STAGE_FIELDS } from './stages.ts';

const SECONDS = { type: 'number', minimum: 0, examples: [0.25] } as const;
const SHARD = { type: 'integer', minimum: 0, examples: [0] } as const;
export const HISTOGRAM = object({
  counts: described(arrayOf(COUNT), 'By bucket since the start; the last one is above all bounds.'),
  sum: { type: 'number', examples: [1.5] },
});
const BOUNDS = described(arrayOf({ type: 'number', examples: [0.001] }), 'Upper ends of the buckets.');

export const SHARD_STATE = object({
  shard: SHARD,
  ready: FLAG,
  verifier: orNull({ type: 'string', examples: ['kernel'] }),
  signature_differences: COUNT,
  open_orders: COUNT,
  journal_sequence: COUNT,
  unanswered_commands: COUNT,
  command_ring_bytes: COUNT,
  command_ring_capacity_bytes: COUNT,
  event_ring_bytes: COUNT,
  reserve_bytes: COUNT,
  views_lag_records: COUNT,
  projector_lag_records: COUNT,
  projector_lag_seconds: SECONDS,
  queue: described(HISTOGRAM, 'Seconds from the ring until a command runs.'),
  commit: described(HISTOGRAM, 'Seconds.'),
  batch: described(HISTOGRAM, 'Commands that share a commit, by `bounds_commands`.'),
  place: described(HISTOGRAM, 'Seconds from the ring until the reply of an order.'),
  cancel: described(HISTOGRAM, 'The same of cancels.'),
});

/** The steps of a move, as the settlement thread names them. */
export const MOVE_STATE = object({
  from: ADDRESS,
  state: { type: 'string', enum: ['open', 'claiming', 'moving'], examples: ['moving'] },
  seconds: SECONDS,
  left: COUNT,
});

const FOREIGN_PROPOSAL = object({
  market_id: described(UUID, 'Of the factory: the exchange may not have it.'),
  proposal: described(COUNT, 'Its number, by which it is vetoed.'),
  proposer: ADDRESS,
  payouts: described(arrayOf(COUNT), 'Of Yes and No, in millionths.'),
  due_at: described(TIME, 'From then on anybody may carry it out.'),
  is_carried_out: described(FLAG, 'A veto comes too late.'),
});

const DECISIONS_STATE = object({
  wanted: COUNT,
  proposed: COUNT,
  decided: COUNT,
  otherwise: COUNT,
  may_propose: described(FLAG, 'False while RESOLVER_KEY has no right to propose.'),
  delay_seconds: described(orNull(SECONDS), 'How long a proposal can be vetoed.'),
  least_delay_seconds: described(orNull(SECONDS), 'The shortest that can be set.'),
  foreign: described(arrayOf(FOREIGN_PROPOSAL), 'Made by others.'),
});

export const SETTLEMENT_STATE = object({
  reason: described(orNull({ type: 'string', examples: ['the node is behind'] }), 'Why orders are refused.'),
  problem: described(orNull({ type: 'string', examples: ['the node does not answer'] }), 'Why the node is not used.'),
  head_age_seconds: orNull(SECONDS),
  behind_records: COUNT,
  work: object({ pending: COUNT, submitted: COUNT, mined: COUNT }),
  oldest_trade_seconds: SECONDS,
  move: orNull(MOVE_STATE),
  refused_payments: COUNT,
  foreign_nonces: COUNT,
  failed_trades: COUNT,
  differences: COUNT,
  at_most_fee: FLAG,
  low_keys: arrayOf({ type: 'string', examples: ['OPERATOR'] }),
  decisions: DECISIONS_STATE,
  nodes: described(
    arrayOf(
      object({
        node: { type: 'integer', examples: [2] },
        state: { enum: ['well', 'away', 'behind', 'differs'], examples: ['differs'] },
        reason: orNull({ type: 'string', examples: ['eth_getLogs: another answer than the others'] }),
        differences: COUNT,
      }),
    ),
    'Where RPC_URL has several, in its order.',
  ),
});

export const PLACING = object({
  taken: COUNT,
  turned_away: described(
    arrayOf(object({ code: { type: 'string', examples: ['ENGINE_BUSY'] }, count: COUNT })),
    'Refused for a cause of the exchange.',
  ),
});

export const CLOCK_STATE = object({
  set_back: FLAG,
  shifts: COUNT,
  refused_accounts: COUNT,
  clients_ahead_seconds: described(orNull({ type: 'number', examples: [0.1] }), 'The middle of the clocks of clients.'),
});

export const OPERATIONS = object({
  time: { type: 'integer', description: 'Unix milliseconds.', examples: [1_790_856_000_000] },
  started: {
    type: 'integer',
    description: 'Of the start: counters begin there.',
    examples: [1_790_850_000_000],
  },
  operator: object({
    name: { type: 'string', examples: ['ada'] },
    roles: arrayOf({ type: 'string', enum: OPERATOR_ROLES }),
  }),
  status: { type: 'string', enum: ['starting', 'standby', 'ready', 'degraded', 'draining'] },
  reason: orNull({ type: 'string', examples: ['shard 1 is recovering'] }),
  paused: FLAG,
  ...PLATFORM_STAGE_FIELDS,
  drills: arrayOf(DRILL_NAME),
  approvals_pending: COUNT,
  control_rows_damaged: COUNT,
  control_reserve_bytes: COUNT,
  reserve_wanted_bytes: COUNT,
  bounds_seconds: BOUNDS,
  bounds_commands: BOUNDS,
  shards: arrayOf(SHARD_STATE),
  routes: described(
    arrayOf(
      object({
        method: { type: 'string', examples: ['POST'] },
        route: { type: 'string', examples: ['/v1/orders'] },
        counts: arrayOf(COUNT),
        sum: { type: 'number', examples: [1.5] },
      }),
    ),
    'Seconds, of each route that had any.',
  ),
  refusals: arrayOf(object({ code: { type: 'string', examples: ['RATE_LIMITED'] }, count: COUNT })),
  rate_limit: object({ allowed: COUNT, quota_denied: COUNT, dependency_unavailable: COUNT }),
  limits_counted: described(orNull(FLAG), 'False while Redis does not count; null without REDIS_URL.'),
  placing: PLACING,
  clock: CLOCK_STATE,
  bounds: described(
    arrayOf(object({ name: { type: 'string', examples: ['accounts'] }, used: COUNT, most: COUNT })),
    'Tables at whose end something is refused.',
  ),
  damaged: described(
    arrayOf(object({ kind: { type: 'string', examples: ['snapshot'] }, count: COUNT })),
    'Found damaged, cut or lost since the start.',
  ),
  audit_written: described(FLAG, 'False while the audit log cannot be written.'),
  certificate_end: described(
    orNull({ type: 'integer', examples: [1_790_856_000_000] }),
    'Unix milliseconds; null where another program ends TLS.',
  ),
  connections: object({ open: COUNT, stream: COUNT, refused: COUNT }),
  event_loop: object({ delay: HISTOGRAM, active_seconds: SECONDS, idle_seconds: SECONDS }),
  queries: object({ waiting: COUNT, run: HISTOGRAM }),
  disk: object({
    low: FLAG,
    free_bytes: COUNT,
    reserve_bytes: COUNT,
    growth_bytes_per_day: described(
      orNull({ type: 'integer', examples: [1_200_000_000] }),
      'Over six hours; negative while free space grows.',
    ),
    files: arrayOf(object({ name: { type: 'string', examples: ['journal-0.db'] }, bytes: COUNT })),
  }),
  memory_bytes: COUNT,
  cluster: described(orNull(CLUSTER), 'Null on one machine.'),
  settlement: described(orNull(SETTLEMENT_STATE), 'Null without a chain, and until settlement has reported.'),
});
export type Operations = FromSchema<typeof OPERATIONS>;

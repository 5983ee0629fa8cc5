/** Schemas of a cluster as an administrator sees it (RULES.md 18). */
import { COUNT, FLAG } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

const SECONDS = { type: 'number', minimum: 0, examples: [0.25] } as const;
const MEMBER_NAME = { type: 'string', minLength: 1, maxLength: 63, examples: ['b'] } as const;
const ORIGIN = { type: 'string', examples: ['https://b.example.org'] } as const;
const TEXT = { type: 'string', examples: ['streaming'] } as const;
const PROBLEM = { type: 'string', examples: ['the last try has failed'] } as const;

const LAYOUT = { type: 'string', examples: ['journal'] } as const;

export const CLUSTER_MEMBER = object({
  member: MEMBER_NAME,
  address: ORIGIN,
  version: described({ type: 'string', examples: ['0.1.0'] }, 'Of its program; empty: too old to say.'),
  reads: described(
    arrayOf(object({ layout: LAYOUT, newest: COUNT })),
    'The newest format of each layout that it reads (RULES.md 18.15); none: too old to say.',
  ),
  disk_low: described(FLAG, 'Its disk is nearly full (RULES.md 10.8): it is no member to hand the lead to.'),
  problem: described(orNull(PROBLEM), 'Why its files do not agree with the log (RULES.md 18.25); null: they do.'),
  role: { type: 'string', enum: ['leader', 'standby'] },
  applied_position: described(COUNT, 'It has the rows up to this one durably; a leader says so a minute later.'),
  behind_rows: described(orNull(COUNT), 'Rows of the log that it has not applied; null of the leader.'),
  silent_seconds: described(SECONDS, 'Since it last reported; members report each second.'),
});

export const LOG = object({
  first_position: described(COUNT, 'The oldest row that is kept; 0: there is none.'),
  last_position: COUNT,
  bytes: described(COUNT, 'The room that the log takes in the database.'),
  problem: described(orNull(PROBLEM), 'Why it cannot be read or written; null: it can.'),
  waiting_rows: described(COUNT, 'Rows of this member that the log does not hold yet.'),
  waiting_bytes: COUNT,
  oldest_wait_seconds: described(SECONDS, 'How long the oldest of them has waited.'),
  append_seconds: described(SECONDS, 'How long the last rows took.'),
});

export const DATABASE_STANDBY = object({
  name: described(TEXT, 'As synchronous_standby_names has it.'),
  state: orNull(TEXT),
  sync_state: described(orNull({ type: 'string', examples: ['quorum'] }), '`sync` or `quorum`: commits wait for it.'),
  behind_bytes: orNull(COUNT),
});

export const CLUSTER = object({
  member: described(MEMBER_NAME, 'The one that answers.'),
  role: { type: 'string', enum: ['leader', 'standby'] },
  epoch: COUNT,
  stale_seconds: described(orNull(SECONDS), 'How long ago the log held what this standby shows; null of a leader.'),
  leader: described(
    orNull(object({ member: MEMBER_NAME, address: ORIGIN, epoch: COUNT })),
    'Null while no member leads.',
  ),
  hand_over: described(
    orNull(object({ member: MEMBER_NAME, accepted: FLAG })),
    'The member that is to lead in the place of the leader; null: none is.',
  ),
  log: LOG,
  formats: described(
    arrayOf(object({ layout: LAYOUT, written: orNull(COUNT), next: COUNT })),
    'The format of each layout that the newest lead writes, and that of the next lead.',
  ),
  members: arrayOf(CLUSTER_MEMBER),
  database: described(
    orNull(object({ server: ORIGIN, standbys: arrayOf(DATABASE_STANDBY) })),
    'The server of the database that is written, and those that follow it; members of a standby are null where the ' +
      'user of the database may not see them.',
  ),
});
export type ClusterState = FromSchema<typeof CLUSTER>;

export const NEXT_LEADER = {
  type: 'object',
  additionalProperties: false,
  properties: { member: described(MEMBER_NAME, 'Left out: the standby that has followed furthest.') },
} as const;

export const HANDED_OVER = object({
  member: MEMBER_NAME,
  leads: described(FLAG, 'True: it leads already. False: this leader ends once the member has accepted.'),
});
export type HandedOver = FromSchema<typeof HANDED_OVER>;

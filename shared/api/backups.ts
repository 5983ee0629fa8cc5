/** Backups that an administrator requests from the exchange (RULES.md 9.62). */
import { COUNT, TIME } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull } from './schema.ts';

/** Megabytes a second; a value beyond the rate of any disk is a mistake. */
const MOST_RATE = 100_000;

export const BACKUP_ORDER = {
  type: 'object',
  additionalProperties: false,
  required: [],
  properties: {
    rate: described(
      { type: 'integer', minimum: 0, maximum: MOST_RATE, examples: [40] } as const,
      'Megabytes a second that are read at most, 40 where it is not given; 0: no limit.',
    ),
  },
} as const;
export type BackupOrder = FromSchema<typeof BACKUP_ORDER>;

const TIME_OR_NEVER = orNull(TIME);

export const BACKUP_REPORT = object({
  folder: described(
    orNull({ type: 'string', examples: ['/var/backups/open-prediction-exchange'] } as const),
    'The folder of backups that a setting allows; null: none, and no backup can be asked for.',
  ),
  state: described(
    { type: 'string', enum: ['none', 'running', 'done', 'failed'] } as const,
    'Of the last backup that was asked for since the start.',
  ),
  started_at: TIME_OR_NEVER,
  ended_at: TIME_OR_NEVER,
  read_bytes: described(COUNT, 'Bytes that it has read so far.'),
  directory_bytes: described(COUNT, 'Bytes of the data directory; 0 until it has looked.'),
  lines: described(arrayOf({ type: 'string', examples: ['read.db is copied'] } as const), 'What it says, at its end.'),
  backed_up_at: described(TIME_OR_NEVER, 'The end of the last whole backup; of those of the local command, too.'),
  failed_at: described(TIME_OR_NEVER, 'Since then one has failed.'),
  restored_at: described(TIME_OR_NEVER, 'The end of the last drill in which one was restored.'),
  drill_failed_at: described(TIME_OR_NEVER, 'Since then a drill has failed.'),
});
export type BackupReport = FromSchema<typeof BACKUP_REPORT>;

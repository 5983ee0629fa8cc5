/** The public history: which days there are, and the manifest of one (RULES.md 13.15, shared/base/historyTables.ts). */
import { HISTORY_FORMATS, HISTORY_TABLE_NAMES, historyPath } from '../base/historyTables.ts';
import { ANY_MEMBERS, COUNT, FLAG, TEXT, UUID } from './fields.ts';
import { arrayOf, described, object, orNull } from './schema.ts';

/** In UTC. */
export const DAY = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', examples: ['2026-11-29'] } as const;

export const PUBLIC_HISTORY = object({
  days: arrayOf(object({ day: DAY, complete: described(FLAG, 'False: the history began on this day.') })),
  behind_records: described(COUNT, 'Records that the history does not have yet.'),
  behind_ms: described(COUNT, 'Age of its last record while it has not all.'),
});

export const HISTORY_MANIFEST = object(
  {
    format: COUNT,
    day: DAY,
    complete: FLAG,
    tables: described(ANY_MEMBERS, 'Type and meaning of each column.'),
    shards: arrayOf(object({ shard: COUNT, first_record: COUNT, last_record: COUNT })),
    markets: arrayOf(
      object({
        market_id: UUID,
        shard: COUNT,
        ticks_per_unit: COUNT,
        first_sequence: orNull(COUNT),
        last_sequence: orNull(COUNT),
      }),
    ),
    files: arrayOf(
      object({
        table: { type: 'string', enum: HISTORY_TABLE_NAMES },
        format: { type: 'string', enum: HISTORY_FORMATS },
        market_id: orNull(UUID),
        path: TEXT,
        rows: COUNT,
        bytes: COUNT,
        sha256: TEXT,
      }),
    ),
  },
  { titles: TEXT },
);

/** The files of a day, and those of a market in it. */
export const HISTORY_FILE = {
  type: 'string',
  enum: HISTORY_TABLE_NAMES.flatMap((table) => HISTORY_FORMATS.map((format) => historyPath(table, format, null))),
} as const;

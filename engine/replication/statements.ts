/** The statements of the replicated log: each has a name, under which the database keeps its plan. */
import { randomInt } from 'node:crypto';
import type { NewRow } from '../../shared/wire/replication.ts';
import type { CommandValue, Statement } from './command.ts';

const NAME = 'position, epoch, lead, stream, sequence';
/** The place of the server that is asked. The first eight digits of a WAL file name are its timeline. */
const PLACE = `(SELECT system_identifier::text FROM pg_control_system()) AS system,
  ('x' || substring(pg_walfile_name(pg_current_wal_lsn()) FOR 8))::bit(32)::int AS timeline,
  pg_current_wal_insert_lsn()::text AS lsn`;
/** The run of a server: from its start or promotion to the next one. */
const RUN = `(SELECT place.system || '/' || place.timeline || '/' || extract(epoch FROM pg_postmaster_start_time())
  FROM (SELECT ${PLACE}) AS place)`;
const LEADS_KEPT = 1000;
/** A process that was silent for longer than this when the log was last led is no longer a member. */
const MEMBER_FOR = "interval '1 day'";

export const SQL = {
  addCluster: statement(
    'addCluster',
    `INSERT INTO exchange_leader (cluster, epoch, holder, address, expires_at, raised, run)
     VALUES ($1, 0, '', '', to_timestamp(0), $2, ${RUN}) ON CONFLICT DO NOTHING`,
  ),
  addFact: statement(
    'addFact',
    'INSERT INTO exchange_fact (cluster, name, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
  ),
  replaceFact: statement(
    'replaceFact',
    'UPDATE exchange_fact SET value = $4 WHERE cluster = $1 AND name = $2 AND value = $3',
  ),
  facts: statement('facts', 'SELECT name, value FROM exchange_fact WHERE cluster = $1'),
  movedTo: statement('movedTo', "SELECT value FROM exchange_fact WHERE cluster = $1 AND name = 'moved to'"),
  fact: statement('fact', 'SELECT value FROM exchange_fact WHERE cluster = $1 AND name = $2'),

  formats: statement('formats', 'SELECT holder, formats, raised FROM exchange_leader WHERE cluster = $1'),
  /** Raises the formats that later leads write: the column is in no key, so no append waits. */
  raise: statement('raise', 'UPDATE exchange_leader SET raised = $3 WHERE cluster = $1 AND raised = $2'),

  history: statement(
    'history',
    `SELECT (SELECT value FROM exchange_fact WHERE cluster = $1 AND name = 'log') AS id,
       coalesce((SELECT value FROM exchange_fact WHERE cluster = $1 AND name = 'founded on'), '') AS "foundedOn",
       (SELECT coalesce(max(position), 0) FROM exchange_log WHERE cluster = $1) AS "end", ${RUN} AS run, ${PLACE}`,
  ),
  /** An operator's command may read tables of an older version, which have no runs. */
  leads: statement(
    'leads',
    `SELECT * FROM (SELECT epoch, lead, start, coalesce(to_jsonb(own) ->> 'run', '') AS run
       FROM exchange_lead AS own WHERE cluster = $1
       ORDER BY epoch DESC LIMIT ${LEADS_KEPT}) AS newest ORDER BY epoch`,
  ),
  heads: statement(
    'heads',
    `SELECT holder, log, reason, heads, digest, contains, founder, contained,
       (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::float8 AS "agoMs"
     FROM exchange_head WHERE cluster = $1 ORDER BY holder`,
  ),
  /** A decision about other files of this member is forgotten. */
  reportHead: statement(
    'reportHead',
    `INSERT INTO exchange_head AS own (cluster, holder, log, reason, heads, digest, contains, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
     ON CONFLICT (cluster, holder) DO UPDATE
       SET log = excluded.log, reason = excluded.reason, heads = excluded.heads, contains = excluded.contains,
         founder = CASE WHEN own.digest = excluded.digest THEN own.founder ELSE '' END,
         contained = CASE WHEN own.digest = excluded.digest THEN own.contained ELSE '' END,
         digest = excluded.digest, seen_at = excluded.seen_at`,
  ),
  forgetHead: statement('forgetHead', 'DELETE FROM exchange_head WHERE cluster = $1 AND holder = $2'),
  /**
   * Founds the log completely or not at all, if it is empty and has another id: it then continues from the bases. If
   * the founder's log has another name in this database, no member leads under that name any more.
   */
  foundLog: statement(
    'foundLog',
    `WITH base AS (
       SELECT * FROM unnest($7::int[], $8::bigint[], $9::text[]) AS base (stream, sequence, head)
     ), no_rows AS (DELETE FROM exchange_log WHERE cluster = $1),
     no_leads AS (DELETE FROM exchange_lead WHERE cluster = $1),
     no_members AS (DELETE FROM exchange_member WHERE cluster = $1),
     old_bases AS (
       DELETE FROM exchange_base WHERE cluster = $1 AND stream NOT IN (SELECT stream FROM base)
     ), bases AS (
       INSERT INTO exchange_base (cluster, stream, sequence, head)
       SELECT $1, stream, sequence, head FROM base
       ON CONFLICT (cluster, stream) DO UPDATE SET sequence = excluded.sequence, head = excluded.head
     ), decided AS (
       UPDATE exchange_head SET founder = CASE WHEN holder = $3 THEN $2 ELSE '' END,
         contained = CASE WHEN holder = ANY($4::text[]) THEN $2 ELSE '' END
       WHERE cluster = $1
     ), lease AS (
       UPDATE exchange_leader SET epoch = greatest(epoch, $5::bigint) + 1, lead = $6, holder = '',
         expires_at = to_timestamp(0), run = ${RUN} WHERE cluster = $1
     ), former AS (
       SELECT cluster FROM exchange_fact WHERE name = 'log' AND value = $10 AND cluster <> $1
     ), moved AS (
       INSERT INTO exchange_fact (cluster, name, value) SELECT cluster, 'moved to', $1 FROM former
       ON CONFLICT (cluster, name) DO UPDATE SET value = excluded.value
     ), fenced AS (
       UPDATE exchange_leader SET epoch = epoch + 1, lead = $6, holder = '', expires_at = to_timestamp(0)
       WHERE cluster IN (SELECT cluster FROM former)
     )
     INSERT INTO exchange_fact (cluster, name, value) VALUES ($1, 'log', $2), ($1, 'founded on', ${RUN})
     ON CONFLICT (cluster, name) DO UPDATE SET value = excluded.value`,
  ),
  /** Changes nothing if the log was begun, or was founded on this run before; then it returns the log's name. */
  foundNew: statement(
    'foundNew',
    `WITH begun AS (
       SELECT FROM exchange_log WHERE cluster = $1 UNION ALL SELECT FROM exchange_base WHERE cluster = $1
       UNION ALL SELECT FROM exchange_leader WHERE cluster = $1 AND expires_at > clock_timestamp()
     ), founded AS (
       INSERT INTO exchange_fact AS own (cluster, name, value)
       SELECT $1, 'founded on', ${RUN} WHERE NOT EXISTS (SELECT FROM begun)
       ON CONFLICT (cluster, name) DO UPDATE SET value = excluded.value WHERE own.value <> excluded.value
       RETURNING value
     ), lease AS (
       UPDATE exchange_leader SET run = founded.value FROM founded WHERE cluster = $1
     ), no_beginner AS (
       DELETE FROM exchange_fact WHERE cluster = $1 AND name = 'beginner' AND EXISTS (SELECT FROM founded)
     ), named AS (
       INSERT INTO exchange_fact (cluster, name, value) SELECT $1, 'log', $2 FROM founded ON CONFLICT DO NOTHING
     )
     SELECT FROM founded`,
  ),
  /** The member that leads this log under another cluster name. */
  formerLeader: statement(
    'formerLeader',
    `SELECT cluster, holder FROM exchange_leader JOIN exchange_fact USING (cluster)
     WHERE name = 'log' AND value = $2 AND cluster <> $1 AND holder <> '' AND expires_at > clock_timestamp()`,
  ),
  bases: statement('bases', 'SELECT stream, sequence, head FROM exchange_base WHERE cluster = $1'),

  /** The condition is evaluated again with the newest row if another process has changed it meanwhile. */
  take: statement(
    'take',
    `WITH taken AS (UPDATE exchange_leader SET epoch = epoch + 1, lead = $7, holder = $2, address = $3,
       formats = coalesce($8::text, formats), run = CASE WHEN $2 = '' THEN run ELSE ${RUN} END,
       expires_at = clock_timestamp() + $4::int * interval '1 millisecond'
     WHERE cluster = $1 AND ($9::text IS NULL OR raised = $9) AND ($10::bigint IS NULL OR epoch = $10)
       AND ($2 = '' OR run = '' OR ${RUN} IN (run, $11::text))
       AND NOT EXISTS (SELECT FROM exchange_fact WHERE cluster = $1 AND name = 'moved to')
       AND ($5::boolean OR (expires_at <= clock_timestamp() AND NOT EXISTS (
       SELECT FROM exchange_handover AS asked
       WHERE asked.cluster = $1 AND asked.epoch = exchange_leader.epoch AND asked.holder <> $2
         AND asked.expires_at > clock_timestamp()
         AND exchange_leader.expires_at > clock_timestamp() - $6::int * interval '1 millisecond'
     ))) RETURNING epoch)
     INSERT INTO exchange_lead (cluster, lead, epoch, holder, system, timeline, run)
     SELECT $1, $7::bigint, epoch, $2, place.system, place.timeline, ${RUN} FROM taken, (SELECT ${PLACE}) AS place
     RETURNING epoch`,
  ),
  /** Runs after `take`, which may have waited for rows that it does not see. */
  startLead: statement(
    'startLead',
    `UPDATE exchange_lead
     SET start = (SELECT coalesce(max(position), 0) FROM exchange_log WHERE cluster = $1)
     WHERE cluster = $1 AND lead = $2 RETURNING start AS position`,
  ),
  forgetLeads: statement(
    'forgetLeads',
    `DELETE FROM exchange_lead WHERE cluster = $1
       AND epoch < (SELECT epoch FROM exchange_leader WHERE cluster = $1) - ${LEADS_KEPT}`,
  ),
  /**
   * A lease is not renewed on a database run other than the lead's, unless $5 is given: then the lead continues there.
   */
  renew: statement(
    'renew',
    `UPDATE exchange_leader SET expires_at = clock_timestamp() + $3::int * interval '1 millisecond', run = ${RUN}
     WHERE cluster = $1 AND epoch = $2 AND lead = $4 AND (run = '' OR ${RUN} IN (run, $5::text))`,
  ),
  runs: statement(
    'runs',
    `WITH leader AS (SELECT run, expires_at FROM exchange_leader WHERE cluster = $1),
     known AS (
       SELECT holder FROM exchange_member, leader WHERE cluster = $1 AND seen_at > leader.expires_at - ${MEMBER_FOR}
       UNION SELECT unnest($3::text[])
     )
     SELECT now.run, leader.run AS "ledOn", place.timeline,
       EXISTS (SELECT FROM exchange_log WHERE cluster = $1)
         OR EXISTS (SELECT FROM exchange_base WHERE cluster = $1) AS "isBegun",
       (SELECT value FROM exchange_fact WHERE cluster = $1 AND name = 'log') AS id,
       ARRAY(SELECT holder FROM known WHERE holder <> $2
         AND NOT EXISTS (SELECT FROM exchange_member WHERE cluster = $1 AND holder = known.holder AND run = now.run)
         AND NOT EXISTS (SELECT FROM exchange_head WHERE cluster = $1 AND holder = known.holder)
         AND NOT EXISTS (
           SELECT FROM exchange_fact WHERE cluster = $1 AND name = 'left ' || known.holder AND value = now.run
         ) ORDER BY holder) AS silent,
       ARRAY(SELECT holder FROM exchange_head AS head WHERE cluster = $1 AND holder <> $2 AND (
         EXISTS (SELECT FROM known WHERE holder = head.holder)
         OR EXISTS (SELECT FROM exchange_fact WHERE cluster = $1 AND name = 'log' AND value = head.log)
       ) ORDER BY holder) AS refused
     FROM leader, (SELECT ${RUN} AS run) AS now, (SELECT ${PLACE}) AS place`,
  ),
  lease: statement(
    'lease',
    `SELECT epoch, holder, address, formats, raised,
       (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 AS "expiresInMs"
     FROM exchange_leader WHERE cluster = $1`,
  ),

  askHandOver: statement(
    'askHandOver',
    `INSERT INTO exchange_handover AS asked (cluster, epoch, holder, is_forced, is_accepted, expires_at)
     VALUES ($1, $2, $3, $4, false, clock_timestamp() + $5::int * interval '1 millisecond')
     ON CONFLICT (cluster) DO UPDATE
       SET epoch = excluded.epoch, holder = excluded.holder, is_forced = excluded.is_forced, is_accepted = false,
         expires_at = excluded.expires_at
       WHERE asked.epoch <> excluded.epoch OR NOT asked.is_accepted OR asked.expires_at <= clock_timestamp()`,
  ),
  acceptHandOver: statement(
    'acceptHandOver',
    `UPDATE exchange_handover
     SET is_accepted = true, expires_at = clock_timestamp() + $4::int * interval '1 millisecond'
     WHERE cluster = $1 AND holder = $2 AND epoch = $3 AND NOT is_accepted AND expires_at > clock_timestamp()`,
  ),
  withdrawHandOver: statement(
    'withdrawHandOver',
    'DELETE FROM exchange_handover WHERE cluster = $1 AND holder = $2 AND epoch = $3 AND NOT is_accepted',
  ),
  handOver: statement(
    'handOver',
    `SELECT epoch, asked.holder AS "to", is_forced AS "isForced", is_accepted AS "isAccepted"
     FROM exchange_handover AS asked JOIN exchange_leader USING (cluster, epoch)
     WHERE cluster = $1 AND asked.expires_at > clock_timestamp()`,
  ),

  append: statement(
    'append',
    `WITH leader AS MATERIALIZED (
       SELECT 1 FROM exchange_leader WHERE cluster = $1 AND epoch = $2 AND lead = $9 FOR KEY SHARE
     )
     INSERT INTO exchange_log (cluster, position, epoch, lead, stream, sequence, bytes)
     SELECT $1, $3::bigint + new.number, $2::bigint, $9::bigint, new.stream, new.sequence,
       substring($8::bytea FROM new.start FOR new.length)
     FROM unnest($4::int[], $5::bigint[], $6::int[], $7::int[])
       WITH ORDINALITY AS new (stream, sequence, start, length, number)
     WHERE EXISTS (SELECT FROM leader)
       AND ($3::bigint = 0 OR EXISTS (SELECT FROM exchange_log WHERE cluster = $1 AND position = $3::bigint))`,
  ),
  namesFrom: statement(
    'namesFrom',
    `SELECT ${NAME} FROM exchange_log WHERE cluster = $1 AND position >= $2 ORDER BY position`,
  ),
  nameAt: statement('nameAt', `SELECT ${NAME} FROM exchange_log WHERE cluster = $1 AND position = $2`),
  rowOf: statement(
    'rowOf',
    `SELECT ${NAME}, bytes FROM exchange_log WHERE cluster = $1 AND stream = $2 AND sequence = $3`,
  ),
  firstAfter: statement(
    'firstAfter',
    `SELECT ${NAME} FROM exchange_log WHERE cluster = $1 AND stream = $2 AND sequence > $3 ORDER BY sequence LIMIT 1`,
  ),
  /** Goes from stream to stream in the index, instead of reading all rows. */
  ends: statement(
    'ends',
    `WITH RECURSIVE streams AS (
       SELECT min(stream) AS stream FROM exchange_log WHERE cluster = $1
       UNION ALL
       SELECT (SELECT min(stream) FROM exchange_log WHERE cluster = $1 AND stream > streams.stream)
       FROM streams WHERE streams.stream IS NOT NULL
     )
     SELECT ends.* FROM streams CROSS JOIN LATERAL (
       SELECT ${NAME} FROM exchange_log WHERE cluster = $1 AND stream = streams.stream ORDER BY sequence DESC LIMIT 1
     ) AS ends
     UNION ALL
     SELECT 0, 0, 0, base.stream, base.sequence FROM exchange_base AS base WHERE base.cluster = $1
       AND NOT EXISTS (SELECT FROM exchange_log WHERE cluster = $1 AND stream = base.stream)
     ORDER BY stream`,
  ),
  readAfter: statement(
    'readAfter',
    `SELECT ${NAME}, bytes FROM (
       SELECT *, sum(octet_length(bytes)) OVER (ORDER BY position) - octet_length(bytes) AS bytes_before FROM (
         SELECT * FROM exchange_log WHERE cluster = $1 AND position > $2 ORDER BY position LIMIT $3
       ) AS next
     ) AS counted WHERE bytes_before < $4::bigint ORDER BY position`,
  ),

  /** Changes no table, but its commit waits for the standbys. */
  confirm: statement('confirm', "SELECT pg_logical_emit_message(true, 'exchange', '')"),

  report: statement(
    'report',
    `INSERT INTO exchange_member
       (cluster, holder, address, position, version, formats, has_room, applied, files_problem, run, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CASE WHEN $10 = ${RUN} THEN $10 ELSE '' END, clock_timestamp())
     ON CONFLICT (cluster, holder) DO UPDATE
       SET address = excluded.address, position = excluded.position, version = excluded.version,
         formats = excluded.formats, has_room = excluded.has_room, applied = excluded.applied,
         files_problem = excluded.files_problem, run = excluded.run, seen_at = excluded.seen_at`,
  ),
  /** An operator's command may read tables of an older version, which have no problems of files. */
  members: statement(
    'members',
    `SELECT holder, address, version, formats, has_room AS "hasRoom",
       coalesce(to_jsonb(own) ->> 'files_problem', '') AS "filesProblem",
       greatest(position, applied) AS position,
       (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::float8 AS "silentMs"
     FROM exchange_member AS own WHERE cluster = $1 ORDER BY holder`,
  ),
  /** No lead on this database run waits for the member any more. */
  leave: statement(
    'leave',
    `WITH gone AS (DELETE FROM exchange_member WHERE cluster = $1 AND holder = $2)
     INSERT INTO exchange_fact (cluster, name, value) VALUES ($1, 'left ' || $2, ${RUN})
     ON CONFLICT (cluster, name) DO UPDATE SET value = excluded.value`,
  ),
  standbys: statement(
    'standbys',
    `SELECT application_name AS name, state, sync_state AS "syncState",
       pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::float8 AS "behindBytes"
     FROM pg_stat_replication ORDER BY application_name`,
  ),
  size: statement(
    'size',
    `SELECT coalesce(min(position), 0) AS start, coalesce(max(position), 0) AS "end",
       pg_total_relation_size('exchange_log') AS "logBytes", ${PLACE}
     FROM exchange_log WHERE cluster = $1`,
  ),
  /** The last row of each stream stays: it shows where the stream continues. */
  trim: statement(
    'trim',
    `DELETE FROM exchange_log WHERE cluster = $1 AND position IN (
       SELECT position FROM exchange_log AS old WHERE cluster = $1
         AND position <= (
           SELECT min(position) FROM exchange_member
           WHERE cluster = $1 AND seen_at > clock_timestamp() - $2::bigint * interval '1 millisecond'
         )
         AND EXISTS (
           SELECT FROM exchange_log AS later
           WHERE later.cluster = $1 AND later.stream = old.stream AND later.sequence > old.sequence
         )
       ORDER BY position LIMIT $3
     )`,
  ),
  backend: statement('backend', 'SELECT state FROM pg_stat_activity WHERE pid = $1'),
} as const;

/** Numbers of leads are below this: they are safe integers, and two are never the same. */
const LEADS = 2 ** 48 - 1;

export function newLead(): number {
  return randomInt(1, LEADS);
}

type LeadOfCluster = { readonly cluster: string; readonly epoch: number; readonly lead: number };

/** The values of `append`. */
export function appendValues(
  { cluster, epoch, lead }: LeadOfCluster,
  after: number,
  rows: readonly NewRow[],
): CommandValue[] {
  const starts: number[] = [];
  let lengthBytes = 0;
  for (const { bytes } of rows) {
    starts.push(lengthBytes + 1);
    lengthBytes += bytes.length;
  }
  return [
    cluster,
    String(epoch),
    String(after),
    arrayOf(rows.map(({ stream }) => stream)),
    arrayOf(rows.map(({ sequence }) => sequence)),
    arrayOf(starts),
    arrayOf(rows.map(({ bytes }) => bytes.length)),
    rows.map(({ bytes }) => bytes),
    String(lead),
  ];
}

/** An array in PostgreSQL's notation. */
function arrayOf(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`;
}

function statement(name: string, text: string): Statement {
  return { name, text };
}

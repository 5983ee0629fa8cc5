/** Reads the log as a whole: the facts that a member shows, and the history by which a start recognises the log. */
import type {
  DatabaseStandby,
  HandOverStatus,
  LeadFormats,
  LogFacts,
  MemberStatus,
} from '../../shared/wire/clusterStatus.ts';
import type { Connection } from './connection.ts';
import type { Reader } from './copyTable.ts';
import { type Base, type LeadNote, type LogHistory, NotAMemberError, type Place } from './log.ts';
import { SQL } from './statements.ts';

/** The fact that names the log, and the fact that names the cluster if the log continues a member's files. */
export const LOG_FACT = 'log';
export const MOVED_FACT = 'moved to';
/** An error of PostgreSQL. */
const UNDEFINED_TABLE = '42P01';

/** Throws if the database has no log of this name. */
export async function requireCluster(log: Reader, cluster: string): Promise<void> {
  const found = await log.read(SQL.lease, [cluster]).catch((error: NodeJS.ErrnoException) => {
    if (error.code === UNDEFINED_TABLE) throw new Error('the database has no log');
    throw error;
  });
  if (found.length === 0) throw new Error(`the database has no cluster ${cluster}`);
}

/** A member that missed the move would lead beside the others (RULES.md 18.23). */
export async function requireNotMoved(connection: Pick<Connection, 'run'>, cluster: string): Promise<void> {
  const { rows } = await connection.run<{ value: string }>(SQL.movedTo, [cluster]);
  const name = rows[0]?.value;
  if (name === undefined) return;
  throw new NotAMemberError(`the cluster ${cluster} goes on as ${name}: this member needs CLUSTER_NAME=${name}`);
}

/** @param server the server that is read, as JOURNAL_URL names it */
export async function readFacts(log: Reader, cluster: string, server: string): Promise<LogFacts> {
  const [[about], members, [handOver], standbys, [formats]] = await Promise.all([
    log.read<Place & Pick<LogFacts, 'start' | 'end' | 'logBytes'>>(SQL.size, [cluster]),
    log.read<MemberStatus>(SQL.members, [cluster]),
    log.read<HandOverStatus>(SQL.handOver, [cluster]),
    log.read<DatabaseStandby>(SQL.standbys, []),
    log.read<LeadFormats>(SQL.formats, [cluster]),
  ]);
  const { system, timeline, lsn, ...size } = about;
  const place = { system, timeline, lsn };
  return { ...size, place, members, handOver: handOver ?? null, database: { server, standbys }, formats: formats };
}

export async function readHistory(log: Reader, cluster: string): Promise<LogHistory> {
  const [[about], leads, bases] = await Promise.all([
    log.read<Place & Pick<LogHistory, 'id' | 'end' | 'run' | 'foundedOn'>>(SQL.history, [cluster]),
    log.read<LeadNote>(SQL.leads, [cluster]),
    log.read<Base>(SQL.bases, [cluster]),
  ]);
  const { system, timeline, lsn, ...of } = about;
  return { ...of, place: { system, timeline, lsn }, leads, bases };
}

/**
 * `admin cluster status`, `promote`, `leave`, `raise` and `fence` (data/docs/cluster.md): they ask the log itself, so
 * they also serve while no member of the cluster answers.
 */
import type Database from 'better-sqlite3';
import { JournalUrlError, journalUrlOf } from '../../shared/base/journalUrl.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import type { DatabaseStatus } from '../../shared/wire/clusterStatus.ts';
import { askHandOver, awaitHandOver, HandOverRefused } from '../replication/handOver.ts';
import { MOVED_FACT } from '../replication/logFacts.ts';
import { forgetHeads, readHeads } from '../replication/memberHeads.ts';
import { PostgresLog } from '../replication/postgresLog.ts';
import { SQL } from '../replication/statements.ts';
import { formatLines, raise } from './clusterFormats.ts';
import { foundLog, foundNew } from './clusterFound.ts';
import { rotateInCluster } from './clusterKeys.ts';
import { acceptLoss } from './clusterLoss.ts';
import { AdminError } from './directory.ts';
import type { MasterKeys } from './keyRotation.ts';
import { table } from './table.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const ALL_KNOWN = 'the user of the database may not see them (GRANT pg_monitor)';
const HEAD = ['member', 'address', 'role', 'applied', 'behind', 'version', 'silent for', 'disk'];

/** A table of the members, and lines about the log. */
export function clusterStatus(env: Environment): Promise<string[]> {
  return withLog(env, async (log) => {
    const [lease, facts, moved] = await Promise.all([log.lease(), log.facts(), log.fact(MOVED_FACT)]);
    const { start, end, logBytes, members, database, formats } = facts;
    const isLed = lease.holder !== '' && lease.expiresInMs > 0;
    const rows = members.map(({ holder, address, version, position, silentMs, hasRoom }) => {
      const role = isLed && holder === lease.holder ? 'leader' : 'standby';
      // A leader reports only rows that have long been durable here.
      const behind = role === 'leader' ? '' : String(end - position);
      return [
        holder,
        address,
        role,
        String(position),
        behind,
        version,
        `${(silentMs / 1000).toFixed(1)} s`,
        hasRoom ? 'room' : 'nearly full',
      ];
    });
    const kept = `the log has the rows ${start} to ${end}, ${logBytes} bytes`;
    const leads = isLed
      ? `${lease.holder} leads in epoch ${lease.epoch}`
      : `no member leads since epoch ${lease.epoch}`;
    return [
      ...(rows.length === 0 ? [] : table([HEAD, ...rows])),
      leads,
      ...(moved === null ? [] : [`the cluster goes on as ${moved}: no member leads under this name any more`]),
      kept,
      ...(database === null ? [] : databaseLines(database)),
      ...members.flatMap(({ holder, filesProblem }) => {
        return filesProblem === '' ? [] : [`${holder} does not agree with the log: ${filesProblem}`];
      }),
      ...formatLines(formats, members),
    ];
  });
}

function databaseLines({ server, standbys }: DatabaseStatus): string[] {
  const lines = standbys.map(({ name, state, syncState, behindBytes }) => {
    const known = state === null ? ALL_KNOWN : `${state}, ${syncState}, ${behindBytes ?? 0} bytes behind`;
    return `its standby ${name}: ${known}`;
  });
  return [`the database is written at ${server}`, ...(lines.length > 0 ? lines : ['it has no standby'])];
}

/**
 * Hands the lead over, and waits until it is done.
 * @param named null: the standby that has followed furthest
 * @param isForced whether the member takes the lead from a leader that goes on
 */
export function promote(env: Environment, named: string | null, isForced: boolean): Promise<string[]> {
  return withLog(env, async (log) => {
    try {
      const asked = await askHandOver(log, named, isForced);
      if (asked.isDone) return [`${asked.to} leads already, in epoch ${asked.epoch}`];
      const { epoch, address } = await awaitHandOver(log, asked, isForced);
      return [`${asked.to} leads in epoch ${epoch}, at ${address}`];
    } catch (error) {
      throw error instanceof HandOverRefused ? new AdminError(error.message) : error;
    }
  });
}

/** Members report every second: one that was silent for this long is gone. */
const GONE_MS = 10_000;

/** The member will not return: it no longer keeps rows in the log, and no lead waits for it (mayTake.ts). */
export function leave(env: Environment, member: string): Promise<string[]> {
  if (member === '') throw new AdminError('cluster leave: name the member that will not come back');
  return withLog(env, async (log, cluster) => {
    const found = (await log.facts()).members.find(({ holder }) => holder === member);
    const isRefused = (await readHeads(log, cluster)).some(({ holder }) => holder === member);
    const { run, ledOn } = await log.runs.find([]);
    // A database that was set back may not know it.
    if (found === undefined && !isRefused && run === ledOn) throw new AdminError(`the cluster has no member ${member}`);
    const silentMs = found?.silentMs ?? GONE_MS;
    if (silentMs < GONE_MS) throw new AdminError(`${member} is there: stop it, and wait ${GONE_MS / 1000} s`);
    await log.read(SQL.leave, [cluster, member]);
    await forgetHeads(log, { cluster, holder: member });
    return [`${member} keeps no rows in the log any more; should it come back, it joins anew`];
  });
}

/** Later leads write the newest formats that every member knows. */
export function raiseFormats(env: Environment): Promise<string[]> {
  return withLog(env, raise);
}

/** The members are stopped, and this is the directory of one of them. */
export function rotateKeys(
  env: Environment,
  directory: string,
  control: Database.Database,
  keys: MasterKeys,
): Promise<string[]> {
  return withLog(env, (log) => rotateInCluster(log, directory, control, keys));
}

/** Ends the present leader's lead: it restarts as a standby, and another member takes over. */
export function fenceCluster(env: Environment): Promise<string[]> {
  return withLog(env, async (log) => {
    const { holder, epoch } = await log.lease();
    await log.fence();
    return [holder === '' ? `epoch ${epoch} has ended` : `${holder} does not lead any more: epoch ${epoch} has ended`];
  });
}

/** Makes the log continue from one member's files (clusterFound.ts). */
export function found(
  env: Environment,
  founder: string,
  without: readonly string[],
  isRefill: boolean,
): Promise<string[]> {
  return withLog(env, (log, cluster) => foundLog(log, { cluster, founder, without, isRefill }));
}

/** Creates an empty log for a new cluster. */
export async function foundEmpty(env: Environment): Promise<string[]> {
  const url = logUrl(env);
  try {
    return await foundNew(url, clusterName(env));
  } catch (error) {
    if (error instanceof AdminError) throw error;
    throw new AdminError(`no log can be made: ${errorMessage(error)}`);
  }
}

/** A member gives up records that the log does not have (clusterLoss.ts). */
export function giveUp(env: Environment, directory: string, count: number | null): Promise<string[]> {
  return withLog(env, (log) => acceptLoss(log, { directory, count }));
}

export function logUrl(env: Environment): string {
  try {
    const url = journalUrlOf(env);
    if (url !== '') return url;
  } catch (error) {
    throw error instanceof JournalUrlError ? new AdminError(error.message) : error;
  }
  throw new AdminError('JOURNAL_URL: set it to the database of the log');
}

function clusterName(env: Environment): string {
  return env['CLUSTER_NAME'] || 'exchange';
}

async function withLog(
  env: Environment,
  use: (log: PostgresLog, cluster: string) => Promise<string[]>,
): Promise<string[]> {
  const url = logUrl(env);
  const cluster = clusterName(env);
  let log: PostgresLog;
  try {
    log = await PostgresLog.observe({ url, cluster });
  } catch (error) {
    throw new AdminError(`the log of the cluster cannot be opened: ${errorMessage(error)}`);
  }
  try {
    return await use(log, cluster);
  } finally {
    await log.close();
  }
}

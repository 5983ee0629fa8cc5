/**
 * `admin cluster doctor` (data/docs/cluster.md): checks a cluster's database and members from the machine on which it
 * runs, and reports what would prevent a start or a takeover. It changes nothing and prints no secret.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { FORMATS, raisedFrom, unreadable } from '../../shared/base/formats.ts';
import { serverName, serversOf } from '../../shared/base/journalUrl.ts';
import { errorCode, errorOf } from '../../shared/base/thrown.ts';
import { MOVED_FACT } from '../replication/logFacts.ts';
import { logUrl } from './cluster.ts';
import { raisable } from './clusterFormats.ts';
import { lookAt, type SeenServer, type ServerLook } from './clusterServers.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Level = 'ok' | 'note' | 'wrong';
type Finding = { readonly level: Level; readonly text: string };

const LEAST_VERSION = 13;
/**
 * The largest clock difference: far less than what a client may be off by. Orders expire and requests are signed by
 * clocks.
 */
const MOST_CLOCK_MS = 1000;
const ANSWER_WITHIN_MS = 3000;
const SILENT_MS = 10_000;

/** A line for each finding; not well: one of them is wrong. */
export async function examine(env: Environment, clock: Clock): Promise<{ lines: string[]; isWell: boolean }> {
  const servers = serversOf(logUrl(env));
  const cluster = env['CLUSTER_NAME'] || 'exchange';
  const looks = await Promise.all(servers.map((server) => lookAt(server, cluster, clock)));
  const findings = [
    ...servers.flatMap((server, index) => ofServer(serverName(server), looks[index], env)),
    ...ofPrimary(looks),
    ...ofCluster(looks, env, cluster),
    ...(await ofMembers(looks, env)),
  ];
  return {
    lines: findings.map(({ level, text }) => `${level.padEnd(5)}  ${text}`),
    isWell: findings.every(({ level }) => level !== 'wrong'),
  };
}

function ofServer(name: string, look: ServerLook, env: Environment): Finding[] {
  if ('problem' in look) return [{ level: 'wrong', text: `${name} cannot be used from here: ${look.problem}` }];
  const { version, isStandby, isEncrypted, clockMs, names, answerMs } = look;
  const role = isStandby ? 'a standby' : 'the primary';
  const findings: Finding[] = [
    { level: 'ok', text: `${name} is ${role}, PostgreSQL ${version}, and answers within ${Math.ceil(answerMs)} ms` },
  ];
  if (Number.parseInt(version, 10) < LEAST_VERSION) {
    findings.push({ level: 'wrong', text: `${name}: PostgreSQL ${LEAST_VERSION} is the oldest that can be used` });
  }
  if (Math.abs(clockMs) > MOST_CLOCK_MS) {
    const off = `${(Math.abs(clockMs) / 1000).toFixed(1)} s ${clockMs > 0 ? 'ahead of' : 'behind'}`;
    findings.push({ level: 'wrong', text: `${name}: its clock is ${off} that of this machine` });
  }
  if (names === '') {
    const why = isStandby ? 'once it is promoted, no member would use it' : 'no member uses it';
    findings.push({ level: 'wrong', text: `${name}: synchronous_standby_names is empty: ${why}` });
  }
  findings.push(...ofSafety(name, look, env));
  if (!isEncrypted) findings.push({ level: 'note', text: `${name}: the connection is not encrypted (sslmode)` });
  return findings;
}

/** Rows that the server commits or confirms must survive a power cut, and the primary must accept rows. */
function ofSafety(name: string, look: SeenServer, env: Environment): Finding[] {
  const level = env['JOURNAL_UNSYNCED'] === 'on' ? 'note' : 'wrong';
  const { isStandby, fsync, fullPages, readOnly } = look;
  const findings: Finding[] = [];
  const does = isStandby ? 'confirms' : 'commits';
  if (fsync !== 'on')
    findings.push({ level, text: `${name}: fsync is off: what it ${does} may be lost with its machine` });
  if (fullPages !== 'on') {
    findings.push({ level, text: `${name}: full_page_writes is off: its tables may be torn by a power cut` });
  }
  if (readOnly === 'on') {
    const now = isStandby ? 'it will take no rows once it is promoted' : 'it takes no rows';
    findings.push({ level: 'wrong', text: `${name}: default_transaction_read_only is on: ${now}` });
  }
  return findings;
}

/** The server that is written, and those that follow it. */
function ofPrimary(looks: readonly ServerLook[]): Finding[] {
  const seen = looks.filter(isSeen);
  const primaries = seen.filter(({ isStandby }) => !isStandby);
  if (primaries.length === 0) return [{ level: 'wrong', text: 'no server of JOURNAL_URL can be written' }];
  if (primaries.length > 1) {
    return [{ level: 'wrong', text: 'several servers can be written: one was abandoned and has to be stopped' }];
  }
  const { standbys, rights } = primaries[0];
  const findings: Finding[] = rights.map((right) => ({ level: 'wrong', text: `the user of the database ${right}` }));
  if (rights.length === 0)
    findings.push({ level: 'ok', text: 'the user of the database has the rights that it needs' });
  if (standbys.some(({ state }) => state === null)) {
    const hidden = 'the user of the database may not see whether its standbys follow: GRANT pg_monitor to it';
    return [...findings, { level: 'note', text: hidden }];
  }
  const synced = standbys.filter(({ state, syncState }) => state === 'streaming' && syncState !== 'async');
  const listed = seen.filter(({ isStandby }) => isStandby).length;
  const names = synced.map(({ name }) => name).join(', ');
  if (synced.length === 0)
    findings.push({ level: 'wrong', text: 'no synchronous standby follows: nothing is accepted' });
  else if (synced.length === 1) {
    findings.push({
      level: 'wrong',
      text: `one synchronous standby follows (${names}): without it nothing is accepted`,
    });
  } else findings.push({ level: 'ok', text: `${synced.length} synchronous standbys follow: ${names}` });
  if (listed < synced.length) {
    const text = `JOURNAL_URL lists ${listed} standbys of ${synced.length}: one that is promoted would not be found`;
    findings.push({ level: 'wrong', text: `${text}, nor what it syncs` });
  }
  return findings;
}

function ofCluster(looks: readonly ServerLook[], env: Environment, name: string): Finding[] {
  const cluster = clusterIn(looks);
  if (cluster === null) {
    return [{ level: 'note', text: `there is no cluster ${name} yet: cluster found --new makes it` }];
  }
  const findings: Finding[] = [
    cluster.leader === null
      ? { level: 'wrong', text: 'no member leads' }
      : { level: 'ok', text: `${cluster.leader} leads in epoch ${cluster.epoch}` },
  ];
  const moved = cluster.facts[MOVED_FACT];
  if (moved !== undefined) {
    return [{ level: 'wrong', text: `the cluster ${name} goes on as ${moved}: no member leads under this name` }];
  }
  const shards = env['SHARDS'] ?? '';
  const known = cluster.facts['shards'];
  if (shards !== '' && known !== undefined && known !== shards) {
    findings.push({ level: 'wrong', text: `SHARDS is ${shards} here, and ${known} in the cluster` });
  }
  return findings;
}

async function ofMembers(looks: readonly ServerLook[], env: Environment): Promise<Finding[]> {
  const cluster = clusterIn(looks);
  const { members } = cluster ?? { members: [] };
  const findings = await Promise.all(
    members.map(async ({ holder, address, silentMs, filesProblem }): Promise<Finding> => {
      const since = `${(silentMs / 1000).toFixed(0)} s`;
      if (silentMs > SILENT_MS) return { level: 'wrong', text: `member ${holder} has not reported for ${since}` };
      if (filesProblem !== '') {
        return { level: 'wrong', text: `member ${holder} does not agree with the log: ${filesProblem}` };
      }
      const problem = await problemAt(address);
      if (problem === null) return { level: 'ok', text: `member ${holder} answers at ${address}` };
      return { level: 'wrong', text: `member ${holder} does not answer at ${address} from here: ${problem}` };
    }),
  );
  for (const { holder, reason, agoMs } of cluster?.refused ?? []) {
    const text = `member ${holder} was refused ${(agoMs / 1000).toFixed(0)} s ago: ${reason}`;
    findings.push({ level: 'wrong', text });
  }
  const versions = new Set(members.filter(({ silentMs }) => silentMs <= SILENT_MS).map(({ version }) => version));
  if (versions.size > 1) findings.push({ level: 'note', text: `members run versions ${[...versions].join(' and ')}` });
  if (cluster !== null) findings.push(...ofFormats(cluster));
  const [name, address] = [env['MEMBER_NAME'] ?? '', (env['MEMBER_URL'] ?? '').replace(/\/$/, '')];
  const other = members.find(({ holder }) => holder === name);
  if (other !== undefined && address !== '' && other.address !== address) {
    findings.push({ level: 'note', text: `MEMBER_URL is ${address} here, and ${name} was last at ${other.address}` });
  }
  return findings;
}

/** An upgrade in progress, and a version on this machine that is too old to be a member. */
function ofFormats({ formats, members }: NonNullable<SeenServer['cluster']>): Finding[] {
  const { now, next, behind } = raisable(formats, members);
  const own = unreadable(now, FORMATS);
  const findings: Finding[] =
    own === null ? [] : [{ level: 'wrong', text: `this version does not read what the cluster writes: ${own}` }];
  const steps = raisedFrom(now, next);
  if (steps.length === 0) return findings;
  if (behind.length > 0) return [...findings, { level: 'note', text: `an upgrade is underway: ${behind.join('; ')}` }];
  return [
    ...findings,
    { level: 'note', text: `every member knows more than is written: cluster raise ${steps.join(', ')}` },
  ];
}

/** @returns the reason why no exchange answers there, or null */
async function problemAt(address: string): Promise<string | null> {
  try {
    const answer = await fetch(`${address}/health`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return answer.ok && answer.headers.has('x-svc-role') ? null : `status ${answer.status}, and no member of a cluster`;
  } catch (error) {
    const { name, message, cause } = errorOf(error);
    if (name === 'TimeoutError') return 'no answer';
    return cause instanceof Error ? cause.message || errorCode(cause) || message : message;
  }
}

function isSeen(look: ServerLook): look is SeenServer {
  return !('problem' in look);
}

function clusterIn(looks: readonly ServerLook[]): SeenServer['cluster'] {
  const seen = looks.filter(isSeen);
  return (seen.find(({ isStandby }) => !isStandby) ?? seen[0])?.cluster ?? null;
}

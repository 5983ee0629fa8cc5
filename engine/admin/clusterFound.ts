/**
 * `admin cluster found` and `cluster refill` (data/docs/cluster.md): a log continues from one member's files, because
 * the log is gone or has lost rows. Each member whose start was refused has recorded what it has, and which other
 * members its files contain (memberHeads.ts). So no file is read here, and the command runs anywhere.
 *
 * Invariants:
 *   FOUNDING-1  Nothing is founded while a member runs, or where another member has what the founder does not have, or
 *               has not reported, unless the operator names it as lost.
 *   FOUNDING-2  A log with rows that the founder does not have is not replaced.
 *   FOUNDING-3  The log has another id from then on: each other member is refused, or joins with a copy where all of
 *               its rows are in the founder's files.
 *   FOUNDING-4  The log that the founder's files are of has no leader under another name of the cluster in this
 *               database, and gets none: it names the cluster that goes on.
 */
import { randomUUID } from 'node:crypto';
import { ANY_DATABASE, Servers } from '../replication/connection.ts';
import { type ReportedHeads, readHeads, streamName } from '../replication/memberHeads.ts';
import type { PostgresLog } from '../replication/postgresLog.ts';
import { makeTables } from '../replication/schema.ts';
import { newLead, SQL } from '../replication/statements.ts';
import { requireStopped } from './clusterKeys.ts';
import { AdminError } from './directory.ts';

type Log = Pick<PostgresLog, 'history' | 'lease' | 'facts' | 'read' | 'write'>;

type FoundOptions = {
  readonly cluster: string;
  readonly founder: string;
  /** The members that are given up. */
  readonly without: readonly string[];
  /** There is a log, which has lost rows. */
  readonly isRefill: boolean;
};

/** @returns what was done, a line each */
export async function foundLog(log: Log, options: FoundOptions): Promise<string[]> {
  const { cluster, founder, isRefill } = options;
  if (founder === '') throw new AdminError('name the member whose files the log is to go on from, or give --new');
  const { id, leads } = await log.history();
  const isLed = id !== null || leads.length > 0;
  if (isLed && !isRefill) throw new AdminError('there is a log already: if it has lost rows, use cluster refill');
  if (!isLed && isRefill) throw new AdminError('there is no log yet: make it with cluster found');
  await requireStopped(log);
  const all = await readHeads(log, cluster);
  const own = all.find(({ holder }) => holder === founder);
  if (own === undefined) {
    throw new AdminError(`${founder} was not refused by this log: start it once, so that it reports what it has`);
  }
  if (isRefill && own.log !== id)
    throw new AdminError(`the files of ${founder} are of the log ${own.log}, not of this one`);
  if (isRefill && own.heads.lacks.length > 0) {
    const streams = own.heads.lacks.map(streamName).join(', ');
    throw new AdminError(
      `the log has rows of ${streams} that ${founder} does not have: both went on without each other`,
    );
  }
  const [former] = await log.read<{ cluster: string; holder: string }>(SQL.formerLeader, [cluster, own.log]);
  if (former !== undefined) {
    throw new AdminError(`${former.holder} still leads this log as the cluster ${former.cluster}: stop it first`);
  }
  const members = (await log.facts()).members.map(({ holder }) => holder);
  const others = new Set([...(own.heads.mark?.members ?? []), ...members, ...all.map(({ holder }) => holder)]);
  others.delete(founder);
  const lost = options.without.filter((name) => others.has(name));
  const unknown = options.without.find((name) => !others.has(name));
  if (unknown !== undefined) throw new AdminError(`--without ${unknown}: no member has this name`);
  for (const name of lost) others.delete(name);
  const problems = [...others].flatMap((name) =>
    problemOf(
      name,
      own,
      all.find(({ holder }) => holder === name),
    ),
  );
  if (problems.length > 0) throw new AdminError(problems.join('\n'));
  return write(log, options, own, [...others], lost);
}

/** A log without anything, for members without files; or one that no one has begun, once more for this run. */
export async function foundNew(url: string, cluster: string): Promise<string[]> {
  const connection = await new Servers(url, ANY_DATABASE).connect('write');
  try {
    await makeTables(connection);
    const { rows } = await connection.run<{ holder: string }>(SQL.heads, [cluster]);
    const refused = rows.map(({ holder }) => holder).join(', ');
    if (refused !== '')
      throw new AdminError(`there are files of an earlier log: name one of these members: ${refused}`);
    const { count } = await connection.run(SQL.foundNew, [cluster, randomUUID()]);
    if (count === 0) throw new AdminError('there is a log already');
    return [`the cluster ${cluster} has a log, without a row: start its members`];
  } finally {
    await connection.close();
  }
}

/** FOUNDING-1. */
function problemOf(name: string, own: ReportedHeads, other: ReportedHeads | undefined): string[] {
  const { holder } = own;
  if (other === undefined) {
    return [`${name} has not reported what it has: start it once, or give it up with --without ${name}`];
  }
  if (own.contains[name] === other.digest) return [];
  const further = Object.entries(other.heads.streams).filter(([stream, { sequence }]) => {
    return sequence > (own.heads.streams[stream]?.sequence ?? 0) && streamName(Number(stream)) !== 'audit.log';
  });
  if (further.length > 0) {
    const streams = further.map(([stream, { sequence }]) => {
      const here = own.heads.streams[stream]?.sequence ?? 0;
      return `${streamName(Number(stream))} to record ${sequence}, and ${holder} to ${here}`;
    });
    return [
      `${name} goes further: ${streams.join('; ')}: found from ${name}, or give up its rest with --without ${name}`,
    ];
  }
  return [
    `the files of ${holder} were not compared with those that ${name} has now, or they differ: start ${holder} once ` +
      `more, which is refused and compares them, or give ${name} up with --without ${name}`,
  ];
}

/** FOUNDING-3. */
async function write(
  log: Pick<Log, 'write'>,
  { cluster, founder }: FoundOptions,
  own: ReportedHeads,
  contained: readonly string[],
  lost: readonly string[],
): Promise<string[]> {
  const id = randomUUID();
  const { mark, streams } = own.heads;
  const named = Object.entries(streams);
  await log.write(SQL.foundLog, [
    cluster,
    id,
    founder,
    contained,
    Math.max(mark?.last?.epoch ?? 0, mark?.own?.epoch ?? 0),
    newLead(),
    named.map(([stream]) => Number(stream)),
    named.map(([, { sequence }]) => sequence),
    named.map(([, { head }]) => head),
    own.log,
  ]);
  const bases = named.map(([stream, { sequence }]) => `${streamName(Number(stream))} after record ${sequence}`);
  return [
    `the log goes on from what ${founder} has: ${bases.join(', ')}`,
    ...contained.map((name) => `${name} has nothing that ${founder} does not have: its next start joins with a copy`),
    ...lost.map((name) => `${name} is given up: should it come back with more than ${founder} has, it is refused`),
    `start ${founder} first, then the others`,
  ];
}

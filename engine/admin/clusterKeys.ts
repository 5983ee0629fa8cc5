/**
 * `admin keys rotate` for a cluster, while all of its members are stopped: one of them, which has every change that the
 * log holds, seals its own secrets anew, and the cluster has the new key from then on. The others join it anew with
 * copies of its files (RULES.md 18.20).
 *
 *   all are silent, nothing is missing here ──► fact: old to new ──► keyRotation.ts ──► fact: new
 *
 * Invariants:
 *   CLUSTERKEYS-1  No record of the log has a secret under the old key that this member does not have: it would be read
 *                  after the rotation. So control.db ends where the log does.
 *   CLUSTERKEYS-2  A member with the old key is refused by the fact, whatever files it has, and one with the new key
 *                  and files from before joins anew. Between the two facts no member starts: after an interruption the
 *                  same command goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { MASTER_KEY_FACT, nameOfMasterKey } from '../../shared/crypto/masterKey.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { PostgresLog } from '../replication/postgresLog.ts';
import { AdminError } from './directory.ts';
import { type MasterKeys, rotateMasterKey } from './keyRotation.ts';

type Log = Pick<PostgresLog, 'lease' | 'facts' | 'ends' | 'fact' | 'replaceFact'>;

/** A member that runs reports each second. */
const SILENT_MS = 3000;
const LOOK_MS = 100;

/** @param control of a member that is stopped, whose lock the caller holds. @returns what was done, a line each */
export async function rotateInCluster(
  log: Log,
  directory: string,
  control: Database.Database,
  { given, next }: MasterKeys,
): Promise<string[]> {
  if (given === null) throw new AdminError('MASTER_KEY: set it to the key that the members have');
  if (next === null) throw new AdminError('NEW_MASTER_KEY: set it to the key that they are to have');
  const [from, to] = [nameOfMasterKey(given), nameOfMasterKey(next)];
  const known = await log.fact(MASTER_KEY_FACT);
  if (known === to) return ['the cluster has the new key already'];
  const underway = `${from} to ${to}`;
  if (known !== from && known !== underway) throw new AdminError('MASTER_KEY: not the key that the members have');
  await requireStopped(log);
  await requireWhole(log, control);
  await log.replaceFact(MASTER_KEY_FACT, from, underway);
  const lines = rotateMasterKey(directory, control, { given, next });
  await log.replaceFact(MASTER_KEY_FACT, underway, to);
  return [...lines, 'start this member first; the others join it anew, with MASTER_KEY set to the same'];
}

/** Throws while a member runs. */
export async function requireStopped(log: Pick<Log, 'facts' | 'lease'>): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOOK_MS) {
    const { members } = await log.facts();
    const there = members.filter(({ silentMs }) => silentMs < SILENT_MS);
    if (there.length === 0 && (await log.lease()).expiresInMs <= 0) return;
    const names = there.map(({ holder }) => holder).join(', ');
    // One that has just stopped has reported until then.
    if (waitedMs > SILENT_MS) throw new AdminError(`stop every member first: ${names} reports`);
    await sleep(LOOK_MS);
  }
}

/** CLUSTERKEYS-1 */
async function requireWhole(log: Log, control: Database.Database): Promise<void> {
  const held = (await log.ends()).find(({ stream }) => stream === STREAM.CONTROL)?.sequence ?? 0;
  const here = control.prepare<[], number>('SELECT sequence FROM record_end').pluck().get() ?? 0;
  if (here === held) return;
  throw new AdminError(
    `control.db has the changes up to ${here}, and the log those up to ${held}: rotate on the member that led last, ` +
      'or start this one once before',
  );
}

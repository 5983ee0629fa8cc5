/**
 * `admin journal verify`, `journal repair` and `control repair`: find the damages of a data directory and the remedies.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isOfMember } from '../../shared/base/directoryVersion.ts';
import { freeTime } from '../../shared/base/freeName.ts';
import type { LocalEnd } from '../../shared/wire/threads.ts';
import { HELD_MARK_FILE, heldMarkDamage, lowerHeldMark } from '../replication/heldMark.ts';
import { checkAuditLog } from './auditLog.ts';
import { type Call, dataDir, integerOf, print, UsageError } from './commandLine.ts';
import { repairControl } from './controlRepair.ts';
import { checkDatabases, type DatabaseFinding } from './databases.ts';
import {
  AdminError,
  listShards,
  RunningError,
  type ShardFile,
  withDirectoryToRead,
  withExclusiveDirectory,
} from './directory.ts';
import { givenUpPath, writeGivenUp } from './givenUp.ts';
import { forgetHeads, saveHeads, withKnownHeads } from './heads.ts';
import { withHistories } from './histories.ts';
import { inspectShard } from './inspect.ts';
import { type Plan, planRepair } from './plan.ts';
import { carryOut, endOf, finishNames } from './repair.ts';
import { unnamedIn } from './unnamed.ts';
import { describeShards, howToProceed, isSound } from './verify.ts';

/** Before anything is given up. */
const OTHER_MEMBERS =
  'this is a member of a cluster: another one may have all of it. Set this directory aside and start with an empty ' +
  'one beside a member that is whole: it gets a copy';

export async function verify(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  const databases = checkDatabases(directory);
  // The journals say more than nothing where control.db says nothing.
  const shards = await listShards(directory);
  const isDamaged = databases.some(({ name, problem }) => name === 'control.db' && problem !== null);
  const files = isDamaged ? shards : await withKnownHeads(shards);
  const auditLog = isDamaged ? null : await checkAuditLog(directory);
  const all = files.map(inspectShard);
  const lack = isDamaged || !all.every(isSound) ? null : await lackOf(directory, files);
  const ofHistory = isDamaged || !all.every(isSound) ? databases : withHistories(directory, files, databases);
  const beside = ofHistory.map((each) => (each.name === 'control.db' && lack !== null ? lack : each));
  const others = [auditLog, markOf(directory)].filter((each) => each !== null);
  const report = describeShards(all, [...beside, ...others]);
  print(call, report.text);
  return report.isSound;
}

/** Of a member of a cluster. */
function markOf(directory: string): DatabaseFinding | null {
  if (!existsSync(join(directory, HELD_MARK_FILE))) return null;
  const damage = heldMarkDamage(directory);
  const problem = damage && `${damage}: the next start of this member compares its files with the log, and mends it`;
  return { name: HELD_MARK_FILE, state: problem === null ? 'ok' : 'damaged', problem };
}

/** Of control.db, beside whole journals. */
async function lackOf(directory: string, files: readonly ShardFile[]): Promise<DatabaseFinding | null> {
  try {
    const lack = await withDirectoryToRead(directory, (control) => control && unnamedIn(control, files));
    if (lack === null) return null;
    const next = 'put back the newest one, or see what `npm run admin -- control repair` can do';
    return { name: 'control.db', state: 'older', problem: `${join(directory, 'control.db')}: ${lack}: ${next}` };
  } catch (error) {
    if (error instanceof RunningError) return null;
    throw error;
  }
}

export async function repair(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  const finished = await withExclusiveDirectory(directory, () => finishNames(directory));
  for (const path of finished) print(call, `${path}: an interrupted repair is finished`);
  const files = await withKnownHeads(await listShards(directory));
  const chosen = chooseShards(files, call.options.shard);
  const time = freeTime(directory);
  return withExclusiveDirectory(directory, (control) => {
    const plans = chosen.map((file) => planRepair(inspectShard(file))).filter(isNeeded);
    const isMember = control !== null && isOfMember(control);
    // All or nothing: a partly repaired directory is harder to judge than a damaged one.
    const refused = plans.find((plan) => plan.hopeless !== null || (plan.needsConsent && !call.options['accept-loss']));
    if (refused !== undefined) {
      print(call, `problem: ${refused.findings.problem?.text}`);
      if (isMember) print(call, OTHER_MEMBERS);
      for (const line of howToProceed(refused)) print(call, line);
      if (call.options['accept-loss'] && refused.leaving.length > 0) {
        print(call, `written: ${writeGivenUp(refused.findings, refused.leaving, time)}`);
      }
      return false;
    }
    const shortened = plans.filter(({ needsConsent }) => needsConsent).map(({ findings }) => findings.file);
    // This precedes cutting the journals: otherwise the next run would not know that a loss was accepted.
    const ends = plans
      .filter(({ needsConsent }) => needsConsent)
      .map((plan): LocalEnd => {
        return { stream: plan.findings.file.shard, sequence: endOf(plan) };
      });
    if (isMember && ends.length > 0) lowerHeldMark(directory, ends);
    if (control !== null && shortened.length > 0) forgetHeads(control, files, shortened);
    for (const plan of plans) {
      const { shard } = plan.findings.file;
      for (const effect of plan.effects) print(call, `shard ${shard}: ${effect}`);
      carryOut(plan, time);
      if (plan.leaving.length > 0) print(call, `shard ${shard}: written: ${givenUpPath(plan.findings.file, time)}`);
    }
    if (control !== null && shortened.length > 0) saveHeads(control, files, shortened);
    if (plans.length === 0) print(call, 'nothing to repair');
    else print(call, `what was replaced has the end .damaged-${time}`);
    const isShortened = (file: ShardFile): boolean => shortened.includes(file);
    const report = describeShards(
      chosen.map((file) => inspectShard(isShortened(file) ? { ...file, known: undefined } : file)),
    );
    print(call, report.text);
    return report.isSound;
  });
}

export async function repairControlDatabase(call: Call): Promise<boolean> {
  const directory = dataDir(call);
  if (!existsSync(join(directory, 'control.db')))
    throw new AdminError(`${directory}/control.db is missing: put it back`);
  const files = await listShards(directory);
  // A server that runs holds the lock also of a damaged file.
  await withDirectoryToRead(directory, () => undefined).catch((error) => {
    if (error instanceof RunningError || !(error instanceof AdminError)) throw error;
  });
  const found = checkDatabases(directory).find(({ name }) => name === 'control.db')!;
  const damage = found.problem === null ? ((await lackOf(directory, files)) ?? found) : found;
  if (damage.problem === null) {
    print(call, 'control.db is whole: nothing to repair');
    return true;
  }
  print(call, `problem: ${damage.problem}`);
  const acceptsLoss = call.options['accept-loss'] === true;
  const { lines, isInPlace } = repairControl({ directory, files, acceptsLoss, time: freeTime(directory) });
  for (const line of lines) print(call, line);
  if (isInPlace) print(call, 'next: `npm run admin -- journal verify`, then `npm run admin -- audit`');
  return isInPlace;
}

function chooseShards(files: readonly ShardFile[], wanted: string | undefined): readonly ShardFile[] {
  const shard = integerOf('shard', wanted, 0);
  if (shard === null) return files;
  const file = files[shard];
  if (file === undefined) throw new UsageError(`--shard: there are ${files.length}, 0 to ${files.length - 1}`);
  return [file];
}

function isNeeded({ hopeless, effects }: Plan): boolean {
  return hopeless !== null || effects.length > 0;
}

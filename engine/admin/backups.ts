/**
 * `backup`, `restore` and `backups`: make copies of a data directory beside a running exchange, and restore them
 * (engine/backup).
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type Database from 'better-sqlite3';
import { noteBackup } from '../../shared/base/backupStatus.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { comesBackWith } from '../../shared/base/restored.ts';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import type { BackupProgress } from '../../shared/wire/backupProgress.ts';
import { withControl } from '../backup/controlSource.ts';
import { LaterRecords } from '../backup/laterRecords.ts';
import { makePoint, REMADE } from '../backup/make.ts';
import { Pace } from '../backup/pace.ts';
import { lastMsOf, type Point } from '../backup/point.ts';
import { replayed } from '../backup/replayed.ts';
import { noteRestored, writeFiles, writeJournals } from '../backup/restore.ts';
import { type BackupStore, FolderInUseError } from '../backup/store.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { auditDirectory } from './audit.ts';
import { type Call, type Command, dataDir, integerOf, print, UsageError } from './commandLine.ts';
import { checkDatabases } from './databases.ts';
import { AdminError, listShards, openMasterKey, RunningError, withDirectoryToRead } from './directory.ts';
import { withKnownHeads } from './heads.ts';
import { inspectShard } from './inspect.ts';
import { at, chooseOf, explained, inMegabytes, openStore, prune, readStore } from './points.ts';
import { raiseNumbers } from './raiseNumbers.ts';
import { placeFor } from './restoredPlace.ts';
import { describeShards } from './verify.ts';

type Print = (line: string) => void;

type BackupSettings = {
  /** The folder of backups. */
  readonly target: string;
  /** The data directory. */
  readonly directory: string;
  /** Megabytes per second; 0 for no limit. */
  readonly rate: number;
  readonly leaveOut: readonly string[];
  readonly prunes: boolean;
  /** The name of a point to restore; undefined: the newest, or the newest not after `toMs`. */
  readonly point: string | undefined;
  readonly toMs: number | null;
  /** Declares that nothing happened after the backup: a start continues at once. */
  readonly asItWas: boolean;
  /** A restore keeps the old contents of the directory in a subfolder, and takes their place. */
  readonly setsAside: boolean;
  readonly nowMs: () => number;
  readonly print: Print;
  readonly onProgress: (progress: BackupProgress) => void;
};

const MEGABYTE = 1_000_000;
/** Megabytes a second that a backup reads. */
const DEFAULT_RATE = 40;

type RestoreSettings = Pick<BackupSettings, 'point' | 'toMs' | 'asItWas' | 'leaveOut' | 'nowMs' | 'print'>;

/** A command with the settings that its options make. */
export function ofBackups(work: (settings: BackupSettings) => boolean | Promise<boolean>): Command['run'] {
  return async (call) => work(backupSettings(call));
}

function backupSettings(call: Call): BackupSettings {
  const { options, argument: target } = call;
  const toMs = options.to === undefined ? null : Date.parse(options.to);
  if (Number.isNaN(toMs)) throw new UsageError('--to: not a time such as 2026-10-01T12:00:00Z');
  return {
    target,
    directory: dataDir(call),
    rate: integerOf('rate', options.rate, 0) ?? DEFAULT_RATE,
    leaveOut: options['leave-out'] ?? [],
    prunes: options.prune === true,
    point: options.point,
    toMs,
    asItWas: options['as-it-was'] === true,
    setsAside: options['set-aside'] === true,
    nowMs: () => systemClock.nowMs(),
    print: (line) => print(call, line),
    onProgress: (progress) => call.onProgress?.(progress),
  };
}

/** Makes a point, and records its result in the data directory. */
export async function backUp(settings: BackupSettings): Promise<boolean> {
  const { directory, target, nowMs, leaveOut } = settings;
  const startedMs = nowMs();
  let store: BackupStore | null = null;
  try {
    const other = leaveOut.find((name) => !REMADE.some((each) => each === name));
    if (other !== undefined) throw new AdminError(`--leave-out: only ${REMADE.join(', ')} can be made anew`);
    requireApart(directory, target);
    store = openStore(target);
    const done = await make(settings, store);
    noteBackup(directory, { backedUpMs: nowMs(), failedMs: null, ...done, tookMs: nowMs() - startedMs });
    return true;
  } catch (error) {
    const isUsed = error instanceof Error && error.cause instanceof FolderInUseError;
    if (existsSync(directory) && !isUsed) noteBackup(directory, { failedMs: nowMs() });
    throw explained(error, target);
  } finally {
    store?.close();
  }
}

async function make(settings: BackupSettings, store: BackupStore): Promise<{ bytes: number; newBytes: number }> {
  const { directory, rate, leaveOut, prunes, nowMs, print, onProgress } = settings;
  const shards = await listShards(directory);
  const directoryBytes = sizeOf(directory);
  const about = inMegabytes(directoryBytes);
  const pace = new Pace({
    bytesPerSecond: rate === 0 ? Infinity : rate * MEGABYTE,
    onProgress: (readBytes) => {
      print(`${inMegabytes(readBytes)} are read; the directory has ${about}`);
      onProgress({ readBytes, directoryBytes });
    },
  });
  const source = {
    directory,
    shards,
    temporary: store.temporary('control.db'),
    withLock: (work: (control: Database.Database | null) => void) => lockedBy(directory, work),
    nowMs,
    print,
  };
  const startedMs = nowMs();
  const { points, problems } = store.points();
  for (const { problem } of problems) print(`problem: ${problem}`);
  const before = points.at(-1) ?? null;
  const point = await makePoint({
    ...{ directory, shards, store, pace, leaveOut, print },
    withControl: (work) => withControl(source, work),
  });
  for (const shard of shards) print(replayed(store, { point, before }, shard));
  const seconds = Math.max(1, Math.round((nowMs() - startedMs) / 1000));
  const { allBytes: bytes, newBytes } = store;
  onProgress({ readBytes: pace.doneBytes, directoryBytes });
  print(`point ${point.name}: ${inMegabytes(bytes)} read in ${seconds} s, ${inMegabytes(newBytes)} of it new`);
  for (const line of reach(point)) print(line);
  if (point.leftOut.length > 0) print(`not in it: ${point.leftOut.join(', ')}, which a restore makes anew`);
  if (point.files.some(({ name }) => name === 'master.key')) {
    print('master.key is in it: whoever reads the backup reads every secret; a MASTER_KEY as a setting stays apart');
  }
  if (prunes) prune(store, nowMs(), print);
  return { bytes, newBytes };
}

/** @returns true if the restored directory is sound and balanced */
export async function restore(settings: BackupSettings): Promise<boolean> {
  const { directory, print } = settings;
  const { folder, put } = await placeFor(directory, settings);
  const isSound = await restoreInto(readStore(settings.target), settings, folder).catch((error) => {
    rmSync(folder, { recursive: true, force: true });
    throw explained(error, settings.target);
  });
  if (!isSound) {
    print(`${folder} has the restored files; they were not put in place`);
    return false;
  }
  put();
  print(`${directory} is restored`);
  return true;
}

async function restoreInto(
  store: BackupStore,
  { point: name, toMs, asItWas, leaveOut, nowMs, print }: RestoreSettings,
  folder: string,
): Promise<boolean> {
  const { point, later } = chooseOf(store, { name, toMs, print });
  print(`point ${point.name}`);
  mkdirSync(dirname(folder), { recursive: true });
  const options = { store, point, folder, leaveOut, print };
  writeFiles(options);
  const masterKey = openMasterKey(folder);
  const keyOf = (shard: number): Promise<ShardKey> => ShardKey.create(readJournalKey(folder, masterKey), shard);
  const controlPath = join(folder, 'control.db');
  const records =
    later === null || toMs === null
      ? null
      : await LaterRecords.find(store, { point, later }, { controlPath, keyOf, beforeMs: toMs });
  await writeJournals(options, masterKey, records);
  if (toMs !== null) for (const line of reachOf(records, { point, later, toMs })) print(line);
  if (asItWas) return checkDirectory(folder, print);
  const upToMs = records?.beforeMs ?? lastMsOf(point);
  // The check applies to the files that are put in place.
  const floor = await raiseNumbers(folder, { point: point.name, upToMs, nowMs: nowMs() }).catch((error) => {
    print(`problem: ${error.message}`);
    return null;
  });
  if (!(await checkDirectory(folder, print)) || floor === null) return false;
  print(`numbers go on above ${floor}`);
  for (const line of comesBackWith(noteRestored(folder, { point: point.name, upToMs }))) print(line);
  return true;
}

/** `journal verify` and `audit` of a stopped directory. */
async function checkDirectory(folder: string, print: Print): Promise<boolean> {
  const files = await withKnownHeads(await listShards(folder));
  const report = describeShards(files.map(inspectShard), checkDatabases(folder));
  print(report.text);
  if (!report.isSound) return false;
  return withDirectoryToRead(folder, (control) => {
    const { text, isBalanced } = auditDirectory(files, control);
    print(text);
    return isBalanced;
  });
}

/** Restores the newest point into a temporary folder, replays and audits it, and deletes it again. */
export async function drill(settings: BackupSettings): Promise<boolean> {
  const { directory, target, nowMs, print } = settings;
  // Locked, so that no other command removes the point meanwhile.
  const store = openStore(target);
  const folder = join(target, 'restored');
  rmSync(folder, { recursive: true, force: true });
  try {
    const startedMs = nowMs();
    const newest = { point: undefined, toMs: null, asItWas: true, leaveOut: [], nowMs, print };
    const isSound = await restoreInto(store, newest, folder);
    const seconds = Math.max(1, Math.round((nowMs() - startedMs) / 1000));
    print(isSound ? `restored, replayed and audited in ${seconds} s` : 'problem: the restored files are not sound');
    if (existsSync(directory)) {
      noteBackup(directory, isSound ? { restoredMs: nowMs(), drillFailedMs: null } : { drillFailedMs: nowMs() });
    }
    return isSound;
  } catch (error) {
    if (existsSync(directory)) noteBackup(directory, { drillFailedMs: nowMs() });
    throw explained(error, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    store.close();
  }
}

/** To which points control.db can be had, and how far the journals went on from the first. */
function reachOf(
  records: LaterRecords | null,
  { point, later, toMs }: { readonly point: Point; readonly later: Point | null; readonly toMs: number },
): string[] {
  if (records === null) {
    const why = later === null ? 'there is no later point that goes on from it' : '';
    return [`this is the point of ${at(point.takenMs)}, not ${at(toMs)}: ${why}`];
  }
  const lines = [`control.db is that of ${at(point.takenMs)}; the next one that there is of ${at(later!.takenMs)}`];
  const { foreign, beforeMs } = records;
  if (foreign === null) return [...lines, `the journals go on to the last record before ${at(beforeMs)}`];
  return [
    ...lines,
    `the journals go on to the last record before ${at(beforeMs)}, not ${at(toMs)}: record ${foreign.sequence} of ` +
      `shard ${foreign.shard} is ${foreign.what}, which needs a newer control.db`,
  ];
}

/** By shard, the last record and its time. */
function reach({ journals }: Point): string[] {
  return journals.map(({ shard, last, lastMs }) => {
    return last === 0 ? `shard ${shard}: no records` : `shard ${shard}: up to record ${last}, of ${at(lastMs)}`;
  });
}

/** @returns false while a server has it. */
async function lockedBy(directory: string, work: (control: Database.Database | null) => void) {
  try {
    await withDirectoryToRead(directory, work);
    return true;
  } catch (error) {
    if (error instanceof RunningError) return false;
    throw error;
  }
}

function requireApart(directory: string, target: string): void {
  const [from, to] = [resolve(directory), resolve(target)];
  if (from === to || to.startsWith(`${from}/`))
    throw new AdminError(`${target} is in the data directory: give another`);
}

function sizeOf(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

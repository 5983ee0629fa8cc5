/** Commands that list, check, choose and remove the points of a backup folder. */
import { accessProblemIn } from '../../shared/base/fileAccess.ts';
import { continues, lastMsOf } from '../backup/point.ts';
import { damagedParts } from '../backup/restore.ts';
import { outdated } from '../backup/retention.ts';
import { BackupError, BackupStore } from '../backup/store.ts';
import { AdminError } from './directory.ts';
import { table } from './table.ts';

type Print = (line: string) => void;
type Folder = { readonly target: string; readonly print: Print };
type Wanted = {
  /** If undefined: the newest point, or the newest one not after `toMs`. */
  readonly name: string | undefined;
  readonly toMs: number | null;
  readonly print: Print;
};

const MEGABYTE = 1_000_000;

/** Lists points, oldest first. @returns false if one of them cannot be used */
export function listPoints({ target, print }: Folder): boolean {
  const store = readStore(target);
  const { points, problems } = store.points();
  const rows = points.map((point) => {
    const bytes = point.files.reduce((sum, file) => sum + file.bytes, 0);
    const records = point.journals.map(({ last }) => last).join(', ');
    return [point.name, at(lastMsOf(point)), records, inMegabytes(bytes), point.wasRunning ? 'running' : 'stopped'];
  });
  for (const line of table([['point', 'up to', 'records', 'files', 'exchange'], ...rows])) print(line);
  for (const { problem } of problems) print(`problem: ${problem}`);
  return problems.length === 0;
}

/**
 * Compares every part of every point with its hash. Sets damaged parts aside, so that the next backup writes them
 * again.
 */
export function verifyPoints({ target, print }: Folder): boolean {
  const store = openStore(target);
  try {
    const sound = new Set<string>();
    const damaged = new Set<string>();
    const { points, problems } = store.points();
    for (const point of points) {
      const parts = damagedParts(store, point, sound);
      for (const part of parts) damaged.add(part);
      const lost = `problem: point ${point.name}: ${parts.length} parts are damaged or gone`;
      print(parts.length === 0 ? `point ${point.name}: ok` : lost);
    }
    for (const { problem, isDamaged, name } of problems) {
      print(`problem: ${problem}`);
      if (isDamaged) print(`set aside: ${store.setPointAside(name)}; what it alone names stays as long as that`);
    }
    for (const part of damaged) {
      const aside = store.setAside(part);
      print(aside === null ? `gone: ${part}` : `set aside: ${aside}`);
    }
    if (damaged.size > 0) print('make a backup now: it writes those again that the directory still has');
    const isSound = damaged.size + problems.length === 0;
    if (isSound) print('ok');
    return isSound;
  } catch (error) {
    throw explained(error, target);
  } finally {
    store.close();
  }
}

/** Returns the point to begin with, and the next one, whose journals contain the records after it. */
export function chooseOf(store: BackupStore, { name, toMs, print }: Wanted) {
  if (name !== undefined && toMs !== null) throw new AdminError('--point and --to: give one of them');
  if (name !== undefined) return { point: store.point(name), later: null };
  const newest = store.pointNames().at(-1);
  if (newest === undefined) throw new AdminError(`${store.folder} has no whole backup`);
  const { points, problems } = store.points();
  if (toMs === null) {
    const point = points.at(-1);
    if (point?.name === newest) return { point, later: null };
    const before = point === undefined ? '' : `; \`--point ${point.name}\` restores the one before`;
    throw new AdminError(problems.at(-1)!.problem + before);
  }
  for (const { problem } of problems) print(`problem: ${problem}`);
  const index = points.findLastIndex(({ takenMs }) => takenMs <= toMs);
  if (index < 0) throw new AdminError(`the oldest point is ${points[0]?.name}, which is after that time`);
  const [point, later] = [points[index], points[index + 1]];
  return { point, later: later !== undefined && continues(point, later) ? later : null };
}

/** Removes outdated points. Unusable points stay; while there is one, every part stays too. */
export function prune(store: BackupStore, nowMs: number, print: Print): void {
  const names = outdated(store.points().points, nowMs);
  if (names.length === 0) return;
  const bytes = store.remove(names);
  if (bytes !== null)
    print(`${names.length} older points are removed, and ${inMegabytes(bytes)} that only they needed`);
  else {
    print(
      `${names.length} older points are removed; no part is, as long as a damaged point is in ${store.folder}/points`,
    );
  }
}

export function openStore(target: string): BackupStore {
  try {
    return BackupStore.open(target);
  } catch (error) {
    throw explained(error, target);
  }
}

export function readStore(target: string): BackupStore {
  try {
    return BackupStore.read(target);
  } catch (error) {
    throw explained(error, target);
  }
}

export function explained(error: unknown, target: string): unknown {
  const access = accessProblemIn(target, error);
  if (access !== null) return new AdminError(access, { cause: error });
  return error instanceof BackupError ? new AdminError(error.message, { cause: error }) : error;
}

export function inMegabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}

export function at(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** The files that hold the snapshots of a shard, for those who copy a data directory. */
import { basename } from 'node:path';
import { errorCode } from '../../shared/base/thrown.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import { runFile } from './runPages.ts';
import { listSnapshots, runsNamedIn, type SnapshotFile } from './snapshot.ts';

type SnapshotFiles = SnapshotFile & {
  /** Names in the directory: first the runs that the snapshot names, which are useless without it, then itself. */
  readonly names: readonly string[];
};

/** Newest first. A file may be gone before it is copied, because the snapshot thread removes old ones. */
export function snapshotFiles(directory: string, shard: number): SnapshotFiles[] {
  return listSnapshots(directory, shard).map((file) => {
    const runs = namesOf(file, shard);
    return { ...file, names: [...runs.map((id) => runFile(shard, id)), basename(file.path)] };
  });
}

/** None of a snapshot that is damaged or gone: nothing can be made of it. */
function namesOf(file: SnapshotFile, shard: number): string[] {
  try {
    return runsNamedIn(file, shard, null).runs.map(({ id }) => id);
  } catch (error) {
    if (error instanceof SnapshotError || errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Carries out what plan.ts decided. The exchange must be stopped; the caller holds its lock.
 *
 * Invariants:
 *   R1  Nothing is deleted but the index of a write-ahead log, which SQLite makes again: what is replaced gets the end
 *       `.damaged-<time>` and stays where it was.
 *   R2  A journal is made anew beside the old one and takes its place when it is whole and on the disk. A repair that
 *       is cut short leaves a name missing, which refuses to start, and never a journal that looks good and is not.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { Journal } from '../journal.ts';
import { markPath } from '../journalFile.ts';
import { JournalReader } from '../journalReader.ts';
import { Mark } from '../mark.ts';
import type { ShardFile } from './directory.ts';
import { type Findings, inspectShard } from './inspect.ts';
import type { Plan } from './plan.ts';
import { readBatch } from './replica.ts';

/** @param time names what is set aside. @returns how the shard stands afterwards. */
export function carryOut(plan: Plan, time: string): Findings {
  const { file, last } = plan.findings;
  const setAside = (path: string): void => {
    if (existsSync(path)) renameSync(path, `${path}.damaged-${time}`);
  };
  for (const { path } of plan.setAside) setAside(path);
  if (plan.keep !== null) {
    const fresh = makeAnew(file, plan.keep.from, plan.keep.to);
    // The write-ahead log belongs to the old file: under the new one its pages would be taken for newer ones.
    const old = `${file.journalPath}.damaged-${time}`;
    setAside(markPath(file.journalPath));
    renameSync(file.journalPath, old);
    if (existsSync(`${file.journalPath}-wal`)) renameSync(`${file.journalPath}-wal`, `${old}-wal`);
    rmSync(`${file.journalPath}-shm`, { force: true });
    renameSync(fresh, file.journalPath);
    renameSync(markPath(fresh), markPath(file.journalPath));
  } else if (plan.rewritesMark) {
    setAside(markPath(file.journalPath));
    writeMark(file, last);
  }
  syncDirectory(file.directory);
  return inspectShard(file);
}

/** The same bytes once more: sequence, time and link of a row follow from what is in front of it. */
function makeAnew(file: ShardFile, from: number, to: number): string {
  const journalPath = `${file.journalPath}.part`;
  for (const path of [journalPath, `${journalPath}-wal`, `${journalPath}-shm`, markPath(journalPath)]) {
    rmSync(path, { force: true });
  }
  const reader = new JournalReader(file.journalPath);
  const head = reader.headBefore(from);
  const journal = Journal.open({ shard: file.shard, shards: file.shards, journalPath, journalSync: 'full' }, head);
  try {
    while (head.sequence < to) {
      readBatch(reader, head, to, (at, timeMs, words, command, commandBytes, event, eventBytes) =>
        journal.append(at, timeMs, words, command, commandBytes, words, event, eventBytes),
      );
      journal.commit();
    }
  } finally {
    journal.close();
    reader.close();
  }
  return journalPath;
}

function writeMark({ journalPath, shard }: ShardFile, last: number): void {
  const reader = new JournalReader(journalPath);
  const head = reader.headBefore(Math.max(last, 1));
  if (last > 0) reader.readFrom(head, 1, () => undefined);
  reader.close();
  const mark = new Mark(markPath(journalPath), shard);
  mark.advance(head);
  mark.close();
}

/** Renames outlive a power cut once their directory is on the disk. */
function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

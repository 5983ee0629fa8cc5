/** `admin history write`: the public history of journals that are there, in a folder that no exchange writes to. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HistoryLock, HistoryPlaceError, historyPlaceProblem } from '../../shared/base/historyPlace.ts';
import { HistoryWriter } from '../history/writer.ts';
import { JournalReader } from '../journal/reader.ts';
import { AdminError, type ShardFile } from './directory.ts';

const SLICE_RECORDS = 5000;

/** @returns the days that it has published */
export async function writeHistory(files: readonly ShardFile[], historyDir: string, nowMs: number): Promise<string[]> {
  const [{ directory }] = files;
  const problem = historyPlaceProblem(historyDir, directory, null);
  if (problem !== null) throw new AdminError(problem);
  const lock = lockOf(historyDir);
  const writer = new HistoryWriter({
    ...{ historyDir, directory },
    journalPaths: files.map(({ journalPath }) => journalPath),
    keys: files.map(({ key }) => key),
  });
  try {
    const published: string[] = [];
    const lasts = files.map(lastOf);
    const publish = () => writer.publish(nextTurn, (day) => published.push(day));
    for (let isMoving = true; isMoving; await publish()) {
      isMoving = files.map(({ shard }) => writer.shard(shard).follow(lasts[shard], SLICE_RECORDS)).some(Boolean);
    }
    for (const { shard } of files) writer.shard(shard).passed(nowMs);
    await publish();
    writer.writeState(lasts, nowMs);
    return published;
  } finally {
    writer.close();
    lock.release();
  }
}

function lockOf(historyDir: string): HistoryLock {
  try {
    return new HistoryLock(historyDir);
  } catch (error) {
    if (error instanceof HistoryPlaceError) throw new AdminError(error.message);
    throw error;
  }
}

function lastOf({ journalPath, key }: ShardFile): number {
  const reader = new JournalReader(journalPath, key);
  try {
    return reader.facts().lastSequence;
  } finally {
    reader.close();
  }
}

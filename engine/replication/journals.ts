/**
 * Makes the journals of this machine agree with the log, before any shard starts (rejoin.ts). Owner: the replication
 * thread.
 */
import { dirname } from 'node:path';
import { freeTime } from '../../shared/base/freeName.ts';
import type { JournalsToRejoin } from '../../shared/wire/threads.ts';
import { firstSequenceOf } from '../journal/row.ts';
import { ShardKey } from '../journal/shardKey.ts';
import type { StartReads } from './patientReads.ts';
import { type LoggedRows, rejoin, rejoinedText } from './rejoin.ts';

type Reads = Pick<StartReads, 'ends' | 'firstAfter' | 'rowOf' | 'history'>;

/**
 * @param proof the reason why rows that only this machine has were never acknowledged; null if that is unknown, and
 * then nothing is set aside
 * @returns a line for each journal of which rows were set aside
 */
export async function rejoinJournals(
  log: Reads,
  { journalKey, journalPaths }: JournalsToRejoin,
  proof: string | null,
  givenTime?: string,
): Promise<string[]> {
  const texts: string[] = [];
  for (const [shard, journalPath] of journalPaths.entries()) {
    const key = await ShardKey.create(journalKey, shard);
    const file = { shard, shards: journalPaths.length, journalPath, key };
    const time = givenTime ?? freeTime(dirname(journalPath));
    const rejoined = await rejoin(file, loggedRows(log, shard), time, proof);
    if (rejoined.setAside !== null) texts.push(rejoinedText(rejoined));
  }
  return texts;
}

/** The rows of a shard; a log without rows holds what it was founded with, or nothing. */
export function loggedRows(log: Reads, shard: number): LoggedRows {
  const oldest = async () => {
    const name = await log.firstAfter(shard, 0);
    return name === null ? null : log.rowOf(shard, name.sequence);
  };
  return {
    oldest,
    row: async (sequence) => (await log.rowOf(shard, sequence))?.bytes ?? null,
    range: async () => {
      const last = (await log.ends()).find(({ stream }) => stream === shard)?.sequence ?? 0;
      const first = await oldest();
      if (first !== null) return { after: firstSequenceOf(first) - 1, last, head: null };
      const base = (await log.history()).bases.find(({ stream }) => stream === shard);
      return { after: last, last, head: base?.head ?? null };
    },
  };
}

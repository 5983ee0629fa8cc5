/**
 * Brings the journals of this machine to where the log agrees with them, before any shard starts (rejoin.ts).
 * Owner: the replication thread.
 */
import type { JournalsToRejoin } from '../../shared/wire/threads.ts';
import { firstSequenceOf } from '../journal/row.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { listSnapshots } from '../snapshot/snapshot.ts';
import type { StartReads } from './patientReads.ts';
import { timeOfNames } from './records.ts';
import { type JournalFile, type LoggedRows, rejoin, rejoinedText } from './rejoin.ts';

/** @returns a line for each journal of which rows were set aside. */
export async function rejoinJournals(
  log: StartReads,
  { directory, journalKey, journals }: JournalsToRejoin,
  time = timeOfNames(),
): Promise<string[]> {
  const texts: string[] = [];
  for (const [shard, { journalPath, knownHead }] of journals.entries()) {
    const key = await ShardKey.create(journalKey, shard);
    const file = { shard, shards: journals.length, directory, journalPath, key, knownHead };
    const rejoined = await rejoin(file, rowsOf(log, file), time);
    if (rejoined.setAside !== null) texts.push(rejoinedText(rejoined));
  }
  return texts;
}

function rowsOf(log: StartReads, { shard, directory, knownHead }: JournalFile): LoggedRows {
  const oldest = async () => {
    const name = await log.firstAfter(shard, 0);
    return name === null ? null : log.rowOf(shard, name.sequence);
  };
  return {
    oldest,
    row: async (sequence) => (await log.rowOf(shard, sequence))?.bytes ?? null,
    range: async () => {
      if ((await log.lease()).epoch === 0) return null;
      const end = (await log.ends()).find(({ stream }) => stream === shard);
      const first = await oldest();
      if (end !== undefined && first !== null) return { after: firstSequenceOf(first) - 1, last: end.sequence };
      // Records that were known to be held before the log had any of this shard are from before the cluster.
      const isOlder = knownHead.sequence > 0 || listSnapshots(directory, shard).length > 0;
      return isOlder ? null : { after: 0, last: 0 };
    },
  };
}

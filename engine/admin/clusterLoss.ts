/**
 * `admin cluster accept-loss` (data/docs/cluster.md): a member was refused because it has records that the log does not
 * have, and the operator gives these up. Every order, cancel, deposit and withdrawal in them is first written to a
 * file, one JSON line each, and the operator must repeat their number. The files are then set aside, and the next start
 * joins with a copy.
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { freeTime } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { recordFilesOf } from '../../shared/wire/joining.ts';
import { setStateAside } from '../replication/joiningFiles.ts';
import { loggedRows } from '../replication/journals.ts';
import { JoinAnewError, type ReplicatedLog } from '../replication/log.ts';
import { streamName } from '../replication/memberHeads.ts';
import { compareRecords, legible, queuedAfter } from '../replication/records.ts';
import { compare, lastIn } from '../replication/rejoin.ts';
import { visitAfter } from '../replication/rowContents.ts';
import { AdminError, listShards } from './directory.ts';
import { lineOf } from './givenUp.ts';

type LossOptions = {
  readonly directory: string;
  /** The number that the operator repeats; null: nothing is given up yet. */
  readonly count: number | null;
};

type Log = Pick<ReplicatedLog, 'history' | 'ends' | 'firstAfter' | 'rowOf'>;

/** The directory is that of a member that is stopped. @returns what was found and done, a line each */
export async function acceptLoss(log: Log, options: LossOptions): Promise<string[]> {
  const { directory, count } = options;
  const { id } = await log.history();
  if (id === null) throw new AdminError('there is no log yet: make it with cluster found');
  const time = freeTime(directory);
  const path = join(directory, `accepted-loss-${time}.jsonl`);
  const { lines, texts } = await lossOf(log, directory);
  write(path, lines);
  const found = [...texts, `${lines.length} in all are in ${path}`];
  if (count === null) {
    return [...found, `nothing was given up yet: cluster accept-loss --count ${lines.length} does it`];
  }
  if (count !== lines.length) throw new AdminError([...found, `not ${count}: nothing was given up`].join('\n'));
  const aside = setStateAside(directory, time);
  return [...found, `the files of this member are in ${aside}: its next start joins with a copy of another member`];
}

type Loss = { readonly lines: readonly string[]; readonly texts: readonly string[] };

/** Everything that this member has and the log does not. */
async function lossOf(log: Log, directory: string): Promise<Loss> {
  const lines: string[] = [];
  const texts: string[] = [];
  for (const file of await listShards(directory)) {
    const { shard, journalPath } = file;
    const rows = loggedRows(log, shard);
    const common = await compare(file, rows).then(
      (compared) => compared.common.sequence,
      async (error: unknown) => {
        if (!(error instanceof JoinAnewError)) throw error;
        return Math.min(lastIn(journalPath), (await rows.range()).after);
      },
    );
    const found: { readonly sequence: number; readonly line: string }[] = [];
    visitAfter(file, common, (record) => found.push({ sequence: record.sequence, line: lineOf(shard, record) }));
    // The last row comes first.
    lines.push(...found.sort((a, b) => a.sequence - b.sequence).map(({ line }) => line));
    texts.push(`${streamName(shard)}: ${found.length} records after record ${common}`);
  }
  for (const file of recordFilesOf(directory)) {
    const compared = await compareRecords(log, file);
    if (compared === null) continue;
    const from = Math.min(compared.unshared, compared.end + 1);
    const before = lines.length;
    for (const record of queuedAfter(file.path, from - 1)) {
      lines.push(JSON.stringify({ file: streamName(file.stream), ...record }, legible));
    }
    const logged = (await log.ends()).find(({ stream }) => stream === file.stream)?.sequence ?? 0;
    const others = Math.max(0, compared.end - logged) - (lines.length - before);
    const unread = others > 0 ? `, and ${others} whose text is not kept` : '';
    texts.push(`${streamName(file.stream)}: ${lines.length - before} records${unread}`);
  }
  return { lines, texts };
}

function write(path: string, lines: readonly string[]): void {
  const fd = openSync(path, 'w', 0o600);
  try {
    writeSync(fd, lines.map((line) => `${line}\n`).join(''));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDirectory(join(path, '..'));
}

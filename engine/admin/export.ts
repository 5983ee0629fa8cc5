/**
 * `admin journal export`: the history of every market as NDJSON, one shard after the other; a market's lines are all of
 * one shard and in order. Batch by batch, so memory does not grow with the journal.
 */
import { JournalReader } from '../journalReader.ts';
import type { ShardFile } from './directory.ts';
import { History } from './history.ts';
import { earliestState, readBatch } from './replica.ts';

export type ExportOptions = {
  /** Lower case UUID of the only market to tell of, or null for all, with deposits and withdrawals. */
  readonly market: string | null;
  /** The first record of each shard to tell of. */
  readonly from: number;
};

/** Chunks of whole lines. */
export function* exportHistory(files: readonly ShardFile[], options: ExportOptions): Generator<string> {
  for (const file of files) yield* exportShard(file, options);
}

function* exportShard(file: ShardFile, { market, from }: ExportOptions): Generator<string> {
  const reader = new JournalReader(file.journalPath);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const lines: string[] = [];
    let sequence = 0;
    const history = new History(file.shard, (line, marketId) => {
      if (sequence >= from && (market === null || market === marketId)) lines.push(`${JSON.stringify(line)}\n`);
    });
    // What a trimmed journal no longer says: its markets, and which orders were open at the snapshot.
    const known = earliestState(file, firstSequence);
    history.takeOverMarkets(known.engine.state);
    const head = reader.headBefore(firstSequence);
    while (head.sequence < lastSequence) {
      if (head.sequence === known.head.sequence) history.takeOverOrders(known.engine.state);
      const end = head.sequence < known.head.sequence ? known.head.sequence : lastSequence;
      readBatch(reader, head, end, (at, timeMs, words, _command, _commandBytes, event, eventBytes) => {
        sequence = at;
        history.record(at, timeMs, words, event, eventBytes);
      });
      if (lines.length > 0) yield lines.splice(0).join('');
    }
  } finally {
    reader.close();
  }
}

/**
 * `admin journal export`: the events of every market as NDJSON, one shard after the other. All lines of a market come
 * from one shard and are in order. Rows are read in batches, so memory does not grow with the journal.
 */
import { JournalReader } from '../journal/reader.ts';
import type { ShardFile } from './directory.ts';
import { History } from './history.ts';
import { earliestState, readBatch } from './replica.ts';

type ExportOptions = {
  /** Lower case UUID of the only market to export; null for all, with deposits and withdrawals. */
  readonly market: string | null;
  /** The first record of each shard to export. */
  readonly from: number;
};

/** Yields chunks of whole lines. */
export function* exportHistory(files: readonly ShardFile[], options: ExportOptions): Generator<string> {
  for (const file of files) yield* exportShard(file, options);
}

function* exportShard(file: ShardFile, { market, from }: ExportOptions): Generator<string> {
  const reader = new JournalReader(file.journalPath, file.key);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const lines: string[] = [];
    let sequence = 0;
    const history = new History(file.shard, (line, marketId) => {
      if (sequence >= from && (market === null || market === marketId)) lines.push(`${JSON.stringify(line)}\n`);
    });
    // A trimmed journal no longer contains the creation of its first markets and orders; a snapshot does.
    const known = earliestState(file, firstSequence);
    history.addMarkets(known.engine.state);
    const head = reader.headBefore(firstSequence);
    while (head.sequence < lastSequence) {
      if (head.sequence === known.head.sequence) history.addOpenOrders(known.engine.state);
      const end = head.sequence < known.head.sequence ? known.head.sequence : lastSequence;
      readBatch(reader, head, end, (row) => {
        sequence = row.sequence;
        history.record(row);
      });
      if (lines.length > 0) yield lines.splice(0).join('');
    }
  } finally {
    reader.close();
  }
}

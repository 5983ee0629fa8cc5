/** The public history of an exchange: its days, and their files as they come (RULES.md 13.15). */

import type { HISTORY_MANIFEST, PUBLIC_HISTORY } from '../../api/publicHistory.ts';
import type { FromSchema } from '../../api/schema.ts';
import { type HistoryTable, historyPath } from '../../base/historyTables.ts';
import { segment } from '../request.ts';
import { type HistoryRow, historyRows } from './rows.ts';

type Reads = {
  get<T>(path: string): Promise<T>;
  open(path: string, headers: Record<string, string>): Promise<ReadableStream<Uint8Array>>;
};

export class HistoryClient {
  readonly #reads: Reads;

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  /** The published days, and how far the history is behind the exchange. */
  days(): Promise<FromSchema<typeof PUBLIC_HISTORY>> {
    return this.#reads.get('/v1/history');
  }

  /** Schema, units and ranges of a day, and the length and SHA-256 of each file. */
  manifest(day: string): Promise<FromSchema<typeof HISTORY_MANIFEST>> {
    return this.#reads.get(`/v1/history/${segment(day)}`);
  }

  /**
   * The bytes of a file from one of them on, at its path in the manifest; without a path those of the manifest itself.
   * A body that ends early is an error of the stream: what was read so far can be kept, and the rest asked for.
   */
  open(day: string, path: string | null, fromByte = 0): Promise<ReadableStream<Uint8Array>> {
    const file = path === null ? '' : `/${path.split('/').map(segment).join('/')}`;
    const headers: Record<string, string> = fromByte === 0 ? {} : { range: `bytes=${fromByte}-` };
    return this.#reads.open(`/v1/history/${segment(day)}${file}`, headers);
  }

  /** Each row of a table on a day, of all markets or of one, as they are read: nothing is kept. */
  async *rows<Table extends HistoryTable>(
    day: string,
    table: Table,
    marketId: string | null = null,
  ): AsyncGenerator<HistoryRow<Table>, void, undefined> {
    const bytes = await this.open(day, historyPath(table, 'csv.gz', marketId));
    yield* historyRows(textOf(bytes), table);
  }
}

async function* textOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const text = bytes.pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream());
  const reader = text.getReader();
  try {
    // Not every browser iterates over a stream.
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

/** Checks the files of a day by themselves: their sums, and every book, rebuilt from its orders. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { type HistoryManifest, type HistoryTable, historyPath } from '../../../base/historyTables.ts';
import { errorMessage } from '../../../base/thrown.ts';
import { type BookRow, compareBook, RebuiltBook } from '../../history/rebuiltBook.ts';
import { type HistoryRow, historyRows } from '../../history/rows.ts';

type VerifiedDay = {
  readonly day: string;
  readonly files: number;
  readonly markets: number;
  readonly events: number;
  readonly books: number;
  /** One line each. */
  readonly problems: readonly string[];
};

/** @param folder of a day. Files that were not downloaded are not checked; of a market both tables are needed. */
export async function verifyDay(folder: string): Promise<VerifiedDay> {
  const manifest: HistoryManifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  const counts = { files: 0, markets: 0, events: 0, books: 0 };
  const problems: string[] = [];
  for (const { path, bytes, sha256 } of manifest.files) {
    const file = join(folder, path);
    if (!existsSync(file)) continue;
    counts.files++;
    const found = await sumOf(file);
    if (found.bytes !== bytes || found.sha256 !== sha256) problems.push(`${path}: not the file of the manifest`);
  }
  for (const { market_id } of manifest.markets) {
    const [events, books] = (['book_events', 'books'] as const).map((table) =>
      join(folder, historyPath(table, 'csv.gz', market_id)),
    );
    if (!existsSync(events) || !existsSync(books)) continue;
    counts.markets++;
    try {
      await verifyMarket(events, books, counts);
    } catch (error) {
      problems.push(`${market_id}: ${errorMessage(error)}`);
    }
  }
  return { day: manifest.day, ...counts, problems };
}

async function verifyMarket(events: string, books: string, counts: { events: number; books: number }): Promise<void> {
  const minutes = new Map<bigint, BookRow[]>();
  for await (const row of fileRows(books, 'books'))
    minutes.set(row.time_ms, [...(minutes.get(row.time_ms) ?? []), row]);
  const waiting = [...minutes.values()];
  const book = new RebuiltBook();
  const compareBefore = (sequence: bigint | null): void => {
    while (waiting.length > 0 && (sequence === null || waiting[0][0].sequence < sequence)) {
      compareBook(book, waiting.shift()!);
      counts.books++;
    }
  };
  for await (const row of fileRows(events, 'book_events')) {
    if (row.event !== 'resting') compareBefore(row.event === 'fill' ? row.sequence - 1n : row.sequence);
    book.apply(row);
    counts.events++;
  }
  compareBefore(null);
}

export function fileRows<Table extends HistoryTable>(path: string, table: Table): AsyncGenerator<HistoryRow<Table>> {
  return historyRows(createReadStream(path).pipe(createGunzip()).setEncoding('latin1'), table);
}

async function sumOf(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

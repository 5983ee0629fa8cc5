/** Checks the files of a day by themselves: their sums, and every book, rebuilt from its orders. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { type HistoryManifest, type HistoryTable, historyPath } from '../../../base/historyTables.ts';
import { errorMessage } from '../../../base/thrown.ts';
import { type BookEventRow, type BookRow, compareBook, RebuiltBook } from '../../history/rebuiltBook.ts';
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

/** @param folder of a day. Files that were not downloaded are not checked; of a book both tables are needed. */
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
  const pathsOf = (marketId: string | null) =>
    (['book_events', 'books'] as const).map((table) => join(folder, historyPath(table, 'csv.gz', marketId)));
  const isThere = (marketId: string | null): boolean => pathsOf(marketId).every((path) => existsSync(path));
  const markets = manifest.markets.map(({ market_id }) => market_id).filter(isThere);
  // A folder may have the files of all markets alone.
  for (const marketId of markets.length === 0 && isThere(null) ? [null] : markets) {
    const [events, books] = pathsOf(marketId);
    try {
      await verifyBooks(events, books, counts, problems);
    } catch (error) {
      problems.push(`${marketId ?? 'all markets'}: ${errorMessage(error)}`);
    }
  }
  return { day: manifest.day, ...counts, problems };
}

type Counts = { markets: number; events: number; books: number };

/** Rows of both files come market by market, in the same order of markets. */
async function verifyBooks(events: string, books: string, counts: Counts, problems: string[]): Promise<void> {
  const rows = fileRows(books, 'books');
  let next = await rows.next();
  let market: MarketCheck | null = null;
  for await (const row of fileRows(events, 'book_events')) {
    if (market?.id !== row.market_id) {
      market?.end();
      for (; next.done !== true && next.value.market_id < row.market_id; next = await without(next.value)) {}
      market = new MarketCheck(row.market_id, counts, problems);
      for (; next.done !== true && next.value.market_id === row.market_id; next = await rows.next()) {
        market.expect(next.value);
      }
    }
    market.apply(row);
  }
  market?.end();
  while (next.done !== true) next = await without(next.value);

  /** A market without an order on this day: its book is that without levels. @returns the first row of the next one */
  async function without(first: BookRow): Promise<IteratorResult<BookRow>> {
    const empty = new MarketCheck(first.market_id, counts, problems);
    empty.expect(first);
    let row = await rows.next();
    for (; row.done !== true && row.value.market_id === first.market_id; row = await rows.next())
      empty.expect(row.value);
    empty.end();
    return row;
  }
}

/** The book of a market over a day; what is wrong first is a problem, and what follows from it is none. */
class MarketCheck {
  readonly id: string;
  readonly #counts: Counts;
  readonly #problems: string[];
  readonly #book = new RebuiltBook();
  readonly #waiting = new Map<bigint, BookRow[]>();
  #isWrong = false;

  constructor(id: string, counts: Counts, problems: string[]) {
    this.id = id;
    this.#counts = counts;
    this.#problems = problems;
    counts.markets++;
  }

  expect(row: BookRow): void {
    const minute = this.#waiting.get(row.time_ms) ?? [];
    minute.push(row);
    this.#waiting.set(row.time_ms, minute);
  }

  apply(row: BookEventRow): void {
    this.#try(() => {
      if (row.event !== 'resting') this.#compareBefore(row.event === 'fill' ? row.sequence - 1n : row.sequence);
      this.#book.apply(row);
      this.#counts.events++;
    });
  }

  end(): void {
    this.#try(() => this.#compareBefore(null));
  }

  #compareBefore(sequence: bigint | null): void {
    for (const [timeMs, rows] of this.#waiting) {
      if (sequence !== null && rows[0].sequence >= sequence) return;
      this.#waiting.delete(timeMs);
      compareBook(this.#book, rows);
      this.#counts.books++;
    }
  }

  #try(check: () => void): void {
    if (this.#isWrong) return;
    try {
      check();
    } catch (error) {
      this.#isWrong = true;
      this.#problems.push(`${this.id}: ${errorMessage(error)}`);
    }
  }
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

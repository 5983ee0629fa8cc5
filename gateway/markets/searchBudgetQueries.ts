/**
 * The work of a search of the catalogue is bounded. SQLite cannot be interrupted here, so the cost of a search is
 * counted before it runs: the places in the index at which its words stand, all of which FTS5 reads and merges. Rows
 * that the other filters then look at are counted by a function in the statement. A search that goes beyond ends
 * without an answer (RULES.md 12.4).
 * Owner: a thread of the query pool.
 *
 * Invariants:
 *   SEARCHBUDGET-1  A search reads at most BUDGET places of its index and BUDGET / ROW_COST rows, beside the places of
 *                   one word of the index, and those that were read to find this out.
 */
import type Database from 'better-sqlite3';
import { searchWords, toSearchQuery, wordRange } from './catalogWordsQueries.ts';

/** About 60 ms of processor time: 100 such searches a minute are a tenth of a core. */
const BUDGET = 300_000;
/** A row that is looked up takes as long as so many places of the index. */
const ROW_COST = 4;

/** The search has gone beyond what it may cost. */
class BeyondBudget extends Error {}

export class SearchBudget {
  static readonly #known = new WeakMap<Database.Database, SearchBudget>();
  readonly #db: Database.Database;
  readonly #places = new Map<string, Database.Statement<[string, string], number>>();
  #left = 0;

  /** That of the connection, with the function `spent` in its SQL: true, and one row less to look at. */
  static of(db: Database.Database): SearchBudget {
    let budget = SearchBudget.#known.get(db);
    if (budget === undefined) {
      budget = new SearchBudget(db);
      SearchBudget.#known.set(db, budget);
    }
    return budget;
  }

  private constructor(db: Database.Database) {
    this.#db = db;
    db.function('spent', (_row) => {
      this.#spend(ROW_COST);
      return 1;
    });
  }

  /** Before a connection is made to only read: what says how many places a word has is a table of the connection. */
  reads(index: string): void {
    if (this.#places.has(index)) return;
    this.#db.exec(`CREATE VIRTUAL TABLE temp.${index}_places USING fts5vocab('main', '${index}', 'row')`);
    const sql = `SELECT cnt FROM temp.${index}_places WHERE term >= ? AND term <= ?`;
    this.#places.set(index, this.#db.prepare<[string, string], number>(sql).pluck());
  }

  /** Returns the result of `run`, or null when it went beyond the budget. */
  within<T>(run: () => T): T | null {
    this.#left = BUDGET;
    try {
      return run();
    } catch (error) {
      if (error instanceof BeyondBudget) return null;
      throw error;
    }
  }

  /** The search as a full-text query of the index; null where it finds nothing. */
  query(index: string, search: string): string | null {
    const words = searchWords(search);
    const isFound = words.length > 0 && words.every((word) => this.#isThere(index, word));
    return isFound ? toSearchQuery(words) : null;
  }

  /** Spends the places of the words that this one finds. */
  #isThere(index: string, word: string): boolean {
    const { first, last } = wordRange(word);
    const leftBefore = this.#left;
    for (const places of this.#places.get(index)!.iterate(first, last)) this.#spend(places);
    return this.#left < leftBefore;
  }

  #spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new BeyondBudget();
  }
}

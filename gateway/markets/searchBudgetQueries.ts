/**
 * Bounds the work of a search of the catalogue. SQLite cannot be interrupted here, so the cost of a search is counted
 * before it runs: the occurrences of its words in the index, all of which FTS5 reads and merges. A function in the
 * statement counts the rows that the other filters then check. A search that exceeds the budget ends without an answer
 * (RULES.md 12.4).
 * Owner: a thread of the query pool.
 *
 * Invariants:
 *   SEARCHBUDGET-1  A search reads at most BUDGET occurrences of its index and BUDGET / ROW_COST rows, in addition to
 *                   the occurrences of one word, and to those read to compute the cost.
 */
import type Database from 'better-sqlite3';
import { searchWords, toSearchQuery, wordRange } from './catalogWordsQueries.ts';

/** About 60 ms of processor time: 100 such searches a minute are a tenth of a core. */
const BUDGET = 300_000;
/** Looking up a row takes as long as this many occurrences in the index. */
const ROW_COST = 4;

/** The search has exceeded its budget. */
class BeyondBudget extends Error {}

export class SearchBudget {
  static readonly #known = new WeakMap<Database.Database, SearchBudget>();
  readonly #db: Database.Database;
  readonly #places = new Map<string, Database.Statement<[string, string], number>>();
  #left = 0;

  /**
   * Returns the budget of the connection, with the function `spent` in its SQL: it returns true, and counts one row.
   */
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

  /**
   * Called before the connection is made read-only: the number of occurrences of a word comes from a table of the
   * connection.
   */
  reads(index: string): void {
    if (this.#places.has(index)) return;
    this.#db.exec(`CREATE VIRTUAL TABLE temp.${index}_places USING fts5vocab('main', '${index}', 'row')`);
    const sql = `SELECT cnt FROM temp.${index}_places WHERE term >= ? AND term <= ?`;
    this.#places.set(index, this.#db.prepare<[string, string], number>(sql).pluck());
  }

  /** Returns the result of `run`, or null if it exceeded the budget. */
  within<T>(run: () => T): T | null {
    this.#left = BUDGET;
    try {
      return run();
    } catch (error) {
      if (error instanceof BeyondBudget) return null;
      throw error;
    }
  }

  /** Returns the search as a full-text query of the index; null if it finds nothing. */
  query(index: string, search: string): string | null {
    const words = searchWords(search);
    const isFound = words.length > 0 && words.every((word) => this.#isThere(index, word));
    return isFound ? toSearchQuery(words) : null;
  }

  /** Spends the occurrences of the words that this one matches. */
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

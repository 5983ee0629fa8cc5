/**
 * Reads a statement from the query pool, page by page, and keeps its balances (RULES.md 14.42).
 *
 * Invariants:
 *   STATEMENTREADER-1  The balances are those after the last page that was taken.
 *   STATEMENTREADER-2  A statement up to the present must end with the balances in the account's sums: otherwise it is
 *                      cut off instead of completed.
 *   STATEMENTREADER-3  All of it comes from one read.db: if the file is replaced, the statement is cut off.
 */
import { assert } from '../../shared/base/assert.ts';
import type { ErrorRow } from '../../shared/base/errors.ts';
import { firstIdAfter } from '../base/page.ts';
import { accountOf, type OfAccount } from '../base/reads.ts';
import type { AccountReads } from './reads.ts';
import type { StatementCursor, StatementPage } from './statementQueries.ts';
import type { StatementCut, StatementStart } from './statementStartQueries.ts';
import type { StatementForm } from './statementText.ts';

/** `fromMs` null: from the first entry on; `toMs` null: up to the present. */
type Period = { readonly fromMs: number | null; readonly toMs: number | null; readonly nowMs: number };
type StatementQueries = Pick<AccountReads, 'furtherOfAccount' | 'generation' | 'ofAccount'>;
type Opened = { readonly ok: true } | { readonly ok: false; readonly row: ErrorRow };

/** A page takes a thread of the pool a few milliseconds, also if only the balances are wanted. */
const PAGE_ROWS = 512;
const SKIPPED_ROWS = 2048;
/** Times in ids have 48 bits. */
const END_OF_TIME_MS = 2 ** 48 - 1;
const BALANCES_PER_MARKET = 2;

export class StatementReader {
  readonly #queries: StatementQueries;
  readonly #asker: OfAccount;
  readonly #account: number;
  readonly #period: Period;
  readonly #generation: number;
  /** By market and outcome; includes zeros. */
  readonly #tokens = new Map<number, number>();
  #usdcMicro = 0;
  #start: StatementStart | null = null;
  #after: StatementCursor | null = null;
  #form: StatementForm = 'json';
  #first: StatementPage | null = null;

  constructor(queries: StatementQueries, asker: OfAccount, period: Period) {
    this.#queries = queries;
    this.#asker = asker;
    this.#account = accountOf(asker);
    this.#period = period;
    this.#generation = queries.generation;
  }

  get fromMs(): number | null {
    return this.#period.fromMs;
  }

  /** The end of the statement: for one up to the present, a moment after its last entry. */
  get toMs(): number {
    return this.#period.toMs ?? Math.max(this.#period.nowMs, (this.#start?.changedMs ?? 0) + 1);
  }

  get usdcMicro(): number {
    return this.#usdcMicro;
  }

  /** The tokens that are held, or owed, by market and outcome. */
  *tokens(): Generator<{ readonly market: number; readonly outcome: number; readonly atomic: number }> {
    // A typed array of ten thousand numbers sorts in a millisecond.
    for (const key of Float64Array.from(this.#tokens.keys()).sort()) {
      const atomic = this.#tokens.get(key)!;
      const outcome = key % BALANCES_PER_MARKET;
      if (atomic !== 0) yield { market: (key - outcome) / BALANCES_PER_MARKET, outcome, atomic };
    }
  }

  /** Reads the opening balances, which are then those of this reader, and the first page. */
  async open(form: StatementForm): Promise<Opened> {
    this.#form = form;
    const account = this.#account;
    const fromMs = this.#period.fromMs ?? 0;
    const started = await this.#queries.ofAccount(this.#asker, 'statementStart', { account, fromMs });
    if (!started.ok) return started;
    this.#begin(started.value);
    for (let isOpen = started.value.sinceMs >= fromMs; !isOpen; ) {
      const page = await this.#read(firstIdAfter(fromMs - 1), null, SKIPPED_ROWS);
      if (!page.ok) return page;
      this.take(page.value);
      isOpen = page.value.isLast;
    }
    const first = await this.#readNext();
    if (first.ok) this.#first = first.value;
    return first.ok ? { ok: true } : first;
  }

  /** The page that `open` has read. */
  get first(): StatementPage {
    assert(this.#first !== null, 'STATEMENTREADER-1: a statement is opened before it is read');
    return this.#first;
  }

  /** Requests the page after one that was not taken yet. Rejects if it is not available now. */
  async next(page: StatementPage): Promise<StatementPage> {
    const result = await this.#readNext(page);
    if (!result.ok) throw new Error('a statement is cut off: its next page cannot be read now');
    return result.value;
  }

  /** From here on the balances are those after this page. */
  take(page: StatementPage): void {
    this.#usdcMicro = page.usdcMicro;
    this.#after = page.after;
    const { tokens } = page;
    for (let at = 0; at < tokens.length; at += 3) this.#addTokens(tokens[at], tokens[at + 1], tokens[at + 2]);
  }

  /** Called after the last page. */
  close(): void {
    assert(this.#queries.generation === this.#generation, 'STATEMENTREADER-3: a statement is of one read.db');
    const { changedMs, presentMicro } = this.#start!;
    const isUpToPresent = changedMs < this.toMs;
    assert(!isUpToPresent || this.#usdcMicro === presentMicro, 'STATEMENTREADER-2: a statement closes');
  }

  #begin(start: StatementStart): void {
    this.#start = start;
    this.#usdcMicro = start.usdcMicro;
    const { markets, outcomes, atomic } = start.tokens;
    for (let at = 0; at < markets.length; at++) this.#addTokens(markets[at], outcomes[at], atomic[at]);
    const before = firstIdAfter(start.sinceMs - 1);
    this.#after = { trade: before, movement: before };
  }

  #addTokens(market: number, outcome: number, atomic: number): void {
    const key = market * BALANCES_PER_MARKET + outcome;
    this.#tokens.set(key, (this.#tokens.get(key) ?? 0) + atomic);
  }

  #readNext(page?: StatementPage) {
    return this.#read(firstIdAfter(Math.min(this.toMs, END_OF_TIME_MS) - 1), this.#form, PAGE_ROWS, page);
  }

  #read(end: Uint8Array, form: StatementForm | null, rows: number, page?: StatementPage) {
    const cut: StatementCut = this.#start!.cut;
    const after = page?.after ?? this.#after!;
    const usdcMicro = page?.usdcMicro ?? this.#usdcMicro;
    const task = { account: this.#account, cut, after, end, usdcMicro, form, rows };
    return this.#queries.furtherOfAccount(this.#asker, 'statementPage', task);
  }
}

/**
 * Decided markets whose positions an account has marked as claimed (RULES.md 14.21). A mark is only a note: it moves no
 * money. There is at most one for each market in which the account has had a position. Owner: the gateway thread; in
 * memory, written through to control.db.
 */
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

type MarkRow = { account_index: number; market_index: number };

const NONE: ReadonlySet<number> = new Set();

export class ClaimMarks {
  readonly #changes: Changes;
  /** Market indexes by account index. */
  readonly #marked = new Map<number, Set<number>>();
  readonly #insert;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#insert = database.prepare<MarkRow>('INSERT INTO claim_marks VALUES ($account_index, $market_index)');
    for (const row of database.prepare<[], MarkRow>('SELECT * FROM claim_marks').iterate()) {
      this.#note(row.account_index, row.market_index);
    }
  }

  /** Marks are never removed. */
  reload(changed: TakenRows): void {
    for (const [account, market] of changed.keysOf('claim_marks')) this.#note(Number(account), Number(market));
  }

  of(account: number): ReadonlySet<number> {
    return this.#marked.get(account) ?? NONE;
  }

  /** Durable once `durable` resolves. An existing mark stays. */
  add(account: number, market: number): void {
    if (this.of(account).has(market)) return;
    this.#changes.write(() => this.#insert.run({ account_index: account, market_index: market }));
    this.#note(account, market);
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  #note(account: number, market: number): void {
    const markets = this.#marked.get(account) ?? new Set();
    this.#marked.set(account, markets.add(market));
  }
}

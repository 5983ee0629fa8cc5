/**
 * The transactions of the ledger rail (gateway/fiat/ledgerRail.ts), in control.db. Unfinished transactions are in
 * memory too, and so are cancellations of authorizations, each until its authorization ends.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   RAILROWS-1  A transfer is never deleted. Of a transaction only `state`, `reason`, `block_ms`, `reference` and
 *               `credited_ms` change, the last two only once.
 */
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export type RailRow = TransferAuthorization & {
  readonly txHash: string;
  readonly kind: 'transfer' | 'cancel';
  /** Null, except for what a relayer of an earlier version has sent; so is `fee`. */
  readonly accountNonce: number | null;
  readonly fee: number;
  readonly signature: string;
  readonly fromAccount: number;
  readonly toAccount: number;
  readonly state: 'pending' | 'included' | 'mined' | 'reverted' | 'replaced';
  readonly reason: string | null;
  readonly receivedMs: number;
  readonly blockMs: number | null;
  readonly reference: string | null;
  readonly creditedMs: number | null;
};

/** Stands for the end of an authorization that has none, or whose end is unknown. */
export const ENDLESS = 0;

/** A cancellation in force. */
type Cancelled = { readonly account: number; readonly validBeforeSec: number };

type RailChange = Partial<Pick<RailRow, 'state' | 'reason' | 'blockMs' | 'reference' | 'creditedMs'>>;

const NONE = { all: 0, endless: 0 };
const SWEPT_A_TURN = 256;
const WALKED_A_TURN = 512;

const COLUMNS = `tx_hash AS txHash, kind, account_nonce AS accountNonce, fee, from_address AS "from",
  to_address AS "to", value_micro AS valueMicro, valid_after_sec AS validAfterSec, valid_before_sec AS validBeforeSec,
  nonce, signature, from_account AS fromAccount, to_account AS toAccount, state, reason, received_ms AS receivedMs,
  block_ms AS blockMs, reference, credited_ms AS creditedMs`;

export class RailTransactions {
  readonly #changes: Changes;
  readonly #open = new Map<string, RailRow>();
  /** The block times of the few transactions whose effect is undecided. */
  readonly #included = new Map<string, number>();
  readonly #cancelled = new Map<string, Cancelled>();
  /** By account. */
  readonly #counts = new Map<number, { all: number; endless: number }>();
  #walk: Iterator<RailRow> | null = null;
  #swept: Iterator<[string, Cancelled]> | null = null;
  readonly #statements;

  constructor(database: ControlDatabase, changes: Changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#statements = prepare(database);
    for (const row of this.#statements.open.all()) this.#keep(row.txHash, row);
  }

  reload(changed: TakenRows): void {
    for (const txHash of changed.textsOf('rail_transactions')) {
      this.#keep(txHash, this.#statements.find.get(txHash));
    }
  }

  /** Unfinished transactions: waiting for a block, in one, or mined and not credited. */
  open(): IterableIterator<RailRow> {
    return this.#open.values();
  }

  /** The time of the first block with a transaction that the books have not answered; infinite if there is none. */
  get oldestUndecidedMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const blockMs of this.#included.values()) oldestMs = Math.min(oldestMs, blockMs);
    return oldestMs;
  }

  /**
   * Returns all unfinished transactions if they are few, otherwise those after the ones of the last call; after the
   * last one it starts again.
   */
  nextOpen(): RailRow[] {
    this.#walk ??= this.#open.values();
    const next: RailRow[] = [];
    while (next.length < WALKED_A_TURN) {
      const { done, value } = this.#walk.next();
      if (done) {
        this.#walk = null;
        break;
      }
      next.push(value);
    }
    return next;
  }

  find(txHash: string): RailRow | undefined {
    return this.#open.get(txHash) ?? this.#statements.find.get(txHash);
  }

  ofNonce(from: string, nonce: string): RailRow[] {
    return this.#statements.ofNonce.all(from, nonce);
  }

  /** Transfers that arrived after one block and hash and before another block, oldest first. */
  arrivals(
    account: number,
    after: { readonly blockMs: number; readonly txHash: string },
    before: { readonly blockMs: number; readonly limit: number },
  ): RailRow[] {
    return this.#statements.arrivals.all(account, after.blockMs, after.txHash, before.blockMs, before.limit);
  }

  /** Durable once `durable` says so. */
  add(row: RailRow): void {
    this.#changes.write(() => this.#statements.insert.run(row));
    this.#keep(row.txHash, row);
  }

  /** Removes a cancellation that has nothing left to cancel, or cannot be carried out. */
  remove({ txHash }: Pick<RailRow, 'txHash'>): void {
    this.#changes.write(() => this.#statements.remove.run(txHash));
    this.#keep(txHash, undefined);
  }

  /** The cancellations of the account, including those without an end. */
  cancelledBy(account: number): { readonly all: number; readonly endless: number } {
    return this.#counts.get(account) ?? NONE;
  }

  /** Deletes cancellations that are over; checks a part of them each time. Called several times a second. */
  sweep(nowSec: number): void {
    this.#swept ??= this.#cancelled.entries();
    for (let looked = 0; looked < SWEPT_A_TURN; looked++) {
      const { done, value } = this.#swept.next();
      if (done) {
        this.#swept = null;
        return;
      }
      const [txHash, { validBeforeSec }] = value;
      if (validBeforeSec !== ENDLESS && validBeforeSec < nowSec) this.remove({ txHash });
    }
  }

  /** Durable once `durable` says so. */
  change(row: RailRow, change: RailChange): RailRow {
    const changed = { ...row, ...change };
    this.#changes.write(() => this.#statements.update.run(changed));
    this.#keep(row.txHash, changed);
    return changed;
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /** Updates the memory after a row was written; undefined: the row is gone. */
  #keep(txHash: string, row: RailRow | undefined): void {
    if (row !== undefined && isOpen(row)) this.#open.set(txHash, row);
    else this.#open.delete(txHash);
    if (row?.state === 'included') this.#included.set(txHash, row.blockMs!);
    else this.#included.delete(txHash);
    const before = this.#cancelled.get(txHash);
    const isCounted = row?.kind === 'cancel' && row.creditedMs === null;
    if (isCounted === (before !== undefined)) return;
    if (isCounted) {
      const cancelled = { account: row.fromAccount, validBeforeSec: row.validBeforeSec };
      this.#cancelled.set(txHash, cancelled);
      this.#count(cancelled, 1);
    } else {
      this.#cancelled.delete(txHash);
      this.#count(before!, -1);
    }
  }

  #count({ account, validBeforeSec }: Cancelled, change: 1 | -1): void {
    const counts = this.#counts.get(account) ?? { all: 0, endless: 0 };
    counts.all += change;
    if (validBeforeSec === ENDLESS) counts.endless += change;
    if (counts.all === 0) this.#counts.delete(account);
    else this.#counts.set(account, counts);
  }
}

/** For the rail a cancellation is over once it is mined; it stays in force for its authorization. */
function isOpen({ state, kind, creditedMs }: RailRow): boolean {
  return (
    state === 'pending' || state === 'included' || (state === 'mined' && kind === 'transfer' && creditedMs === null)
  );
}

function prepare(database: ControlDatabase) {
  return {
    open: database.prepare<[], RailRow>(
      `SELECT ${COLUMNS} FROM rail_transactions
       WHERE state IN ('pending', 'included') OR (state = 'mined' AND credited_ms IS NULL) ORDER BY received_ms`,
    ),
    find: database.prepare<[string], RailRow>(`SELECT ${COLUMNS} FROM rail_transactions WHERE tx_hash = ?`),
    ofNonce: database.prepare<[string, string], RailRow>(
      `SELECT ${COLUMNS} FROM rail_transactions WHERE from_address = ? AND nonce = ?`,
    ),
    arrivals: database.prepare<[number, number, string, number, number], RailRow>(
      `SELECT ${COLUMNS} FROM rail_transactions
       WHERE to_account = ? AND state = 'mined' AND (block_ms, tx_hash) > (?, ?) AND block_ms < ? AND kind = 'transfer'
       ORDER BY block_ms, tx_hash LIMIT ?`,
    ),
    insert: database.prepare<RailRow>(
      `INSERT INTO rail_transactions VALUES ($txHash, $kind, $accountNonce, $fee, $from, $to, $valueMicro,
         $validAfterSec, $validBeforeSec, $nonce, $signature, $fromAccount, $toAccount, $state, $reason, $receivedMs,
         $blockMs, $reference, $creditedMs)`,
    ),
    remove: database.prepare<[string]>("DELETE FROM rail_transactions WHERE tx_hash = ? AND kind = 'cancel'"),
    update: database.prepare<RailRow>(
      `UPDATE rail_transactions SET state = $state, reason = $reason, block_ms = $blockMs, reference = $reference,
         credited_ms = $creditedMs WHERE tx_hash = $txHash`,
    ),
  };
}

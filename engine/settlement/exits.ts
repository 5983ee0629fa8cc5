/**
 * Wallets that exit. A request counts at once, even while a reorganisation may still undo it. A cancellation counts
 * only once it is final and the ledger has followed everything that the wallet took along.
 *
 *   requested, at the head ──► leaving ──cancelled, or gone with its block──► returning ──nothing owed──► staying
 *
 * Invariant:
 *   EXITS-1  A wallet is leaving by its newest request or cancellation in the order of the chain.
 */
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { ChainEvent } from './chainEvents.ts';
import type { ChainMoney } from './chainMoney.ts';
import type { News } from './news.ts';

type Exit = {
  readonly wallet: string;
  readonly block: number;
  readonly log_index: number;
  readonly exitable_at: string;
  readonly is_final: number;
  readonly state: 'leaving' | 'returning' | 'staying';
};

/** A request that is not among the final ones after so many blocks was in a block that a reorganisation removed. */
const SURELY_READ_BLOCKS = 64;

export class Exits {
  readonly #db: StoreDatabase;
  readonly #money: ChainMoney;
  readonly #news: News;

  constructor(db: StoreDatabase, money: ChainMoney, news: News) {
    this.#db = db;
    this.#money = money;
    this.#news = news;
  }

  /** @param isFinal true if the event is in a final block. Called inside a transaction. */
  requested({ wallet, exitableAt, log }: ChainEvent & { is: 'exitRequested' }, isFinal: boolean): void {
    const now = this.#get(wallet);
    const place = [log.blockNumber, log.logIndex] as const;
    // A final request determines the order; one that is not final yet is seen repeatedly.
    const isOlder = now !== undefined && isBefore(place, now) && (now.is_final === 1 || !isFinal);
    const isSame = now?.block === place[0] && now.log_index === place[1] && now.state === 'leaving';
    if (isOlder || (isSame && (now.is_final === 1 || !isFinal))) return;
    const isKnown = now !== undefined && now.state === 'leaving';
    prepared(this.#db, `INSERT OR REPLACE INTO exits VALUES (?, ?, ?, ?, ?, 'leaving')`).run(
      wallet,
      ...place,
      String(exitableAt),
      isFinal ? 1 : 0,
    );
    if (!isKnown) this.#news.add('exit', { wallet, isLeaving: true });
  }

  cancelled({ wallet, log }: ChainEvent & { is: 'exitCancelled' }): void {
    const now = this.#get(wallet);
    const isOlder = now !== undefined && now.is_final === 1 && isBefore([log.blockNumber, log.logIndex], now);
    if (now === undefined || isOlder) return;
    prepared(
      this.#db,
      `UPDATE exits SET state = 'returning', block = ?, log_index = ?, is_final = 1 WHERE wallet = ?`,
    ).run(log.blockNumber, log.logIndex, wallet);
  }

  isLeaving(wallet: string): boolean {
    const state = this.#get(wallet)?.state ?? 'staying';
    return state !== 'staying';
  }

  /** Called when everything up to this block was read. */
  settle(scannedBlock: number): void {
    const isAnyOpen = prepared(this.#db, `SELECT 1 FROM exits WHERE state <> 'staying' LIMIT 1`).get() !== undefined;
    if (!isAnyOpen) return;
    const settle = this.#db.transaction(() => {
      const gone = `UPDATE exits SET state = 'returning'
        WHERE state <> 'staying' AND state = 'leaving' AND is_final = 0 AND block <= ?`;
      prepared(this.#db, gone).run(scannedBlock - SURELY_READ_BLOCKS);
      const open = `SELECT * FROM exits WHERE state <> 'staying' AND state = 'returning'`;
      for (const { wallet } of prepared<[], Exit>(this.#db, open).all()) {
        if (this.#money.owesExit(wallet)) continue;
        prepared(this.#db, `UPDATE exits SET state = 'staying' WHERE wallet = ?`).run(wallet);
        this.#news.add('exit', { wallet, isLeaving: false });
      }
    });
    settle();
  }

  #get(wallet: string): Exit | undefined {
    return prepared<[string], Exit>(this.#db, 'SELECT * FROM exits WHERE wallet = ?').get(wallet);
  }
}

function isBefore([block, logIndex]: readonly [number, number], { block: at, log_index }: Exit): boolean {
  return block < at || (block === at && logIndex < log_index);
}

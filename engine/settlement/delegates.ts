/**
 * Delegates that their wallet has revoked on the chain. The contract accepts a revoked delegate's signatures for a
 * while longer, so that earlier trades settle; the gateway accepts no more of its orders.
 */
import type Database from 'better-sqlite3';
import { maxUint256 } from 'viem';
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { ChainEvent } from './chainEvents.ts';
import type { News } from './news.ts';

export class Delegates {
  readonly #news: News;
  readonly #db: StoreDatabase;
  readonly #insert: Database.Statement<[string, number]>;

  constructor(db: StoreDatabase, news: News) {
    this.#news = news;
    this.#db = db;
    this.#insert = prepared(db, 'INSERT OR IGNORE INTO ended_delegates VALUES (?, ?)');
  }

  /** Called inside the transaction that stores the scanner's position; blocks are read twice. */
  set({ log, wallet, signer, until }: Extract<ChainEvent, { is: 'delegateSet' }>): void {
    // The wallet itself may always sign.
    if (signer === wallet) return;
    if (until === maxUint256) {
      prepared(this.#db, 'INSERT OR IGNORE INTO delegates VALUES (?, ?)').run(wallet, signer);
      return;
    }
    const isNew = this.#insert.run(log.transactionHash, log.logIndex).changes > 0;
    if (isNew) this.#news.add('delegateEnded', { maker: wallet, signer });
  }
  /** A new exchange contract knows no delegates: wallets name them there again. Called in the owner's transaction. */
  endAll(): void {
    const all = prepared<[], { maker: string; signer: string }>(this.#db, 'DELETE FROM delegates RETURNING *').all();
    for (const each of all) this.#news.add('delegateEnded', each);
  }
}

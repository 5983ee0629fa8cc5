/**
 * Delegates that their wallet has taken back on the chain. The contract takes what they have signed for a while longer,
 * so that trades of before settle; the gateway takes no more orders of them.
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

  /** Called inside the transaction of the position; blocks are read twice. */
  set({ log, wallet, signer, until }: Extract<ChainEvent, { is: 'delegateSet' }>): void {
    // The wallet itself always signs.
    if (signer === wallet) return;
    if (until === maxUint256) {
      prepared(this.#db, 'INSERT OR IGNORE INTO delegates VALUES (?, ?)').run(wallet, signer);
      return;
    }
    const isNew = this.#insert.run(log.transactionHash, log.logIndex).changes > 0;
    if (isNew) this.#news.add('delegateEnded', { maker: wallet, signer });
  }
  /** Another exchange contract knows none of them: wallets name them there again. Called in the owner's transaction. */
  endAll(): void {
    const all = prepared<[], { maker: string; signer: string }>(this.#db, 'DELETE FROM delegates RETURNING *').all();
    for (const each of all) this.#news.add('delegateEnded', each);
  }
}

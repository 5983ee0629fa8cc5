/**
 * Delegates that their wallet has taken back on the chain. The contract takes what they have signed for a while longer,
 * so that trades of before settle; the gateway takes no more orders of them.
 */
import type Database from 'better-sqlite3';
import { maxUint256 } from 'viem';
import type { ChainEvent } from './chainEvents.ts';
import type { News } from './news.ts';

export class Delegates {
  readonly #news: News;
  readonly #insert: Database.Statement<[string, number]>;

  constructor(db: Database.Database, news: News) {
    this.#news = news;
    this.#insert = db.prepare('INSERT OR IGNORE INTO ended_delegates VALUES (?, ?)');
  }

  /** Called inside the transaction of the position; blocks are read twice. */
  set({ log, wallet, signer, until }: Extract<ChainEvent, { is: 'delegateSet' }>): void {
    // The wallet itself always signs.
    if (until === maxUint256 || signer === wallet) return;
    const isNew = this.#insert.run(log.transactionHash, log.logIndex).changes > 0;
    if (isNew) this.#news.add('delegateEnded', { maker: wallet, signer });
  }
}

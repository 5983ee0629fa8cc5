/**
 * Orders of a block (orderBlocks.ts) in memory, in the table and under the indexes that read.db has: statements about
 * orders run there as they run in read.db.
 */
import Database from 'better-sqlite3';
import type { OrderBlock } from './orderBlocks.ts';
import { ORDERS } from './orders.ts';
import { insertMany } from './table.ts';

export class OrderTable {
  readonly db: Database.Database;
  readonly #fill: (block: OrderBlock, account: number | null, market: number | null) => void;

  constructor() {
    this.db = new Database(':memory:');
    // Markets are in read.db.
    this.db.exec('PRAGMA foreign_keys = OFF');
    this.db.exec(ORDERS.schema);
    const clear = this.db.prepare('DELETE FROM orders');
    const add = this.db.prepare(insertMany(ORDERS, 1));
    this.#fill = this.db.transaction((block: OrderBlock, account: number | null, market: number | null) => {
      clear.run();
      for (let index = 0; index < block.orders; index++) {
        if (block.isOf(index, account, market)) add.run(...block.valuesAt(index));
      }
    });
  }

  /** Replaces its orders by those of the block. @param account whose; null for all, as is a market */
  fill(block: OrderBlock, account: number | null = null, market: number | null = null): void {
    this.#fill(block, account, market);
  }
}

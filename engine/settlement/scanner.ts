/**
 * Reads the logs of the exchange contract and of its predecessors, in stretches, up to a block that no reorganisation
 * takes away. What they mean and the position after them are one transaction of the owner's.
 *
 * Invariants:
 *   SCANNER-1  Only final blocks are read, and each at least once: the position moves with what was found.
 *   SCANNER-2  A log that moves money counts only where the node's answers agree (CHAINLOGS-1).
 *   SCANNER-3  Every block is read a second time, later. A node that was behind gives fewer logs and no error, and one
 *              log means one movement however often it is read.
 */
import type Database from 'better-sqlite3';
import { prepared } from '../../shared/base/prepared.ts';
import type { ChainNode, Hex } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { type ChainEvent, decodeChainEvent, EVERY_EVENT, EXIT_REQUESTS } from './chainEvents.ts';
import { ChainLogs } from './chainLogs.ts';

const STRETCHES_A_STEP = 8;
/** A node of a pool may be behind the others by some blocks, not by as many as this. */
const SECOND_LOOK_BLOCKS = 64;
/** Requests of exits are looked for in no more blocks than this. */
const MOST_UNSETTLED_BLOCKS = 500;

type Position = { readonly exchange: Hex; readonly next_block: number | null; readonly checked_block: number | null };

type ScannerOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly nowMs: () => number;
  /** Called inside the transaction of a stretch, in the order of the chain; a repeat changes nothing. */
  readonly onEvents: (exchange: Hex, events: readonly ChainEvent[]) => void;
  /** Requests of exits that are not final yet. */
  readonly onExitRequests: (events: readonly ChainEvent[]) => void;
};

export class Scanner {
  readonly #options: ScannerOptions;
  readonly #logs: ChainLogs;
  readonly #positions: Database.Statement<[], Position>;

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#logs = new ChainLogs(options.node, options.nowMs);
    this.#positions = prepared(options.db, 'SELECT * FROM scans ORDER BY exchange');
  }

  /** Follows the contract from now on; one that is known already goes on where it was. */
  add(exchange: string): void {
    prepared(this.#options.db, 'INSERT OR IGNORE INTO scans (exchange) VALUES (?)').run(exchange.toLowerCase());
  }

  exchanges(): Hex[] {
    return this.#positions.all().map(({ exchange }) => exchange);
  }

  /** The last block that was read of all contracts; null before the first. */
  scannedBlock(): number | null {
    const next = this.#positions.all().map(({ next_block }) => next_block);
    return next.length === 0 || next.includes(null) ? null : Math.min(...(next as number[])) - 1;
  }

  /** @param final the last block that stays. @returns true once everything up to it was read. */
  async step(final: number, head: number): Promise<boolean> {
    let isDone = true;
    for (const { exchange, next_block, checked_block } of this.#positions.all()) {
      const next = next_block ?? (await this.#begin(exchange, final));
      const reached = await this.#readUpTo(exchange, 'next_block', next, final);
      if (reached <= final) isDone = false;
      const checked = checked_block ?? next;
      const settled = reached - SECOND_LOOK_BLOCKS;
      if (settled - checked >= SECOND_LOOK_BLOCKS)
        await this.#readUpTo(exchange, 'checked_block', checked, settled - 1);
      if (isDone) await this.#lookAhead(exchange, reached, head);
    }
    return isDone;
  }

  /** @returns the first block that was not read. */
  async #readUpTo(exchange: Hex, column: 'next_block' | 'checked_block', from: number, last: number): Promise<number> {
    const { db, onEvents } = this.#options;
    let next = from;
    for (let stretch = 0; stretch < STRETCHES_A_STEP && next <= last; stretch++) {
      const found = await this.#logs.read(exchange, EVERY_EVENT, next, last);
      if (found === null) continue;
      const events = found.logs.map(decodeChainEvent).filter((event) => event !== null);
      await this.#verify(events);
      next = found.to + 1;
      db.transaction(() => {
        onEvents(exchange, events);
        prepared(db, `UPDATE scans SET ${column} = ? WHERE exchange = ?`).run(next, exchange);
      })();
    }
    return next;
  }

  /** An exit that is asked for matters at once: what is still to be settled has to be settled before it is due. */
  async #lookAhead(exchange: Hex, from: number, head: number): Promise<void> {
    if (from > head) return;
    const found = await this.#logs.read(exchange, EXIT_REQUESTS, Math.max(from, head - MOST_UNSETTLED_BLOCKS), head);
    if (found !== null)
      this.#options.onExitRequests(found.logs.map(decodeChainEvent).filter((event) => event !== null));
  }

  /** Keeps SCANNER-2. What a claim or a request of an exit says moves no money in the ledger. */
  async #verify(events: readonly ChainEvent[]): Promise<void> {
    const moving = events.filter(({ is }) => is === 'deposited' || is === 'held' || is === 'split' || is === 'exited');
    await this.#logs.verify(moving.map(({ log }) => log));
  }

  /**
   * The block in which the contract was made. A node that has forgotten the state of so long ago leaves the first one
   * of which it knows it; an exchange issues no permit for a deposit before it runs.
   */
  async #begin(exchange: Hex, final: number): Promise<number> {
    let [low, high] = [0, final];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#hasCode(exchange, middle)) high = middle;
      else low = middle + 1;
    }
    const { db } = this.#options;
    prepared(db, 'UPDATE scans SET next_block = ?, checked_block = ? WHERE exchange = ?').run(low, low, exchange);
    return low;
  }

  async #hasCode(exchange: Hex, block: number): Promise<boolean> {
    try {
      return await this.#options.node.hasCode(exchange, block);
    } catch (error) {
      if (error instanceof RpcError) return false;
      throw error;
    }
  }
}

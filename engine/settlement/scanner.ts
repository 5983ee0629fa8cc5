/**
 * Reads the logs of the exchange contract and of its predecessors, in stretches, up to a block that no reorganisation
 * takes away. What they mean and the position after them are one transaction of the owner's.
 *
 * Invariants:
 *   SCANNER-1  Only final blocks are read, and each at least once: the position moves with what was found.
 *   SCANNER-2  A log that moves money, or raises a floor, counts only where the node's answers agree (CHAINLOGS-1).
 *   SCANNER-3  Every block is read a second time, later. A node that was behind gives fewer logs and no error, and one
 *              log means one movement however often it is read.
 *   SCANNER-4  What wallets ask for is looked for in every block up to the newest, however many those are, and in those
 *              that may still go at each round. What was last read ten minutes ago is not known any more.
 */
import type Database from 'better-sqlite3';
import { prepared } from '../../shared/base/prepared.ts';
import type { ChainNode, Hex } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { type ChainEvent, decodeChainEvent, EVERY_EVENT, REQUESTS } from './chainEvents.ts';
import { ChainLogs } from './chainLogs.ts';

const STRETCHES_A_STEP = 8;
/** A floor that was raised for nothing would end the trading of its wallet for ever. */
const VERIFIED: readonly ChainEvent['is'][] = ['deposited', 'held', 'split', 'exited', 'floorRaised'];
/** A node of a pool may be behind the others by some blocks, not by as many as this. */
const SECOND_LOOK_BLOCKS = 64;
/** Far shorter than an exit delay, after which a raised floor or an exit is in force. */
const LONGEST_BLIND_MS = 600_000;

type Position = { readonly exchange: Hex; readonly next_block: number | null; readonly checked_block: number | null };

type ScannerOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly nowMs: () => number;
  /** Called inside the transaction of a stretch, in the order of the chain; a repeat changes nothing. */
  readonly onEvents: (exchange: Hex, events: readonly ChainEvent[]) => void;
  /** Requests of wallets that may not be final yet; called outside of a transaction. */
  readonly onRequests: (events: readonly ChainEvent[]) => void;
};

export class Scanner {
  readonly #options: ScannerOptions;
  readonly #logs: ChainLogs;
  readonly #positions: Database.Statement<[], Position>;
  /** By contract: the first block in which requests were not looked for, by the pass that goes up to the head. */
  readonly #looked = new Map<Hex, { readonly next: number; readonly isAtHead: boolean }>();
  /** By contract: when its requests were known up to the newest block for the last time. */
  readonly #reachedHeadMs = new Map<Hex, number>();

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

  /** Everything is known that wallets had asked for ten minutes ago, and since the thread began, of every contract. */
  get hasLooked(): boolean {
    const exchanges = this.exchanges();
    const sinceMs = this.#options.nowMs() - LONGEST_BLIND_MS;
    return exchanges.length > 0 && exchanges.every((each) => (this.#reachedHeadMs.get(each) ?? 0) > sinceMs);
  }

  /** @param final the last block that stays. @returns true once everything up to it was read. */
  async step(final: number): Promise<boolean> {
    let isDone = true;
    for (const { exchange, next_block, checked_block } of this.#positions.all()) {
      const next = next_block ?? (await this.#begin(exchange, final));
      const reached = await this.#readUpTo(exchange, 'next_block', next, final);
      if (reached <= final) isDone = false;
      const checked = checked_block ?? next;
      const settled = reached - SECOND_LOOK_BLOCKS;
      if (settled - checked >= SECOND_LOOK_BLOCKS)
        await this.#readUpTo(exchange, 'checked_block', checked, settled - 1);
    }
    return isDone;
  }

  /**
   * Keeps SCANNER-4. An exit that is asked for matters at once: what is still to be settled has to be settled before it
   * is due. So does the floor of a wallet: what is signed below must not be matched any more when it comes into force.
   */
  async look(final: number, head: number): Promise<void> {
    for (const { exchange, next_block } of this.#positions.all()) {
      // Of a chain that is younger than its finality, nothing is final yet.
      const first = next_block ?? (final < 0 ? 0 : await this.#begin(exchange, final));
      const at = this.#looked.get(exchange) ?? { next: first, isAtHead: false };
      // A pass that a node's short stretches make long is ended before the next begins.
      let next = Math.max(first, at.isAtHead ? Math.min(at.next, final + 1) : at.next);
      for (let stretch = 0; stretch < STRETCHES_A_STEP && next <= head; stretch++) {
        const found = await this.#logs.read(exchange, REQUESTS, next, head);
        if (found === null) continue;
        const events = found.logs.map(decodeChainEvent).filter((event) => event !== null);
        await this.#verify(events);
        this.#options.onRequests(events);
        next = found.to + 1;
        this.#looked.set(exchange, { next, isAtHead: false });
      }
      if (next <= head) continue;
      this.#looked.set(exchange, { next, isAtHead: true });
      this.#reachedHeadMs.set(exchange, this.#options.nowMs());
    }
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

  /** Keeps SCANNER-2. What a claim or a request of an exit says moves no money in the ledger. */
  async #verify(events: readonly ChainEvent[]): Promise<void> {
    await this.#logs.verify(events.filter(({ is }) => VERIFIED.includes(is)).map(({ log }) => log));
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

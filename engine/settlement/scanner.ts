/**
 * Reads the logs of the exchange contract and its predecessors, in stretches, up to the last final block. The effects
 * of a stretch and the position after it are stored in one transaction of the owner.
 *
 * Invariants:
 *   SCANNER-1  Only final blocks are read, and each at least once: the position moves with what was found.
 *   SCANNER-2  A log that moves money or raises a floor counts only if the node's answers agree (CHAINLOGS-1).
 *   SCANNER-3  Every block is read a second time, later. A lagging node returns fewer logs and no error; a log that is
 *              read twice still means one movement.
 *   SCANNER-4  Requests of wallets are looked for in every block up to the newest, however many there are, and again in
 *              each round in the blocks that are not final. Requests last read ten minutes ago count as unknown.
 */
import type Database from 'better-sqlite3';
import { prepared } from '../../shared/base/prepared.ts';
import type { ChainNode, Hex } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { type ChainEvent, decodeChainEvent, EVERY_EVENT, REQUESTS } from './chainEvents.ts';
import { ChainLogs } from './chainLogs.ts';

const STRETCHES_A_STEP = 8;
/** A floor raised by mistake would end the trading of its wallet for ever. */
const VERIFIED: readonly ChainEvent['is'][] = ['deposited', 'held', 'split', 'exited', 'floorRaised'];
/** A node of a pool may lag behind the others by some blocks, but not by this many. */
const SECOND_LOOK_BLOCKS = 64;
/** Far shorter than the exit delay, after which a raised floor or an exit takes effect. */
const LONGEST_BLIND_MS = 600_000;

type Position = { readonly exchange: Hex; readonly next_block: number | null; readonly checked_block: number | null };

type ScannerOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly nowMs: () => number;
  /** Called inside the transaction of a stretch, in the order of the chain; a repeat changes nothing. */
  readonly onEvents: (exchange: Hex, events: readonly ChainEvent[]) => void;
  /** Takes requests of wallets that may not be final yet; called outside a transaction. */
  readonly onRequests: (events: readonly ChainEvent[]) => void;
};

export class Scanner {
  readonly #options: ScannerOptions;
  readonly #logs: ChainLogs;
  readonly #positions: Database.Statement<[], Position>;
  /** By contract: the first block in which the pass up to the head has not looked for requests. */
  readonly #looked = new Map<Hex, { readonly next: number; readonly isAtHead: boolean }>();
  /** By contract: the last time at which its requests were known up to the newest block. */
  readonly #reachedHeadMs = new Map<Hex, number>();

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#logs = new ChainLogs(options.node, options.nowMs);
    this.#positions = prepared(options.db, 'SELECT * FROM scans ORDER BY exchange');
  }

  /** Follows the contract from now on; a known contract continues at its position. */
  add(exchange: Hex): void {
    prepared(this.#options.db, 'INSERT OR IGNORE INTO scans (exchange) VALUES (?)').run(exchange.toLowerCase());
  }

  exchanges(): Hex[] {
    return this.#positions.all().map(({ exchange }) => exchange);
  }

  /** The last block that was read for all contracts; null before the first. */
  scannedBlock(): number | null {
    const next = this.#positions.all().map(({ next_block }) => next_block);
    return next.length === 0 || next.includes(null) ? null : Math.min(...(next as number[])) - 1;
  }

  /**
   * True if all requests that wallets made until ten minutes ago are known, for every contract, since the thread began.
   */
  get hasLooked(): boolean {
    const exchanges = this.exchanges();
    const sinceMs = this.#options.nowMs() - LONGEST_BLIND_MS;
    return exchanges.length > 0 && exchanges.every((each) => (this.#reachedHeadMs.get(each) ?? 0) > sinceMs);
  }

  /**
   * @param final the last final block.
   * @returns true once everything up to it is read
   */
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
   * Keeps SCANNER-4. A requested exit matters at once: pending work must settle before the exit is due. So does a
   * raised floor: orders signed below it must no longer match when it takes effect.
   */
  async look(final: number, head: number): Promise<void> {
    for (const { exchange, next_block } of this.#positions.all()) {
      // On a chain younger than its finality delay, nothing is final yet.
      const first = next_block ?? (final < 0 ? 0 : await this.#begin(exchange, final));
      const at = this.#looked.get(exchange) ?? { next: first, isAtHead: false };
      // A pass that takes long because the node allows only short ranges is finished before the next begins.
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

  /** @returns the first block that was not read */
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

  /** Keeps SCANNER-2. Claims and requests to exit move no money in the ledger, so they are not verified. */
  async #verify(events: readonly ChainEvent[]): Promise<void> {
    await this.#logs.verify(events.filter(({ is }) => VERIFIED.includes(is)).map(({ log }) => log));
  }

  /**
   * Finds the block in which the contract was created. If the node no longer has states that old, the oldest block with
   * a state is used; this misses nothing, because the exchange issues no permit for a deposit before it runs.
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

/**
 * Money between the chain and the ledger, one round at a time: movements of the chain, wallets that exit, and the
 * comparison of balances.
 */

import { prepared } from '../../shared/base/prepared.ts';
import { type Heads, lastSettledBlock } from '../../shared/chain/depth.ts';
import type { ChainNode, Hex } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { ChainEvent } from './chainEvents.ts';
import { Markets } from './chainMarkets.ts';
import { ChainMoney, type PaidSets } from './chainMoney.ts';
import { Delegates } from './delegates.ts';
import { Exits } from './exits.ts';
import { LedgerCopy } from './ledgerCopy.ts';
import { MissingWallets } from './missingWallets.ts';
import { addMoneyTables } from './moneyTables.ts';
import type { News } from './news.ts';
import { RaisedFloors } from './raisedFloors.ts';
import { type Balance, isSettledAfter, Reconciliation } from './reconciliation.ts';
import type { Rotation } from './rotation.ts';
import { Scanner } from './scanner.ts';
import type { WorkRows } from './work.ts';

type MoneySideOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly work: WorkRows;
  readonly news: News;
  readonly rotation: Rotation;
  readonly contracts: { readonly exchange: Hex; readonly marketFactory: Hex; readonly usdc: Hex };
  readonly nowMs: () => number;
};

type MoneyFacts = {
  readonly differences: number;
  /** Movements of the chain that the ledger cannot follow yet, and movements of the ledger without a wallet. */
  readonly waiting: number;
  readonly withoutWallet: number;
  /** The last block whose events were all read, and the last block at which balances were compared. */
  readonly scannedBlock: number | null;
  readonly reconciledBlock: number | null;
  readonly compared: number;
  /**
   * Floors that were reported and not acknowledged; null until the requests of wallets are known up to the newest
   * block.
   */
  readonly floorsToCarry: number | null;
};

export class MoneySide {
  readonly money: ChainMoney;
  readonly markets: Markets;
  readonly ledger: LedgerCopy;
  readonly #reconciliation: Reconciliation;
  readonly #scanner: Scanner;
  readonly #exits: Exits;
  readonly #missing: MissingWallets;
  readonly #delegates: Delegates;
  readonly #floors: RaisedFloors;
  readonly #db: StoreDatabase;
  readonly #news: News;
  readonly #work: WorkRows;
  readonly #rotation: Rotation;

  constructor(options: MoneySideOptions) {
    const { db, node, news, contracts } = options;
    addMoneyTables(db);
    this.#db = db;
    this.#news = news;
    this.#work = options.work;
    this.markets = new Markets(db, { marketFactory: contracts.marketFactory, collateral: contracts.usdc });
    this.money = new ChainMoney({ ...options, markets: this.markets });
    this.#exits = new Exits(db, this.money, news);
    this.#missing = new MissingWallets(options);
    this.#delegates = new Delegates(db, news);
    this.#floors = new RaisedFloors(db, news);
    this.#scanner = new Scanner({
      db,
      node,
      nowMs: options.nowMs,
      onEvents: (exchange, events) => this.#take(exchange, events),
      onRequests: (events) => this.#request(events),
    });
    this.#reconciliation = new Reconciliation({
      db,
      node,
      markets: this.markets,
      usdc: contracts.usdc,
      exchanges: () => this.#scanner.exchanges(),
    });
    this.ledger = new LedgerCopy(db, (account, market) => this.#reconciliation.noteChanged(account, market));
    this.#rotation = options.rotation;
    if (db.isFollowing !== true) this.begin();
  }

  /** Begins to follow the events of every contract. */
  begin(): void {
    for (const exchange of this.#rotation.all) this.addExchange(exchange);
  }

  /** True while the wallet of this movement is leaving: its account must be frozen before it receives the money. */
  isLeaving(event: number): boolean {
    const row = this.money.get(event);
    return row !== undefined && this.#exits.isLeaving(row.wallet);
  }

  /** Adds a contract, whose events are followed from now on along with those of its predecessors. */
  addExchange(exchange: Hex): void {
    this.#scanner.add(exchange);
  }

  /** Orders are signed for another contract from now on. */
  rotate(exchange: Hex): void {
    if (this.#scanner.exchanges().includes(exchange)) return;
    this.#scanner.add(exchange);
    this.#delegates.endAll();
  }

  /**
   * Marks a withdrawal, by its reference, as one that ends in the unheld escrow of its wallet. Stored before the ledger
   * has it.
   * @returns the mark that the gateway has to keep before.
   */
  prepareRelease(reference: string): number {
    const mark = this.#db.transaction(() => {
      const { changes } = prepared(this.#db, 'INSERT OR IGNORE INTO releases VALUES (?)').run(reference);
      return changes === 0 ? this.#work.mark : this.#work.nextMark();
    });
    return mark();
  }

  followed(reference: string, isOfSets: boolean): PaidSets | null {
    return this.money.followed(reference, isOfSets);
  }

  ledgerClaimed(account: number, market: number, micro: number, record: string): void {
    this.money.ledgerClaimed(account, market, micro, record);
  }

  isRelease(reference: string): boolean {
    return prepared(this.#db, 'SELECT 1 FROM releases WHERE reference = ?').get(reference) !== undefined;
  }

  /**
   * Reads the chain's events up to the last final block.
   * @returns that block once everything is read, otherwise null
   */
  async read(heads: Heads): Promise<number | null> {
    const final = lastSettledBlock(heads);
    this.money.remind();
    this.#missing.step();
    // Nodes that disagree about money may still agree about requests of wallets, and vice versa.
    const [looked] = await Promise.allSettled([this.#scanner.look(final, heads.head.number)]);
    const isDone = final >= 0 && (await this.#scanner.step(final));
    if (looked.status === 'rejected') throw looked.reason;
    if (!isDone) return null;
    this.#exits.settle(final);
    return this.#scanner.scannedBlock() === final ? final : null;
  }

  /** A node that no longer has, or does not have yet, the state of that block can be asked about a later one. */
  async reconcile(block: number): Promise<void> {
    try {
      await this.#reconciliation.step(block);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }

  /** True while work is settled in blocks whose events are not read yet. */
  get isBehind(): boolean {
    return isSettledAfter(this.#db, this.#scanner.scannedBlock() ?? 0);
  }

  facts(): MoneyFacts {
    const { block, compared } = this.#reconciliation;
    return {
      differences: this.#reconciliation.differences().length,
      waiting: this.money.countWaiting(),
      withoutWallet: this.#missing.count,
      scannedBlock: this.#scanner.scannedBlock(),
      reconciledBlock: block,
      compared,
      floorsToCarry: this.#scanner.hasLooked ? this.#news.count('nonceFloor') : null,
    };
  }

  differences(): readonly Balance[] {
    return this.#reconciliation.differences();
  }

  /** Compares every balance, for a tool. */
  compareAll(block: number): Promise<Balance[]> {
    return this.#reconciliation.all(block);
  }

  #take(exchange: Hex, events: readonly ChainEvent[]): void {
    for (const event of events) {
      if (event.is === 'exitRequested') this.#exits.requested(event, true);
      else if (event.is === 'exitCancelled') this.#exits.cancelled(event);
      else if (event.is === 'delegateSet') this.#delegates.set(event);
      else if (event.is === 'floorRaised') this.#floors.final(event);
      else this.money.take(exchange, event);
    }
  }

  #request(events: readonly ChainEvent[]): void {
    const exits = events.filter((event) => event.is === 'exitRequested');
    const request = this.#db.transaction(() => {
      for (const event of exits) this.#exits.requested(event, false);
    });
    if (exits.length > 0) request();
    this.#floors.seen(events.filter((event) => event.is === 'floorRaised'));
  }
}

/**
 * Payments: withdrawals to a wallet, and releases to the wallet's own part of the escrow. They are sent beside the
 * other work and wait for what funds them; no other work waits for them.
 *
 * Invariants:
 *   PAYMENTS-1  A payment is sent once all older work of its account is in a block: what that leaves is paid from.
 *   PAYMENTS-2  A payment is sent only if the chain would carry it out now. One that it refuses costs no gas. It is
 *               tried again after pauses that double, and only the later payments of its own account wait for it.
 *   PAYMENTS-3  With a key of their own payments are one transaction at a time, in which each fails alone: while it
 *               waits for a block the next ones gather. Without one at most MOST_SENT of the operator's wait for one.
 *   PAYMENTS-4  Accounts take turns: each round begins behind the account at which the last one has ended, also where
 *               that was an error of the node. So nothing that one of them does comes before the payment of another.
 */
import type { Draft } from '../../shared/chain/envelopeRows.ts';
import type { ChainKey } from '../../shared/chain/key.ts';
import type { ChainNode, Hex } from '../../shared/chain/node.ts';
import { isRevert } from '../../shared/chain/relayToken.ts';
import { NodeUnreachable, QUOTA, RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { Drafts } from './drafts.ts';
import { PaidLately, type PayBounds } from './payBounds.ts';
import type { PaymentRows } from './paymentRows.ts';
import type { Work, WorkRows } from './work.ts';

/** Without a key of their own: half of what may wait for a block. */
const MOST_SENT = 8;
/** Of one transaction. */
const MOST_TOGETHER = 32;
/** Of one round: each costs the node a call. */
const MOST_LOOKED_AT = 32;
/** Between two looks at a payment that a bound holds back: about a minute. */
const HELD_BLOCKS = 30;
/** About an hour of blocks of two seconds. */
const LONGEST_PAUSE_BLOCKS = 1800;

/** A key of their own, and the contract by which it pays. */
export type Payer = { readonly key: ChainKey; readonly contract: Hex };

type PaymentsOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly work: WorkRows;
  readonly rows: PaymentRows;
  readonly drafts: Drafts;
  /** The contract of a key of their own; null: the operator pays. */
  readonly contract: Hex | null;
  /** Null: none. */
  readonly bounds: PayBounds | null;
  readonly nowMs: () => number;
  /** The exchange contract is called by this address. */
  readonly caller: Hex;
  readonly hasRoom: () => boolean;
  /** Called in a transaction. */
  readonly send: (work: readonly Work[], draft: Draft) => void;
};

export class Payments {
  readonly #options: PaymentsOptions;
  /** PAYMENTS-4. The next round goes on behind this account. */
  #lookedAt = -1;

  readonly #lately: PaidLately | null;

  constructor(options: PaymentsOptions) {
    this.#options = options;
    const { rows, bounds, nowMs } = options;
    this.#lately = bounds && new PaidLately(rows, bounds, nowMs);
  }

  /** One round, which asks the node nothing while no payment is due. An error of the node ends it; the next goes on. */
  async step(block: number, exchange: number): Promise<void> {
    const { rows, contract, hasRoom } = this.#options;
    const sent = rows.countSent();
    const most = contract === null ? MOST_SENT - sent : MOST_TOGETHER;
    if (most <= 0 || !hasRoom() || (contract !== null && sent > 0)) return;
    const ready: Work[] = [];
    try {
      await this.#look(ready, most, block, exchange);
    } finally {
      this.#send(ready);
    }
  }

  /** Adds those that can be paid now to `ready`. */
  async #look(ready: Work[], most: number, block: number, exchange: number): Promise<void> {
    const { db, rows, work: all, drafts } = this.#options;
    for (const work of rows.due(block, exchange, MOST_LOOKED_AT, this.#lookedAt)) {
      // One transaction pays at one contract. The next round begins with the other one.
      if (ready.length === most || (ready.length > 0 && ready[0].exchange !== work.exchange)) return;
      this.#lookedAt = work.account;
      if (rows.hasOlderWork(work)) continue;
      const draft = drafts.movement(work);
      if (draft === null) continue;
      const reason = this.#lately?.whyWait(work, ready) ?? null;
      if (reason !== null) {
        db.transaction(() => rows.hold(work, block + HELD_BLOCKS, reason))();
        continue;
      }
      const refusal = await this.#refusalOf(draft);
      if (refusal === null) ready.push(work);
      else db.transaction(() => all.retry(work, block, refusal, LONGEST_PAUSE_BLOCKS))();
    }
  }

  #send(ready: readonly Work[]): void {
    const { db, contract, drafts, hasRoom, send } = this.#options;
    if (ready.length === 0) return;
    if (contract !== null) {
      db.transaction(() => send(ready, drafts.payments(contract, ready)))();
      this.#lately?.note(ready);
      return;
    }
    for (const work of ready) {
      if (!hasRoom()) return;
      db.transaction(() => send([work], drafts.movement(work)!))();
      this.#lately?.note([work]);
    }
  }

  /**
   * Keeps PAYMENTS-2. A node that is out of order, or that has a quota, refuses no payment. One that answers everything
   * but a call about this account refuses this payment alone, in whatever words: providers have lists of addresses.
   */
  async #refusalOf(draft: Draft): Promise<string | null> {
    const error = await this.#errorOf(draft);
    if (error === null) return null;
    if (isRevert(error)) return error.message;
    if (error instanceof RpcError && QUOTA.test(error.message)) throw error;
    const another = await this.#errorOf({ ...draft, data: '0x' });
    if (another !== null && !isRevert(another)) throw error;
    return error.message;
  }

  /** The error of the node; null: the call would be carried out. */
  async #errorOf(draft: Draft): Promise<Error | null> {
    const { node, caller } = this.#options;
    try {
      await node.simulate({ ...draft, from: caller });
      return null;
    } catch (error) {
      if (error instanceof RpcError || error instanceof NodeUnreachable) return error;
      throw error;
    }
  }
}

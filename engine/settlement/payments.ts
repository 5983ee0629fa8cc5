/**
 * Payments: withdrawals to a wallet, and releases to the wallet's own part of the escrow. They are sent in parallel
 * with other work and wait for the work that funds them; no other work waits for them.
 *
 * Invariants:
 *   PAYMENTS-1  A payment is sent once all older work of its account is in a block: it is paid from the balance that
 *               this work leaves.
 *   PAYMENTS-2  A payment is sent only if the chain would carry it out now. A refused payment costs no gas. It is tried
 *               again after pauses that double, and only the later payments of its own account wait for it.
 *   PAYMENTS-3  With a PAYER key, payments are sent in one transaction at a time, in which each can fail alone; the
 *               next payments gather until it is in a block. Without that key the operator pays, with at most MOST_SENT
 *               payments waiting for a block.
 *   PAYMENTS-4  Accounts take turns: each round begins after the account at which the last round ended, even if it
 *               ended with an error of the node. So nothing that one account does delays the payment of another.
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

/** Without a PAYER key: half of the transactions that may wait for a block. */
const MOST_SENT = 8;
/** The most payments in one transaction. */
const MOST_TOGETHER = 32;
/** The most payments checked in one round: each costs a call to the node. */
const MOST_LOOKED_AT = 32;
/** Blocks between two checks of a payment that a bound holds back: about a minute. */
const HELD_BLOCKS = 30;
/** About an hour of two-second blocks. */
const LONGEST_PAUSE_BLOCKS = 1800;

/** The PAYER key, and the contract through which it pays. */
export type Payer = { readonly key: ChainKey; readonly contract: Hex };

type PaymentsOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly work: WorkRows;
  readonly rows: PaymentRows;
  readonly drafts: Drafts;
  /** The contract of the PAYER key; null if the operator pays. */
  readonly contract: Hex | null;
  /** Null if there are no bounds. */
  readonly bounds: PayBounds | null;
  readonly nowMs: () => number;
  /** The address that calls the exchange contract. */
  readonly caller: Hex;
  readonly hasRoom: () => boolean;
  /** Called in a transaction. */
  readonly send: (work: readonly Work[], draft: Draft) => void;
};

export class Payments {
  readonly #options: PaymentsOptions;
  /** PAYMENTS-4. The next round begins after this account. */
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

  /** Adds the payments that can be made now to `ready`. */
  async #look(ready: Work[], most: number, block: number, exchange: number): Promise<void> {
    const { db, rows, work: all, drafts } = this.#options;
    for (const work of rows.due(block, exchange, MOST_LOOKED_AT, this.#lookedAt)) {
      // One transaction pays at one contract. The next round begins with the other contract.
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
   * Keeps PAYMENTS-2. A node that is down or over its quota does not count as a refusal. A node that answers every call
   * but the one about this account does, whatever its words: providers block addresses on lists of their own.
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

  /** Returns the node's error, or null if the call would succeed. */
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

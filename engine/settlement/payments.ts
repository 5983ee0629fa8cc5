/**
 * Payments: withdrawals to a wallet, and releases to the wallet's own part of the escrow. They are sent beside the
 * other work and wait for what funds them; no other work waits for them.
 *
 * Invariants:
 *   PAYMENTS-1  A payment is sent once all older work of its account is in a block: what that leaves is paid from.
 *   PAYMENTS-2  A payment is sent only if the chain would carry it out now. One that it refuses costs no gas. It is
 *               tried again after pauses that double, and only the later payments of its own account wait for it.
 *   PAYMENTS-3  At most MOST_SENT payments wait for a block at a time, so trades find room whatever is paid.
 */
import type { Draft } from '../../shared/chain/envelopeRows.ts';
import type { ChainNode, Hex } from '../../shared/chain/node.ts';
import { isRevert } from '../../shared/chain/relayToken.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { Drafts } from './drafts.ts';
import type { PaymentRows } from './paymentRows.ts';
import type { Work, WorkRows } from './work.ts';

/** Half of what may wait for a block. */
const MOST_SENT = 8;
/** Of one round: each costs the node a call. */
const MOST_LOOKED_AT = 16;
/** About an hour of blocks of two seconds. */
const LONGEST_PAUSE_BLOCKS = 1800;

type PaymentsOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly work: WorkRows;
  readonly rows: PaymentRows;
  readonly drafts: Drafts;
  /** The sender. */
  readonly operator: Hex;
  readonly hasRoom: () => boolean;
  /** Called in a transaction. */
  readonly send: (work: Work, draft: Draft) => void;
};

export class Payments {
  readonly #options: PaymentsOptions;

  constructor(options: PaymentsOptions) {
    this.#options = options;
  }

  /** One round, which asks the node nothing while no payment is due. An error of the node ends it; the next goes on. */
  async step(block: number, exchange: number): Promise<void> {
    const { db, rows, work: all, drafts, hasRoom, send } = this.#options;
    let sent = rows.countSent();
    for (const work of rows.due(block, exchange, MOST_LOOKED_AT)) {
      if (sent >= MOST_SENT || !hasRoom()) return;
      if (rows.hasOlderWork(work)) continue;
      const draft = drafts.movement(work);
      if (draft === null) continue;
      const refusal = await this.#refusalOf(draft);
      const change = (): void => {
        if (refusal === null) send(work, draft);
        else all.retry(work, block, refusal, LONGEST_PAUSE_BLOCKS);
      };
      db.transaction(change)();
      if (refusal === null) sent++;
    }
  }

  /** Keeps PAYMENTS-2. A node that is out of order, or that has a quota, refuses no payment. */
  async #refusalOf(draft: Draft): Promise<string | null> {
    const { node, operator } = this.#options;
    try {
      await node.simulate({ ...draft, from: operator });
      return null;
    } catch (error) {
      if (isRevert(error)) return (error as Error).message;
      throw error;
    }
  }
}

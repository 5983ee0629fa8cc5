/**
 * Cancels all open orders of an account in every shard, however long that takes: the dead-man's switch and the
 * cancellation at the end of a connection (RULES.md 7.8, 8.10).
 * Owner: the gateway thread.
 *
 * Invariant:
 *   MASSCANCEL-1  A cancel is sent again to a shard that was not ready, had no room or was lost, until the shard has
 *                 carried it out. A cancel whose result is unknown is sent again, too: a cancel may be repeated.
 */
import { assert } from '../../shared/base/assert.ts';
import { OK } from '../../shared/base/errors.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';

/** All open orders of an account in one shard. */
type Part = { readonly account: number; readonly shard: number };

type MassCancelsOptions = {
  readonly shards: number;
  /** Sends the cancel of one shard. @returns OK when it is in the ring. */
  readonly send: (shard: number, account: number, onReply: ReplyHandler<Part>, part: Part) => number;
  /** Called when a shard has carried out every cancel of an account, and others have not. */
  readonly onShardDone?: (account: number, shard: number) => void;
  /** Called when every shard has cancelled the orders of an account. */
  readonly onDone?: (account: number) => void;
};

export class MassCancels {
  readonly #options: MassCancelsOptions;
  /** Parts that were not sent to their shard, or that it has not carried out. */
  readonly #waiting = new Set<Part>();
  /** By account: the number of parts of each shard that are not carried out yet, sent or not. */
  readonly #open = new Map<number, number[]>();
  #cancelledOrders = 0;
  readonly #onReply: ReplyHandler<Part> = ({ code, a }, part) => {
    if (code === OK) this.#carriedOut(part, a);
    else this.#waiting.add(part);
  };

  constructor(options: MassCancelsOptions) {
    this.#options = options;
  }

  /** Orders that were cancelled here, since the start. */
  get cancelledOrders(): number {
    return this.#cancelledOrders;
  }

  /** Adds the account; the next `send` sends its cancels. @param cancelled shards that have carried theirs out */
  add(account: number, cancelled: readonly number[] = []): void {
    const open = this.#open.get(account) ?? new Array<number>(this.#options.shards).fill(0);
    this.#open.set(account, open);
    for (let shard = 0; shard < open.length; shard++) {
      if (cancelled.includes(shard)) continue;
      this.#waiting.add({ account, shard });
      open[shard]!++;
    }
    this.#endWhereDone(account, open);
  }

  /** Sends every cancel that waits. Called at intervals for those that could not be sent before. */
  send(): void {
    for (const part of this.#waiting) {
      if (this.#options.send(part.shard, part.account, this.#onReply, part) === OK) this.#waiting.delete(part);
    }
  }

  #carriedOut({ account, shard }: Part, cancelled: number): void {
    const open = this.#open.get(account);
    assert(open !== undefined && open[shard]! > 0, 'MASSCANCEL-1: a part that is carried out was open');
    this.#cancelledOrders += cancelled;
    open[shard]!--;
    if (!this.#endWhereDone(account, open) && open[shard] === 0) this.#options.onShardDone?.(account, shard);
  }

  #endWhereDone(account: number, open: readonly number[]): boolean {
    if (open.some((count) => count > 0)) return false;
    this.#open.delete(account);
    this.#options.onDone?.(account);
    return true;
  }
}

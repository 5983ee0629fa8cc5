/**
 * Cancels all open orders of an account in every shard, however long that takes: the dead-man's switch and the
 * cancellation at the end of a connection (RULES.md 7.8, 8.10).
 * Owner: the gateway thread.
 *
 * Invariant:
 *   MASSCANCEL-1  A shard is owed the cancel (OWED-1) until it has carried it out. A cancel with an unknown result is
 *                 sent again too: cancels may be repeated.
 */
import { assert } from '../../shared/base/assert.ts';
import { OK } from '../../shared/base/errors.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';

/** All open orders of an account in one shard. */
type Part = { readonly account: number; readonly shard: number };

/** The part of the shard client used here. */
export type MassCancelEngine = Pick<ShardClient, 'owe'>;

type MassCancelsOptions = {
  readonly shards: number;
  readonly engine: MassCancelEngine;
  /** Sends the cancel to one shard. @returns OK if it is in the ring */
  readonly send: (shard: number, account: number, onReply: ReplyHandler<Part>, part: Part) => number;
  /** Called when a shard has carried out every cancel of an account, and others have not. */
  readonly onShardDone?: (account: number, shard: number) => void;
  /** Called when every shard has cancelled the orders of an account. */
  readonly onDone?: (account: number) => void;
};

export class MassCancels {
  readonly #options: MassCancelsOptions;
  /** By account: the number of parts of each shard that are not carried out yet, sent or unsent. */
  readonly #open = new Map<number, number[]>();
  #cancelledOrders = 0;
  readonly #onReply: ReplyHandler<Part> = ({ code, a }, part) => {
    if (code === OK) this.#carriedOut(part, a);
    else this.#owe(part, true);
  };

  constructor(options: MassCancelsOptions) {
    this.#options = options;
  }

  /** Orders that were cancelled here, since the start. */
  get cancelledOrders(): number {
    return this.#cancelledOrders;
  }

  /** @param cancelled shards that have carried theirs out */
  add(account: number, cancelled: readonly number[] = []): void {
    const open = this.#open.get(account) ?? new Array<number>(this.#options.shards).fill(0);
    this.#open.set(account, open);
    for (let shard = 0; shard < open.length; shard++) {
      if (cancelled.includes(shard)) continue;
      open[shard]++;
      this.#owe({ account, shard });
    }
    this.#endWhereDone(account, open);
  }

  #owe(part: Part, isRepeated = false): void {
    const { engine, send } = this.#options;
    engine.owe(part.shard, () => send(part.shard, part.account, this.#onReply, part), isRepeated);
  }

  #carriedOut({ account, shard }: Part, cancelled: number): void {
    const open = this.#open.get(account);
    assert(open !== undefined && open[shard] > 0, 'MASSCANCEL-1: a part that is carried out was open');
    this.#cancelledOrders += cancelled;
    open[shard]--;
    if (!this.#endWhereDone(account, open) && open[shard] === 0) this.#options.onShardDone?.(account, shard);
  }

  #endWhereDone(account: number, open: readonly number[]): boolean {
    if (open.some((count) => count > 0)) return false;
    this.#open.delete(account);
    this.#options.onDone?.(account);
    return true;
  }
}

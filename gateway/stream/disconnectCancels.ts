/**
 * Cancels the open orders of an account whose connection has ended and had asked for that (RULES.md 8.10). Every shard
 * is asked for its part; one that is busy or away is asked again until it has done it. What came back unknown is asked
 * again too: a cancel may be repeated.
 * Owner: the gateway thread.
 */
import { BOTH_OUTCOMES, NO_MARKET } from '../../shared/commands.ts';
import { OK } from '../../shared/errors.ts';
import type { EngineClient, ReplyHandler } from '../engineClient.ts';

type Part = { readonly account: number; readonly shard: number };

export class DisconnectCancels {
  readonly #engine: Pick<EngineClient, 'cancelMarket'>;
  readonly #shards: number;
  /** Parts that are still to be done and not under way. */
  #open: Part[] = [];
  readonly #onReply: ReplyHandler<Part> = (reply, part) => {
    if (reply.code !== OK) this.#open.push(part);
  };

  constructor(engine: Pick<EngineClient, 'cancelMarket'>, shards: number) {
    this.#engine = engine;
    this.#shards = shards;
  }

  cancel(account: number): void {
    for (let shard = 0; shard < this.#shards; shard++) this.#send({ account, shard });
  }

  /** Now and then, for what could not be done. */
  retry(): void {
    const open = this.#open;
    this.#open = [];
    for (const part of open) this.#send(part);
  }

  #send(part: Part): void {
    const { account, shard } = part;
    const code = this.#engine.cancelMarket(shard, account, NO_MARKET, BOTH_OUTCOMES, this.#onReply, part);
    if (code !== OK) this.#open.push(part);
  }
}

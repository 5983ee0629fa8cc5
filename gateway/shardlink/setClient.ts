/** Commands for event sets (RULES.md 19), sent to their shards. A set is named by its first market. */
import { FEE_ACCOUNT, type MarketStatus } from '../../shared/base/codes.ts';
import { E } from '../../shared/base/errors.ts';
import { chosenOf } from '../../shared/base/eventSets.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { NO_ROOM } from './lane.ts';
import type { ShardLink } from './link.ts';
import type { ListedMarket, SetPlace } from './listedMarket.ts';
import type { CommandResult, ReplyHandler } from './reply.ts';
import { request } from './request.ts';

const { CONVERT_SET, DECIDE_SET, MARKET_OPEN, SETTLE_SET } = COMMAND;

export class SetClient {
  readonly #link: ShardLink;

  constructor(link: ShardLink) {
    this.#link = link;
  }

  /** @param chosen the places of the markets whose No is given or got */
  convert<C>(
    { shard, index: first }: Pick<ListedMarket, 'shard' | 'index'>,
    account: number,
    direction: number,
    chosen: Iterable<number>,
    amountAtomic: number,
    handler: ReplyHandler<C>,
    context: C,
    key?: { readonly key: Uint32Array; readonly fingerprint: Uint32Array },
  ): number {
    const word = this.#link.claim(shard, CONVERT_SET.TYPE, account, first, direction, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const { words } = this.#link.commands(shard);
    words.set(chosenOf(chosen), word + CONVERT_SET.chosen);
    writeSafe(words, word + CONVERT_SET.amountAtomic, amountAtomic);
    if (key !== undefined) {
      words.set(key.key, word + CONVERT_SET.key);
      words.set(key.fingerprint, word + CONVERT_SET.fingerprint);
    }
    return this.#link.publish(shard);
  }

  /** @param payoutsYesPpm by place in the set; null: equal parts, for a set that is cancelled */
  decide(
    first: number,
    shard: number,
    status: MarketStatus,
    payoutsYesPpm: readonly number[] | null,
  ): Promise<CommandResult> {
    return request(this.#link, shard, DECIDE_SET.TYPE, FEE_ACCOUNT, first, 0, ({ words }, word) => {
      words[word + DECIDE_SET.status] = status;
      if (payoutsYesPpm !== null) words.set(payoutsYesPpm, word + DECIDE_SET.payoutsYesPpm);
    });
  }

  settle(first: number, shard: number): Promise<CommandResult> {
    return request(this.#link, shard, SETTLE_SET.TYPE, FEE_ACCOUNT, first, 0, () => undefined);
  }
}

/** Writes the place of a market that is opened. */
export function writePlace(words: Uint32Array, word: number, { first, ordinal, members }: SetPlace): void {
  words[word + MARKET_OPEN.set] = first + 1;
  words[word + MARKET_OPEN.place] = ordinal | (members << 8);
}

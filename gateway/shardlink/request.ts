/**
 * Commands with a promise of their reply, for commands of the administrator and of the exchange itself, where
 * allocations do not matter.
 */
import { E, OK } from '../../shared/base/errors.ts';
import { type CommandType, NO_MARKET } from '../../shared/wire/commands.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import { NO_ROOM } from './lane.ts';
import type { ShardLink } from './link.ts';
import type { CommandResult, ReusedReply } from './reply.ts';

export function request(
  link: Pick<ShardLink, 'claim' | 'commands' | 'publish'>,
  shard: number,
  type: CommandType,
  account: number,
  market: number,
  flags: number,
  fill: (commands: RingProducer, word: number) => void,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const copyReply = ({ result: _, ...rest }: ReusedReply): void => resolve(rest);
    const word = link.claim(shard, type, account, market, flags, copyReply, null);
    if (word === NO_ROOM) return resolve({ code: E.ENGINE_BUSY, shard, shardSequence: 0, a: 0, b: 0, c: 0 });
    fill(link.commands(shard), word);
    link.publish(shard);
  });
}

/**
 * Sends the same command to every shard, or to none while one is not READY or has no room. All have committed when it
 * resolves. @returns OK, or the code of the first shard that failed.
 */
export async function requestAll(
  link: ShardLink,
  type: CommandType,
  account: number,
  fill: (words: Uint32Array, word: number) => void,
): Promise<number> {
  if (!link.hasRoomEverywhere) return E.ENGINE_BUSY;
  const requests = Array.from({ length: link.shards }, (_, shard) => {
    return request(link, shard, type, account, NO_MARKET, 0, ({ words }, word) => fill(words, word));
  });
  const replies = await Promise.all(requests);
  return replies.find(({ code }) => code !== OK)?.code ?? OK;
}

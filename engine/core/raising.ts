/**
 * RAISE: numbers of orders, trades and public frames continue above a floor, because numbers below it may have been
 * given out that this journal does not know: the directory was restored to an earlier time (shared/base/floors.ts). It
 * is the last record of a restored journal, or follows those of an earlier restore. Owner: the shard thread.
 *
 * Invariant:
 *   RAISING-1  After it, every new number is above the floor, also in markets that are opened later.
 */
import { assert } from '../../shared/base/assert.ts';
import { isFloor } from '../../shared/base/floors.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { ShardState } from './state.ts';

export function raise(state: ShardState, words: Uint32Array, word: number): void {
  const floor = readSafe(words, word + COMMAND.RAISE.floor);
  assert(isFloor(floor) && floor > highestNumber(state), 'RAISING-1: a floor is above what was given out');
  const { emit, markets, matcher } = state;
  state.floor = floor;
  state.orderSequence = floor;
  matcher.tradeSequence = floor;
  for (const { index } of markets.all()) markets.get(index)!.sequence = floor; // the digest includes it anew
  emit.raised(floor);
}

function highestNumber({ floor, markets, matcher, orderSequence }: ShardState): number {
  let highest = Math.max(floor, orderSequence, matcher.tradeSequence);
  for (const market of markets.all()) highest = Math.max(highest, market.sequence);
  return highest;
}

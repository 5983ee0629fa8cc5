/** Returns the space of commands that have run to their rings. Owner: the shard's thread. */
import type { CommandQueue } from './commandQueue.ts';
import type { Gateway, Gateways } from './gateways.ts';

/** Nothing is to be kept in a ring. */
const NO_WORD = -1;

/** A cancel that was read and may not run yet. */
type Held = { readonly gateway: Gateway; readonly word: number };

/**
 * Releases the commands of each gateway up to its first one that waits, queued or held. A gateway that has ended, and
 * of which nothing waits, is gone.
 * @param held in the order in which they were read
 */
export function releaseRead(gateways: Gateways, queue: CommandQueue, held: readonly Held[]): void {
  for (const gateway of gateways.list) {
    const word = firstWaiting(gateway, queue, held);
    gateway.commands.release(word);
    if (gateway.isLeaving && word === NO_WORD && gateway.commands.isEmpty()) gateways.remove(gateway);
  }
}

function firstWaiting(gateway: Gateway, queue: CommandQueue, held: readonly Held[]): number {
  const first = queue.firstOf(gateway.number);
  const queuedWord = first === queue.end ? NO_WORD : queue.wordOf(first);
  for (const cancel of held) {
    if (cancel.gateway !== gateway) continue;
    return queuedWord === NO_WORD ? cancel.word : gateway.commands.olderOf(queuedWord, cancel.word);
  }
  return queuedWord;
}

/**
 * The one definition of a final block. Settlement, the reading of events and the comparison of balances all use it, so
 * that none of them takes something for final that the others have not seen.
 */
import type { Block } from './node.ts';

/** The number of successive blocks, including the block itself. */
export const CONFIRMATIONS = 32;

/** A block with its confirmations that is finalized: every rail of cashing in and out means the same by it. */
export function isFinal(block: number, at: { readonly block: number; readonly finalizedBlock: number }): boolean {
  return block <= lastFinal(at.finalizedBlock, at.block);
}

export function lastFinal(finalized: number, head: number): number {
  return Math.min(finalized, head - CONFIRMATIONS + 1);
}

/** As one round has read them. */
export type Heads = { readonly head: Block; readonly finalized: Block };

/** The last block that has its confirmations and is finalized; below 0 if the chain is too young. */
export function lastSettledBlock({ head, finalized }: Heads): number {
  return lastFinal(finalized.number, head.number);
}

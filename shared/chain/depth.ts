/**
 * The one definition of a block that stays: settlement, the reading of events and the comparison of balances use it, so
 * that what one of them takes for done the others have seen as well.
 */
import type { Block } from './node.ts';

/** Blocks on top of each other, the block itself among them. */
export const CONFIRMATIONS = 32;

/** As one round has asked for them. */
export type Heads = { readonly head: Block; readonly finalized: Block };

/** The last block that has its confirmations and is finalized; below 0 on a chain that is too young. */
export function lastSettledBlock({ head, finalized }: Heads): number {
  return Math.min(finalized.number, head.number - CONFIRMATIONS + 1);
}

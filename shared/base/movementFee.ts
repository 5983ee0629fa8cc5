/** The fee of a withdrawal, split or merge on a chain (RULES.md 17.50). */

/** The contract keeps no more: so much is what a thief of the operator's key can charge for one movement. */
export const MOST_MOVEMENT_FEE_MICRO = 1_000_000;

/** The first versions of the layouts (formats.ts) that have a place for it. */
const WITH_FEES = { engine: 4, control: 28, settlement: 4 } as const;
type FeeLayout = keyof typeof WITH_FEES;

/** False while members of an older version may follow: their shards would not do the same (FORMATS-1). */
export function knowsMovementFees(format: (layout: FeeLayout) => number): boolean {
  return (Object.keys(WITH_FEES) as FeeLayout[]).every((layout) => format(layout) >= WITH_FEES[layout]);
}

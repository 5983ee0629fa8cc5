/** The fee of a withdrawal, split or merge on a chain (RULES.md 17.50). */

/**
 * The contract takes at most this fee, so this is the most that a thief of the operator's key can charge for one
 * movement.
 */
export const MOST_MOVEMENT_FEE_MICRO = 1_000_000;

/** The first versions of the layouts (formats.ts) that can store the fee. */
const WITH_FEES = { engine: 4, control: 28, settlement: 4 } as const;
type FeeLayout = keyof typeof WITH_FEES;

/** False while members of an older version may follow, because their shards would act differently (FORMATS-1). */
export function knowsMovementFees(format: (layout: FeeLayout) => number): boolean {
  return (Object.keys(WITH_FEES) as FeeLayout[]).every((layout) => format(layout) >= WITH_FEES[layout]);
}

/** The fee of a withdrawal, split or merge on a chain (RULES.md 17.50). */

/**
 * The contract takes at most this fee, so this is the most that a thief of the operator's key can charge for one
 * movement.
 */
export const MOST_MOVEMENT_FEE_MICRO = 1_000_000;

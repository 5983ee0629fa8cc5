/** The plain kernel runs everywhere. The fused one has variantFused.as in place of this. */

/** @returns true if this kernel may run here. */
export function canRun(): bool {
  return true;
}

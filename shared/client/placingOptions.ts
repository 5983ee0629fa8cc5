/** Options of the requests that place orders, beside their bodies. */

export type PlacingOptions = {
  /**
   * A UUID in place of the one that is made of the content, or null for none. A request that repeats one with the same
   * key gets the answer of the first; without a key the repeat of a placed order is refused as a duplicate.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Unix milliseconds, by the clock of the exchange, after which the order is refused. */
  readonly deadlineMs?: number | undefined;
};

export type ReplacingOptions = PlacingOptions & {
  /** The `remaining` of the old order as it was read: 409 `REMAINING_CHANGED` if it was filled since. */
  readonly expectedRemaining?: string | bigint;
};

/** The member of a body that says so. */
export function expecting({ expectedRemaining }: ReplacingOptions = {}): { expected_remaining?: string } {
  return expectedRemaining === undefined ? {} : { expected_remaining: String(expectedRemaining) };
}

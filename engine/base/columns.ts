/** Typed-array columns of the pools: one array per field instead of one object per row; orders.ts has rows instead. */

/** Copies a column into its larger successor. */
export function extend<T extends { set(source: ArrayLike<number>): void }>(from: ArrayLike<number>, to: T): T {
  to.set(from);
  return to;
}

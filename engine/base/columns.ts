/**
 * Typed-array columns of the pools: one array per field instead of one object per row. (orders.ts uses rows instead.)
 */

type Column = ArrayLike<number> & { set(source: ArrayLike<number>): void };

/** Copies a column into its larger successor. */
export function extend<T extends { set(source: ArrayLike<number>): void }>(from: ArrayLike<number>, to: T): T {
  to.set(from);
  return to;
}

/** Returns a column with the same contents that contains the index: the length is doubled as often as necessary. */
export function larger<C extends Column>(column: C, index: number, make: (length: number) => C): C {
  let length = 2 * column.length;
  while (length <= index) length *= 2;
  return extend(column, make(length));
}

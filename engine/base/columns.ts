/** Typed-array columns of the pools: one array per field instead of one object per row; orders.ts has rows instead. */

type Column = ArrayLike<number> & { set(source: ArrayLike<number>): void };

/** Copies a column into its larger successor. */
export function extend<T extends { set(source: ArrayLike<number>): void }>(from: ArrayLike<number>, to: T): T {
  to.set(from);
  return to;
}

/** A column with the same contents that has the index: its length doubled as often as that takes. */
export function larger<C extends Column>(column: C, index: number, make: (length: number) => C): C {
  let length = 2 * column.length;
  while (length <= index) length *= 2;
  return extend(column, make(length));
}

/** Typed-array columns that grow by doubling: one array per field instead of one object per row. */

type Column = Float64Array | Uint32Array | Int32Array | Uint16Array | Uint8Array;

/** Stands for "no slot" or "no row" in columns of links. */
export const NONE = -1;

/**
 * The column itself when it has `length` cells, else a copy of at least double the size whose new cells are zero. On
 * hot paths the caller compares the lengths itself: this function receives five kinds of columns, so V8 cannot inline
 * the length.
 */
export function grown<C extends Column>(column: C, length: number): C {
  if (length <= column.length) return column;
  let size = column.length * 2;
  while (size < length) size *= 2;
  const copy = new (column.constructor as new (cells: number) => C)(size);
  copy.set(column);
  return copy;
}

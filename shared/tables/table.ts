/**
 * Declarations of the tables of read.db: every column once, in order, with its SQL type and the type of its values.
 * CREATE, INSERT and SELECT statements and the types of rows are derived from them. A new column is one line in its
 * table's file and one where the projector computes its value.
 */

/** A place for the type of a column's values, `V`; it exists only for the compiler. */
declare const VALUE: unique symbol;
declare const ROW: unique symbol;

type Column<V> = {
  /** Type and constraints, as in CREATE TABLE. */
  readonly sql: string;
  readonly [VALUE]?: V;
};

/** SQLite assigns the next number, so no insert names it. */
type AssignedColumn = Column<number> & { readonly isAssigned: true };
type Columns = Readonly<Record<string, Column<unknown>>>;
type Value<C> = C extends Column<infer V> ? V : never;
type Assigned<C extends Columns> = { [K in keyof C]: C[K] extends AssignedColumn ? K : never }[keyof C];

export type Table<C extends Columns = Columns> = {
  readonly name: string;
  readonly columns: C;
  /** The columns of an inserted row, in the order of the table. */
  readonly inserted: readonly string[];
  /** CREATE TABLE and CREATE INDEX. */
  readonly schema: string;
};

/** A row as it is read. */
export type RowOf<T extends Table> = { readonly [K in keyof T['columns']]: Value<T['columns'][K]> };
/** A row as it is written. */
export type NewRowOf<T extends Table> = Omit<RowOf<T>, Assigned<T['columns']>>;

/** A part of a SELECT: columns by name, and the type of a row with these columns. */
type Selection<R> = { readonly sql: string; readonly [ROW]?: R };
export type SelectedBy<S> = S extends Selection<infer R> ? R : never;

type TableOptions = {
  /** The primary key if it has several columns; otherwise its column declares it. */
  readonly primaryKey?: string;
  /** Rows are stored in the order of the primary key. Without it a table has rowids. */
  readonly withoutRowid?: boolean;
  /** The rest of the CREATE statement, from the name of the index on. */
  readonly indexes?: readonly string[];
};

export function column<V>(sql: string): Column<V> {
  return { sql };
}

export const INTEGER = column<number>('INTEGER NOT NULL');
export const NULLABLE_INTEGER = column<number | null>('INTEGER');
/** A sum that may exceed 2^53. Statements that read it use `safeIntegers`. */
export const BIG_INTEGER = column<bigint>('INTEGER NOT NULL');
export const BLOB = column<Uint8Array>('BLOB NOT NULL');
export const NULLABLE_TEXT = column<string | null>('TEXT');
export const INTEGER_KEY = column<number>('INTEGER PRIMARY KEY');
export const BLOB_KEY = column<Uint8Array>('BLOB PRIMARY KEY');
export const ASSIGNED_KEY: AssignedColumn = { sql: 'INTEGER PRIMARY KEY', isAssigned: true };

export function table<C extends Columns>(name: string, columns: C, options: TableOptions = {}): Table<C> {
  const { primaryKey, withoutRowid = false, indexes = [] } = options;
  const definitions = Object.entries(columns).map(([column, { sql }]) => `${column} ${sql}`);
  if (primaryKey !== undefined) definitions.push(`PRIMARY KEY (${primaryKey})`);
  const kind = withoutRowid ? 'STRICT, WITHOUT ROWID' : 'STRICT';
  const statements = [
    `CREATE TABLE ${name} (\n  ${definitions.join(',\n  ')}\n) ${kind};`,
    ...indexes.map((index) => `CREATE ${index};`),
  ];
  const inserted = Object.keys(columns).filter((column) => !('isAssigned' in columns[column]));
  return { name, columns, inserted, schema: statements.join('\n') };
}

/**
 * A full-text index (FTS5): words without case and accents, by the rowid of the row that they describe. It has no copy
 * of the text.
 */
export function searchTable(
  name: string,
  columns: readonly string[],
): { readonly name: string; readonly schema: string } {
  const options = `content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'`;
  return { name, schema: `CREATE VIRTUAL TABLE ${name} USING fts5(${columns.join(', ')}, ${options});` };
}

/** Reads the named columns. */
export function select<C extends Columns, const K extends readonly (keyof C & string)[]>(
  { name, columns }: Table<C>,
  ...names: K
): Selection<{ readonly [N in K[number]]: Value<C[N]> }> {
  for (const column of names) if (!(column in columns)) throw new Error(`${name} has no column ${column}`);
  return { sql: names.map((column) => `${name}.${column}`).join(', ') };
}

/** All columns of the table. */
export function selectAll<C extends Columns>({
  name,
  columns,
}: Table<C>): Selection<{ readonly [N in keyof C & string]: Value<C[N]> }> {
  return {
    sql: Object.keys(columns)
      .map((column) => `${name}.${column}`)
      .join(', '),
  };
}

/** Writes one row, whose values are bound by name. */
export function insert({ name, inserted }: Table, conflict = ''): string {
  const values = inserted.map((column) => `@${column}`).join(', ');
  return `INSERT ${conflict} INTO ${name} (${inserted.join(', ')}) VALUES (${values})`;
}

/** Writes `count` rows, whose values are bound by position. */
export function insertMany({ name, inserted }: Table, count: number, conflict = ''): string {
  const row = `(${inserted.map(() => '?').join(', ')})`;
  return `INSERT ${conflict} INTO ${name} (${inserted.join(', ')}) VALUES ${new Array(count).fill(row).join(', ')}`;
}

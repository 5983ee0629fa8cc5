/**
 * A record of statements: the writing statements of one transaction of a SQLite file, with the values they were run
 * with and the numbers of rows that they changed. Running them again in the same state gives the same result.
 *
 *   record     version 1 · link · number of statements · statement …
 *   link       16 bytes of the SHA-256 of the previous record, zeros for the first
 *   statement  SQL · rows that it changed · number of values · value …
 *
 * The values of a statement with named parameters come in the order in which the SQL names them first.
 */
import { hash } from 'node:crypto';
import { FORMATS } from '../base/formats.ts';
import { ByteReader, ByteWriter, RecordError, type SqlValue } from './bytes.ts';

export type Statement = {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** The number of rows that it changed. */
  readonly changes: number;
};

type StatementRecord = { readonly link: Uint8Array; readonly statements: readonly Statement[] };

const VERSION = FORMATS.records.newest;
export const LINK_BYTES = 16;
/** The link of the first record. */
export const NO_LINK: Uint8Array = new Uint8Array(LINK_BYTES);

export function encodeStatements({ link, statements }: StatementRecord): Buffer {
  const writer = new ByteWriter();
  writer.byte(VERSION);
  writer.raw(link);
  writer.number(statements.length);
  for (const { sql, values, changes } of statements) {
    writer.text(sql);
    writer.number(changes);
    writer.number(values.length);
    for (const value of values) writer.value(value);
  }
  return writer.done();
}

/** Throws a RecordError if the bytes are not such a record. */
export function decodeStatements(bytes: Uint8Array): StatementRecord {
  const reader = new ByteReader(bytes);
  const version = reader.byte();
  if (version !== VERSION) throw new RecordError(`a record of version ${version}, which this version cannot read`);
  const link = new Uint8Array(reader.raw(LINK_BYTES));
  const statements: Statement[] = [];
  for (let left = reader.number(); left > 0; left--) {
    const sql = reader.text();
    const changes = reader.number();
    const values: SqlValue[] = [];
    for (let more = reader.number(); more > 0; more--) values.push(reader.value());
    statements.push({ sql, values, changes });
  }
  if (!reader.isAtEnd) throw new RecordError('a record with bytes after its end');
  return { link, statements };
}

/** The link of the next record. */
export function linkAfter(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(hash('sha256', bytes, 'buffer').subarray(0, LINK_BYTES));
}

/** The names of the parameters, each once, in order; empty if the statement's parameters have no names. */
export function parameterNames(sql: string): readonly string[] {
  return [...new Set([...sql.matchAll(/[$@:]([A-Za-z_]\w*)/g)].map(([, name]) => name))];
}

/**
 * Adds the names of the written columns to a statement that leaves them out: so it writes the same after later versions
 * have added columns to the table.
 */
export function withColumns(sql: string, columnsOf: (table: string) => readonly string[]): string {
  const bare = /^(\s*INSERT(?:\s+OR\s+\w+)?\s+INTO\s+(\w+))(\s+(?:VALUES|SELECT)\b.*)$/is.exec(sql);
  return bare === null ? sql : `${bare[1]} (${columnsOf(bare[2]).join(', ')})${bare[3]}`;
}

/**
 * The table that a statement writes. Throws if the statement has another form, because then its table cannot be known.
 */
export function writtenTable(sql: string): string {
  const match = /^\s*(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+(\w+)/i.exec(sql);
  if (match === null) throw new RecordError(`a statement that no record can have: ${sql}`);
  return match[1];
}

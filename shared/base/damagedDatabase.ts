/** SQLite errors that show that a file is damaged. An error copied from another thread has no code. */
import { errorCode } from './thrown.ts';

const DAMAGED = /^(?:database disk image is malformed|file is not a database|malformed database schema)/;

export function isDamaged(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = errorCode(error);
  return (code !== undefined && /^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) || DAMAGED.test(error.message);
}

/** SQLite errors that show that a file is damaged. An error copied from another thread has no code. */
const DAMAGED = /^(?:database disk image is malformed|file is not a database|malformed database schema)/;

export function isDamaged(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as Error & { readonly code?: unknown };
  return (typeof code === 'string' && /^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) || DAMAGED.test(error.message);
}

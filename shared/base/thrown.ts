/** Reads the message and the code of a thrown value, which need not be an Error, and makes it one. */

/** Returns a thrown value as an Error: itself, or a new one whose message is the value. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}

export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code that Node and SQLite give their errors, such as ENOENT; undefined if it has none. */
export function errorCode(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Returns a thrown value as an Error: itself, or a new one whose message is the value. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}

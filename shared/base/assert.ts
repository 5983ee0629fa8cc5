/**
 * Assertions that stay on in production: they state what only a bug can break. A failed one stops the thread that
 * noticed it, and the journal rebuilds that thread's state. Messages are constant strings, so the happy path allocates
 * nothing.
 */

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Marks a branch that is unreachable by the types. */
export function unreachable(message: string): never {
  throw new AssertionError(message);
}

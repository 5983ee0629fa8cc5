/**
 * A slip of one line that a tired programmer could make: the text to find in one source file (exactly one place), its
 * replacement, and the tests that have to fail because of it.
 */
export type Fault = {
  readonly name: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  readonly caughtBy: string;
};

/**
 * A slip of one line that a tired programmer could make, as what to look for in one source file (exactly one place) and
 * what to put there, with the tests that are to fail over it.
 */
export type Fault = {
  readonly name: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  readonly caughtBy: string;
};

/** Errors of a command that do not come from the exchange. */

/** The command was called in a wrong way: found before anything is sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something that the person has to do first, such as signing in. */
export class NeedsError extends Error {
  override readonly name = 'NeedsError';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

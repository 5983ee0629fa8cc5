/** The errors of a command that are not the exchange's. */

/** The wrong way to call a command: found before anything is sent. */
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

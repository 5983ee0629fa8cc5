/** The form of a note about an error (errorNotes.ts). */

/** May the same request be sent again? After each of these answers except `finds`, nothing has changed. */
type Repeat = 'same' | 'signed' | 'later' | 'changed' | 'finds';

export const REPEATS: Readonly<Record<Repeat, string>> = {
  same: 'Yes, as it is, after the seconds of `Retry-After`. Nothing was done.',
  signed: 'Yes, signed again with a new timestamp and nonce. Nothing was done.',
  later: 'Yes, once what refused it has changed. Nothing was done.',
  changed: 'Not as it is: correct it first. Nothing was done.',
  finds:
    'It may have been carried out. Orders, cancels, claims and what has a `reference`: yes, as they are, because the ' +
    'repeat learns the result and does nothing twice. Split and merge without a key: read the balances first.',
};

export type ErrorNote = {
  /** When the exchange answers with this error. */
  readonly means: string;
  readonly repeat: Repeat;
  readonly act: string;
};

export function note(repeat: Repeat, means: string, act: string): ErrorNote {
  return { means, repeat, act };
}

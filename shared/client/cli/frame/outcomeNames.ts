/** Outcomes by their names: the names of the market, and words that fit every market. */
import { OUTCOME, type Outcome } from '../../../base/codes.ts';
import { UsageError } from './errors.ts';
import { printable } from './text.ts';

/** The names of a market's outcomes are the names that every view of it shows. */
export const OUTCOME_OPTION = {
  value: 'outcome',
  description: 'the token: yes, no, or the name of the outcome',
  choices: ['yes', 'no'],
  isOpen: true,
} as const;

/** For the first and the second outcome alternately: the words of orders, and the indices in answers. */
const COMMON_WORDS = ['yes', 'no', '0', '1'];

/** Finds an outcome by its name or the start of it; yes and no are the first and the second of every market. */
export function outcomeOf(given: string, outcomes: readonly string[]): Outcome {
  const wanted = given.trim().toLowerCase();
  const names = outcomes.map((name) => name.toLowerCase());
  const starting = names.filter((name) => wanted !== '' && name.startsWith(wanted));
  const found = names.includes(wanted) ? wanted : starting.length === 1 ? starting[0] : undefined;
  const index = found === undefined ? COMMON_WORDS.indexOf(wanted) % 2 : names.indexOf(found);
  if (index === OUTCOME.YES || index === OUTCOME.NO) return index;
  const words = [...outcomes, ...['yes', 'no'].filter((word) => !names.includes(word))].map((name) => printable(name));
  throw new UsageError(`the outcome ${printable(given)} is none of ${words.join(', ')}`);
}

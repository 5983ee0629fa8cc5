/**
 * The versions of commands and events: the number in the header of each, and since which number a field or a type
 * exists (layout.ts, ages.ts). They are the numbers of the format `engine`, in which the members of a cluster agree.
 */
import { FORMATS } from '../base/formats.ts';

/** The number in the records of every version before the one below: all of them have the same layouts. */
export const FIRST_VERSION = 1;
/** The first version whose own number is in its records, and whose rules a RULES record brings into force. */
export const FIRST_WITH_RULES = 5;
/** The first version with event sets. */
export const FIRST_WITH_SETS = 6;
/** The layouts of this program: every record in memory has them. */
export const RECORD_VERSION: number = FORMATS.engine.newest;

/** Every version that a record in a journal can have. */
export const RECORD_VERSIONS: readonly number[] = [
  FIRST_VERSION,
  ...Array.from({ length: RECORD_VERSION - FIRST_WITH_RULES + 1 }, (_, index) => FIRST_WITH_RULES + index),
];

/** The version in which records are written while these rules are in force. */
export function recordVersionOf(rules: number): number {
  return rules < FIRST_WITH_RULES ? FIRST_VERSION : rules;
}

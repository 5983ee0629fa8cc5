/** The remainder that a REPLACE expects of the order that it replaces, in its flags and its `expectedLow`. */
import { ANY_COMMAND, EXTENDED_PLACE } from './commands.ts';

/**
 * In the flags of a REPLACE: it is refused unless so much remains of the old order, in the asset that it gives. The
 * shard takes this out of the command before it journals it: what was accepted does not depend on it any more.
 */
const REPLACE_EXPECTS = 1 << 9;
const EXPECTED_SHIFT = 10;
const TWO_32 = 2 ** 32;

/** The flags of a REPLACE that expects this amount; its low word goes into `expectedLow`. */
export function flagsExpecting(amount: number): number {
  return (REPLACE_EXPECTS | (Math.floor(amount / TWO_32) << EXPECTED_SHIFT)) >>> 0;
}

/** The amount that the REPLACE expects to remain, or null; the command is as one without it afterwards. */
export function takeExpected(words: Uint32Array, word: number): number | null {
  const flags = words[word + ANY_COMMAND.flags];
  if ((flags & REPLACE_EXPECTS) === 0) return null;
  const amount = (flags >>> EXPECTED_SHIFT) * TWO_32 + words[word + EXTENDED_PLACE.expectedLow];
  words[word + ANY_COMMAND.flags] = flags & (REPLACE_EXPECTS - 1);
  words[word + EXTENDED_PLACE.expectedLow] = 0;
  return amount;
}

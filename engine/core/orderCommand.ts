/** Facts about an order that its command holds in packed form. */
import * as commands from '../../shared/wire/commands.ts';

const { COMMAND, EXTENDED_PLACE, NO_GROUP, PLACE_BIT_EXTENDED, PLACE_SELF_TRADE_SHIFT, kindBits } = commands;
const { PLACE } = COMMAND;

/** One of SELF_TRADE. */
export function selfTradeMode(kind: number): number {
  return (kindBits(kind) >>> PLACE_SELF_TRADE_SHIFT) & 3;
}

/** The order group that a PLACE or REPLACE names, or NO_GROUP. */
export function groupIn(words: Uint32Array, word: number): number {
  const isExtended = (kindBits(words[word + PLACE.kind]) & PLACE_BIT_EXTENDED) !== 0;
  return isExtended ? words[word + EXTENDED_PLACE.group] : NO_GROUP;
}

/**
 * Cancels the orders that an account may no longer have, because the administrator restricted it or removed a grant
 * (RULES.md 9.15, 9.16). A part of apply.ts, bound by the rules stated there. Owner: the shard thread.
 *
 * A sweep runs in order, after every order that was sent before it, and the gateway sends no affected order after it.
 * So no affected order is open once the sweep has run.
 */
import { assert } from '../../shared/base/assert.ts';
import { UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import * as commands from '../../shared/wire/commands.ts';
import { NONE, WORD_SHIFT } from '../book/orders.ts';
import type { ShardState } from './state.ts';

const { ANY_COMMAND, ANY_GRANT, BOTH_SIDES, COMMAND, kindSide } = commands;
const { SWEEP } = COMMAND;

/** Cancels the affected orders, oldest first. @returns the number cancelled */
export function sweep({ closing, markets, orders }: ShardState, words: Uint32Array, word: number): number {
  const side = words[word + SWEEP.side];
  const grant = words[word + SWEEP.grant];
  let cancelled = 0;
  for (let slot = orders.firstOf(words[word + ANY_COMMAND.account]); slot !== NONE; ) {
    const row = slot << WORD_SHIFT;
    const after = orders.accountNext[row];
    const own = orders.grant[row];
    const isOfSide = side === BOTH_SIDES || kindSide(orders.kind[row]) === side;
    if (isOfSide && (grant === ANY_GRANT || own === grant || own === UNKNOWN_GRANT)) {
      const market = markets.get(orders.market[row]);
      assert(market !== undefined, 'ORDERS-1: the market of an open order is known');
      closing.close(market, slot, words[word + SWEEP.reason]);
      cancelled++;
    }
    slot = after;
  }
  return cancelled;
}

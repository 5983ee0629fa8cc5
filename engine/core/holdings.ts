/**
 * Funds that an order may use besides the account's available funds: the remaining reservation of the order it replaces
 * and, below the market's minimum size, a whole holding (RULES.md 1.5). Owner: the shard thread. Live only, like all of
 * admission.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { remainingAmount } from '../../shared/base/orderMath.ts';
import * as commands from '../../shared/wire/commands.ts';
import type { Market } from '../book/market.ts';
import { DOUBLE_SHIFT, NONE, type Orders, WORD_SHIFT } from '../book/orders.ts';
import { type Admitted, replacedSlot } from './admitted.ts';
import type { ShardState } from './state.ts';

const { ORDER_STATUS, SIDE } = codes;
const { ANY_COMMAND, COMMAND, kindOutcome, kindSide, kindTimeInForce } = commands;
const { PLACE, REPLACE } = COMMAND;

/** The old order's reservation, if it is in the asset that the new order needs, otherwise 0. */
export function freedBy(orders: Orders, old: number, kind: number, market: Market): number {
  const oldKind = orders.kind[old << WORD_SHIFT];
  const remainingLots = orders.remainingLots[old << DOUBLE_SHIFT];
  if (kindSide(oldKind) !== kindSide(kind)) return 0;
  if (kindSide(kind) === SIDE.BUY) return remainingLots * orders.limitTicks[old << WORD_SHIFT];
  return kindOutcome(oldKind) === kindOutcome(kind) ? remainingLots * market.ticksPerUnit : 0;
}

/** The remainder of an open order in the asset that it gives, at the signed price (RULES.md 1.6). */
export function leftOf({ markets, orders }: ShardState, slot: number): number {
  const [row, at] = [slot << WORD_SHIFT, slot << DOUBLE_SHIFT];
  const kind = orders.kind[row];
  const market = markets.get(orders.market[row]);
  assert(market !== undefined, 'holdings: the market of an open order is known');
  return remainingAmount({
    side: kindSide(kind),
    timeInForce: kindTimeInForce(kind),
    ticksPerUnit: market.ticksPerUnit,
    makerAmount: orders.makerAmount[at],
    takerAmount: orders.takerAmount[at],
    quantityLots: orders.quantityLots[at],
    remainingLots: orders.remainingLots[at],
    status: ORDER_STATUS.OPEN,
  });
}

/**
 * True for a SELL of all whole lots that the account holds of the outcome, if none of them is reserved except by the
 * order that it replaces. So an account has at most one such order per outcome, and a small holding can be sold.
 * `admitted` has the quantity of the order. A holding of less than a lot does not count: an order for zero lots never
 * sells all of them.
 */
export function sellsAllLots(
  state: ShardState,
  market: Market,
  words: Uint32Array,
  word: number,
  { quantityLots }: Admitted,
): boolean {
  const kind = words[word + PLACE.kind];
  if (kindSide(kind) !== SIDE.SELL || quantityLots === 0) return false;
  const { ledger, orders } = state;
  const account = words[word + ANY_COMMAND.account];
  const outcome = kindOutcome(kind);
  const old = replacedSlotIn(state, market, words, word);
  const freed = old === NONE ? 0 : freedBy(orders, old, kind, market);
  if (ledger.reservedTokens(account, market.index, outcome) !== freed) return false;
  const held = ledger.availableTokens(account, market.index, outcome) + freed;
  return quantityLots === Math.floor(held / market.ticksPerUnit);
}

/** The order of this account and market that a REPLACE names, while it is open. */
function replacedSlotIn(state: ShardState, market: Market, words: Uint32Array, word: number): number {
  if ((words[word + ANY_COMMAND.type] & 0xffff) !== REPLACE.TYPE) return NONE;
  const { orders } = state;
  const old = replacedSlot(state, words, word);
  return old !== NONE && orders.market[old << WORD_SHIFT] === market.index ? old : NONE;
}

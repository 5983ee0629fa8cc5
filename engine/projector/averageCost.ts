/**
 * Average-cost accounting of one position (RULES.md 13.9). Tokens that leave take their share of the cost with them, by
 * quantity and rounded towards zero; the last tokens take all that is left, so nothing is lost to rounding:
 *
 *   realized - cost = USDC received - USDC paid, at every moment.
 *
 * Buying pays its fee in tokens, so the same cost is spread over fewer of them; selling receives its USDC less the fee.
 *
 * The average entry price (RULES.md 14.22) is the tokens' price before fees, so it cannot be computed from cost and
 * quantity. It is stored separately and changes only when tokens are added: a price computed from a rounded cost and a
 * rounded quantity would change slightly with every sale.
 */
import { assert } from '../../shared/base/assert.ts';

const MILLI = 1000n;
const ATTO = 10n ** 18n;
/** The column's maximum: more than all tokens that can exist (RULES.md 3.5). */
const MOST_GROSS_MILLI = 2n ** 63n - 1n;

export type Holding = {
  /** Negative if tokens are owed. */
  quantityAtomic: bigint;
  /** The weight of the entry price: the held tokens before fees, in thousandths. Not negative. */
  grossMilli: bigint;
  /** The average entry price in 10^-18 USDC per token; if no tokens are held, that of the last ones held. */
  entryAtto: bigint;
  costMicro: bigint;
  realizedMicro: bigint;
};

/**
 * Adds tokens that cost `paidMicro`, or removes some that brought -`paidMicro`.
 * @param netAtomic after fees
 * @param grossAtomic of the same sign, before fees
 */
export function exchange(holding: Holding, netAtomic: bigint, grossAtomic: bigint, paidMicro: bigint): void {
  const held = holding.quantityAtomic;
  const isClosing = held !== 0n && held > 0n !== netAtomic > 0n;
  if (netAtomic === 0n) {
    // No tokens remain only if the fee takes everything that was received.
    holding.realizedMicro -= paidMicro;
  } else if (!isClosing) {
    open(holding, netAtomic, grossAtomic, paidMicro);
  } else if (size(netAtomic) <= size(held)) {
    close(holding, netAtomic, paidMicro);
  } else {
    // Tokens beyond those that were held or owed open a position on the other side.
    const paidForClosing = (paidMicro * size(held)) / size(netAtomic);
    const grossOfClosing = (grossAtomic * size(held)) / size(netAtomic);
    close(holding, -held, paidForClosing);
    open(holding, netAtomic + held, grossAtomic - grossOfClosing, paidMicro - paidForClosing);
  }
  assert(
    holding.quantityAtomic !== 0n || (holding.costMicro === 0n && holding.grossMilli === 0n),
    'POSITIONROWS-2: what is not held has no cost',
  );
}

/**
 * Sets a quantity that the known events do not explain: tokens have come or gone in an unknown way. This changes
 * neither the realized gain nor the average entry price, and tokens that come into an empty position count as free of
 * cost, so that sums still close.
 */
export function correct(holding: Holding, quantityAtomic: bigint): void {
  const held = holding.quantityAtomic;
  const isSameSide = held !== 0n && quantityAtomic !== 0n && held > 0n === quantityAtomic > 0n;
  if (!isSameSide) holding.entryAtto = 0n;
  holding.costMicro = isSameSide ? (holding.costMicro * quantityAtomic) / held : 0n;
  holding.grossMilli = isSameSide ? (holding.grossMilli * quantityAtomic) / held : size(quantityAtomic) * MILLI;
  holding.quantityAtomic = quantityAtomic;
}

function open(holding: Holding, netAtomic: bigint, grossAtomic: bigint, paidMicro: bigint): void {
  const openingMilli = size(grossAtomic) * MILLI;
  const grossMilli = holding.grossMilli + openingMilli;
  const worth = holding.entryAtto * holding.grossMilli + size(paidMicro) * MILLI * ATTO;
  holding.entryAtto = (worth + grossMilli / 2n) / grossMilli;
  holding.grossMilli = grossMilli < MOST_GROSS_MILLI ? grossMilli : MOST_GROSS_MILLI;
  holding.quantityAtomic += netAtomic;
  holding.costMicro += paidMicro;
}

function close(holding: Holding, netAtomic: bigint, paidMicro: bigint): void {
  const held = size(holding.quantityAtomic);
  const leaving = size(netAtomic);
  const leavingMicro = (holding.costMicro * leaving) / held;
  holding.quantityAtomic += netAtomic;
  holding.grossMilli -= (holding.grossMilli * leaving) / held;
  holding.costMicro -= leavingMicro;
  holding.realizedMicro -= paidMicro + leavingMicro;
}

function size(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/**
 * Average-cost accounting of one position (RULES.md 13.9). Tokens that leave take their share of the cost with them, by
 * quantity and rounded towards zero; the last tokens take all that is left, so nothing is lost to rounding:
 *
 *   realized - cost = USDC received - USDC paid, at every moment.
 *
 * Buying pays its fee in tokens, so the same cost is spread over fewer of them; selling receives its USDC less the fee.
 */
import { assert } from '../../shared/base/assert.ts';

export type Holding = {
  /** Negative where tokens are owed. */
  quantityAtomic: bigint;
  /** The tokens that were bought before fees, of those that are held. */
  grossAtomic: bigint;
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
    // Only a fee of everything that is received leaves no tokens.
    holding.realizedMicro -= paidMicro;
  } else if (!isClosing) {
    open(holding, netAtomic, grossAtomic, paidMicro);
  } else if (size(netAtomic) <= size(held)) {
    close(holding, netAtomic, paidMicro);
  } else {
    // The tokens beyond those that were held, or owed, open a position on the other side.
    const paidForClosing = (paidMicro * size(held)) / size(netAtomic);
    const grossOfClosing = (grossAtomic * size(held)) / size(netAtomic);
    close(holding, -held, paidForClosing);
    open(holding, netAtomic + held, grossAtomic - grossOfClosing, paidMicro - paidForClosing);
  }
  assert(
    holding.quantityAtomic !== 0n || (holding.costMicro === 0n && holding.grossAtomic === 0n),
    'POSITIONROWS-2: what is not held has no cost',
  );
}

function open(holding: Holding, netAtomic: bigint, grossAtomic: bigint, paidMicro: bigint): void {
  holding.quantityAtomic += netAtomic;
  holding.grossAtomic += grossAtomic;
  holding.costMicro += paidMicro;
}

function close(holding: Holding, netAtomic: bigint, paidMicro: bigint): void {
  const held = size(holding.quantityAtomic);
  const leaving = size(netAtomic);
  const leavingMicro = (holding.costMicro * leaving) / held;
  holding.quantityAtomic += netAtomic;
  holding.grossAtomic -= (holding.grossAtomic * leaving) / held;
  holding.costMicro -= leavingMicro;
  holding.realizedMicro -= paidMicro + leavingMicro;
}

function size(value: bigint): bigint {
  return value < 0n ? -value : value;
}

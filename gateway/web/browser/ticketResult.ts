/** Says what became of an order: what was bought at which average price, what it pays, and where it is. */

import { feeOf, type Side } from '../../../shared/client/sweep.ts';
import type { PlacementResponse } from '../../../shared/client/types.ts';
import { paid, units } from './format.ts';
import { averageCents, type Preview } from './preview.ts';

type Sent = {
  readonly side: Side;
  readonly outcome: string;
  readonly feeBps: number;
  readonly preview: Preview;
};

export type Placed = {
  readonly text: string;
  /** Where it is now: tokens in the portfolio, an order that waits below. */
  readonly isHeld: boolean;
  readonly isWaiting: boolean;
};

export function placedOf({ fills, remaining_status: rest }: PlacementResponse, sent: Sent): Placed {
  const filledAtomic = fills.reduce((sum, fill) => sum + BigInt(fill.token_quantity_atomic), 0n);
  const notionalMicro = fills.reduce((sum, fill) => sum + BigInt(fill.notional_usdc_micro), 0n);
  const restAtomic = sent.preview.sizeAtomic - filledAtomic;
  const left = rest === 'none' ? '' : restText(rest, restAtomic, filledAtomic);
  const traded = filledAtomic === 0n ? '' : tradedText(sent, filledAtomic, notionalMicro);
  return {
    text: [traded, left].filter(Boolean).join(' '),
    isHeld: filledAtomic > 0n,
    isWaiting: rest === 'open',
  };
}

function restText(rest: 'open' | 'cancelled', restAtomic: bigint, filledAtomic: bigint): string {
  if (filledAtomic === 0n) return rest === 'open' ? 'Placed: it waits in the book.' : 'Nothing was traded.';
  return rest === 'open'
    ? `The other ${units(restAtomic)} tokens wait in the book.`
    : `The other ${units(restAtomic)} tokens were not there, and are cancelled.`;
}

function tradedText({ side, outcome, feeBps }: Sent, filledAtomic: bigint, notionalMicro: bigint): string {
  const average = `${averageCents({ filledAtomic, notionalMicro }, side)}¢ on average`;
  if (side === 'SELL') {
    const net = notionalMicro - feeOf(notionalMicro, feeBps);
    return `Sold ${units(filledAtomic)} ${outcome} at ${average}: $${units(net)} after the fee.`;
  }
  const net = filledAtomic - feeOf(filledAtomic, feeBps);
  const bought = `Bought ${units(net)} ${outcome} for ${paid(notionalMicro)}, at ${average}.`;
  return `${bought} Pays $${units(net)} if ${outcome}.`;
}

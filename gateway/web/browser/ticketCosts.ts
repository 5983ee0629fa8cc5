/** Shows the cost and the gain of an order at its limit, and its effect on the book of this moment. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { feeOf, type Side } from '../../../shared/client/sweep.ts';
import { units } from './format.ts';
import { centsOf, type Grid, type Preview } from './preview.ts';

type CostsProps = {
  readonly preview: Preview;
  readonly isLive: boolean;
  readonly side: Side;
  readonly grid: Grid;
  /** The names of the order's outcome and of the other outcome. */
  readonly outcome: string;
  readonly other: string;
};

type Row = readonly [name: string, value: string];

/** "At most" and "at least" are exact: no fill is worse than the limit. */
export function TicketCosts(props: CostsProps): VNode {
  return html`<dl class="costs">${rowsOf(props).map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>
  <${Expected} ...${props} />`;
}

function rowsOf({ preview, side, outcome, other }: CostsProps): readonly Row[] {
  const { notionalMicro, feeAtomic, receivedAtomic } = preview;
  if (side === 'SELL') {
    return [
      ['Fee', `$${units(feeAtomic)}`],
      [isKilled(preview) ? 'You get, if all is sold' : 'You get at least', `$${units(receivedAtomic)}`],
    ];
  }
  return [
    ['You pay at most', `$${units(notionalMicro)}`],
    ['Fee at most', `${units(feeAtomic)} tokens`],
    ['You get, if all is bought', `${units(receivedAtomic)} tokens`],
    [`Worth if ${outcome}`, `$${units(receivedAtomic)}`],
    [`Gain if ${outcome}, at least`, `$${units(gain(receivedAtomic, notionalMicro))}`],
    [`Loss if ${other}, at most`, `$${units(notionalMicro)}`],
  ];
}

function gain(payoutMicro: bigint, paidMicro: bigint): bigint {
  return payoutMicro > paidMicro ? payoutMicro - paidMicro : 0n;
}

function isKilled({ timeInForce }: Preview): boolean {
  return timeInForce === 'FAK';
}

/** Says in a sentence which part trades at once and what happens to the rest. */
function Expected({ preview, isLive, side, grid }: CostsProps): VNode {
  if (!isLive) return html`<p class="warning">The book is out of date: what would trade at once is not known.</p>`;
  const { taken, sizeAtomic, warning } = preview;
  if (warning !== null) return html`<p class="warning"><strong>As the book is now:</strong> ${warning}</p>`;
  const restAtomic = sizeAtomic - taken.filledAtomic;
  const limit = `${centsOf(preview.limitTicks, grid.ticksPerUnit)}¢`;
  if (taken.filledAtomic === 0n) return html`<p class="expected">Nothing trades at once: it waits at ${limit}.</p>`;
  const gross = side === 'BUY' ? taken.filledAtomic : taken.notionalMicro;
  const fee = feeOf(gross, grid.feeBps);
  const net = side === 'BUY' ? `${units(gross - fee)} tokens` : `$${units(gross - fee)}`;
  const average = (Number(taken.notionalMicro) / Number(taken.filledAtomic)) * 100;
  const levels = taken.levels === 1 ? 'one price' : `${taken.levels} prices`;
  const rest = restAtomic === 0n ? '' : ` The other ${units(restAtomic)} ${restOf(preview, limit)}.`;
  const text = `Now in the book: ${units(taken.filledAtomic)} tokens at ${levels}, ${average.toFixed(2)}¢ on average, \
for $${units(taken.notionalMicro)}; ${net} after the fee.${rest}`;
  return html`<p class="expected">${text}</p>`;
}

function restOf(preview: Preview, limit: string): string {
  return isKilled(preview) ? 'are cancelled' : `wait at ${limit}`;
}

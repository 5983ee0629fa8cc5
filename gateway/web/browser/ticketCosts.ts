/**
 * Shows what an order costs and pays. An order that trades at once is shown as the book of this moment fills it, with
 * its bound; an order that waits is shown at its limit, and then what part of it would trade now.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { feeOf, type Side } from '../../../shared/client/sweep.ts';
import { paid, units } from './format.ts';
import { averageCents, centsOf, type Grid, type Preview } from './preview.ts';

type CostsProps = {
  readonly preview: Preview;
  readonly isLive: boolean;
  readonly side: Side;
  readonly grid: Grid;
  /** The names of the order's outcome and of the other outcome. */
  readonly outcome: string;
  readonly other: string;
  /** Tokens that wait at the limit already; null for an order that may trade. */
  readonly aheadAtomic: bigint | null;
};

type Row = readonly [name: string, value: string];

export function TicketCosts(props: CostsProps): VNode {
  const { preview, side, outcome } = props;
  const isWaiting = preview.timeInForce === 'GTC' || preview.timeInForce === 'GTD';
  const { paidMicro, gotAtomic } = isWaiting ? atLimit(props) : now(props);
  return html`<dl class="costs">${(isWaiting ? limitRows(props) : nowRows(props)).map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}
    ${
      side === 'BUY' &&
      html`<div class="pays"><dt>Pays if ${outcome}</dt><dd>$${units(gotAtomic)}${' '}
        <small>${gotAtomic > paidMicro ? `+$${units(gotAtomic - paidMicro)}` : 'no gain'}</small></dd></div>`
    }</dl>
    <${Expected} ...${props} isWaiting=${isWaiting} />`;
}

type Sums = { readonly paidMicro: bigint; readonly feeAtomic: bigint; readonly gotAtomic: bigint };

/** A sale gets USDC. */
function atLimit({ preview }: CostsProps): Sums {
  return { paidMicro: preview.notionalMicro, feeAtomic: preview.feeAtomic, gotAtomic: preview.receivedAtomic };
}

function now({ preview: { taken }, side, grid }: CostsProps): Sums {
  const gross = side === 'BUY' ? taken.filledAtomic : taken.notionalMicro;
  const feeAtomic = feeOf(gross, grid.feeBps);
  return { paidMicro: taken.notionalMicro, feeAtomic, gotAtomic: gross - feeAtomic };
}

/** "At most" and "at least" are exact: no fill is worse than the limit. */
function limitRows(props: CostsProps): readonly Row[] {
  const { paidMicro, feeAtomic, gotAtomic } = atLimit(props);
  if (props.side === 'SELL') {
    return [
      ['Fee', `$${units(feeAtomic)}`],
      ['You get, if all is sold, at least', `$${units(gotAtomic)}`],
    ];
  }
  return [
    ['You pay at most', paid(paidMicro)],
    ['Fee at most', `${units(feeAtomic)} tokens`],
    ['You get, if all is bought', `${units(gotAtomic)} tokens`],
  ];
}

function nowRows(props: CostsProps): readonly Row[] {
  const { taken, notionalMicro } = props.preview;
  if (taken.filledAtomic === 0n) return [];
  const { paidMicro, feeAtomic, gotAtomic } = now(props);
  const average: Row = ['Average price', `${averageCents(taken, props.side)}¢`];
  if (props.side === 'SELL') {
    return [average, ['Fee', `$${units(feeAtomic)}`], ['You get', `$${units(gotAtomic)}`]];
  }
  return [
    average,
    ['You pay', `${paid(paidMicro)}, at most ${paid(notionalMicro)}`],
    ['Fee', `${units(feeAtomic)} tokens`],
    ['You get', `${units(gotAtomic)} tokens`],
  ];
}

/** Says in a sentence which part trades at once and what happens to the rest. */
function Expected(props: CostsProps & { readonly isWaiting: boolean }): VNode | null {
  const { preview, isLive, side, grid, isWaiting, aheadAtomic } = props;
  const { taken, sizeAtomic, limitTicks } = preview;
  if (!isLive) return html`<p class="warning">The book is out of date: what would trade at once is not known.</p>`;
  const limit = `${centsOf(limitTicks, grid.ticksPerUnit)}¢`;
  const restAtomic = sizeAtomic - taken.filledAtomic;
  if (taken.filledAtomic === 0n) {
    const queue =
      aheadAtomic === null ? '' : aheadAtomic === 0n ? ', as the first' : `, behind ${units(aheadAtomic)} tokens`;
    return isWaiting ? html`<p class="expected">Nothing trades at once: it waits at ${limit}${queue}.</p>` : null;
  }
  if (!isWaiting) {
    const bound = side === 'BUY' ? 'more than' : 'less than';
    const rest = restAtomic === 0n ? '' : ` Only ${units(taken.filledAtomic)} tokens are there now.`;
    return html`<p class="expected">No token for ${bound} ${limit}; what cannot trade by then is cancelled.${rest}</p>`;
  }
  const rest = restAtomic === 0n ? '' : ` The other ${units(restAtomic)} wait at ${limit}.`;
  return html`<p class="expected">${units(taken.filledAtomic)} tokens trade at once, ${averageCents(taken, side)}¢ on
    average, for ${side === 'BUY' ? paid(taken.notionalMicro) : `$${units(taken.notionalMicro)}`}.${rest}</p>`;
}

/** The book as a ladder: asks above, bids below, the best prices in the middle. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Level, Levels } from '../../shared/client/stream/bookReplica.ts';
import { cents, difference, units } from './format.ts';

const ROWS_A_SIDE = 12;

type Row = { readonly level: Level; readonly sumAtomic: bigint };

type LadderProps = {
  readonly levels: Levels;
  readonly outcome: string;
  /** A price was chosen, in cents. */
  readonly onChoose: (cents: string) => void;
};

export function Ladder({ levels, outcome, onChoose }: LadderProps): VNode {
  const asks = withSums(levels.asks);
  const bids = withSums(levels.bids);
  if (asks.length + bids.length === 0) return html`<p class="quiet">There are no orders.</p>`;
  const deepest = [asks.at(-1)?.sumAtomic ?? 0n, bids.at(-1)?.sumAtomic ?? 0n].reduce((a, b) => (a > b ? a : b));
  const side = (rows: readonly Row[], name: 'ask' | 'bid'): VNode[] =>
    rows.map(
      (row) => html`<${LadderRow} key=${name + row.level.price} row=${row} side=${name} deepest=${deepest}
      onChoose=${onChoose} />`,
    );
  return html`<table class="ladder">
    <caption class="unseen">Bids and asks for ${outcome}, best ${ROWS_A_SIDE} of each</caption>
    <thead><tr><th scope="col">Side</th><th scope="col">Price</th><th scope="col">Tokens</th>
      <th scope="col">Sum</th></tr></thead>
    <tbody>${side([...asks].reverse(), 'ask')}</tbody>
    <tbody><tr class="spread"><td colspan="4">${spreadText(levels)}</td></tr></tbody>
    <tbody>${side(bids, 'bid')}</tbody>
  </table>`;
}

type LadderRowProps = { readonly row: Row; readonly side: 'ask' | 'bid'; readonly deepest: bigint } & Pick<
  LadderProps,
  'onChoose'
>;

function LadderRow({ row: { level, sumAtomic }, side, deepest, onChoose }: LadderRowProps): VNode {
  const share = Number((sumAtomic * 100n) / deepest);
  return html`<tr class=${side} style=${{ '--share': `${share}%` }}
    title=${`${level.num_orders} orders, ${level.token_quantity_atomic} atomic tokens at ${level.price}`}>
    <td>${side === 'ask' ? 'Ask' : 'Bid'}</td>
    <td><button type="button" class="price" aria-label=${`${cents(level.price)}, use for the order`}
      onClick=${() => onChoose(cents(level.price).slice(0, -1))}>${cents(level.price)}</button></td>
    <td>${units(level.token_quantity_atomic)}</td>
    <td>${units(sumAtomic)}</td>
  </tr>`;
}

function withSums(levels: readonly Level[]): Row[] {
  let sumAtomic = 0n;
  return levels.slice(0, ROWS_A_SIDE).map((level) => {
    sumAtomic += BigInt(level.token_quantity_atomic);
    return { level, sumAtomic };
  });
}

function spreadText({ bids, asks }: Levels): string {
  if (bids.length === 0) return 'No bids';
  if (asks.length === 0) return 'No asks';
  return `Spread ${cents(difference(asks[0].price, bids[0].price))}`;
}

/** Markets with what Yes costs now: a row each, the best prices refreshed while they are on the screen. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Bbo, Market } from '../../shared/client/types.ts';
import { bestPrices, useLoaded } from './api.ts';
import { cents, complement } from './format.ts';
import { Link } from './router.ts';

type MarketTableProps = {
  readonly markets: readonly Market[];
  /** The name of the table for a screen reader. */
  readonly caption: string;
  /** Best prices are loaded every so many seconds; without it the market's own prices are shown. */
  readonly refreshSeconds?: number;
};

const NO_PRICES: ReadonlyMap<string, Bbo> = new Map();

export function MarketTable({ markets, caption, refreshSeconds }: MarketTableProps): VNode {
  const ids = refreshSeconds === undefined ? [] : markets.map(({ id }) => id);
  const prices = useLoaded(ids.join(), async () => await bestPrices(ids), refreshSeconds);
  return html`<table class="markets">
    <caption class="unseen">${caption}</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Yes</th><th scope="col">No</th></tr></thead>
    <tbody>${markets.map(
      (market) => html`<${MarketRow} key=${market.id} market=${market}
        bbo=${(prices.value ?? NO_PRICES).get(market.id)} />`,
    )}</tbody>
  </table>`;
}

/** Buying No at a price is selling Yes at the rest of the unit, so the bid for Yes says what No costs. */
function MarketRow({ market, bbo }: { readonly market: Market; readonly bbo: Bbo | undefined }): VNode {
  const isOpen = market.status === 'active';
  const [yes, no] =
    bbo === undefined
      ? [String(market.current_prices?.['0'] ?? ''), String(market.current_prices?.['1'] ?? '')]
      : [bbo.best_ask, bbo.best_bid === null ? null : complement(bbo.best_bid)];
  return html`<tr>
    <th scope="row"><${Link} to=${`/markets/${market.id}`}>${market.subtitle || market.title}</${Link}>
      ${!isOpen && html` <span class="tag">${market.status}</span>`}</th>
    <td class="yes">${yes ? cents(yes) : '–'}</td>
    <td class="no">${no ? cents(no) : '–'}</td>
  </tr>`;
}

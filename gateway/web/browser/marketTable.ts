/**
 * Markets with the present cost of Yes and No: a row each, with best prices refreshed while they are on the screen. If
 * nothing is offered, the last trade is shown, marked as such; a market that was never quoted or traded has no price.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Bbo, Market } from '../../../shared/client/types.ts';
import { bestPrices, useLoaded } from './api.ts';
import { cents, complement } from './format.ts';
import { Link } from './router.ts';

/** Prices of Yes. */
type Quoted = Pick<Bbo, 'best_bid' | 'best_ask'> & { readonly last_price?: string | null };

type MarketTableProps = {
  readonly markets: readonly Market[];
  /** The name of the table for a screen reader. */
  readonly caption: string;
  /** The prices that came with the markets. */
  readonly quotes?: Readonly<Record<string, Quoted>>;
  /** Seconds between two loads of the best prices. */
  readonly refreshSeconds?: number;
};

const NO_PRICES: ReadonlyMap<string, Bbo> = new Map();
const UNQUOTED: Quoted = { best_bid: null, best_ask: null };

export function MarketTable({ markets, caption, quotes, refreshSeconds }: MarketTableProps): VNode {
  const ids = refreshSeconds === undefined ? [] : markets.map(({ id }) => id);
  const prices = useLoaded(ids.join(), async () => await bestPrices(ids), refreshSeconds);
  return html`<table class="markets">
    <caption class="unseen">${caption}</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Yes</th><th scope="col">No</th></tr></thead>
    <tbody>${markets.map(
      (market) => html`<${MarketRow} key=${market.id} market=${market}
        quoted=${quotes?.[market.id] ?? (prices.value ?? NO_PRICES).get(market.id) ?? UNQUOTED} />`,
    )}</tbody>
  </table>`;
}

/** Buying No at a price is selling Yes at one minus that price, so the bid for Yes gives the cost of No. */
function MarketRow({ market, quoted }: { readonly market: Market; readonly quoted: Quoted }): VNode {
  const { best_bid: bid, best_ask: ask, last_price: last = null } = quoted;
  const other = (price: string | null): string | null => (price === null ? null : complement(price));
  return html`<tr>
    <th scope="row"><${Link} to=${`/markets/${market.id}`}>${market.subtitle || market.title}</${Link}>
      ${market.status !== 'active' && html` <span class="tag">${market.status}</span>`}</th>
    <td class="yes">${priceText(ask, last)}</td>
    <td class="no">${priceText(other(bid), other(last))}</td>
  </tr>`;
}

function priceText(best: string | null, last: string | null): VNode | string {
  if (best !== null) return cents(best);
  return last === null ? '–' : html`<span class="quiet">last ${cents(last)}</span>`;
}

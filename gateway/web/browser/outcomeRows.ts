/** Markets with the chance of their first outcome, and a button for each outcome that leads to its ticket. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Bbo, Market } from '../../../shared/client/types.ts';
import { cents, chance, complement, outcomeName } from './format.ts';
import { Link } from './router.ts';

/** `subtitle` and `payouts` as far as they are known. */
type Listed = Pick<Market, 'id' | 'title' | 'status' | 'outcomes'> & Partial<Pick<Market, 'subtitle' | 'payouts'>>;

type OutcomeRowsProps = {
  readonly markets: readonly Listed[];
  /** The best prices of Yes; null until they are loaded. */
  readonly prices: ReadonlyMap<string, Bbo> | null;
  readonly caption: string;
  /** Colours of the lines of a chart, by market. */
  readonly marks?: ReadonlyMap<string, string>;
};

export function OutcomeRows({ markets, prices, caption, marks }: OutcomeRowsProps): VNode {
  return html`<table class="outcome-rows"><caption class="unseen">${caption}</caption>
    <thead class="unseen"><tr><th scope="col">Market</th><th scope="col">Chance</th>
      <th scope="col">Buy</th></tr></thead>
    <tbody>${markets.map(
      (market) => html`<${OutcomeRow} key=${market.id} market=${market} bbo=${prices?.get(market.id)}
        mark=${marks?.get(market.id)} />`,
    )}</tbody></table>`;
}

type OutcomeRowProps = { readonly market: Listed; readonly bbo: Bbo | undefined; readonly mark: string | undefined };

function OutcomeRow({ market, bbo, mark }: OutcomeRowProps): VNode {
  const place = `/markets/${market.id}`;
  const isOpen = market.status === 'active';
  const { best_ask: ask = null, best_bid: bid = null } = bbo ?? {};
  // Buying the second outcome at a price is selling the first at one minus that price.
  const costs = [ask, bid === null ? null : complement(bid)].map((cost) => (cost === null ? '–' : cents(cost)));
  const winner = market.payouts?.indexOf(1_000_000) ?? -1;
  return html`<tr>
    <th scope="row">${mark !== undefined && html`<span class="mark" style=${{ background: mark }}></span>`}
      <${Link} to=${place}><bdi>${market.subtitle || market.title}</bdi></${Link}></th>
    <td class="chance">${bbo?.midpoint == null ? '' : chance(bbo.midpoint)}</td>
    <td><div class="buys">${
      isOpen
        ? market.outcomes.map(
            (name, index) => html`<${Link} key=${name} to=${`${place}?outcome=${index}`}
              class=${`button ${index === 0 ? 'yes' : 'no'}`}
              aria-label=${`Buy ${name} ${costs[index]}: ${market.title}`}>${'Buy '}<bdi>${name}</bdi>${' '}
              <strong>${costs[index]}</strong></${Link}>`,
          )
        : html`<span class="tag">${winner === -1 ? market.status : outcomeName(market, winner)}</span>`
    }</div></td></tr>`;
}

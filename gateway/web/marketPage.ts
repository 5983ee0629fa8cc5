/** One market, live: its ladder, its depth, the history of its price, its tape, and its rules. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Market } from '../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { BookStatus } from './bookStatus.ts';
import { DepthChart } from './depthChart.ts';
import { dateTime, short } from './format.ts';
import { Ladder } from './ladder.ts';
import { useBook } from './live.ts';
import { PriceChart } from './priceChart.ts';
import { Tape } from './tape.ts';
import { Waiting } from './waiting.ts';

const REFRESH_SECONDS = 15;

export function MarketPage({ id }: { readonly id: string }): VNode {
  const { value: market, error } = useLoaded<Market>(id, () => get(`/v1/markets/${id}`), REFRESH_SECONDS);
  if (market === null) return html`<${Waiting} error=${error} />`;
  return html`<${OpenMarket} market=${market} error=${error} />`;
}

type OpenMarketProps = { readonly market: Market; readonly error: string | null };

function OpenMarket({ market, error }: OpenMarketProps): VNode {
  const [outcome, setOutcome] = useState<0 | 1>(0);
  const book = useBook(market.id);
  const levels = book.levels[outcome];
  const name = market.outcomes[outcome];
  return html`
    <p class="quiet">${[market.category, ...(market.subcategories ?? [])].filter(Boolean).join(' · ')}</p>
    <h1>${market.title}</h1>
    <${BookStatus} book=${book} status=${market.status} />
    ${error !== null && html`<p role="status">${error}</p>`}
    <div class="chips" role="group" aria-label="Outcome">
      ${market.outcomes.map(
        (label, index) => html`<button key=${label} type="button" aria-pressed=${outcome === index}
          onClick=${() => setOutcome(index as 0 | 1)}>${label}</button>`,
      )}
    </div>
    <div class="market">
      <section class="panel" aria-labelledby="ladder"><h2 id="ladder">Orders for ${name}</h2>
        <${Ladder} levels=${levels} outcome=${name} /></section>
      <section class="panel" aria-labelledby="history"><h2 id="history">Price of ${name}</h2>
        <${PriceChart} marketId=${market.id} outcome=${outcome} trades=${book.trades} />
        <h2>Depth</h2>
        <${DepthChart} levels=${levels} outcome=${name} /></section>
      <section class="panel" aria-labelledby="tape"><h2 id="tape">Trades</h2>
        <${Tape} marketId=${market.id} trades=${book.trades} /></section>
    </div>
    <section class="panel"><h2>About</h2><${Facts} market=${market} /></section>
  `;
}

function Facts({ market }: { readonly market: Market }): VNode {
  const facts: readonly (readonly [string, string])[] = [
    ['Trading ends', market.trading_ends_at === undefined ? '' : dateTime(market.trading_ends_at)],
    ['Fee', `${market.fee_bps / 100}% of what is bought or sold for`],
    ['Decided by', market.resolution_source ?? ''],
    ['Volume', `$${short(Number(market.total_volume) / 1_000_000)}`],
    ['Market', market.id],
  ];
  return html`<p>${market.description}</p>
    <dl class="facts">${facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

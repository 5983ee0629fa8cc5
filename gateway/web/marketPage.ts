/** One market, live: its ladder, its depth, the history of its price, its tape, and its rules. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Market, UserOrder } from '../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { get, useLoaded } from './api.ts';
import { BookStatus } from './bookStatus.ts';
import { DepthChart } from './depthChart.ts';
import { dateTime, short } from './format.ts';
import { Ladder } from './ladder.ts';
import { useBook } from './live.ts';
import { OwnOrders, openOrders } from './ownOrders.ts';
import { PriceChart } from './priceChart.ts';
import { useTitle } from './router.ts';
import { useVisitor } from './session.ts';
import { Tape } from './tape.ts';
import { type ChosenPrice, TicketPanel } from './ticket.ts';
import { Waiting } from './waiting.ts';

const REFRESH_SECONDS = 15;
const ORDERS_SECONDS = 30;

export function MarketPage({ id }: { readonly id: string }): VNode {
  const [orders, setOrders] = useState(0);
  const { value: market, error } = useLoaded<Market>(id, () => get(`/v1/markets/${id}`), REFRESH_SECONDS, orders);
  if (market === null) return html`<${Waiting} error=${error} />`;
  return html`<${OpenMarket} market=${market} error=${error} orders=${orders}
    onOrder=${() => setOrders((before) => before + 1)} />`;
}

type OpenMarketProps = {
  readonly market: Market;
  readonly error: string | null;
  /** Orders that were sent from here: the answer to one may be that the market has ended. */
  readonly orders: number;
  readonly onOrder: () => void;
};

function OpenMarket({ market, error, orders, onOrder }: OpenMarketProps): VNode {
  const [outcome, setOutcome] = useState<0 | 1>(0);
  const [chosen, choose] = useState<ChosenPrice>({ cents: '50' });
  const book = useBook(market.id);
  useTitle(market.title);
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
        <${Ladder} levels=${levels} outcome=${name} onChoose=${(cents: string) => choose({ cents })} /></section>
      <section class="panel" aria-labelledby="history"><h2 id="history">Price of ${name}</h2>
        <${PriceChart} marketId=${market.id} outcome=${outcome} trades=${book.trades} />
        <h2>Depth</h2>
        <${DepthChart} levels=${levels} outcome=${name} /></section>
      <section class="panel" aria-labelledby="ticket"><h2 id="ticket">Order</h2>
        <${TicketPanel} market=${market} outcome=${outcome} chosen=${chosen} onPlaced=${onOrder} />
        <${OrdersHere} market=${market} changes=${orders} /></section>
      <section class="panel" aria-labelledby="tape"><h2 id="tape">Trades</h2>
        <${Tape} marketId=${market.id} trades=${book.trades} /></section>
      <section class="panel about"><h2>About</h2><${Facts} market=${market} /></section>
    </div>
  `;
}

type OrdersHereProps = { readonly market: Market; readonly changes: number };

/** Loaded anew after each order and each event of the account. */
function OrdersHere({ market, changes }: OrdersHereProps): VNode | null {
  const visitor = useVisitor();
  const [cancelled, setCancelled] = useState(0);
  const events = useAccountChanges();
  const load = async (): Promise<UserOrder[]> => {
    if (visitor.kind !== 'user') return [];
    return (await openOrders()).filter(({ market_id }) => market_id === market.id);
  };
  const who = visitor.kind === 'user' ? visitor.user.id : visitor.kind;
  const { value } = useLoaded(`${who} ${market.id}`, load, ORDERS_SECONDS, changes + cancelled + events);
  if (visitor.kind !== 'user' || value === null) return null;
  return html`<h2>Your orders here</h2>
    <${OwnOrders} orders=${value} markets=${new Map([[market.id, market]])}
      onChanged=${() => setCancelled(cancelled + 1)} />`;
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

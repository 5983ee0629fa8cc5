/** The account: its funds, positions and open orders, its notifications, and the payouts that it may claim. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  Balances,
  Market,
  Notifications,
  Pnl24h,
  Position,
  Redeemable,
  UserOrder,
} from '../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { get, textOf, useLoaded } from './api.ts';
import { cents, dateTime, outcomeName, units } from './format.ts';
import { openOrders } from './openOrders.ts';
import { OwnOrders } from './ownOrders.ts';
import { Link, useTitle } from './router.ts';
import { ask, useVisitor } from './session.ts';

type Facts = {
  readonly balances: Balances;
  readonly pnl: Pnl24h;
  readonly positions: readonly Position[];
  readonly orders: readonly UserOrder[];
  readonly redeemable: readonly Redeemable[];
  readonly notifications: Notifications;
};

/** Payouts and deposits come without an event. */
const REFRESH_SECONDS = 10;
const MOST_POSITIONS = 200;
const MARKETS_AT_ONCE = 20;

export function PortfolioPage(): VNode {
  useTitle('Portfolio');
  const visitor = useVisitor();
  if (visitor.kind !== 'user') {
    return html`<h1>Portfolio</h1><p role="status">${visitor.kind === 'unknown' ? 'Loading …' : 'Sign in above.'}</p>`;
  }
  return html`<${Portfolio} key=${visitor.user.id} />`;
}

function Portfolio(): VNode {
  const [round, setRound] = useState(0);
  const events = useAccountChanges();
  const { value, error } = useLoaded<Facts>('portfolio', loadFacts, REFRESH_SECONDS, round + events);
  const markets = useMarkets(value);
  const reload = (): void => setRound((before) => before + 1);
  if (value === null) return html`<h1>Portfolio</h1><p role="status">${error ?? 'Loading …'}</p>`;
  return html`
    <h1>Portfolio</h1>
    ${error !== null && html`<p role="status">${error}</p>`}
    <${Funds} facts=${value} />
    <${Claims} redeemable=${value.redeemable} markets=${markets} onChanged=${reload} />
    <section class="panel"><h2>Positions</h2>
      <${Positions} positions=${value.positions} markets=${markets} /></section>
    <section class="panel"><h2>Open orders</h2>
      <${OwnOrders} orders=${value.orders} markets=${markets} onChanged=${reload} /></section>
    <section class="panel"><h2>What happened</h2><${News} notifications=${value.notifications} /></section>
  `;
}

async function loadFacts(): Promise<Facts> {
  const [balances, pnl, positions, orders, redeemable, notifications] = await Promise.all([
    ask<Balances>('GET', '/v1/user/balances'),
    ask<Pnl24h>('GET', '/v1/user/portfolio/pnl-24h'),
    ask<Position[]>('GET', `/v1/user/positions?limit=${MOST_POSITIONS}`),
    openOrders(),
    ask<Redeemable[]>('GET', '/v1/user/redeemable'),
    ask<Notifications>('GET', '/v1/notifications'),
  ]);
  return { balances, pnl, positions, orders, redeemable, notifications };
}

const knownMarkets = new Map<string, Market>();

/** The markets of the rows, a few at a time; those that could not be loaded are tried again with the next facts. */
function useMarkets(facts: Facts | null): ReadonlyMap<string, Market> {
  const [loads, setLoads] = useState(0);
  const rows = facts === null ? [] : [...facts.positions, ...facts.orders, ...facts.redeemable];
  const unknown = [...new Set(rows.map(({ market_id }) => market_id))].filter((id) => !knownMarkets.has(id));
  useEffect(() => {
    const load = async (id: string): Promise<void> => {
      knownMarkets.set(id, await get<Market>(`/v1/markets/${id}`));
    };
    void Promise.allSettled(unknown.slice(0, MARKETS_AT_ONCE).map(load)).then((results) => {
      if (results.some(({ status }) => status === 'fulfilled')) setLoads(loads + 1);
    });
  }, [facts, loads]);
  return knownMarkets;
}

function Funds({ facts: { balances, pnl } }: { readonly facts: Facts }): VNode {
  const shown: readonly (readonly [string, string])[] = [
    ['Available', `$${units(balances.usdc.available)}`],
    ['In open orders', `$${units(balances.usdc.reserved)}`],
    ['Last 24 hours', `${pnl.pnl_24h_usdc.startsWith('-') ? '' : '+'}${pnl.pnl_24h_usdc} USDC (${pnl.pnl_24h_pct}%)`],
  ];
  return html`<dl class="facts panel">${shown.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

type ClaimsProps = {
  readonly redeemable: readonly Redeemable[];
  readonly markets: ReadonlyMap<string, Market>;
  readonly onChanged: () => void;
};

function Claims({ redeemable, markets, onChanged }: ClaimsProps): VNode | null {
  const [said, say] = useState('');
  const place = useRef<HTMLParagraphElement>(null);
  /** Markets whose claim was sent and not refused: they stay in the list until it is loaded anew. */
  const claimed = useRef(new Set<string>()).current;
  if (redeemable.length === 0 && said === '') return null;
  const claim = async (marketId: string): Promise<void> => {
    if (claimed.has(marketId)) return;
    claimed.add(marketId);
    try {
      await ask('POST', `/v1/user/positions/${marketId}/claim`);
      say('Paid out.');
      place.current?.focus();
    } catch (error) {
      claimed.delete(marketId);
      say(textOf(error));
    }
    onChanged();
  };
  return html`<section class="panel"><h2>To be claimed</h2>
    <p role="status" tabindex="-1" ref=${place}>${said}</p>
    <ul class="plain">${redeemable.map(
      ({ market_id, outcome_index, payout, resolution }) => html`<li key=${market_id + outcome_index}>
        ${markets.get(market_id)?.title ?? 'Market'}: ${resolution}, $${units(payout)}
        <button type="button" onClick=${() => claim(market_id)}>Claim</button></li>`,
    )}</ul></section>`;
}

type PositionsProps = { readonly positions: readonly Position[]; readonly markets: ReadonlyMap<string, Market> };

function Positions({ positions, markets }: PositionsProps): VNode {
  const held = positions.filter(({ quantity }) => quantity !== '0');
  if (held.length === 0) return html`<p class="quiet">You have no positions.</p>`;
  return html`<table><caption class="unseen">Your positions</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Tokens</th><th scope="col">Bought at</th>
      <th scope="col">Realised</th></tr></thead>
    <tbody>${held.map(
      ({ id, market_id, outcome_index, quantity, average_entry_price, realized_pnl }) => html`<tr key=${id}>
        <th scope="row"><${Link} to=${`/markets/${market_id}`}>${
          markets.get(market_id)?.title ?? 'Market'
        }</${Link}></th>
        <td>${units(quantity)} ${outcomeName(markets.get(market_id), outcome_index)}</td>
        <td>${average_entry_price === null ? '–' : cents(average_entry_price)}</td>
        <td>${realized_pnl ?? '–'}</td></tr>`,
    )}</tbody></table>
    ${positions.length === MOST_POSITIONS && html`<p class="quiet">Only the first ${MOST_POSITIONS} are shown.</p>`}`;
}

function News({ notifications: { items } }: { readonly notifications: Notifications }): VNode {
  if (items.length === 0) return html`<p class="quiet">Nothing yet.</p>`;
  return html`<ul class="plain">${items.map(
    ({ id, title, body, created_at }) => html`<li key=${id + title}>
      <span class="quiet">${dateTime(created_at)}</span> <strong>${title}.</strong> ${body}</li>`,
  )}</ul>`;
}

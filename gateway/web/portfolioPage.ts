/** The account: its funds, positions and open orders, its notifications, and the payouts that it may claim. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type {
  Balances,
  Market,
  Notifications,
  Pnl24h,
  Position,
  Redeemable,
  UserOrders,
} from '../../shared/client/types.ts';
import { get, textOf, useLoaded } from './api.ts';
import { cents, dateTime, units } from './format.ts';
import { OwnOrders } from './ownOrders.ts';
import { Link } from './router.ts';
import { ask, useVisitor } from './session.ts';

type Facts = {
  readonly balances: Balances;
  readonly pnl: Pnl24h;
  readonly positions: readonly Position[];
  readonly orders: UserOrders['orders'];
  readonly redeemable: readonly Redeemable[];
  readonly notifications: Notifications;
};

const REFRESH_SECONDS = 5;
const MOST_POSITIONS = 200;

export function PortfolioPage(): VNode {
  const visitor = useVisitor();
  if (visitor.kind !== 'user') {
    return html`<h1>Portfolio</h1><p role="status">${visitor.kind === 'unknown' ? 'Loading …' : 'Sign in above.'}</p>`;
  }
  return html`<${Portfolio} key=${visitor.user.id} />`;
}

function Portfolio(): VNode {
  const [round, setRound] = useState(0);
  const { value, error } = useLoaded<Facts>('portfolio', loadFacts, REFRESH_SECONDS, round);
  const titles = useTitles(value);
  const reload = (): void => setRound((before) => before + 1);
  if (value === null) return html`<h1>Portfolio</h1><p role="status">${error ?? 'Loading …'}</p>`;
  return html`
    <h1>Portfolio</h1>
    ${error !== null && html`<p role="status">${error}</p>`}
    <${Funds} facts=${value} />
    <${Claims} redeemable=${value.redeemable} titles=${titles} onChanged=${reload} />
    <section class="panel"><h2>Positions</h2><${Positions} positions=${value.positions} titles=${titles} /></section>
    <section class="panel"><h2>Open orders</h2>
      <${OwnOrders} orders=${value.orders} titles=${titles} onChanged=${reload} /></section>
    <section class="panel"><h2>What happened</h2><${News} notifications=${value.notifications} /></section>
  `;
}

async function loadFacts(): Promise<Facts> {
  const [balances, pnl, positions, { orders }, redeemable, notifications] = await Promise.all([
    ask<Balances>('GET', '/v1/user/balances'),
    ask<Pnl24h>('GET', '/v1/user/portfolio/pnl-24h'),
    ask<Position[]>('GET', `/v1/user/positions?limit=${MOST_POSITIONS}`),
    ask<UserOrders>('GET', '/v1/user/orders/v2?status=open&limit=200'),
    ask<Redeemable[]>('GET', '/v1/user/redeemable'),
    ask<Notifications>('GET', '/v1/notifications'),
  ]);
  return { balances, pnl, positions, orders, redeemable, notifications };
}

const knownTitles = new Map<string, string>();

function useTitles(facts: Facts | null): ReadonlyMap<string, string> {
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(knownTitles);
  const rows = facts === null ? [] : [...facts.positions, ...facts.orders, ...facts.redeemable];
  const unknown = [...new Set(rows.map(({ market_id }) => market_id))].filter((id) => !knownTitles.has(id));
  useEffect(() => {
    const load = async (id: string): Promise<void> => {
      knownTitles.set(id, (await get<Market>(`/v1/markets/${id}`)).title);
    };
    if (unknown.length > 0) void Promise.allSettled(unknown.map(load)).then(() => setTitles(new Map(knownTitles)));
  }, [unknown.join()]);
  return titles;
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
  readonly titles: ReadonlyMap<string, string>;
  readonly onChanged: () => void;
};

function Claims({ redeemable, titles, onChanged }: ClaimsProps): VNode | null {
  const [said, say] = useState('');
  if (redeemable.length === 0 && said === '') return null;
  const claim = async (marketId: string): Promise<void> => {
    say(await ask<{ message: string }>('POST', `/v1/user/positions/${marketId}/claim`).then(() => 'Paid out.', textOf));
    onChanged();
  };
  return html`<section class="panel"><h2>To be claimed</h2><p role="status">${said}</p>
    <ul class="plain">${redeemable.map(
      ({ market_id, outcome_index, payout, resolution }) => html`<li key=${market_id + outcome_index}>
        ${titles.get(market_id) ?? 'Market'}: ${resolution}, $${units(payout)}
        <button type="button" onClick=${() => claim(market_id)}>Claim</button></li>`,
    )}</ul></section>`;
}

type PositionsProps = { readonly positions: readonly Position[]; readonly titles: ReadonlyMap<string, string> };

function Positions({ positions, titles }: PositionsProps): VNode {
  const held = positions.filter(({ quantity }) => quantity !== '0');
  if (held.length === 0) return html`<p class="quiet">You have no positions.</p>`;
  return html`<table><caption class="unseen">Your positions</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Tokens</th><th scope="col">Bought at</th>
      <th scope="col">Realised</th></tr></thead>
    <tbody>${held.map(
      ({ id, market_id, outcome_index, quantity, average_entry_price, realized_pnl }) => html`<tr key=${id}>
        <th scope="row"><${Link} to=${`/markets/${market_id}`}>${titles.get(market_id) ?? 'Market'}</${Link}></th>
        <td>${units(quantity)} ${outcome_index === 0 ? 'Yes' : 'No'}</td>
        <td>${average_entry_price === null ? '–' : cents(average_entry_price)}</td>
        <td>${realized_pnl ?? '–'}</td></tr>`,
    )}</tbody></table>`;
}

function News({ notifications: { items } }: { readonly notifications: Notifications }): VNode {
  if (items.length === 0) return html`<p class="quiet">Nothing yet.</p>`;
  return html`<ul class="plain">${items.map(
    ({ id, title, body, created_at }) => html`<li key=${id + title}>
      <span class="quiet">${dateTime(created_at)}</span> <strong>${title}.</strong> ${body}</li>`,
  )}</ul>`;
}

/** The holdings of the account: its funds, its positions and open orders, and the payouts that it may claim. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Balances, Pnl24h, Position, Redeemable, UserOrder } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { useLoaded } from './api.ts';
import { Claims } from './claims.ts';
import { signed, units } from './format.ts';
import { useMarkets } from './markets.ts';
import { openOrders } from './openOrders.ts';
import { OwnOrders } from './ownOrders.ts';
import { Positions } from './positions.ts';
import { useTitle } from './router.ts';
import { ask, useVisitor } from './session.ts';
import { SignInFirst } from './waiting.ts';

type Facts = {
  readonly balances: Balances;
  readonly pnl: Pnl24h;
  readonly positions: readonly Position[];
  readonly orders: readonly UserOrder[];
  readonly redeemable: readonly Redeemable[];
};

/** Payouts and deposits come without an event. */
const REFRESH_SECONDS = 10;
const MOST_POSITIONS = 200;

export function PortfolioPage(): VNode {
  useTitle('Portfolio');
  const visitor = useVisitor();
  if (visitor.kind !== 'user') return html`<${SignInFirst} title="Portfolio" isKnown=${visitor.kind !== 'unknown'} />`;
  return html`<${Portfolio} key=${visitor.user.id} />`;
}

function Portfolio(): VNode {
  const [round, setRound] = useState(0);
  const events = useAccountChanges();
  const { value, error } = useLoaded<Facts>('portfolio', loadFacts, REFRESH_SECONDS, round + events);
  const markets = useMarkets(value === null ? [] : [...value.positions, ...value.orders, ...value.redeemable]);
  const reload = (): void => setRound((before) => before + 1);
  if (value === null) return html`<h1>Portfolio</h1><p class="quiet">${error ?? 'Loading …'}</p>`;
  return html`
    <h1>Portfolio</h1>
    ${error !== null && html`<p class="quiet">${error}</p>`}
    <${Funds} facts=${value} />
    <${Claims} redeemable=${value.redeemable} markets=${markets} onChanged=${reload} />
    <section class="panel"><h2>Positions</h2>
      <${Positions} positions=${value.positions} markets=${markets} />
      ${
        value.positions.length === MOST_POSITIONS &&
        html`<p class="quiet">Only the first ${MOST_POSITIONS} are shown.</p>`
      }</section>
    <section class="panel"><h2>Open orders</h2>
      <${OwnOrders} orders=${value.orders} markets=${markets} onChanged=${reload} /></section>
  `;
}

async function loadFacts(): Promise<Facts> {
  const [balances, pnl, positions, orders, redeemable] = await Promise.all([
    ask<Balances>('GET', '/v1/user/balances'),
    ask<Pnl24h>('GET', '/v1/user/portfolio/pnl-24h'),
    ask<Position[]>('GET', `/v1/user/positions?limit=${MOST_POSITIONS}`),
    openOrders(),
    ask<Redeemable[]>('GET', '/v1/user/redeemable'),
  ]);
  return { balances, pnl, positions, orders, redeemable };
}

function Funds({ facts: { balances, pnl } }: { readonly facts: Facts }): VNode {
  const shown: readonly (readonly [string, string])[] = [
    ['Available', `$${units(balances.usdc.available)}`],
    ['In open orders', `$${units(balances.usdc.reserved)}`],
    ['Last 24 hours', `${signed(pnl.pnl_24h_usdc)} USDC (${pnl.pnl_24h_pct}%)`],
  ];
  return html`<dl class="facts panel">${shown.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

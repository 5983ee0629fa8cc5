/** The holdings of the account: its worth and gain, its positions and open orders, what it may claim, its history. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Balances, FundMovements, Pnl24h, Position, Redeemable, UserOrder } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { OrdersPast } from './activityPage.ts';
import { useLoaded } from './api.ts';
import { Claims, useClaiming } from './claims.ts';
import { gain, gainOfUsdc, signed, units } from './format.ts';
import { GainChart } from './gainChart.ts';
import { useMarkets } from './markets.ts';
import { openOrders } from './openOrders.ts';
import { OwnOrders } from './ownOrders.ts';
import { Positions, useWorths } from './positions.ts';
import { useTitle } from './router.ts';
import { ask, useVisitor } from './session.ts';
import { ToCome } from './toCome.ts';
import { SignInFirst } from './waiting.ts';
import { gainOfAll, type Value, worthOfAll } from './worth.ts';

type Facts = {
  readonly balances: Balances;
  readonly pnl: Pnl24h;
  readonly positions: readonly Position[];
  readonly orders: readonly UserOrder[];
  readonly redeemable: readonly Redeemable[];
  readonly paidMicro: bigint | null;
};

/** Payouts and deposits come without an event. */
const REFRESH_SECONDS = 10;
/** An account with more positions, also past ones, is a program's. */
const MOST_POSITIONS = 1000;
const MOVEMENTS_A_PAGE = 100;
const MOST_MOVEMENTS = 1000;

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
  const held = (value?.positions ?? []).filter(({ quantity }) => quantity !== '0');
  const markets = useMarkets(value === null ? [] : [...held, ...value.orders, ...value.redeemable]);
  const worths = useWorths(held, markets);
  const reload = (): void => setRound((before) => before + 1);
  const claiming = useClaiming(reload);
  if (value === null) return html`<h1>Portfolio</h1><${ToCome} error=${error} lines=${8} />`;
  return html`
    <h1>Portfolio</h1>
    ${error !== null && html`<p class="quiet">${error}</p>`}
    <${Sums} facts=${value} worths=${worths} />
    <${Claims} redeemable=${value.redeemable} markets=${markets} claiming=${claiming} />
    <${GainChart} round=${round + events} />
    <section class="panel"><h2>Positions</h2>
      <${Positions} positions=${held} worths=${worths} markets=${markets} redeemable=${value.redeemable}
        onClaim=${claiming.claim} />
      ${
        value.positions.length === MOST_POSITIONS &&
        html`<p class="quiet">Only the first ${MOST_POSITIONS} are counted.</p>`
      }</section>
    <section class="panel"><h2>Open orders</h2>
      <${OwnOrders} orders=${value.orders} markets=${markets} onChanged=${reload} /></section>
    <${OrdersPast} />
  `;
}

async function loadFacts(): Promise<Facts> {
  const [balances, pnl, positions, orders, redeemable, paidMicro] = await Promise.all([
    ask<Balances>('GET', '/v1/user/balances'),
    ask<Pnl24h>('GET', '/v1/user/portfolio/pnl-24h'),
    ask<Position[]>('GET', `/v1/user/positions?limit=${MOST_POSITIONS}`),
    openOrders(),
    ask<Redeemable[]>('GET', '/v1/user/redeemable'),
    paidIn(),
  ]);
  return { balances, pnl, positions, orders, redeemable, paidMicro };
}

/** The sum that the account's person has paid in, less what was paid out; null if it takes too many reads. */
async function paidIn(): Promise<bigint | null> {
  let paid = 0n;
  for (let offset = 0; offset < MOST_MOVEMENTS; offset += MOVEMENTS_A_PAGE) {
    const path = `/v1/user/fund-movements?limit=${MOVEMENTS_A_PAGE}&offset=${offset}`;
    const { movements } = await ask<FundMovements>('GET', path);
    for (const { type, amount_usdc_micro } of movements) {
      if (type === 'deposit') paid += BigInt(amount_usdc_micro);
      if (type === 'withdrawal') paid -= BigInt(amount_usdc_micro);
    }
    if (movements.length < MOVEMENTS_A_PAGE) return paid;
  }
  return null;
}

type SumsProps = { readonly facts: Facts; readonly worths: readonly Value[] };

function Sums({ facts: { balances, pnl, paidMicro }, worths }: SumsProps): VNode {
  const usdc = BigInt(balances.usdc.available) + BigInt(balances.usdc.reserved);
  const ever = gainOfAll(usdc, worths, paidMicro);
  // An account that had nothing a day ago has no share of it.
  const share = pnl.pnl_24h_pct === 0 ? '' : ` (${signed(String(pnl.pnl_24h_pct))}%)`;
  const shown: readonly (readonly [string, string])[] = [
    ['Value', `$${units(usdc + worthOfAll(worths))}`],
    ['Available', `$${units(balances.usdc.available)}`],
    ['In open orders', `$${units(balances.usdc.reserved)}`],
    ['Gain of 24 hours', gainOfUsdc(pnl.pnl_24h_usdc) + share],
    ['Gain of all time', ever === null ? '–' : gain(ever)],
  ];
  return html`<dl class="facts sums panel">${shown.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

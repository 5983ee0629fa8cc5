/** The leaderboard, the volume of the exchange, and the latest trades. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Leaderboard, Pulse, RecentFills } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { Choices } from './choices.ts';
import { dollars, gainInDollars, percent, short } from './format.ts';
import { Link, useTitle } from './router.ts';
import { useVisitor } from './session.ts';
import { ToCome } from './toCome.ts';
import { When } from './when.ts';

type Traders = Leaderboard['traders'];
type Fills = RecentFills['fills'];

const WINDOWS: readonly (readonly [string, string])[] = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['all', 'All'],
];

export function LeadersPage(): VNode {
  useTitle('Leaders');
  const [period, setPeriod] = useState('7d');
  const path = `/v1/leaderboards/traders?window=${period}&limit=25`;
  const board = useLoaded<Leaderboard>(path, () => get(path), 60);
  const pulse = useLoaded<Pulse>('pulse', () => get('/v1/markets/stats/pulse'), 30);
  const fills = useLoaded<RecentFills>('fills', () => get('/v1/markets/fills/recent?limit=20'), 10);
  // The first board is as high as its rows, and would move what is below it.
  const hasBoard = useRef(false);
  hasBoard.current ||= board.value !== null || board.error !== null;
  return html`
    <h1>Leaders</h1>
    <${PulseFacts} pulse=${pulse.value} />
    <${Choices} label="Period" chosen=${period} choices=${WINDOWS} onChoose=${setPeriod} />
    <section class="panel"><h2>Most earned</h2>
      <p class="quiet">What was realised in this time, with open positions at their present prices. The return is the
        gain for each dollar that positions had cost, or orders had reserved, when the time began.</p>
      <${TraderTable} traders=${board.value?.traders} error=${board.error} /></section>
    ${
      hasBoard.current &&
      html`<section class="panel"><h2>Latest trades</h2>
        <${FillTable} fills=${fills.value?.fills} error=${fills.error} /></section>`
    }
  `;
}

function PulseFacts({ pulse }: { readonly pulse: Pulse | null }): VNode {
  const facts: readonly (readonly [string, string | null])[] = [
    ['Traded in 24 hours', pulse && dollars(pulse.total_volume_24h)],
    ['Traders with a fill', pulse && short(pulse.active_traders_24h)],
    ['Traders online', pulse && short(pulse.traders_online_24h)],
    ['Markets that trade', pulse && short(pulse.active_markets)],
  ];
  return html`<dl class="facts sums">${facts.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value ?? '–'}</dd></div>`,
  )}</dl>`;
}

type TradersProps = { readonly traders: Traders | undefined; readonly error: string | null };

function TraderTable({ traders, error }: TradersProps): VNode {
  if (traders === undefined) return html`<${ToCome} error=${error} lines=${10} />`;
  const leading = traders.filter(({ pnl_usdc }) => pnl_usdc > 0);
  if (leading.length === 0) return html`<p class="quiet">In this time no one has earned anything.</p>`;
  return html`<table>
    <thead><tr><th scope="col">Trader</th><th scope="col">Earned</th><th scope="col">Return</th>
      <th scope="col" class="wide">Trades</th></tr></thead>
    <tbody>${leading.map(
      (trader, index) => html`<${TraderRow} key=${trader.handle} trader=${trader} rank=${index + 1} />`,
    )}</tbody>
  </table>`;
}

type TraderRowProps = { readonly trader: Traders[number]; readonly rank: number };

/** A trader who had nothing at risk when the time began has no return. */
function TraderRow({ trader: { handle, user_id, pnl_usdc, roi, trade_count }, rank }: TraderRowProps): VNode {
  const visitor = useVisitor();
  const isOwn = visitor.kind === 'user' && visitor.user.id === user_id;
  return html`<tr><th scope="row"><span class="rank">${rank}</span> <bdi>${handle}</bdi>${
    isOwn && html` <span class="tag">you</span>`
  }</th>
    <td class="yes">${gainInDollars(pnl_usdc)}</td><td>${roi === 0 ? '–' : percent(roi)}</td>
    <td class="wide">${short(trade_count)}</td></tr>`;
}

type FillsProps = { readonly fills: Fills | undefined; readonly error: string | null };

function FillTable({ fills, error }: FillsProps): VNode {
  if (fills === undefined) return html`<${ToCome} error=${error} lines=${10} />`;
  if (fills.length === 0) return html`<p class="quiet">No trades yet.</p>`;
  return html`<table>
    <thead><tr><th scope="col">Market</th><th scope="col" class="wide">Trader</th><th scope="col">Trade</th>
      <th scope="col">Size</th><th scope="col" class="wide">Time</th></tr></thead>
    <tbody>${fills.map(
      (fill, index) => html`<tr key=${index}>
        <th scope="row"><${Link} to=${`/markets/${fill.market_id}`}><bdi>${fill.market_title}</bdi></${Link}></th>
        <td class="wide">${fill.user_handle}</td>
        <td>${fill.side === 'BUY' ? 'bought' : 'sold'} ${fill.outcome} at ${fill.price_cents}¢</td>
        <td>${dollars(Number(fill.size_usd))}</td><td class="wide"><${When} time=${fill.filled_at} /></td></tr>`,
    )}</tbody>
  </table>`;
}

/** The history of the account: notifications, orders and fills, movements of funds, and the statement. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Activity, FundMovements, Market, UserActivity } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { Choices } from './choices.ts';
import { cents, outcomeName, units } from './format.ts';
import { useMarkets, wereTried } from './markets.ts';
import { NotificationsPanel } from './notifications.ts';
import { Link, useTitle } from './router.ts';
import { ask, download, useVisitor } from './session.ts';
import { ToCome } from './toCome.ts';
import { SignInFirst } from './waiting.ts';
import { When } from './when.ts';

const ROWS_A_PAGE = 25;
const MOST_ROWS = 100;
const REFRESH_SECONDS = 30;
const MOVEMENTS = 20;

const TYPES: readonly (readonly [string, string])[] = [
  ['', 'All'],
  ['fill', 'Fills'],
  ['placed', 'Placed'],
  ['cancelled', 'Cancelled'],
  ['expired', 'Expired'],
];
const VERBS = { fill: 'filled', placed: 'placed', cancelled: 'cancelled', expired: 'expired' } as const;
const REASONS: Readonly<Record<string, string>> = {
  user: 'by you',
  heartbeat: 'missed heartbeat',
  market_closed: 'market closed',
  self_trade: 'met your own order',
  admin: 'by the exchange',
  fak_remainder: 'the rest of an order at once',
  group_limit: 'limit of its group',
  nonce_floor: 'below the floor of its wallet',
};

export function ActivityPage(): VNode {
  useTitle('Activity');
  const visitor = useVisitor();
  if (visitor.kind !== 'user') return html`<${SignInFirst} title="Activity" isKnown=${visitor.kind !== 'unknown'} />`;
  return html`
    <h1>Activity</h1>
    <div class="activity" key=${visitor.user.id}>
      <${OrdersPast} />
      <div><${NotificationsPanel} /><${Movements} /></div>
    </div>
  `;
}

export function OrdersPast(): VNode {
  const [type, setType] = useState('');
  const [rows, setRows] = useState(ROWS_A_PAGE);
  const query = new URLSearchParams({ limit: String(rows), ...(type === '' ? {} : { type }) });
  const path = `/v1/user/activity?${query}`;
  const { value, error } = useLoaded<UserActivity>(path, () => ask('GET', path), REFRESH_SECONDS, useAccountChanges());
  const markets = useMarkets(value?.activity ?? []);
  const wasShown = useRef(false);
  wasShown.current ||= value !== null && wereTried(value.activity);
  const isShown = value !== null && wasShown.current;
  return html`<section class="panel"><h2>Orders and fills</h2>
    <${Choices} look="small" label="Kind" chosen=${type} choices=${TYPES} onChoose=${setType} />
    ${!isShown && html`<${ToCome} error=${error} lines=${8} />`}
    ${value?.activity.length === 0 && html`<p class="quiet">Nothing yet.</p>`}
    ${isShown && value.activity.length > 0 && html`<${ActivityTable} rows=${value.activity} markets=${markets} />`}
    ${
      value?.next_cursor != null &&
      rows < MOST_ROWS &&
      html`<button type="button" class="more" onClick=${() => setRows(rows + ROWS_A_PAGE)}>More</button>`
    }
    ${rows >= MOST_ROWS && html`<p class="quiet">Older ones are in the statement.</p>`}
    <${StatementLink} />
  </section>`;
}

type TableProps = { readonly rows: readonly Activity[]; readonly markets: ReadonlyMap<string, Market> };

function ActivityTable({ rows, markets }: TableProps): VNode {
  return html`<table><caption class="unseen">Orders and fills, newest first</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Order</th><th scope="col">Price</th>
      <th scope="col">Tokens</th><th scope="col" class="wide">Time</th></tr></thead>
    <tbody>${rows.map((row) => {
      const market = markets.get(row.market_id);
      const reason = row.reason === null ? undefined : REASONS[row.reason];
      return html`<tr key=${row.id + row.type}>
        <th scope="row"><${Link} to=${`/markets/${row.market_id}`}>${market?.title ?? 'Market'}</${Link}></th>
        <td><strong>${VERBS[row.type]}</strong>${` ${row.side === 'BUY' ? 'buy' : 'sell'} `}
          ${outcomeName(market, row.outcome_index)}${reason !== undefined && html`<br /><small>${reason}</small>`}</td>
        <td>${row.type !== 'fill' && html`<small>limit</small> `}${cents(row.price)}</td>
        <td>${units(row.quantity_atomic)}</td>
        <td class="wide"><${When} time=${row.created_at} /></td></tr>`;
    })}</tbody></table>`;
}

function StatementLink(): VNode {
  const action = useAction();
  const save = (): Promise<void> =>
    action.run(async () => {
      await download('/v1/user/statement?format=csv', 'statement.csv');
      return 'The statement is downloaded.';
    });
  return html`<p><button type="button" class="small" disabled=${action.isBusy}
    onClick=${save}>Download the whole statement (CSV)</button></p><${Outcome} action=${action} />`;
}

/** All other kinds bring USDC. */
const OUTGOING: readonly string[] = ['withdrawal', 'split', 'movement_fee'];

function Movements(): VNode {
  const path = `/v1/user/fund-movements?limit=${MOVEMENTS}`;
  const { value, error } = useLoaded<FundMovements>(path, () => ask('GET', path), REFRESH_SECONDS);
  return html`<section class="panel"><h2>Funds</h2>
    ${value === null && html`<${ToCome} error=${error} lines=${8} />`}
    ${value?.movements.length === 0 && html`<p class="quiet">Nothing yet.</p>`}
    ${
      value !== null &&
      value.movements.length > 0 &&
      html`<table><caption class="unseen">Movements of your funds, newest first</caption>
        <thead><tr><th scope="col">Movement</th><th scope="col">Amount</th></tr></thead>
        <tbody>${value.movements.map(
          ({ id, type, amount_usdc_micro, created_at }) => html`<tr key=${id}>
            <th scope="row">${type.replace('_', ' ')}<br /><small><${When} time=${created_at} /></small></th>
            <td>${OUTGOING.includes(type) ? '−' : '+'}$${units(amount_usdc_micro)}</td></tr>`,
        )}</tbody></table>`
    }</section>`;
}

/** Changes that wait for a second operator: resolutions, large withdrawals, contracts, unwindings, terms. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Approval, Approvals } from '../../../../shared/client/types.ts';
import { useLoaded } from '../api.ts';
import { units } from '../format.ts';
import { ToCome } from '../toCome.ts';
import { When } from '../when.ts';
import type { Role } from './access.ts';
import { Action } from './action.ts';
import { Scrolling } from './scrolling.ts';
import type { ViewProps } from './view.ts';

const REFRESH_SECONDS = 3;
const A_PAGE = 50;
const ROLE_OF: Readonly<Record<Approval['kind'], Role>> = {
  withdrawal: 'treasury',
  resolution: 'catalogue',
  set_resolution: 'catalogue',
  contracts: 'superuser',
  unwinding: 'treasury',
  market_terms: 'catalogue',
  event_terms: 'catalogue',
};
const KIND_NAMES: Readonly<Record<Approval['kind'], string>> = {
  withdrawal: 'Withdrawal',
  resolution: 'Resolution',
  set_resolution: 'Resolution of an event set',
  contracts: 'Contracts',
  unwinding: 'Unwinding',
  market_terms: 'Terms of a market',
  event_terms: 'Terms of an event',
};

export function ApprovalsView(props: ViewProps): VNode {
  const { client } = props;
  const [round, setRound] = useState(0);
  const load = (): Promise<Approvals> => client.approvals({ limit: A_PAGE });
  const { value, error } = useLoaded<Approvals>('approvals', load, REFRESH_SECONDS, round);
  if (value === null) return html`<section class="panel"><${ToCome} error=${error} /></section>`;
  const onDone = (): void => setRound((before) => before + 1);
  const pending = value.approvals.filter(({ status }) => status === 'pending');
  const decided = value.approvals.filter(({ status }) => status !== 'pending');
  return html`
    <section class="panel" aria-label="Waiting">
      <h2>Waiting for a second operator</h2>
      ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
      ${pending.length === 0 && html`<p class="quiet">Nothing waits.</p>`}
      <ul class="plain">${pending.map(
        (approval) => html`<${Pending} key=${approval.id} approval=${approval} onDone=${onDone} ...${props} />`,
      )}</ul>
    </section>
    <section class="panel">
      <h2>Decided</h2>
      ${decided.length === 0 ? html`<p class="quiet">Nothing yet.</p>` : html`<${DecidedTable} decided=${decided} />`}
    </section>
  `;
}

function DecidedTable({ decided }: { readonly decided: Approvals['approvals'] }): VNode {
  return html`<${Scrolling} label="Decided changes"><table>
    <thead><tr><th scope="col">Change</th><th scope="col">Status</th><th scope="col">Asked by</th>
      <th scope="col">Decided by</th><th scope="col">When</th></tr></thead>
    <tbody>${decided.map(
      (approval) => html`<tr key=${approval.id}>
        <th scope="row">${KIND_NAMES[approval.kind]}: ${requestOf(approval)}</th>
        <td>${approval.status}${approval.failure === null ? '' : `: ${approval.failure.error}`}</td>
        <td>${approval.requested_by}</td><td>${approval.decided_by ?? '–'}</td>
        <td><${When} time=${approval.decided_at ?? approval.requested_at} /></td>
      </tr>`,
    )}</tbody>
  </table></${Scrolling}>`;
}

type PendingProps = ViewProps & { readonly approval: Approval; readonly onDone: () => void };

function Pending({ approval, operator, client, onDone }: PendingProps): VNode {
  const isOwn = approval.requested_by === operator.name;
  const path = `/admin/approvals/${approval.id}`;
  const action = { client, operator, needs: ROLE_OF[approval.kind], path, onDone };
  return html`<li class="waiting">
    <p><strong>${KIND_NAMES[approval.kind]}</strong> ${requestOf(approval)}</p>
    <p class="quiet">Asked by ${approval.requested_by}, <${When} time=${approval.requested_at} />;
      ${' open until '}<${When} time=${approval.expires_at} />.</p>
    <p class="actions">
      <${Action} ...${action} label="Approve" isDangerous closed=${isOwn ? 'Another operator has to approve it.' : null}
        run=${() => client.approve(approval.id)} confirm=${`It is carried out at once: ${requestOf(approval)}.`} />
      <${Action} ...${action} label="Reject" confirm=${`Nothing is carried out: ${requestOf(approval)}.`}
        run=${() => client.reject(approval.id)} />
    </p>
  </li>`;
}

/** The change in words. */
function requestOf({ kind, request }: Approval): string {
  const of: Record<string, unknown> = request;
  const { status, market_id, payouts, user_id, amount_usdc_micro, exchange_address, trade_id } = of;
  const { event_id, change, replaces } = of;
  if (kind === 'unwinding') return `trade ${trade_id}, which the contract refuses, is undone for both parties`;
  if (kind === 'market_terms' || kind === 'event_terms')
    return `${market_id ?? event_id}: ${termsOf(change, replaces)}`;
  if (kind === 'resolution') {
    const [yes, no] = payouts as readonly [number, number];
    return `market ${market_id} is ${status}, Yes pays ${yes / 1e6} and No ${no / 1e6} USDC`;
  }
  if (kind === 'set_resolution') {
    const parts = Object.entries(payouts ?? {});
    const paid = parts.map(([market, ppm]) => `Yes of market ${market} pays ${Number(ppm) / 1e6} USDC`);
    const how = paid.length === 0 ? 'every Yes pays an equal part' : paid.join(', ');
    return `event set ${event_id} is ${status}, ${how}`;
  }
  if (kind === 'withdrawal') return `${units(String(amount_usdc_micro))} USDC from user ${user_id}`;
  return `orders are signed for ${exchange_address}`;
}

/** The changed fields in words, each with its value before and after. */
function termsOf(change: unknown, replaces: unknown): string {
  const before: Readonly<Record<string, unknown>> = { ...(replaces ?? {}) };
  const words = Object.entries(change ?? {}).map(([name, value]) => {
    const from = name in before ? ` from ${JSON.stringify(before[name])}` : '';
    return `${name}${from} to ${JSON.stringify(value)}`;
  });
  return words.join('; ');
}

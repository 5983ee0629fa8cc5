/** Cashing in and out: the queues, the sessions that need a person, and the history of a session. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { OperatedFiatSession, OperatedFiatSessions } from '../../../../shared/client/types.ts';
import { useLoaded } from '../api.ts';
import { ToCome } from '../toCome.ts';
import { When } from '../when.ts';
import { count } from './numbers.ts';
import { Scrolling } from './scrolling.ts';
import type { ViewProps } from './view.ts';

const REFRESH_SECONDS = 10;
const A_PAGE = 50;

type Row = OperatedFiatSessions['sessions'][number];

export function FiatView({ client }: ViewProps): VNode {
  const [isAlarmed, setAlarmed] = useState(true);
  const [chosen, setChosen] = useState<string | null>(null);
  const load = (): Promise<OperatedFiatSessions> => client.fiatSessions({ alarmed: isAlarmed, limit: A_PAGE });
  const { value, error } = useLoaded<OperatedFiatSessions>(`fiat ${isAlarmed}`, load, REFRESH_SECONDS);
  const find = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('id') ?? '').trim();
    setChosen(id === '' ? null : id);
  };
  return html`
    ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
    ${value !== null && html`<${Queues} queues=${value.queues} />`}
    <section class="panel">
      <h2>Sessions</h2>
      <form class="row" onSubmit=${find}>
        <label>Show <select onChange=${({ currentTarget }: TargetedEvent<HTMLSelectElement>) => {
          setAlarmed(currentTarget.value === 'alarmed');
        }}>
          <option value="alarmed">those with an alarm</option><option value="newest">the newest</option>
        </select></label>
        <label>Session id <input name="id" maxlength="36" autocomplete="off" spellcheck=${false} /></label>
        <button type="submit">Find</button>
      </form>
      ${
        value === null
          ? html`<${ToCome} />`
          : html`<${Sessions} rows=${value.sessions} isAlarmed=${isAlarmed} onChoose=${setChosen} />`
      }
    </section>
    ${chosen !== null && html`<${History} key=${chosen} id=${chosen} client=${client} />`}
  `;
}

function Queues({ queues }: Pick<OperatedFiatSessions, 'queues'>): VNode {
  const states = Object.entries<number>(queues.by_state).sort(([a], [b]) => (a < b ? -1 : 1));
  const tiles: [string, string][] = [
    ['Open sessions', count(queues.open)],
    ['With an alarm', count(queues.alarmed)],
    ['Events that wait', count(queues.waiting_events)],
    ['Calls of providers', count(queues.polls_under_way)],
    ['Relay', queues.relay],
    ...states.map(([state, sessions]): [string, string] => [inWords(state), count(sessions)]),
  ];
  return html`<dl class="tiles" aria-label="Queues">${tiles.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

type SessionsProps = {
  readonly rows: readonly Row[];
  readonly isAlarmed: boolean;
  readonly onChoose: (id: string) => void;
};

function Sessions({ rows, isAlarmed, onChoose }: SessionsProps): VNode {
  if (rows.length === 0) return html`<p class="quiet">${isAlarmed ? 'No session has an alarm.' : 'None yet.'}</p>`;
  return html`<${Scrolling} label="List of sessions"><table>
    <thead><tr><th scope="col">Session</th><th scope="col">Kind</th><th scope="col">State</th>
      <th scope="col">Alarm</th><th scope="col">Provider says</th><th scope="col">Changed</th></tr></thead>
    <tbody>${rows.map(
      ({ id, kind, status, transfer_state, alarm, provider, provider_status, updated_at }) => html`<tr key=${id}>
        <th scope="row"><button type="button" onClick=${() => onChoose(id)}>${id}</button></th>
        <td>${kind}</td><td>${inWords(transfer_state ?? status)}</td>
        <td class=${alarm === null ? '' : 'bad'}>${alarm === null ? '–' : inWords(alarm)}</td>
        <td>${provider}: ${provider_status}</td><td><${When} time=${updated_at} /></td>
      </tr>`,
    )}</tbody>
  </table></${Scrolling}>`;
}

function History({ id, client }: Pick<ViewProps, 'client'> & { readonly id: string }): VNode {
  const load = (): Promise<OperatedFiatSession> => client.fiatSession(id);
  const { value, error } = useLoaded<OperatedFiatSession>(`fiat session ${id}`, load, REFRESH_SECONDS);
  if (value === null) return html`<section class="panel"><${ToCome} error=${error} /></section>`;
  const { session, transfer, transitions, ...rest } = value;
  return html`<section class="panel" aria-label="Session">
    <h2>Session ${id}</h2>
    ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
    <dl class="facts">
      <div><dt>User</dt><dd>${session.user_id}</dd></div>
      <div><dt>Status</dt><dd><strong>${inWords(session.status)}</strong></dd></div>
      <div><dt>Alarm</dt><dd class=${session.alarm === null ? '' : 'bad'}>${
        session.alarm === null ? 'None' : inWords(session.alarm)
      }</dd></div>
      <div><dt>Wallet</dt><dd>${session.wallet_address}</dd></div>
      ${transfer !== null && html`<div><dt>The person is shown</dt><dd>${transfer.message}</dd></div>`}
    </dl>
    <${Scrolling} label="Transitions"><table class="audit">
      <thead><tr><th scope="col">Time</th><th scope="col">Of</th><th scope="col">From</th><th scope="col">To</th>
        <th scope="col">Cause</th><th scope="col">It rests on</th></tr></thead>
      <tbody>${transitions.map(
        ({ at, subject, from, to, cause, evidence }, index) => html`<tr key=${index}>
          <th scope="row"><${When} time=${at} /></th><td>${subject}</td><td>${from === null ? '–' : inWords(from)}</td>
          <td>${inWords(to)}</td><td>${inWords(cause)}</td>
          <td>${evidence === null ? '–' : html`<code>${JSON.stringify(evidence)}</code>`}</td>
        </tr>`,
      )}</tbody>
    </table></${Scrolling}>
    <details><summary>Envelopes, payments and events</summary><pre>${JSON.stringify(rest, null, 1)}</pre></details>
  </section>`;
}

function inWords(name: string): string {
  return name.replaceAll('_', ' ');
}

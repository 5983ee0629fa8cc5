/** The audit log: changes by administrators, each with its result; newest first, a page at a time. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditPage, AuditQuery, AuditRecord } from '../../../../shared/client/types.ts';
import { useLoaded } from '../api.ts';
import { ToCome } from '../toCome.ts';
import { When } from '../when.ts';
import { Scrolling } from './scrolling.ts';
import type { ViewProps } from './view.ts';

const A_PAGE = 50;
const EVENTS = [
  'change',
  'result',
  'approval_finished',
  'terms_changed',
  'decision_vetoed',
  'logins_refused',
  'admin_token_replaced',
  'interrupted',
  'start',
  'stop',
  'gap',
  'restored',
] as const;

type Filter = Pick<AuditQuery, 'operator' | 'event' | 'path'>;

export function AuditView({ client }: ViewProps): VNode {
  const [filter, setFilter] = useState<Filter>({});
  /** The cursors of the previous pages and of the displayed one. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [round, setRound] = useState(0);
  const query: AuditQuery = { ...filter, limit: A_PAGE, cursor: cursors.at(-1) };
  const { value, error } = useLoaded<AuditPage>(JSON.stringify(query), () => client.audit(query), 0, round);
  const apply = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const given = [...fields].filter(([, text]) => text !== '');
    setFilter(Object.fromEntries(given));
    setCursors([]);
    setRound((before) => before + 1);
  };
  return html`<section class="panel" aria-label="Audit log">
    <h2>Audit log</h2>
    <form class="row" onSubmit=${apply}>
      <label>Operator <input name="operator" maxlength="64" autocomplete="off" /></label>
      <label>Event <select name="event"><option value="">All</option>
        ${EVENTS.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
      <label>Path begins with <input name="path" maxlength="200" placeholder="/admin/" autocomplete="off" /></label>
      <button type="submit">Show</button>
    </form>
    ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
    ${value === null ? error === null && html`<${ToCome} />` : html`<${Records} page=${value} />`}
    <p class="buttons">
      <button type="button" disabled=${cursors.length === 0}
        onClick=${() => setCursors(cursors.slice(0, -1))}>Newer</button>
      <button type="button" disabled=${value?.next_cursor == null}
        onClick=${() => setCursors([...cursors, value!.next_cursor!])}>Older</button>
    </p>
  </section>`;
}

function Records({ page: { records, head } }: { readonly page: AuditPage }): VNode {
  return html`
    <p class="quiet" role="status">${
      records.length === 0 ? 'No record matches.' : `Of ${head.sequence} records in all.`
    }</p>
    <${Scrolling} label="Records"><table class="audit">
      <thead><tr><th scope="col">Number</th><th scope="col">Time</th><th scope="col">Operator</th>
        <th scope="col">What</th><th scope="col">Details</th></tr></thead>
      <tbody>${records.map(
        (record) => html`<tr key=${record.sequence}>
          <th scope="row">${record.sequence}</th><td><${When} time=${record.time} /></td>
          <td>${record.operator ?? '–'}</td>
          <td>${whatOf(record)}</td><td><${Details} record=${record} /></td>
        </tr>`,
      )}</tbody>
    </table></${Scrolling}>
  `;
}

function whatOf({ event, method, path, of, status, code }: AuditRecord): string {
  if (event === 'change') return `${method} ${path}`;
  if (event === 'result') return `result of ${of}: ${status}${code === undefined ? '' : ` ${code}`}`;
  return event.replaceAll('_', ' ');
}

function Details({ record }: { readonly record: AuditRecord }): VNode {
  const { sequence: _, time: _time, event: _event, previous: _previous, hash: _hash, mac: _mac, ...rest } = record;
  return html`<details><summary>Show <span class="unseen">the details of ${record.sequence}</span></summary>
    <pre>${JSON.stringify(rest, null, 1)}</pre></details>`;
}

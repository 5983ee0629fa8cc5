/** The sessions of the account, which can be ended here. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { OwnSessions } from '../../../shared/client/types.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { ask, signOut } from './session.ts';
import { dateTime } from './times.ts';
import { ToCome } from './toCome.ts';
import { When } from './when.ts';

type OwnSession = OwnSessions['sessions'][number];

const REFRESH_SECONDS = 60;

export function SessionsPanel(): VNode {
  const [round, setRound] = useState(0);
  const action = useAction();
  const load = (): Promise<OwnSessions> => ask('GET', '/v1/auth/sessions');
  const { value, error } = useLoaded<OwnSessions>('sessions', load, REFRESH_SECONDS, round);
  const end = ({ id }: OwnSession): Promise<void> =>
    action.run(async () => {
      await ask('DELETE', `/v1/auth/sessions/${id}`);
      setRound(round + 1);
      return 'The session has ended.';
    });
  const endAll = (): Promise<void> =>
    action.run(async () => {
      await ask('POST', '/v1/auth/revoke-all');
      await signOut();
      return '';
    });
  if (value === null)
    return html`<section class="panel"><h2>Sessions</h2>
    <${ToCome} error=${error} /></section>`;
  return html`<section class="panel"><h2>Sessions</h2>
    <table><caption class="unseen">Where you are signed in</caption>
      <thead><tr><th scope="col">Browser</th><th scope="col" class="wide">Since</th><th scope="col">Used</th>
        <th scope="col"><span class="unseen">Actions</span></th></tr></thead>
      <tbody>${value.sessions.map(
        (session) => html`<tr key=${session.id}>
          <th scope="row" title=${session.user_agent ?? ''}>${browserOf(session.user_agent)}
            ${session.is_current && html`${' '}<span class="tag">this one</span>`}</th>
          <td class="wide"><${When} time=${session.created_at} /></td>
          <td><${When} time=${session.refreshed_at} /></td>
          <td>${
            !session.is_current &&
            html`<button type="button" class="small" disabled=${action.isBusy}
              aria-label=${`End the session of ${dateTime(session.created_at)}`}
              onClick=${() => end(session)}>End</button>`
          }</td></tr>`,
      )}</tbody></table>
    <${Outcome} action=${action} />
    <p><button type="button" disabled=${action.isBusy} onClick=${endAll}>Sign out everywhere</button></p>
  </section>`;
}

/** Returns the usual name of a browser. */
function browserOf(userAgent: string | null): string {
  const text = userAgent ?? '';
  const name = ['Edg', 'Firefox', 'Chrome', 'Safari'].find((each) => text.includes(each));
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'].find((each) => text.includes(each));
  const known = [name === 'Edg' ? 'Edge' : name, system].filter(Boolean).join(' on ');
  return known || text.slice(0, 40) || 'Unknown';
}

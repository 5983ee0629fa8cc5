/**
 * The operations page at `/ops`: everything that a person on call checks, and the changes that cannot wait for a
 * terminal. It reads the administrator's routes with the operator's token, and has no other source.
 *
 * A new section is a row of SECTIONS.
 */
import { html, render } from 'htm/preact';
import type { ComponentType, VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { BackupReport } from '../../../../shared/client/types.ts';
import { useLoaded } from '../api.ts';
import { clockTime, zoneName } from '../times.ts';
import { ToCome } from '../toCome.ts';
import { useWhole } from '../whole.ts';
import { clientWith, keepToken, keptToken } from './access.ts';
import { AccountsView } from './accountsView.ts';
import { ApprovalsView } from './approvalsView.ts';
import { AuditView } from './auditView.ts';
import { Changed } from './changed.ts';
import { FiatView } from './fiatView.ts';
import { LoginView } from './loginView.ts';
import { MarketsView } from './marketsView.ts';
import { useProblems } from './nowProblems.ts';
import { Overview } from './overview.ts';
import { type Reports, useReports } from './reports.ts';
import type { ViewProps } from './view.ts';

type Section = { readonly id: string; readonly title: string; readonly view: ComponentType<ViewProps> };

const SECTIONS: readonly Section[] = [
  { id: 'overview', title: 'Overview', view: Overview },
  { id: 'markets', title: 'Markets', view: MarketsView },
  { id: 'approvals', title: 'Approvals', view: ApprovalsView },
  { id: 'accounts', title: 'Accounts', view: AccountsView },
  { id: 'cashing', title: 'Cashing', view: FiatView },
  { id: 'audit', title: 'Audit', view: AuditView },
];

const TITLE = document.title;
const BACKUPS_SECONDS = 10;

function App(): VNode {
  const [token, setToken] = useState(keptToken);
  const [notice, setNotice] = useState<string | null>(null);
  const leave = (reason: string | null): void => {
    keepToken(null);
    setToken(null);
    setNotice(reason);
  };
  const enter = (accepted: string): void => {
    keepToken(accepted);
    setToken(accepted);
    setNotice(null);
  };
  if (token === null) return html`<${LoginView} notice=${notice} onToken=${enter} />`;
  return html`<${Desk} key=${token} token=${token} onLeave=${leave} />`;
}

type DeskProps = { readonly token: string; readonly onLeave: (reason: string | null) => void };

function Desk({ token, onLeave }: DeskProps): VNode {
  const client = useMemo(() => clientWith(token), [token]);
  const reports = useReports(client, () => onLeave('The token is not accepted any more.'));
  const section = useSection();
  const last = reports.samples.findLast(({ report }) => report !== null)?.report ?? null;
  const View = section.view;
  const main = useRef<HTMLElement>(null);
  useWhole(main, section.id);
  const backups = useLoaded<BackupReport>('backups', () => client.backups(), BACKUPS_SECONDS).value;
  const problems = useProblems(reports, backups);
  const bad = problems.filter(({ level }) => level === 'bad').length;
  // The tab shows it too: the page is mostly in the background until something happens.
  useEffect(() => {
    document.title = bad === 0 ? TITLE : `(${bad}) ${TITLE}`;
    return () => {
      document.title = TITLE;
    };
  }, [bad]);
  return html`
    <a class="skip" href="#main" onClick=${focusMain}>Skip to the content</a>
    <header class="top">
      <span class="brand">Operations</span>
      <nav aria-label="Sections">${SECTIONS.map(
        ({ id, title }) =>
          html`<a key=${id} href=${`#${id}`} aria-current=${section.id === id ? 'page' : undefined}>${title}${
            id === 'approvals' && last !== null && last.approvals_pending > 0 ? ` (${last.approvals_pending})` : ''
          }</a>`,
      )}</nav>
      <${Freshness} reports=${reports} />
      <p class="account" key=${last === null ? 'asked' : 'known'}>
        ${last !== null && html`<span title=${last.operator.roles.join(', ')}>${last.operator.name}</span>`}
        <button type="button" onClick=${() => onLeave(null)}>Sign out</button>
      </p>
    </header>
    <main id="main" class="ops" tabindex="-1" ref=${main}>
      <h1>${section.title}</h1>
      ${
        last === null
          ? html`<${ToCome} error=${reports.error} lines=${10} />`
          : html`<${View} client=${client} operator=${last.operator} reports=${reports} last=${last}
              backups=${backups} problems=${problems} />`
      }
      <${Changed} />
    </main>
  `;
}

/** Shows the age of the numbers on the screen: an old one must not look like a new one. */
function Freshness({ reports: { samples, error } }: { readonly reports: Reports }): VNode {
  const last = samples.findLast(({ report }) => report !== null);
  if (last === undefined || last.report === null) return html`<p key="asked" class="status"><strong>–</strong></p>`;
  const { status } = last.report;
  const state = error === null ? (status === 'ready' ? 'live' : 'late') : 'closed';
  return html`<p key="known" class="status" data-state=${state}>
    <span class="dot" aria-hidden="true"></span>
    <strong>${error === null ? status : 'No answer'}</strong>
    <span class="quiet">${error === null ? 'as of' : 'since'} ${clockTime(last.atMs)} ${zoneName()}</span>
  </p>`;
}

/** The section named after the # of the address: that part never leaves the browser. */
function useSection(): Section {
  const [id, setId] = useState(() => location.hash.slice(1));
  useEffect(() => {
    const update = (): void => setId(location.hash.slice(1));
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return SECTIONS.find((section) => section.id === id) ?? SECTIONS[0];
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

render(html`<${App} />`, document.getElementById('page')!);

/**
 * The page: events and markets, live. A browser runs this code as it is served, only without its types
 * (gateway/web/pageBuild.ts), so it may import only code that runs in browsers.
 */
import { html, render } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { HeaderSearch } from './headerSearch.ts';
import { HomePage } from './homePage.ts';
import { later } from './later.ts';
import { useCancelsOnClose } from './leaving.ts';
import { wasReloaded } from './parts.ts';
import { Reminder } from './reminder.ts';
import { Link, type Place, usePlace } from './router.ts';
import { useVisitor } from './session.ts';
import { KEYS_ASKED, useShortcuts } from './shortcuts.ts';
import { SignInPanel } from './signInPanel.ts';
import { useUnread } from './unread.ts';
import { useWhole } from './whole.ts';

const AccountPage = later(async () => (await import('./accountPage.ts')).AccountPage);
const ActivityPage = later(async () => (await import('./activityPage.ts')).ActivityPage);
const CallbackPage = later(async () => (await import('./callbackPage.ts')).CallbackPage);
const CashPage = later(async () => (await import('./cashPage.ts')).CashPage);
const EventPage = later(async () => (await import('./eventPage.ts')).EventPage);
const LeadersPage = later(async () => (await import('./leadersPage.ts')).LeadersPage);
const LeavingNotice = later(async () => (await import('./leavingNotice.ts')).LeavingNotice);
const MarketPage = later(async () => (await import('./marketPage.ts')).MarketPage);
const ShortcutSheet = later(async () => (await import('./shortcutSheet.ts')).ShortcutSheet);
const PortfolioPage = later(async () => (await import('./portfolioPage.ts')).PortfolioPage);

/** The paths of the navigation, in order. */
const NAVIGATION: readonly (readonly [to: string, label: string])[] = [
  ['/', 'Markets'],
  ['/portfolio', 'Portfolio'],
  ['/activity', 'Activity'],
  ['/cash', 'Cash'],
  ['/leaders', 'Leaders'],
  ['/account', 'Account'],
];

/** The mark is the icon of the tab, which the server names. */
const mark = document.querySelector('link[rel=icon]')?.getAttribute('href');

function App(): VNode {
  const [isOpen, setOpen] = useState(false);
  const place = usePlace();
  const main = useRef<HTMLElement>(null);
  useWhole(main, place.path === '/' ? null : place.path);
  // The keyboard and screen readers start at the beginning of the new view, as in a new document.
  useEffect(() => {
    setOpen(false);
    if (place.moves > 0) main.current?.focus();
  }, [place.path]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top site">
      <${Link} to="/" class="brand"><img src=${mark} width="26" height="26" alt="" />
        <span>Open prediction exchange</span></${Link}>
      <nav id="navigation" aria-label="Main" class=${isOpen ? 'open' : ''}>
        ${place.path !== '/' && html`<${HeaderSearch} />`}
        ${NAVIGATION.map(
          ([to, label]) => html`<${Link} key=${to} to=${to}
            aria-current=${place.path === to ? 'page' : undefined}>${label}${
              to === '/activity' && html`<${UnreadCount} />`
            }</${Link}>`,
        )}
        <a href="/docs">Documents</a>
      </nav>
      <${SignInPanel} />
      <button type="button" class="menu" aria-expanded=${isOpen} aria-controls="navigation"
        onClick=${() => setOpen(!isOpen)}>Menu</button>
    </header>
    <${Reminder} />
    <${Keys} />
    <${Reloaded} />
    <${Leaving} />
    <main id="main" tabindex="-1" ref=${main}>${viewOf(place)}</main>
  `;
}

function Keys(): VNode | null {
  const [isShown, show] = useState(false);
  useShortcuts({ K: () => show(true) });
  useEffect(() => {
    const onAsked = (): void => show(true);
    addEventListener(KEYS_ASKED, onAsked);
    return () => removeEventListener(KEYS_ASKED, onAsked);
  }, []);
  return isShown ? html`<${ShortcutSheet} onClose=${() => show(false)} />` : null;
}

function Leaving(): VNode | null {
  const visitor = useVisitor();
  return useCancelsOnClose() && visitor.kind === 'user' ? html`<${LeavingNotice} />` : null;
}

/** The ticket has its draft again. An order may have been sent, and its answer lost with the older page. */
function Reloaded(): VNode | null {
  const [isShown, show] = useState(wasReloaded);
  if (!isShown) return null;
  return html`<p class="banner" role="status">The exchange has a newer page, which was loaded just now. Look at your
    orders before you send one again.${' '}
    <button type="button" class="small" onClick=${() => show(false)}>Close</button></p>`;
}

function UnreadCount(): VNode | null {
  const unread = useUnread();
  return unread === 0 ? null : html`${' '}<span class="count">${unread}<span class="unseen"> unread</span></span>`;
}

function viewOf({ path, query, moves }: Place): VNode {
  const [, first, second, third] = path.split('/');
  // The filter of this view is in the address, which a move replaces.
  if (first === '') return html`<${HomePage} key=${moves} />`;
  if (first === 'portfolio') return html`<${PortfolioPage} />`;
  if (first === 'activity') return html`<${ActivityPage} />`;
  if (first === 'cash') return html`<${CashPage} />`;
  if (first === 'account') return html`<${AccountPage} />`;
  if (first === 'leaders') return html`<${LeadersPage} />`;
  if (first === 'auth' && second === 'callback' && third) {
    return html`<${CallbackPage} provider=${third} query=${query} />`;
  }
  // Another market is another view: nothing of the first one may stay on the screen.
  if (first === 'events' && second) return html`<${EventPage} key=${path} slug=${decodeURIComponent(second)} />`;
  if (first === 'markets' && second) return html`<${MarketPage} key=${path} id=${second} />`;
  return html`<h1>Nothing here</h1><p><${Link} to="/">All markets</${Link}></p>`;
}

render(html`<${App} />`, document.getElementById('page')!);

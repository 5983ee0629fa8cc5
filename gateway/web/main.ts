/**
 * The page: events and markets, live. It is what a browser runs, served as it stands here without its types
 * (gateway/page/build.ts), so it may import only what runs in browsers.
 */
import { html, render } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { CallbackPage } from './callbackPage.ts';
import { EventPage } from './eventPage.ts';
import { HomePage } from './homePage.ts';
import { LeadersPage } from './leadersPage.ts';
import { MarketPage } from './marketPage.ts';
import { PortfolioPage } from './portfolioPage.ts';
import { Link, type Place, usePlace } from './router.ts';
import { SignInPanel } from './signInPanel.ts';

function App(): VNode {
  const place = usePlace();
  const main = useRef<HTMLElement>(null);
  // The keyboard and screen readers go on from the start of the new view, as they do in a new document.
  useEffect(() => {
    if (place.moves > 0) main.current?.focus();
  }, [place.path]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <${Link} to="/" class="brand">Open prediction exchange</${Link}>
      <nav aria-label="Main">
        <${NavLink} to="/" place=${place}>Markets</${NavLink}>
        <${NavLink} to="/portfolio" place=${place}>Portfolio</${NavLink}>
        <${NavLink} to="/leaders" place=${place}>Leaders</${NavLink}>
        <a href="/openapi.json">API</a>
      </nav>
      <${SignInPanel} />
    </header>
    <main id="main" tabindex="-1" ref=${main}>${viewOf(place)}</main>
  `;
}

function NavLink(props: { readonly to: string; readonly place: Place; readonly children?: unknown }): VNode {
  const { to, place, children } = props;
  return html`<${Link} to=${to} aria-current=${place.path === to ? 'page' : undefined}>${children}</${Link}>`;
}

function viewOf({ path, query, moves }: Place): VNode {
  const [, first, second, third] = path.split('/');
  // Its filter is in the address, which a move sets anew.
  if (first === '') return html`<${HomePage} key=${moves} />`;
  if (first === 'portfolio') return html`<${PortfolioPage} />`;
  if (first === 'leaders') return html`<${LeadersPage} />`;
  if (first === 'auth' && second === 'callback' && third) {
    return html`<${CallbackPage} provider=${third} query=${query} />`;
  }
  // A view of another market is another view: nothing of the first one may stay on the screen.
  if (first === 'events' && second) return html`<${EventPage} key=${path} slug=${decodeURIComponent(second)} />`;
  if (first === 'markets' && second) return html`<${MarketPage} key=${path} id=${second} />`;
  return html`<h1>Nothing here</h1><p><${Link} to="/">All markets</${Link}></p>`;
}

render(html`<${App} />`, document.getElementById('page')!);

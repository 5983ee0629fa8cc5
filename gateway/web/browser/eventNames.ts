/** The event of a market with the names of its markets: where a market belongs, and what stands beside it. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { EventWithMarkets, Market } from '../../../shared/client/types.ts';
import { bestPrices, get, useLoaded } from './api.ts';
import { OutcomeRows } from './outcomeRows.ts';
import { Link } from './router.ts';

const SIBLINGS = 6;
const PRICES_SECONDS = 10;
const NOT_LISTED = ['draft', 'cancelled'];

/** Null for a market without an event, and until it is loaded. */
export function useEventOf(market: Market): EventWithMarkets | null {
  const { event_id: id = '' } = market;
  const load = async (): Promise<EventWithMarkets | null> => (id === '' ? null : await get(`/v1/events/${id}`));
  return useLoaded<EventWithMarkets | null>(id, load).value;
}

type WhereProps = { readonly market: Market; readonly event: EventWithMarkets | null };

/** The way from all markets to this one. */
export function Where({ market, event }: WhereProps): VNode {
  const category = `/?category=${encodeURIComponent(market.category)}`;
  return html`<nav class="where" aria-label="Where this is"><ol>
    <li><${Link} to="/">Markets</${Link}></li>
    <li><${Link} to=${category}>${market.category}</${Link}></li>
    ${event !== null && html`<li><${Link} to=${`/events/${event.slug}`}><bdi>${event.title}</bdi></${Link}></li>`}
  </ol></nav>`;
}

export function Siblings({ market, event }: WhereProps): VNode | null {
  const others = (event?.markets ?? []).filter(({ id, status }) => id !== market.id && !NOT_LISTED.includes(status));
  const shown = others.slice(0, SIBLINGS);
  const ids = shown.filter(({ status }) => status === 'active').map(({ id }) => id);
  const { value: prices } = useLoaded(`siblings ${ids.join()}`, () => bestPrices(ids), PRICES_SECONDS);
  if (event === null || others.length === 0) return null;
  return html`<section class="panel" aria-labelledby="siblings"><h2 id="siblings">More of ${event.title}</h2>
    <${OutcomeRows} markets=${shown} prices=${prices} caption=${`Other markets of ${event.title}`} />
    ${
      others.length > shown.length &&
      html`<p><${Link} to=${`/events/${event.slug}`}>All ${others.length + 1} markets</${Link}></p>`
    }
  </section>`;
}

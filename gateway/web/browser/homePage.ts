/** Events with their leading markets, by category or by the words of a search. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BrowsedEvents, CatalogMetadata } from '../../../shared/client/types.ts';
import { get, type Loaded, useLoaded } from './api.ts';
import { MarketTable } from './marketTable.ts';
import { Link, replaceQuery } from './router.ts';
import { When } from './when.ts';

type Event = BrowsedEvents['events'][number];

const EVENTS_A_PAGE = 24;
/** An answer has at most this many events; a search finds the others. */
const MOST_EVENTS = 200;
const REFRESH_SECONDS = 15;
const TYPING_MS = 250;
/** A card shows the first markets of an event; its page has all of them. */
const MARKETS_A_CARD = 3;

export function HomePage(): VNode {
  const [filter, setFilter] = useFilter();
  const metadata = useLoaded<CatalogMetadata>('metadata', () => get('/v1/markets/metadata'), 60);
  const [pages, setPages] = useState(1);
  const query = new URLSearchParams({
    limit: String(Math.min(EVENTS_A_PAGE * pages, MOST_EVENTS)),
    core_lines: '1',
    quotes: '1',
  });
  for (const [name, value] of Object.entries(filter)) if (value !== '') query.set(name, value);
  const events = useLoaded<BrowsedEvents>(`${query}`, () => get(`/v1/events/browse?${query}`), REFRESH_SECONDS);
  const change = (changed: Partial<Filter>): void => {
    setPages(1);
    setFilter({ ...filter, ...changed });
  };
  return html`
    <h1>Markets</h1>
    <${Search} text=${filter.search} onSearch=${(search: string) => change({ search })} />
    <div class="chips" role="group" aria-label="Category">
      ${['', ...(metadata.value?.categories ?? [])].map(
        (category) => html`<button key=${category} type="button" aria-pressed=${filter.category === category}
          onClick=${() => change({ category })}>${category === '' ? 'All' : category}</button>`,
      )}
    </div>
    <${EventList} events=${events} onMore=${() => setPages(pages + 1)} />
  `;
}

type Filter = { readonly search: string; readonly category: string };

/** The filter is in the address, so that it can be bookmarked and shared. */
function useFilter(): [Filter, (filter: Filter) => void] {
  const [filter, setFilter] = useState<Filter>(() => {
    const query = new URLSearchParams(location.search);
    return { search: query.get('search') ?? '', category: query.get('category') ?? '' };
  });
  useEffect(() => {
    replaceQuery(new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== '')));
  }, [filter]);
  return [filter, setFilter];
}

function Search({ text, onSearch }: { readonly text: string; readonly onSearch: (text: string) => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
      if (event.key !== '/' || isTyping) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  const onInput = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(onSearch, TYPING_MS, input.current!.value.trim());
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<label class="search">
    <span>Search</span>
    <input ref=${input} type="search" maxlength="100" placeholder="Press / to search" value=${text}
      onInput=${onInput} />
  </label>`;
}

type EventListProps = { readonly events: Loaded<BrowsedEvents>; readonly onMore: () => void };

function EventList({ events: { value, error }, onMore }: EventListProps): VNode {
  if (value === null) return html`<p class="quiet">${error ?? 'Loading …'}</p>`;
  const { events, total } = value;
  if (events.length === 0) return html`<p role="status">No event matches.</p>`;
  return html`
    <p class="quiet" role="status">${`${events.length} of ${total} events`}</p>
    ${error !== null && html`<p class="quiet">${error}</p>`}
    <ul class="cards">${events.map((event) => html`<${EventCard} key=${event.id} event=${event} />`)}</ul>
    ${
      events.length < Math.min(total, MOST_EVENTS) &&
      html`<button type="button" class="more" onClick=${onMore}>More events</button>`
    }
    ${events.length === MOST_EVENTS && total > MOST_EVENTS && html`<p class="quiet">Search to find the others.</p>`}
  `;
}

function EventCard({ event }: { readonly event: Event }): VNode {
  const markets = event.market_groups.flatMap((group) => group.markets);
  const shown = markets.slice(0, MARKETS_A_CARD);
  const place = `/events/${encodeURIComponent(event.slug)}`;
  return html`<li class="card">
    <p class="quiet">${event.category}${event.sport_league ? ` · ${event.sport_league}` : ''} · ${
      event.status === 'live' ? html`<strong class="live">Live</strong>` : html`<${When} time=${event.start_time} />`
    }</p>
    <h2><${Link} to=${place}>${event.title}</${Link}></h2>
    <${MarketTable} markets=${shown} quotes=${event.quotes} caption=${`Markets of ${event.title}`} />
    ${
      event.market_count_total > shown.length &&
      html`<${Link} to=${place} class="quiet">All ${event.market_count_total} markets</${Link}>`
    }
  </li>`;
}

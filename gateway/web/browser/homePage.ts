/** Events as people look for them: what is traded, what is new, what ends soon; by category, or by a search. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BrowsedEvents, CatalogMetadata } from '../../../shared/client/types.ts';
import { get, type Loaded, useLoaded } from './api.ts';
import type { HomeEvent } from './cardFigures.ts';
import { Choices } from './choices.ts';
import { EventCard } from './eventCard.ts';
import { useFreshQuotes } from './freshQuotes.ts';
import { searchWords } from './matches.ts';
import { replaceQuery } from './router.ts';

const EVENTS_A_PAGE = 24;
/** An answer has at most this many events. */
const MOST_EVENTS = 200;
const REFRESH_SECONDS = 15;
const TYPING_MS = 150;
const NO_EVENTS: readonly HomeEvent[] = [];
const FIRST_SHOWN = { pages: 1, offset: 0 };
/** As many as a screen shows while the first answer is awaited. */
const SKELETONS = 9;
/** The orders of the list; the first is that of an address without one. */
const SORTS: readonly (readonly [sort: string, label: string])[] = [
  ['trending', 'Trending'],
  ['volume', 'Volume'],
  ['new', 'New'],
  ['ending', 'Ending soon'],
];

export function HomePage(): VNode {
  const [filter, setFilter] = useFilter();
  const metadata = useLoaded<CatalogMetadata>('metadata', () => get('/v1/markets/metadata'), 60);
  const [{ pages, offset }, setShown] = useState(FIRST_SHOWN);
  const query = new URLSearchParams({ limit: String(Math.min(EVENTS_A_PAGE * pages, MOST_EVENTS)), quotes: '1' });
  if (offset > 0) query.set('offset', String(offset));
  for (const [name, value] of Object.entries(filter)) if (value !== '') query.set(name, value);
  query.set('sort', filter.sort || SORTS[0][0]);
  // A search may have found a market that is none of the lines of its event.
  if (filter.search === '') query.set('core_lines', '1');
  const events = useLoaded<BrowsedEvents>(`${query}`, () => get(`/v1/events/browse?${query}`), REFRESH_SECONDS);
  const change = (changed: Partial<Filter>): void => {
    setShown(FIRST_SHOWN);
    setFilter({ ...filter, ...changed });
  };
  const categories = ['', ...(metadata.value?.categories ?? [])];
  return html`
    <h1 class="unseen">Markets</h1>
    <div class="finding">
      <${Search} text=${filter.search} onSearch=${(search: string) => change({ search })} />
      <${Choices} label="Order" chosen=${filter.sort || SORTS[0][0]} choices=${SORTS}
        onChoose=${(sort: string) => change({ sort: sort === SORTS[0][0] ? '' : sort })} />
      <${Choices} look="categories" label="Category" chosen=${filter.category}
        choices=${categories.map((each) => [each, each === '' ? 'All' : html`<bdi>${each}</bdi>`])}
        onChoose=${(category: string) => change({ category })} />
    </div>
    <${EventList} events=${events} words=${searchWords(filter.search)} offset=${offset}
      onMore=${() => setShown({ pages: pages + 1, offset })}
      onOffset=${(from: number) => setShown({ pages: 1, offset: from })} />
  `;
}

type Filter = { readonly search: string; readonly category: string; readonly sort: string };

/** The filter is in the address, so that it can be bookmarked and shared. */
function useFilter(): [Filter, (filter: Filter) => void] {
  const [filter, setFilter] = useState<Filter>(() => {
    const query = new URLSearchParams(location.search);
    const sort = query.get('sort') ?? '';
    const isKnown = SORTS.some(([known]) => known === sort);
    return { search: query.get('search') ?? '', category: query.get('category') ?? '', sort: isKnown ? sort : '' };
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
    <span class="unseen">Search</span>
    <input ref=${input} type="search" maxlength="100" placeholder="Search events, markets, teams" value=${text}
      onInput=${onInput} />
  </label>`;
}

type EventListProps = {
  readonly events: Loaded<BrowsedEvents>;
  readonly words: readonly string[];
  readonly onMore: () => void;
  readonly offset: number;
  readonly onOffset: (offset: number) => void;
};

function EventList({ events: { value, error }, words, onMore, offset, onOffset }: EventListProps): VNode {
  const events = useFreshQuotes(value?.events ?? NO_EVENTS);
  if (value === null && error === null) return html`<${Skeletons} />`;
  if (value === null) return html`<p class="quiet">${error}</p>`;
  const { total } = value;
  const end = offset + events.length;
  const shown = offset === 0 ? end : `${offset + 1} to ${end}`;
  if (events.length === 0) return html`<p role="status">No event matches.</p>`;
  return html`
    ${error !== null && html`<p class="quiet">${error}</p>`}
    <ul class="cards">${events.map(
      (event) => html`<${EventCard} key=${event.id} event=${event} words=${words} />`,
    )}</ul>
    <p class="quiet" role="status">${shown} of ${total} ${total === 1 ? 'event' : 'events'}</p>
    ${offset > 0 && html`<button type="button" class="more" onClick=${() => onOffset(0)}>The first events</button>`}
    ${
      end < total &&
      (events.length < MOST_EVENTS
        ? html`<button type="button" class="more" onClick=${onMore}>More events</button>`
        : html`<button type="button" class="more" onClick=${() => onOffset(end)}>The next events</button>`)
    }
  `;
}

/** Cards of the size of those that will come. */
function Skeletons(): VNode {
  return html`<p class="unseen" role="status">Loading …</p>
    <ul class="cards" aria-hidden="true">${Array.from(
      { length: SKELETONS },
      (_, at) => html`<li key=${at} class="card skeleton"></li>`,
    )}</ul>`;
}

/**
 * The search in the header of every view but home, which has its own: what it finds is shown while one types. Enter
 * opens the suggestion that the arrow keys have chosen, or all that was found.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BrowsedEvents } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { Marked } from './marked.ts';
import { hasMatch, searchWords } from './matches.ts';
import { goTo } from './router.ts';

const TYPING_MS = 200;
const MOST_EVENTS = 6;
const MOST_MARKETS_OF_EVENT = 2;
const MOST_SUGGESTIONS = 8;
const NONE = -1;

type Suggestion = { readonly to: string; readonly title: string; readonly more: readonly string[] };

export function HeaderSearch(): VNode {
  const [asked, setAsked] = useState('');
  const [chosen, choose] = useState(NONE);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const query = new URLSearchParams({ search: asked, limit: String(MOST_EVENTS), sort: 'trending' });
  const load = async (): Promise<BrowsedEvents | null> =>
    asked === '' ? null : await get(`/v1/events/browse?${query}`);
  const { value } = useLoaded<BrowsedEvents | null>(`suggest ${asked}`, load);
  const words = searchWords(asked);
  const found = asked === '' ? [] : suggestionsOf(value, words);
  const close = (): void => {
    clearTimeout(timer.current);
    setAsked('');
    choose(NONE);
  };
  const open = (to: string): void => {
    input.current!.value = '';
    close();
    goTo(to);
  };
  const onInput = (): void => {
    clearTimeout(timer.current);
    choose(NONE);
    timer.current = setTimeout(() => setAsked(input.current?.value.trim() ?? ''), TYPING_MS);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Enter')
      open(found[chosen]?.to ?? `/?${new URLSearchParams({ search: input.current!.value })}`);
    else if (step !== undefined && found.length > 0) {
      // Beyond either end is the field itself.
      choose(((chosen + 1 + step + found.length + 1) % (found.length + 1)) - 1);
    } else return;
    event.preventDefault();
  };
  return html`<div class="seek">
    <label><span class="unseen">Find markets</span>
      <input ref=${input} type="search" maxlength="100" placeholder="Find markets" role="combobox" autocomplete="off"
        aria-autocomplete="list" aria-expanded=${found.length > 0} aria-controls="suggestions"
        aria-activedescendant=${chosen === NONE ? undefined : `suggestion-${chosen}`}
        onInput=${onInput} onKeyDown=${onKeyDown} onBlur=${close} /></label>
    <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden=${found.length === 0}>${found.map(
      ({ to, title, more }, at) => html`<li key=${to} id=${`suggestion-${at}`} role="option"
        aria-selected=${at === chosen} onMouseDown=${() => open(to)}>
        <${Marked} text=${title} words=${words} />${more.map(
          (name) => html`<span class="quiet"> · <${Marked} text=${name} words=${words} /></span>`,
        )}</li>`,
    )}</ul>
  </div>`;
}

/** Each event with the teams that match, and after it the markets that match by their title or an outcome. */
function suggestionsOf(value: BrowsedEvents | null, words: readonly string[]): Suggestion[] {
  const matching = (names: readonly string[]): string[] => names.filter((name) => hasMatch(name, words));
  const found = (value?.events ?? []).flatMap(({ slug, title, sport_teams, market_groups }): Suggestion[] => {
    const markets = market_groups
      .flatMap((group) => group.markets)
      .map((market) => ({ market, more: matching(market.outcomes) }))
      .filter(({ market, more }) => more.length > 0 || hasMatch(market.title, words))
      .slice(0, MOST_MARKETS_OF_EVENT)
      .map(({ market, more }) => ({ to: `/markets/${market.id}`, title: market.title, more }));
    return [{ to: `/events/${slug}`, title, more: matching(sport_teams ?? []) }, ...markets];
  });
  return found.slice(0, MOST_SUGGESTIONS);
}

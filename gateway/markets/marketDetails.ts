/** Completes the description of a new market or event with the defaults for fields that the administrator left out. */
import { foldText } from '../../shared/base/folding.ts';
import type { EventDetails, MarketDetails } from './catalog.ts';

export const DEFAULT_TICKS_PER_UNIT = 100;
/** One token. */
export const DEFAULT_MIN_ORDER_ATOMIC = 1_000_000;

type GivenMarketDetails = Partial<MarketDetails> & Pick<MarketDetails, 'title' | 'description' | 'category'>;
type GivenEventDetails = Partial<EventDetails> & Pick<EventDetails, 'title'>;

export function completeMarketDetails(given: GivenMarketDetails): MarketDetails {
  return { subtitle: '', outcomes: ['Yes', 'No'], external_source: 'native', ...given };
}

export function completeEventDetails(given: GivenEventDetails, nowMs: number): EventDetails {
  return {
    description: '',
    status: 'upcoming',
    category: 'Other',
    sport_league: null,
    sport_teams: null,
    image_url: null,
    start_time: new Date(nowMs).toISOString(),
    external_event_id: '',
    external_platform: 'native',
    external_event_subtitle: null,
    external_event_mutually_exclusive: false,
    ...given,
  };
}

/** "Who wins, really?" becomes "who-wins-really". Empty if no letter or digit of the title folds to ASCII. */
export function toSlug(title: string): string {
  const words = foldText(title).match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, 100).replace(/-$/, '');
}

/** Null removes a field of a market; as undefined it is left out of the JSON. */
export function withoutNulls<T extends Record<string, unknown>>(details: T): { [K in keyof T]: Exclude<T[K], null> } {
  const entries = Object.entries(details).map(([name, value]) => [name, value ?? undefined]);
  return Object.fromEntries(entries);
}

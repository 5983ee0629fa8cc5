/**
 * The catalogue as lines of JSON that an import reads (RULES.md 9.44): the events, then the markets, each in the order
 * of creation, with their keys and every field that a line may set. Two equal catalogues give the same bytes: members
 * are written in the order of the schema.
 */
import {
  type CatalogueLine,
  EVENT_FIELD_NAMES,
  MARKET_FIELD_NAMES,
  SET_FIELD_NAMES,
} from '../../shared/api/catalogue.ts';
import { MARKET_STATUS_NAMES } from '../../shared/base/codes.ts';
import type { MarketViews } from '../shardlink/marketViews.ts';
import type { Catalog, EventEntry, MarketEntry } from './catalog.ts';
import { isSet } from './eventSets.ts';

type States = Pick<MarketViews, 'has' | 'status' | 'feeBps' | 'startMs' | 'endMs'>;

/** Each line ends with a newline. An event or market that is made meanwhile may be among them. */
export function* exportedLines(catalog: Catalog, states: States): Generator<string> {
  for (const event of catalog.events) {
    if (isSet(event) && event.markets.every(({ index }) => states.has(index)))
      yield lineOf('event_set', SET_FIELD_NAMES, fieldsOfSet(event, states));
    yield lineOf('event', EVENT_FIELD_NAMES, fieldsOfEvent(event));
  }
  for (const market of catalog.markets) {
    // A market exists for clients only once its shard has it.
    if (!states.has(market.index)) continue;
    const slug = market.eventId === null ? undefined : catalog.eventById(market.eventId)!.slug;
    yield lineOf('market', MARKET_FIELD_NAMES, fieldsOfMarket(market, slug, states));
  }
}

function fieldsOfEvent({ id, slug, details }: EventEntry): Record<string, unknown> {
  return { ...details, id, slug };
}

/** Returns what makes the set; its line as an event and the lines of its markets have the rest. */
function fieldsOfSet({ id, slug, details, markets }: EventEntry, states: States): Record<string, unknown> {
  const [first] = markets;
  const { title, category } = details;
  const named = markets.map(({ id, details }) => {
    // A line of a new set has no empty text.
    const { title, subtitle, description } = details;
    return { id, title, subtitle: subtitle || undefined, description: description || undefined };
  });
  return { id, slug, title, category, ...termsOf(first, states), markets: named };
}

function termsOf({ index, ticksPerUnit, minOrderAtomic }: MarketEntry, states: States): Record<string, unknown> {
  return {
    fee_bps: states.feeBps(index),
    trading_starts_at: new Date(states.startMs(index)).toISOString(),
    trading_ends_at: new Date(states.endMs(index)).toISOString(),
    ticks_per_unit: ticksPerUnit,
    min_order_size_atomic: String(minOrderAtomic),
  };
}

function fieldsOfMarket(market: MarketEntry, slug: string | undefined, states: States): Record<string, unknown> {
  const { index, id, details, yesTokenId, noTokenId } = market;
  return {
    ...details,
    id,
    event_slug: slug,
    status: MARKET_STATUS_NAMES[states.status(index)],
    ...termsOf(market, states),
    yes_token_id: yesTokenId,
    no_token_id: noTokenId,
  };
}

function lineOf(kind: keyof CatalogueLine, names: readonly string[], fields: Record<string, unknown>): string {
  const ordered: Record<string, unknown> = {};
  for (const name of names) if (fields[name] !== undefined) ordered[name] = fields[name];
  return `${JSON.stringify({ [kind]: ordered })}\n`;
}

/**
 * Markets by the names that people use: found by words, a slug or the beginning of an id, and shown by their question.
 */
import type { ExchangeClient } from '../../client.ts';
import { ApiError } from '../../http.ts';
import type { Market } from '../../types.ts';
import { UsageError } from './errors.ts';
import { outcomeName, printable } from './text.ts';

export const ID_FORM = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const PREFIX_FORM = /^[0-9a-f]{4}[0-9a-f-]*$/i;
const SLUG_FORM = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const SHOWN = 8;
/** The most markets that a search returns. */
const FOUND = 50;
/** In a list of more markets, the rest are shown by their ids. */
const MOST_NAMES = 50;
const AT_ONCE = 10;

/** The description that every command has for its market. */
export const MARKET_WORDS = 'the market: words of its question, the slug of its event, or its id';

/** The id of the one market that is meant; if there are several, nothing is guessed. */
export async function marketIdOf(client: ExchangeClient, given: string): Promise<string> {
  if (ID_FORM.test(given)) return given;
  const found = await candidatesFor(client, given.trim());
  const exact = found.filter(({ title }) => title.toLowerCase() === given.trim().toLowerCase());
  const [only, ...others] = exact.length === 1 ? exact : found;
  if (only === undefined) {
    throw new UsageError(`no market is called ${printable(given)}; \`pmx markets search WORDS\` finds by fewer words`);
  }
  if (others.length === 0) return only.id;
  const shown = found.slice(0, SHOWN).map(({ id, title }) => `\n  ${id}  ${printable(title)}`);
  const more = found.length > SHOWN ? '\n  …' : '';
  throw new UsageError(`${printable(given)} may be one of these; give more words or an id:${shown.join('')}${more}`);
}

type Named = Pick<Market, 'id' | 'title'>;

async function candidatesFor(client: ExchangeClient, given: string): Promise<readonly Named[]> {
  const ofEvent = SLUG_FORM.test(given) ? await marketsOfEvent(client, given) : [];
  if (ofEvent.length > 0) return ofEvent;
  const byId = PREFIX_FORM.test(given) ? await marketsById(client, given.toLowerCase()) : [];
  if (byId.length > 0) return byId;
  // A slug is words with hyphens.
  const search = SLUG_FORM.test(given) ? given.replaceAll('-', ' ') : given;
  if (search === '') return [];
  const { markets } = await client.markets({ search, sort: 'total_volume', limit: FOUND });
  const public_ = markets.filter(({ status }) => status !== 'draft');
  return public_.length > 0 ? public_ : markets;
}

/** The id of an event by its slug or the id itself, which needs no request. */
export async function eventIdOf(client: ExchangeClient, given: string): Promise<string> {
  if (ID_FORM.test(given)) return given;
  try {
    return (await client.eventView(given.trim())).id;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new UsageError(`no event has the slug ${printable(given)}; \`pmx markets search WORDS\` finds its markets`);
  }
}

async function marketsOfEvent(client: ExchangeClient, slug: string): Promise<readonly Named[]> {
  try {
    return (await client.eventView(slug)).markets;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

/** Markets that are not decided, by id; a decided market is found by its question. */
async function marketsById(client: ExchangeClient, prefix: string): Promise<readonly Named[]> {
  const { tickers } = await client.tickers();
  const ids = [...new Set(tickers.map(({ market_id: id }) => id).filter((id) => id.startsWith(prefix)))];
  if (ids.length > FOUND) return ids.map((id) => ({ id, title: '' }));
  return Promise.all(ids.map((id) => client.market(id)));
}

type OfMarket = { readonly market_id: string | null };
type Known = Pick<Market, 'title' | 'outcomes'>;

/** The questions and outcomes of the markets in a list, for people; programs get the answer unchanged. */
export class MarketNames {
  readonly #known: ReadonlyMap<string, Known>;

  private constructor(known: ReadonlyMap<string, Known>) {
    this.#known = known;
  }

  static async of(
    { isJson }: { readonly isJson: boolean },
    client: ExchangeClient,
    rows: readonly OfMarket[],
  ): Promise<MarketNames> {
    const known = new Map<string, Known>();
    const ids = rows.map(({ market_id: id }) => id).filter((id) => id !== null);
    const asked = isJson ? [] : [...new Set(ids)].slice(0, MOST_NAMES);
    for (let at = 0; at < asked.length; at += AT_ONCE) {
      const some = asked.slice(at, at + AT_ONCE);
      // If the name cannot be read, the list is still right.
      const markets = await Promise.all(some.map((id) => client.market(id).catch(() => null)));
      for (const market of markets) if (market !== null) known.set(market.id, market);
    }
    return new MarketNames(known);
  }

  title(id: string | null): string | null {
    return id === null ? null : (this.#known.get(id)?.title ?? id);
  }

  outcome(id: string | null, index: number): string {
    return (id === null ? undefined : this.#known.get(id)?.outcomes[index]) ?? outcomeName(index);
  }
}

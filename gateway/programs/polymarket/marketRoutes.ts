/** Lists of markets in the shape of the CLOB, and below /gamma in that of the catalogue API. */
import type { Clock } from '../../../shared/base/clock.ts';
import type { MarketEvent } from '../../../shared/client/types.ts';
import type { Catalogue, Listed } from './catalogue.ts';
import {
  clobMarketJson,
  detailsJson,
  gammaEventJson,
  gammaMarketJson,
  isClosed,
  isOpen,
  simplifiedJson,
  slugOf,
} from './marketJson.ts';
import { type Asked, pageOf, Refusal, type Route } from './reply.ts';

const PAGE = 1000;
const GAMMA_PAGE = 20;
const MOST_OF_GAMMA = 500;

export function marketRoutes(catalogue: Catalogue, orderVersion: 1 | 2, clock: Clock): readonly Route[] {
  const list = (path: string, json: (listed: Listed) => object, isIn: (listed: Listed) => boolean): Route => ({
    ...{ method: 'GET', path },
    answer: async ({ query }) => pageOf((await catalogue.all()).filter(isIn).map(json), query, PAGE),
  });
  const all = () => true;
  return [
    { method: 'GET', path: '/version', answer: () => ({ version: orderVersion }) },
    list('/markets', clobMarketJson, all),
    list('/simplified-markets', simplifiedJson, all),
    list('/sampling-markets', clobMarketJson, isOpen),
    list('/sampling-simplified-markets', simplifiedJson, isOpen),
    { method: 'GET', path: '/markets/:id', answer: async (_, id) => clobMarketJson(await catalogue.condition(id)) },
    { method: 'GET', path: '/clob-markets/:id', answer: async (_, id) => detailsJson(await catalogue.condition(id)) },
    {
      ...{ method: 'GET', path: '/markets-by-token/:id' },
      answer: async (_, id) => {
        const { listed } = await catalogue.token(id);
        const [primary_token_id, secondary_token_id] = listed.tokens;
        return { condition_id: listed.conditionId, primary_token_id, secondary_token_id };
      },
    },
    ...gammaRoutes(catalogue, clock),
  ];
}

function gammaRoutes(catalogue: Catalogue, clock: Clock): readonly Route[] {
  const events = async () => new Map((await catalogue.events()).map((event) => [event.id, event]));
  const json = async (rows: readonly Listed[]) => {
    const byId = await events();
    return rows.map((listed) => gammaMarketJson(listed, byId.get(listed.market.event_id ?? '')));
  };
  const one = async (isIt: (listed: Listed) => boolean) => {
    const found = (await catalogue.all()).find(isIt);
    if (found === undefined) throw new Refusal(404, 'not found');
    return (await json([found]))[0];
  };
  const ofEvent = async (event: MarketEvent) =>
    gammaEventJson(
      event,
      (await catalogue.all()).filter(({ market }) => market.event_id === event.id),
    );
  const oneEvent = async (isIt: (event: MarketEvent) => boolean) => {
    const found = (await catalogue.events()).find(isIt);
    if (found === undefined) throw new Refusal(404, 'not found');
    return ofEvent(found);
  };
  return [
    {
      ...{ method: 'GET', path: '/gamma/markets' },
      answer: async (asked) => json(cut((await catalogue.all()).filter(wanted(asked, clock)), asked)),
    },
    { method: 'GET', path: '/gamma/markets/:id', answer: (_, id) => one(({ market }) => market.id === id) },
    { method: 'GET', path: '/gamma/markets/slug/:id', answer: (_, slug) => one((listed) => slugOf(listed) === slug) },
    {
      ...{ method: 'GET', path: '/gamma/events' },
      answer: async (asked) =>
        Promise.all(cut((await catalogue.events()).filter(wantedEvent(asked)), asked).map(ofEvent)),
    },
    { method: 'GET', path: '/gamma/events/:id', answer: (_, id) => oneEvent((event) => event.id === id) },
    { method: 'GET', path: '/gamma/events/slug/:id', answer: (_, slug) => oneEvent((event) => event.slug === slug) },
  ];
}

/** The filters that bots use; a name may be given several times. */
function wanted({ query }: Asked, clock: Clock): (listed: Listed) => boolean {
  const has = (name: string, value: string): boolean => !query.has(name) || query.getAll(name).includes(value);
  const limits = ['end_date_min', 'end_date_max'].map((name) => timeOf(query, name));
  const nowMs = clock.nowMs();
  return (listed) => {
    const { market, tokens, conditionId } = listed;
    const endMs = Date.parse(market.trading_ends_at);
    return (
      has('id', market.id) &&
      has('slug', slugOf(listed)) &&
      has('condition_ids', conditionId) &&
      (!query.has('clob_token_ids') || tokens.some((token) => query.getAll('clob_token_ids').includes(token))) &&
      has('active', String(isOpen(listed))) &&
      has('closed', String(isClosed(listed) || (endMs < nowMs && !isOpen(listed)))) &&
      has('archived', 'false') &&
      endMs >= (limits[0] ?? Number.NEGATIVE_INFINITY) &&
      endMs <= (limits[1] ?? Number.POSITIVE_INFINITY)
    );
  };
}

function wantedEvent({ query }: Asked): (event: MarketEvent) => boolean {
  const has = (name: string, value: string): boolean => !query.has(name) || query.getAll(name).includes(value);
  return ({ id, slug, status }) => {
    const closed = status === 'ended' || status === 'cancelled';
    return has('id', id) && has('slug', slug) && has('closed', String(closed)) && has('active', String(!closed));
  };
}

function timeOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Refusal(422, `${name}: expected a time`);
  return ms;
}

function cut<T>(rows: readonly T[], { query }: Asked): readonly T[] {
  const number = (name: string, otherwise: number): number => {
    const text = query.get(name) ?? String(otherwise);
    if (!/^\d{1,9}$/.test(text)) throw new Refusal(422, `${name}: expected a whole number`);
    return Number(text);
  };
  const from = number('offset', 0);
  return rows.slice(from, from + Math.min(number('limit', GAMMA_PAGE), MOST_OF_GAMMA));
}

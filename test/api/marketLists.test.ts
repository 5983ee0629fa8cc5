/** The list of markets, and the catalogue as a whole: orders, filters, pages, words and counts (RULES.md 12). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Market } from '../../shared/client/types.ts';
import { catalogueOf, FAR, titles } from '../support/catalogue.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DAY_MS = 86_400_000;

const server = await sharedServer();
const { create, get } = catalogueOf(server);

describe('the list of markets', async () => {
  const category = `list ${randomUUID()}`;
  const made: Market[] = [];
  for (const [index, title] of ['B first', 'A second', 'C third', 'A fourth'].entries()) {
    const trading_ends_at = new Date(Date.parse(FAR) - index * DAY_MS).toISOString();
    made.push(await create({ category, title, trading_ends_at, status: index === 2 ? 'draft' : undefined }));
  }
  const list = async (query: Record<string, string>): Promise<Json> =>
    get(`/v1/markets?${new URLSearchParams({ category, ...query })}`);

  test('is newest first, twenty at a time', async () => {
    const page = await list({});
    assert.deepEqual(page, { markets: made.toReversed(), total: 4, limit: 20, offset: 0, next_cursor: null });
  });

  test('is in any documented order, equal keys by id', async () => {
    const byId = (a: Market, b: Market) => (a.id < b.id ? -1 : 1);
    const seconds = (await list({ sort: 'title', order: 'asc' })).markets as Market[];
    assert.deepEqual(titles(seconds), ['A fourth', 'A second', 'B first', 'C third']);
    assert.deepEqual(titles((await list({ sort: 'title' })).markets), titles(seconds.toReversed()));
    assert.deepEqual(titles((await list({ sort: 'trading_ends_at' })).markets), titles(made));
    assert.deepEqual(titles((await list({ sort: 'created_at', order: 'Asc' })).markets), titles(made));
    for (const sort of ['no such order', 'constructor']) {
      assert.deepEqual(titles((await list({ sort })).markets), titles(made.toReversed()));
    }
    const drafts = [made[2]];
    const others = made.filter((market) => market !== made[2]).sort(byId);
    const byStatus = (await list({ sort: 'status', order: 'asc' })).markets;
    assert.deepEqual(
      byStatus.map(({ id }: Market) => id),
      [...others, ...drafts].map(({ id }) => id),
    );
    const byVolume = (await list({ sort: 'total_volume' })).markets;
    assert.deepEqual(
      byVolume.map(({ id }: Market) => id),
      made
        .toSorted(byId)
        .reverse()
        .map(({ id }) => id),
    );
  });

  test('is filtered by status, deploy status and words in either case', async () => {
    assert.deepEqual(titles((await list({ status: 'draft' })).markets), ['C third']);
    assert.deepEqual((await list({ status: 'settled' })).total, 0);
    assert.deepEqual((await list({ deploy_status: 'not_deployed' })).total, 4);
    assert.deepEqual((await list({ deploy_status: 'deployed' })).total, 0);
    assert.deepEqual(titles((await list({ search: 'a fou' })).markets), ['A fourth']);
    assert.deepEqual((await list({ search: 'YES IF' })).total, 4);
  });

  test('is paged by offset', async () => {
    const page = await list({ limit: '3', offset: '2', sort: 'title', order: 'asc' });
    assert.deepEqual([titles(page.markets), page.total, page.limit, page.offset], [['B first', 'C third'], 4, 3, 2]);
    assert.deepEqual((await list({ offset: '4' })).markets, []);
  });

  test('a cursor goes on where the page ended, also when a market was made in between', async () => {
    const seen: string[] = [];
    let page = await list({ limit: '2' });
    seen.push(...titles(page.markets));
    await create({ category: `${category} elsewhere`, title: 'newer' });
    while (page.next_cursor !== null) {
      page = await list({ limit: '2', cursor: page.next_cursor, offset: '3' });
      seen.push(...titles(page.markets));
    }
    assert.deepEqual(seen, titles(made.toReversed()));
  });

  test('an unknown cursor is refused, and ignored in every order but the default one', async () => {
    const bad = await server.request('GET', '/v1/markets?cursor=bm90aGluZw');
    assert.deepEqual([bad.status, bad.body.error], [400, 'invalid cursor']);
    assert.equal((await list({ cursor: 'bm90aGluZw', sort: 'title' })).total, 4);
    assert.equal((await list({ sort: 'title', limit: '2' })).next_cursor, null);
  });

  test('is searched by words, and nothing that is typed is an error (RULES.md 12.4)', async () => {
    assert.deepEqual(titles((await list({ search: 'fourth a' })).markets), ['A fourth']);
    assert.deepEqual(titles((await list({ search: 'SEC' })).markets), ['A second']);
    for (const search of ['', '  ']) assert.equal((await list({ search })).total, 4);
    for (const search of ['"', 'no AND (', '*', "'; --", '🌧', `${'x'.repeat(199)}"`]) {
      assert.deepEqual((await list({ search })).markets, [], search);
    }
    const tooLong = await server.request('GET', `/v1/markets?search=${'x'.repeat(201)}`);
    assert.deepEqual([tooLong.status, tooLong.body.code], [400, 'VALIDATION_ERROR']);
  });

  test('shows a change of the administrator at once, in every list (RULES.md 12.9)', async () => {
    const { id } = made[1]!;
    const patch = (change: Record<string, unknown>) => server.adminRequest('PATCH', `/admin/markets/${id}`, change);
    assert.equal((await list({ status: 'locked' })).total, 0);
    await patch({ status: 'locked', title: 'A second, locked' });
    assert.deepEqual(titles((await list({ status: 'locked' })).markets), ['A second, locked']);
    assert.equal((await list({ search: 'locked' })).total, 1);
    const ends = new Date(Date.parse(FAR) + DAY_MS).toISOString();
    await patch({ status: 'active', title: 'A second', trading_ends_at: ends });
    assert.equal((await list({ sort: 'trading_ends_at' })).markets[0].id, id);
    await server.adminRequest('POST', `/admin/markets/${id}/resolve`, { outcome_index: 0 });
    assert.equal((await list({ status: 'resolved' })).total, 1);
  });

  test('is shared for a while, with the prices of then (RULES.md 12.9)', async () => {
    const trader = await makeTrader(server);
    const market = await makeMarket(server);
    const inList = async () => (await get('/v1/markets')).markets.find(({ id }: Market) => id === market.id);
    assert.deepEqual((await inList()).current_prices, { 0: 0.5, 1: 0.5 });
    await trader.place(market, { price: '0.30', size: '10' });
    await trader.place(market, { outcomeIndex: 1, price: '0.40', size: '10' });
    assert.deepEqual((await get(`/v1/markets/${market.id}`)).current_prices, { 0: 0.45, 1: 0.55 });
    assert.deepEqual((await inList()).current_prices, { 0: 0.5, 1: 0.5 });
    await create({ category, title: 'the next change' });
    assert.deepEqual((await inList()).current_prices, { 0: 0.45, 1: 0.55 });
  });

  for (const query of ['limit=0', 'limit=101', 'limit=x', 'offset=-1', 'order=up', 'limit=1&limit=2']) {
    test(`?${query} is refused`, async () => {
      const { status, body } = await server.request('GET', `/v1/markets?${query}`);
      assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR']);
    });
  }
});

describe('the catalogue as a whole', () => {
  test('says how many markets there are and in which categories (RULES.md 12.7)', async () => {
    const before = await get('/v1/markets/metadata');
    const category = `whole ${randomUUID()}`;
    await create({ category });
    await create({ category, status: 'draft' });
    const { categories, ...numbers } = await get('/v1/markets/metadata');
    assert.deepEqual(numbers, {
      total_markets: before.total_markets + 2,
      active_markets: before.active_markets + 1,
    });
    assert.deepEqual(categories, [...before.categories, category].sort());
    const every = await get('/v1/markets?limit=1');
    assert.equal(every.total, numbers.total_markets);
    assert.equal((await get('/v1/markets?status=active&limit=1')).total, numbers.active_markets);
  });

  test('has the leagues of its sports with their teams (RULES.md 12.8)', async () => {
    const slug = randomUUID();
    const category = `sport ${slug}`;
    const league = { category, sport_league: 'NFL' };
    await server.admin.createEvent({
      slug: `one-${slug}`,
      title: 'Game 1',
      ...league,
      sport_teams: ['Lions', 'Bears'],
    });
    const { id } = await server.admin.createEvent({
      slug: `two-${slug}`,
      title: 'Game 2',
      ...league,
      sport_teams: ['Bears', 'Jets'],
    });
    await server.admin.createEvent({ slug: `three-${slug}`, title: 'Game 3', category, sport_league: 'NBA' });
    await server.admin.createEvent({ slug: `none-${slug}`, title: 'No game', category, sport_teams: ['Nobody'] });
    const ofSport = async () =>
      (await get('/v1/sports/taxonomy')).sports.find(({ name }: { name: string }) => name === category);
    const nba = { name: 'NBA', teams: [] };
    assert.deepEqual(await ofSport(), {
      name: category,
      leagues: [nba, { name: 'NFL', teams: ['Bears', 'Jets', 'Lions'] }],
    });
    await server.adminRequest('PATCH', `/admin/events/${id}`, { sport_teams: null });
    assert.deepEqual(await ofSport(), { name: category, leagues: [nba, { name: 'NFL', teams: ['Bears', 'Lions'] }] });
  });
});

/** `GET /v1/events/browse` of a whole server: filters, counts, trims and quotes (RULES.md 12.34 to 12.37). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { Market, MarketEvent } from '../../shared/client/types.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const FAR = '2099-01-01T00:00:00.000Z';
const HOUR_MS = 3_600_000;

const server = await sharedServer();
const client = new ExchangeClient({ baseUrl: server.baseUrl });
let made = 0;

async function makeEvent(more: Record<string, unknown> = {}): Promise<MarketEvent> {
  const { status, body } = await server.adminRequest('POST', '/admin/events', { title: `Event ${++made}`, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function makeMarket(event: MarketEvent, more: Record<string, unknown> = {}): Promise<Market> {
  const fields = { title: 'Who wins?', description: '', category: 'Sports', trading_ends_at: FAR, event_id: event.id };
  const { status, body } = await server.adminRequest('POST', '/admin/markets', { ...fields, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

/** Browses a category, so that a test meets only its own events. */
async function browse(category: string, query: Record<string, string> = {}): Promise<Json> {
  const { status, body } = await server.request(
    'GET',
    `/v1/events/browse?${new URLSearchParams({ category, ...query })}`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

function slugs({ events }: Json): string[] {
  return events.map(({ slug }: Json) => slug);
}

function groupsOf(event: Json): [string, ...string[]][] {
  return event.market_groups.map(({ type, markets }: Json) => [type, ...markets.map(({ title }: Json) => title)]);
}

/** A market of every kind that a list or a trim treats in its own way. */
async function makeGame(category: string, more: Record<string, unknown> = {}): Promise<MarketEvent> {
  const game = await makeEvent({ category, sport_league: 'NBA', sport_teams: ['Lakers', 'Celtics'], ...more });
  const moneyline = { external_market_type: 'moneyline', series_ticker: 'NBA' };
  await makeMarket(game, { ...moneyline, title: 'mirror', outcomes: ['A', 'B'], external_event_id: 'G-Y' });
  await makeMarket(game, { ...moneyline, title: 'canonical', outcomes: ['B', 'A'], external_event_id: 'G-X' });
  await makeMarket(game, { title: 'spread', external_market_type: 'spread', condition_id: `0x${'01'.repeat(32)}` });
  await makeMarket(game, { title: 'total', external_market_type: 'total' });
  await makeMarket(game, { title: 'team total', external_market_type: 'total', subcategories: ['team_total'] });
  await makeMarket(game, { title: 'prop', external_market_type: 'player_prop', player_name: 'Somebody' });
  await makeMarket(game, { title: 'novelty', external_market_type: 'other', subcategories: ['novelty'] });
  await makeMarket(game, { title: 'draft', status: 'draft' });
  const locked = await makeMarket(game, { title: 'locked' });
  await server.adminRequest('PATCH', `/admin/markets/${locked.id}`, { status: 'locked' });
  const cancelled = await makeMarket(game, { title: 'cancelled' });
  await server.admin.cancelMarket(cancelled.id);
  return game;
}

// RULES.md 12.34
describe('browsing events', () => {
  test('shows open events with live markets, each with its counts, its groups and its featured market', async () => {
    const category = 'Whole';
    const game = await makeGame(category, { external_event_id: 'G' });
    const { events, total, limit, offset } = await browse(category);
    assert.deepEqual([events.length, total, limit, offset], [1, 1, 50, 0]);
    const [{ market_groups, featured_market, ...event }] = events;
    assert.deepEqual(event, {
      ...game,
      market_count: 10,
      market_count_total: 8,
      market_count_tradeable: 5,
      market_count_deployed: 1,
      market_type_count: 5,
      total_volume: '0',
      live: null,
    });
    assert.deepEqual(groupsOf(events[0]), [
      ['moneyline', 'canonical'],
      ['other', 'locked'],
      ['player_prop', 'prop'],
      ['spread', 'spread'],
      ['total', 'total', 'team total'],
    ]);
    const canonical = await client.market(featured_market.id);
    assert.deepEqual(featured_market, canonical);
    assert.deepEqual(market_groups[0].markets, [canonical]);
    assert.equal(canonical.canonical_sibling_market_id, canonical.id);
  });

  test('filters by the status of events, and shows their markets of every status then', async () => {
    const category = 'Statuses';
    const at = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();
    const open = await makeEvent({ category, slug: 'st-open', start_time: at(3) });
    const live = await makeEvent({ category, slug: 'st-live', status: 'live', start_time: at(2) });
    const ended = await makeEvent({ category, slug: 'st-ended', status: 'ended', start_time: at(1) });
    await makeEvent({ category, slug: 'st-empty', start_time: at(4) });
    const decided = await makeEvent({ category, slug: 'st-decided', start_time: at(5) });
    for (const event of [open, live, ended, decided]) await makeMarket(event);
    const [market] = (await client.eventView('st-decided')).markets;
    await server.admin.resolveMarket(market!.id, { outcome_index: 0 });
    assert.deepEqual(slugs(await browse(category)), ['st-live', 'st-open']);
    assert.deepEqual(slugs(await browse(category, { status: 'active' })), ['st-live', 'st-open']);
    const upcoming = await browse(category, { status: 'upcoming' });
    assert.deepEqual(slugs(upcoming), ['st-open', 'st-empty', 'st-decided']);
    assert.equal(upcoming.events[2].featured_market.status, 'resolved');
    assert.equal(upcoming.events[1].featured_market, null);
    assert.deepEqual(slugs(await browse(category, { status: 'ended' })), ['st-ended']);
    assert.deepEqual(slugs(await browse(category, { status: 'none' })), []);
  });

  test('filters by league and by words of events, markets and teams, and pages', async () => {
    const category = 'Words';
    const nba = await makeEvent({
      category,
      slug: 'w-nba',
      title: 'Final',
      sport_league: 'NBA',
      sport_teams: ['Bulls'],
    });
    const nfl = await makeEvent({ category, slug: 'w-nfl', title: 'Playoff', sport_league: 'NFL' });
    await makeMarket(nba, { title: 'Overtime?' });
    await makeMarket(nfl, { title: 'Safety?' });
    const cases: [Record<string, string>, string[]][] = [
      [{ sport_league: 'NFL' }, ['w-nfl']],
      [{ search: 'fin' }, ['w-nba']],
      [{ search: 'SAFETY' }, ['w-nfl']],
      [{ search: 'bulls' }, ['w-nba']],
      [{ search: 'bulls safety' }, []],
      [{ limit: '1' }, ['w-nba']],
      [{ limit: '1', offset: '1' }, ['w-nfl']],
      [{ offset: '2' }, []],
    ];
    for (const [query, expected] of cases) {
      const page = await browse(category, query);
      assert.deepEqual(slugs(page), expected, JSON.stringify(query));
      assert.equal(page.total, 'limit' in query || 'offset' in query ? 2 : expected.length);
    }
  });

  test('names the players of a game between two people, and of no other event', async () => {
    const category = 'Players';
    const names = { home_player_full_name: 'Iga Example', away_player_full_name: 'Coco Sample' };
    const match = { category, sport_league: 'WTA', sport_teams: ['Example', 'Sample'], ...names };
    for (const more of [{}, { sport_teams: ['One', 'Two', 'Three'] }, { sport_league: null }]) {
      await makeMarket(await makeEvent({ ...match, ...more }));
    }
    const { events } = await browse(category);
    const shown = events.map((event: Json) => [event.home_player_full_name, event.away_player_full_name]);
    assert.deepEqual(shown, [Object.values(names), [undefined, undefined], [undefined, undefined]]);
    const view: Json = await client.eventView(events[0].slug);
    assert.ok(!('home_player_full_name' in view));
  });

  for (const query of ['sort=oldest', 'limit=0', 'limit=201', 'limit=x', 'offset=-1', 'home=yes', 'quotes=2']) {
    test(`?${query} is refused`, async () => {
      const { status, body } = await server.request('GET', `/v1/events/browse?${query}`);
      assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR']);
    });
  }
});

// RULES.md 12.35
describe('home and core_lines', () => {
  const category = 'Tiles';

  test('keep the lines of a game, without totals of teams and what joins them with a provider', async () => {
    await makeGame(category, { slug: 'tile-game', status: 'upcoming', external_event_id: 'G' });
    const vote = await makeEvent({ category, slug: 'tile-vote', status: 'live', start_time: FAR });
    await makeMarket(vote, { title: 'Passed?' });
    const lines = [
      ['moneyline', 'canonical'],
      ['spread', 'spread'],
      ['total', 'total'],
    ];
    const core = await browse(category, { core_lines: '1' });
    assert.deepEqual(slugs(core), ['tile-game', 'tile-vote']);
    const [game, question] = core.events;
    assert.deepEqual(groupsOf(game), lines);
    assert.deepEqual(groupsOf(question), [['other', 'Passed?']]);
    const market = game.market_groups[0].markets[0];
    for (const name of ['external_event_id', 'series_ticker']) assert.ok(!(name in market), name);
    assert.ok(!('external_event_id' in game) && !('external_event_id' in game.featured_market));
    assert.deepEqual([game.market_count_total, game.market_type_count], [8, 5]);
    const home = await browse(category, { home: '1' });
    assert.deepEqual(slugs(home), ['tile-vote', 'tile-game']);
    assert.deepEqual(home.events, core.events.toReversed());
  });
});

// RULES.md 12.36 and 12.37
describe('quotes', () => {
  const category = 'Quotes';

  test('show books, last trades and indications, and quotes_only shows nothing else', async () => {
    const event = await makeEvent({ category });
    const [traded, quiet] = [await makeMarket(event), await makeMarket(event, { title: 'Quiet?' })];
    const [maker, taker] = [await makeTrader(server), await makeTrader(server)];
    const market = await client.orderMarket(traded.id);
    await maker.place(market, { outcomeIndex: 1, price: '0.45', size: '20' });
    await maker.place(market, { outcomeIndex: 0, price: '0.40', size: '10' });
    await taker.place(market, { outcomeIndex: 0, price: '0.55', size: '10' });
    await server.admin.postIndication(quiet.id, { bid: '0.2', ask: '0.3', expires_at: FAR });
    // The read model shows the trade a moment later, and a page is cached for five seconds: each limit is another page.
    let page: Json;
    for (let limit = 1; limit <= 200; limit++) {
      page = await browse(category, { quotes: '1', limit: String(limit) });
      if (page.events[0].quotes[traded.id].last_price !== null) break;
    }
    const { updated_at } = page;
    const [day, quietDay] = [
      { change: '0', volume_usdc_micro: '5500000' },
      { change: null, volume_usdc_micro: '0' },
    ];
    assert.deepEqual(page.events[0].quotes, {
      [traded.id]: { best_bid: '0.4', best_ask: '0.55', midpoint: '0.475', last_price: '0.55', ...day, updated_at },
      [quiet.id]: { best_bid: null, best_ask: null, midpoint: null, last_price: null, ...quietDay, updated_at },
    });
    const { updated_at: later, ...alone } = await browse(category, { quotes: '1', quotes_only: '1' });
    assert.deepEqual(alone, {
      ids: [traded.id, quiet.id],
      desk_indications: { [quiet.id]: { bid: '0.2', ask: '0.3', expires_at: FAR } },
      on_chain: { [traded.id]: [0.475, 0.525] },
      covered: [traded.id, quiet.id],
    });
    assert.ok(later >= updated_at);
    const plain: Json = await client.browseEvents({ category, quotes_only: true });
    assert.ok(!('quotes' in plain.events[0]) && !('ids' in plain));
  });
});

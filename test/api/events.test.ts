/** Events with their markets: the enumerations, the page of an event, scores, related markets, probabilities. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { Market, MarketEvent } from '../../shared/client/types.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const FAR = '2099-01-01T00:00:00.000Z';
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const server = await sharedServer();
const trader = await makeTrader(server);
let events = 0;

async function makeEvent(more: Record<string, unknown> = {}): Promise<MarketEvent> {
  const { status, body } = await server.adminRequest('POST', '/admin/events', { title: `Game ${++events}`, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function makeMarket(event: MarketEvent | null, more: Record<string, unknown> = {}): Promise<Market> {
  const fields = { title: 'Who wins?', description: '', category: 'Sports', trading_ends_at: FAR };
  const body = { ...fields, event_id: event?.id ?? null, ...more };
  const answer = await server.adminRequest('POST', '/admin/markets', body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function get(path: string): Promise<Json> {
  const { status, body } = await server.request('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function post(path: string, body: unknown): Promise<Json> {
  const answer = await server.adminRequest('POST', path, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

async function refusal(path: string, body: unknown): Promise<[number, string, string]> {
  const answer = await server.adminRequest('POST', path, body);
  return [answer.status, answer.body.code, answer.body.error];
}

function titles(markets: readonly Json[]): string[] {
  return markets.map(({ title }) => title);
}

async function quote(market: Market, bid: string, ask: string): Promise<void> {
  const orderMarket = await trader.client.orderMarket(market.id);
  await trader.place(orderMarket, { outcomeIndex: 0, price: bid, size: '10' });
  await trader.place(orderMarket, { outcomeIndex: 1, price: (1 - Number(ask)).toFixed(2), size: '10' });
}

/** A game with a market of every kind that an enumeration treats in its own way. */
async function makeGame(more: Record<string, unknown> = {}): Promise<MarketEvent> {
  const game = await makeEvent(more);
  const moneyline = { external_market_type: 'moneyline' };
  await makeMarket(game, { ...moneyline, title: 'mirror', outcomes: ['A', 'B'], external_event_id: 'G-Y' });
  await makeMarket(game, { ...moneyline, title: 'canonical', outcomes: ['B', 'A'], external_event_id: 'G-X' });
  await makeMarket(game, { title: 'spread', external_market_type: 'spread', line: -3.5 });
  await makeMarket(game, { title: 'draft', status: 'draft' });
  const cancelled = await makeMarket(game, { title: 'cancelled' });
  await post(`/admin/markets/${cancelled.id}/cancel`, {});
  await makeMarket(game, { title: 'novelty', external_market_type: 'other', subcategories: ['novelty'] });
  return game;
}

// RULES.md 12.31
describe('mirror moneylines', () => {
  test('point to the canonical one of the two, in the market alone and in the page of the event', async () => {
    const game = await makeGame();
    const { markets } = await get(`/v1/events/${game.slug}/view`);
    const [mirror, canonical, ...others] = markets;
    assert.deepEqual(titles([mirror, canonical]), ['mirror', 'canonical']);
    for (const { id } of [mirror, canonical]) {
      assert.equal((await get(`/v1/markets/${id}`)).canonical_sibling_market_id, canonical.id);
    }
    for (const market of markets.slice(0, 2)) assert.equal(market.canonical_sibling_market_id, canonical.id);
    for (const market of others) assert.ok(!('canonical_sibling_market_id' in market), market.title);
  });

  test('are found out on each request of one market: a change of the pair shows at once', async () => {
    const game = await makeGame();
    const { markets } = await get(`/v1/events/${game.slug}/view`);
    const [mirror, canonical] = markets;
    await server.adminRequest('PATCH', `/admin/markets/${mirror.id}`, { external_event_id: 'G-A' });
    assert.equal((await get(`/v1/markets/${canonical.id}`)).canonical_sibling_market_id, mirror.id);
    const draw = await makeMarket(game, { external_market_type: 'moneyline', outcomes: ['Draw', 'No draw'] });
    for (const { id } of [mirror, canonical, draw]) {
      assert.ok(!('canonical_sibling_market_id' in (await get(`/v1/markets/${id}`))));
    }
  });
});

describe('the market record', () => {
  // RULES.md 12.30
  test('has what a deployment makes only once it is deployed', async () => {
    const absent = ['contract_address', 'condition_id', 'question_id'];
    const market = await makeMarket(null);
    for (const name of absent) assert.ok(!(name in market), name);
    const change = { contract_address: `0x${'12'.repeat(20)}` };
    const refused = await server.adminRequest('PATCH', `/admin/markets/${market.id}`, change);
    assert.deepEqual([refused.status, refused.body.error], [400, 'unknown field: contract_address']);
  });

  test('loses an optional member by null, and never shows one', async () => {
    const given = {
      outcome_probabilities: [30, 70],
      subcategories: ['a'],
      external_event_id: 'x-1',
      external_market_type: 'total',
      series_ticker: 'S',
      player_name: 'P',
      player_team_abbrev: 'PT',
      stat_category: 'points',
      period: 'Q1',
      line: 0.0000001,
      resolution_source: 'https://example.org',
      settlement_sources: [{ name: 'n', url: 'https://example.org' }],
    };
    const market = await makeMarket(null, given);
    assert.equal(market.line, 1e-7);
    const nulls = Object.fromEntries(Object.keys(given).map((name) => [name, null]));
    const { status, body } = await server.adminRequest('PATCH', `/admin/markets/${market.id}`, nulls);
    assert.equal(status, 200);
    for (const name of Object.keys(given)) assert.ok(!(name in body), name);
    assert.deepEqual(await get(`/v1/markets/${market.id}`), body);
  });
});

// RULES.md 12.32
describe('an event', () => {
  test('has all its markets but the mirror, drafts and cancelled ones too, in the order of creation', async () => {
    const game = await makeGame();
    const { markets, ...event } = await get(`/v1/events/${game.slug}`);
    assert.deepEqual(titles(markets), ['canonical', 'spread', 'draft', 'cancelled', 'novelty']);
    assert.deepEqual(
      markets.map(({ status }: Json) => status),
      ['active', 'active', 'draft', 'cancelled', 'active'],
    );
    assert.deepEqual(Object.keys(markets[0]), ['id', 'title', 'status', 'outcomes']);
    assert.deepEqual(event, {
      slug: game.slug,
      title: game.title,
      status: 'upcoming',
      created_at: game.created_at,
    });
  });

  test('has as many markets as there are', async () => {
    const event = await makeEvent();
    const count = 150;
    for (let n = 0; n < count; n++) await makeMarket(event, { title: `number ${n}` });
    const expected = Array.from({ length: count }, (_, n) => `number ${n}`);
    assert.deepEqual(titles((await get(`/v1/events/${event.slug}`)).markets), expected);
    assert.deepEqual(titles((await get(`/v1/events/${event.slug}/view`)).markets), expected);
  });

  test('that does not exist is 404, and so is its page', async () => {
    for (const path of ['/v1/events/no-such-event', '/v1/events/no-such-event/view']) {
      const { status, body } = await server.request('GET', path);
      assert.deepEqual([status, body], [404, { error: 'event not found', code: 'NOT_FOUND' }]);
    }
  });
});

// RULES.md 12.33
describe('the page of an event', () => {
  test('has the event, its markets without drafts and cancelled ones, and groups without novelty', async () => {
    const game = await makeGame({ sport_league: 'NBA', sport_teams: ['A', 'B'] });
    const { markets, market_groups, featured_market, live, implied_prices, ...event } = await get(
      `/v1/events/${game.slug}/view`,
    );
    assert.deepEqual(titles(markets), ['mirror', 'canonical', 'spread', 'novelty']);
    assert.deepEqual(
      market_groups.map((group: Json) => [group.type, group.title, ...titles(group.markets)]),
      [
        ['moneyline', 'Moneyline', 'mirror', 'canonical'],
        ['spread', 'Spread', 'spread'],
      ],
    );
    assert.deepEqual(market_groups[1].markets[0], await get(`/v1/markets/${markets[2].id}`));
    assert.equal(featured_market.title, 'mirror');
    assert.deepEqual([live, implied_prices], [null, null]);
    const { market_count, ...rest } = event;
    const { market_count: before, ...made } = game;
    assert.deepEqual(rest, made);
    assert.deepEqual([before, market_count], [0, 6]);
  });

  test('of an event without markets has none of them', async () => {
    const event = await makeEvent();
    const { markets, market_groups, featured_market } = await get(`/v1/events/${event.slug}/view`);
    assert.deepEqual([markets, market_groups, featured_market], [[], [], null]);
  });
});

// RULES.md 12.38
describe('related markets', () => {
  test('are the other ones of the event that a trader may know, each question once', async () => {
    const event = await makeEvent();
    const market = await makeMarket(event, { title: 'Own' });
    for (const title of ['One', ' one ', 'Two', 'Own']) await makeMarket(event, { title });
    await makeMarket(event, { title: 'Draft', status: 'draft' });
    await makeMarket(await makeEvent(), { title: 'Elsewhere' });
    const related = await new ExchangeClient({ baseUrl: server.baseUrl }).relatedMarkets(market.id);
    assert.deepEqual([titles(related.markets), related.totalMarkets], [['One', 'Two', 'Own'], 4]);
    const [one] = related.markets;
    assert.deepEqual(one, await get(`/v1/markets/${one.id}`));
  });

  test('of a market without an event are those of its series, with an event or without', async () => {
    const series_ticker = 'WEEKLY-RAIN';
    const market = await makeMarket(null, { series_ticker });
    const second = await makeMarket(null, { series_ticker, title: 'Second' });
    const other = await makeMarket(null, { series_ticker: 'OTHER', title: 'Third' });
    const moved = await makeMarket(await makeEvent(), { series_ticker, title: 'Fourth' });
    const related = async (): Promise<string[]> => titles((await get(`/v1/markets/${market.id}/related`)).markets);
    assert.deepEqual(await related(), ['Second', 'Fourth']);
    for (const [id, ticker] of [
      [second.id, null],
      [moved.id, 'OTHER'],
      [other.id, series_ticker],
    ] as const) {
      await server.adminRequest('PATCH', `/admin/markets/${id}`, { series_ticker: ticker });
    }
    assert.deepEqual(await related(), ['Third']);
    await server.adminRequest('PATCH', `/admin/markets/${second.id}`, { series_ticker });
    assert.deepEqual(await related(), ['Second', 'Third'], 'one that comes back is where its creation puts it');
  });

  test('are none of a market that stands alone; of one that does not exist they are 404', async () => {
    const alone = await makeMarket(null);
    assert.deepEqual(await get(`/v1/markets/${alone.id}/related`), { markets: [], totalMarkets: 0 });
    const { status, body } = await server.request('GET', `/v1/markets/${UNKNOWN}/related`);
    assert.deepEqual([status, body.error], [404, 'market not found']);
  });
});

// RULES.md 12.39
test('probabilities are the mids of active markets with orders on both sides', async () => {
  const [both, oneSided, locked] = [await makeMarket(null), await makeMarket(null), await makeMarket(null)];
  for (const market of [both, locked]) await quote(market, '0.40', '0.45');
  await trader.place(await trader.client.orderMarket(oneSided.id), { price: '0.40', size: '10' });
  await server.adminRequest('PATCH', `/admin/markets/${locked.id}`, { status: 'locked' });
  const { probabilities } = await get('/v1/onchain/market-probabilities');
  assert.deepEqual(probabilities[both.id], [0.425, 0.575]);
  for (const { id } of [oneSided, locked]) assert.ok(!(id in probabilities));
});

const SCORE = { status: 'in_progress', clock: '04:12', period: 'Q3', home_score: 88, away_score: 90 };

// RULES.md 9.30
describe('a live score', () => {
  test('is shown in the page of the event, the latest one, and a restart keeps it', async () => {
    const event = await makeEvent();
    const first = await server.admin.postScore(event.id, { status: 'scheduled', home_score: 0, away_score: 0 });
    assert.deepEqual([first.clock, first.period], [null, null]);
    const posted = await post(`/admin/events/${event.id}/score`, SCORE);
    const { updated_at, ...score } = posted;
    assert.deepEqual(score, SCORE);
    assert.ok(updated_at >= first.updated_at);
    const client = new ExchangeClient({ baseUrl: server.baseUrl });
    assert.deepEqual((await client.eventView(event.slug)).live, posted);
    const { records } = (await server.adminRequest('GET', '/admin/audit?limit=1')).body;
    assert.deepEqual([records[0].event, records[0].before.period, records[0].after.period], ['result', null, 'Q3']);
    await server.restart();
    assert.deepEqual((await get(`/v1/events/${event.slug}/view`)).live, posted);
  });

  const malformed: [string, unknown, string][] = [
    ['nothing', {}, 'missing field: status'],
    ['no score', { status: 'final' }, 'missing field: home_score'],
    ['a negative score', { ...SCORE, home_score: -1 }, 'invalid home_score'],
    ['half a point', { ...SCORE, away_score: 0.5 }, 'invalid away_score'],
    ['an empty status', { ...SCORE, status: '' }, 'invalid status'],
    ['a number as clock', { ...SCORE, clock: 4 }, 'invalid clock'],
    ['a period of a page', { ...SCORE, period: 'x'.repeat(41) }, 'invalid period'],
    ['an unknown field', { ...SCORE, updated_at: FAR }, 'unknown field: updated_at'],
  ];
  for (const [what, body, message] of malformed) {
    test(`of ${what} is refused and changes nothing`, async () => {
      const event = await makeEvent();
      const answer = await refusal(`/admin/events/${event.id}/score`, body);
      assert.deepEqual(answer, [400, 'VALIDATION_ERROR', message]);
      assert.equal((await get(`/v1/events/${event.slug}/view`)).live, null);
    });
  }

  test('of no event is 404, and needs an administrator', async () => {
    const path = `/admin/events/${UNKNOWN}/score`;
    assert.deepEqual(await refusal(path, SCORE), [404, 'NOT_FOUND', 'event not found']);
    assert.equal((await server.request('POST', path, SCORE)).status, 401);
  });
});

// RULES.md 9.31
describe('a desk indication', () => {
  const given = { bid: '0.40', ask: '0.6', expires_at: FAR };

  test('is answered on the grid of its market with the expiry that was given', async () => {
    const market = await makeMarket(null, { ticks_per_unit: 1000 });
    const posted = await server.admin.postIndication(market.id, { ...given, ask: '0.401' });
    assert.deepEqual(posted, { market_id: market.id, bid: '0.4', ask: '0.401', expires_at: FAR });
  });

  const malformed: [string, unknown, string][] = [
    ['no bid', { ask: '0.5', expires_at: FAR }, 'missing field: bid'],
    ['a number', { ...given, bid: 0.4 }, 'invalid bid'],
    ['a bid off the grid', { ...given, bid: '0.405' }, 'invalid bid'],
    ['an ask of 1', { ...given, ask: '1' }, 'invalid ask'],
    ['a bid that meets the ask', { ...given, bid: '0.6' }, 'invalid ask'],
    ['an expiry in the past', { ...given, expires_at: '2020-01-01T00:00:00Z' }, 'invalid expires_at'],
    ['no time at all', { ...given, expires_at: 'soon' }, 'invalid expires_at'],
  ];
  for (const [what, body, message] of malformed) {
    test(`with ${what} is refused`, async () => {
      const market = await makeMarket(null);
      const answer = await refusal(`/admin/markets/${market.id}/indications`, body);
      assert.deepEqual(answer, [400, 'VALIDATION_ERROR', message]);
    });
  }

  test('for a decided market is a conflict, for none 404', async () => {
    const market = await makeMarket(null);
    await post(`/admin/markets/${market.id}/cancel`, {});
    const decided = await refusal(`/admin/markets/${market.id}/indications`, given);
    assert.deepEqual(decided, [409, 'CONFLICT', 'market status does not allow this']);
    const unknown = await refusal(`/admin/markets/${UNKNOWN}/indications`, given);
    assert.deepEqual(unknown, [404, 'NOT_FOUND', 'market not found']);
  });
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { completeMarketDetails } from '../../gateway/operator/marketDetails.ts';
import { Catalog } from '../../gateway/store/catalog.ts';
import { openControlDatabase } from '../../gateway/store/database.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { draftOrder } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { Market } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Json, startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DAY_MS = 86_400_000;
const FAR = '2099-01-01T00:00:00.000Z';
const NOBODY = '00000000-0000-4000-8000-000000000000';

const server = await startServer(fileScope);
const client = new ExchangeClient({ baseUrl: server.baseUrl });

/** The least a market needs, with a category of its own so that a test lists only its own markets. */
function fields(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { title: 'Will it rain?', description: 'Yes if it does.', category: 'Weather', trading_ends_at: FAR, ...more };
}

async function create(more: Record<string, unknown> = {}): Promise<Market> {
  const { status, body } = await server.adminRequest('POST', '/admin/markets', fields(more));
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function refusal(method: string, path: string, body?: unknown): Promise<[number, string, string]> {
  const answer = await server.adminRequest(method, path, body);
  return [answer.status, answer.body.code, answer.body.error];
}

async function get(path: string): Promise<Json> {
  const { status, body } = await server.request('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

function titles(markets: Json[]): string[] {
  return markets.map(({ title }) => title);
}

describe('a new market', () => {
  test('has every documented field, optional ones only when given', async () => {
    const market = await create();
    const { id, created_at, updated_at, trading_starts_at, yes_token_id, no_token_id, ...rest } = market;
    assert.deepEqual(rest, {
      title: 'Will it rain?',
      subtitle: '',
      description: 'Yes if it does.',
      category: 'Weather',
      status: 'active',
      resolution_type: 'binary',
      outcomes: ['Yes', 'No'],
      external_source: 'native',
      trading_ends_at: FAR,
      total_volume: '0',
      volume_24h: 0,
      open_interest: 0,
      fee_bps: 50,
      deploy_status: 'not_deployed',
      current_prices: { 0: 0.5, 1: 0.5 },
    });
    for (const time of [created_at, updated_at, trading_starts_at]) assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.match(`${yes_token_id} ${no_token_id}`, /^\d{60,78} \d{60,78}$/);
    assert.notEqual(yes_token_id, no_token_id);
    assert.deepEqual(await get(`/v1/markets/${id}`), market);
  });

  test('shows everything it was created with', async () => {
    const given = {
      subtitle: 'Tomorrow',
      outcomes: ['Rain', 'Sun'],
      outcome_probabilities: [30, 70],
      subcategories: ['Forecasts'],
      external_source: 'provider',
      external_event_id: 'rain-1',
      external_market_type: 'total',
      series_ticker: 'RAIN',
      player_name: 'Nobody',
      player_team_abbrev: 'NB',
      stat_category: 'drops',
      period: 'day',
      line: 0.5,
      resolution_source: 'https://example.org/rain',
      settlement_sources: [{ name: 'Service', url: 'https://example.org' }],
      open_interest: 12,
      volume_24h: 34,
      yes_token_id: '1001',
      no_token_id: '1002',
    };
    const market = await create({ ...given, fee_bps: 0, ticks_per_unit: 1000, min_order_size_atomic: '2000' });
    for (const [name, value] of Object.entries(given)) assert.deepEqual(market[name as keyof Market], value, name);
    assert.equal(market.fee_bps, 0);
    const tickSize = await client.tickSize(market.id);
    assert.deepEqual(
      [tickSize.tick_size, tickSize.ticks_per_unit, tickSize.min_order_size_atomic],
      ['0.001', 1000, '2000'],
    );
  });

  test('waits as pending for its start and as draft for its release', async () => {
    const trading_starts_at = new Date(Date.now() + DAY_MS).toISOString();
    assert.equal((await create({ trading_starts_at })).status, 'pending');
    assert.equal((await create({ status: 'draft' })).status, 'draft');
  });

  const malformed: [string, Record<string, unknown>, string][] = [
    ['no title', { title: undefined }, 'missing field: title'],
    ['an empty title', { title: '' }, 'invalid title'],
    ['no end', { trading_ends_at: undefined }, 'missing field: trading_ends_at'],
    ['an end that is no timestamp', { trading_ends_at: 'tomorrow' }, 'invalid trading_ends_at'],
    ['an end in the past', { trading_ends_at: '2020-01-01T00:00:00Z' }, 'invalid trading_ends_at'],
    ['a start after the end', { trading_starts_at: '2099-01-02T00:00:00Z' }, 'invalid trading_ends_at'],
    ['active before its start', { status: 'active', trading_starts_at: '2098-01-01T00:00:00Z' }, 'invalid status'],
    ['a status of later life', { status: 'resolved' }, 'invalid status'],
    ['another grid', { ticks_per_unit: 50 }, 'invalid ticks_per_unit'],
    ['a minimum below one lot', { min_order_size_atomic: '99' }, 'invalid min_order_size_atomic'],
    ['a minimum that is a number', { min_order_size_atomic: 100 }, 'invalid min_order_size_atomic'],
    ['a fee above everything', { fee_bps: 10_001 }, 'invalid fee_bps'],
    ['a broken fee', { fee_bps: 0.5 }, 'invalid fee_bps'],
    ['three outcomes', { outcomes: ['a', 'b', 'c'] }, 'invalid outcomes'],
    ['one outcome twice', { outcomes: ['a', 'a'] }, 'invalid outcomes'],
    ['a probability of 101', { outcome_probabilities: [101, 0] }, 'invalid outcome_probabilities'],
    ['an unknown type', { external_market_type: 'exotic' }, 'invalid external_market_type'],
    ['one token id', { yes_token_id: '5' }, 'invalid no_token_id'],
    ['one token id for both', { yes_token_id: '5', no_token_id: '5' }, 'invalid no_token_id'],
    ['a token id of 257 bits', { yes_token_id: String(2n ** 256n), no_token_id: '6' }, 'invalid yes_token_id'],
    ['an unknown field', { ticks: 10 }, 'unknown field: ticks'],
  ];
  for (const [what, more, message] of malformed) {
    test(`with ${what} is refused`, async () => {
      const { total } = await client.markets();
      assert.deepEqual(await refusal('POST', '/admin/markets', fields(more)), [400, 'VALIDATION_ERROR', message]);
      assert.equal((await client.markets()).total, total);
    });
  }

  test('with a token id of another market is a conflict', async () => {
    await create({ yes_token_id: '2001', no_token_id: '2002' });
    const taken = fields({ yes_token_id: '2003', no_token_id: '2001' });
    const conflict = [409, 'CONFLICT', 'token id is used by another market'];
    assert.deepEqual(await refusal('POST', '/admin/markets', taken), conflict);
  });

  test('of an event that does not exist is 404', async () => {
    const answer = await refusal('POST', '/admin/markets', fields({ event_id: NOBODY }));
    assert.deepEqual(answer, [404, 'NOT_FOUND', 'event not found']);
  });
});

describe('changing a market', () => {
  async function patch(market: Market, change: Record<string, unknown>): Promise<Json> {
    const { status, body } = await server.adminRequest('PATCH', `/admin/markets/${market.id}`, change);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
  const notAllowed = [409, 'CONFLICT', 'market status does not allow this'];

  test('descriptions change alone, and null takes an optional one away', async () => {
    const market = await create({ line: 1.5 });
    const { updated_at, ...changed } = await patch(market, { title: 'Will it pour?', line: null, period: 'day' });
    const { updated_at: before, line, ...unchanged } = market;
    assert.deepEqual(changed, { ...unchanged, title: 'Will it pour?', period: 'day' });
    assert.ok(updated_at > before);
  });

  test('the fee and the times are those of the shard from then on', async () => {
    const market = await create();
    const trading_ends_at = '2098-01-01T00:00:00.000Z';
    const changed = await patch(market, { fee_bps: 25, trading_ends_at });
    assert.deepEqual([changed.fee_bps, changed.trading_ends_at], [25, trading_ends_at]);
    assert.deepEqual(await client.market(market.id), changed);
  });

  test('a new probability keeps the one before', async () => {
    const market = await create({ outcome_probabilities: [40, 60] });
    const changed = await patch(market, { outcome_probabilities: [45, 55] });
    assert.deepEqual(changed.outcome_probabilities, [45, 55]);
    assert.deepEqual(changed.previous_outcome_probabilities, [40, 60]);
  });

  test('status goes draft, pending, active, locked and back to active', async () => {
    // The start lies ahead: a pending market whose start has passed opens on its own, maybe before the answer comes.
    const market = await create({ status: 'draft', trading_starts_at: '2098-01-01T00:00:00Z' });
    assert.equal((await patch(market, { status: 'pending' })).status, 'pending');
    const opening = { status: 'active', trading_starts_at: '2020-01-01T00:00:00Z' };
    assert.equal((await patch(market, opening)).status, 'active');
    assert.equal((await patch(market, { status: 'locked' })).status, 'locked');
    assert.equal((await patch(market, { status: 'active' })).status, 'active');
  });

  const steps: [string, string][] = [
    ['draft', 'active'],
    ['draft', 'locked'],
    ['active', 'draft'],
    ['active', 'pending'],
    ['active', 'resolved'],
    ['active', 'settled'],
  ];
  for (const [from, to] of steps) {
    test(`status does not go from ${from} to ${to}`, async () => {
      const market = await create(from === 'draft' ? { status: 'draft' } : {});
      assert.deepEqual(await refusal('PATCH', `/admin/markets/${market.id}`, { status: to, title: 'x' }), notAllowed);
      assert.deepEqual(await client.market(market.id), market);
    });
  }

  test('a market is not opened by hand before its start', async () => {
    const market = await create({ trading_starts_at: '2098-01-01T00:00:00Z' });
    assert.deepEqual(await refusal('PATCH', `/admin/markets/${market.id}`, { status: 'active' }), notAllowed);
    const change = { status: 'active', trading_starts_at: '2020-01-01T00:00:00Z' };
    assert.equal((await patch(market, change)).status, 'active');
  });

  test('a market that has started does not start later', async () => {
    const market = await create();
    const change = { trading_starts_at: '2098-01-01T00:00:00Z' };
    assert.deepEqual(await refusal('PATCH', `/admin/markets/${market.id}`, change), notAllowed);
  });

  const malformed: [string, Record<string, unknown>, string][] = [
    ['nothing', {}, 'invalid body'],
    ['a status that is none', { status: 'open' }, 'invalid status'],
    ['its grid', { ticks_per_unit: 10 }, 'unknown field: ticks_per_unit'],
    ['its tokens', { yes_token_id: '1' }, 'unknown field: yes_token_id'],
    ['its title to nothing', { title: null }, 'invalid title'],
    [
      'its end before its start',
      { trading_ends_at: '2020-01-01T00:00:00Z' },
      'trading_ends_at must be after trading_starts_at',
    ],
  ];
  for (const [what, change, message] of malformed) {
    test(`changing ${what} is refused`, async () => {
      const market = await create();
      const { status, body } = await server.adminRequest('PATCH', `/admin/markets/${market.id}`, change);
      assert.deepEqual([status, body.code, body.error], [400, 'VALIDATION_ERROR', message]);
      const { field, rule } = body.details;
      assert.ok(typeof field === 'string' && typeof rule === 'string', 'RULES.md 6.1');
      assert.deepEqual(await client.market(market.id), market);
    });
  }

  test('an unknown market is 404', async () => {
    const answer = await refusal('PATCH', `/admin/markets/${NOBODY}`, { title: 'x' });
    assert.deepEqual(answer, [404, 'NOT_FOUND', 'market not found']);
  });
});

describe('one market', () => {
  test('shows the mids of its book', async () => {
    const privateKey = `0x${'42'.repeat(32)}`;
    const user = await server.admin.createUser({ wallet_address: addressOf(privateKey) });
    await server.admin.deposit(user.id, { amount_usdc_micro: '100000000' });
    const key = await server.admin.createApiKey(user.id, { scopes: ['trade:orders'] });
    const credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
    const trader = new ExchangeClient({ baseUrl: server.baseUrl, credentials });
    const { id } = await create();
    const signer = new OrderSigner(privateKey, await trader.signingDomain());
    const market = await trader.orderMarket(id);
    const place = (outcomeIndex: 0 | 1, price: string) => {
      const draft = draftOrder({ market, outcomeIndex, side: 'BUY', price, size: '10', feeRateBps: 50 });
      return trader.placeOrder(signer.sign(draft).body);
    };
    await place(0, '0.3');
    assert.deepEqual((await client.market(id)).current_prices, { 0: 0.5, 1: 0.5 });
    await place(1, '0.55');
    assert.deepEqual((await client.market(id)).current_prices, { 0: 0.375, 1: 0.625 });
  });

  test('that does not exist is 404, also when its id is malformed', async () => {
    const unknown = await server.request('GET', `/v1/markets/${NOBODY}`);
    assert.deepEqual([unknown.status, unknown.body], [404, { error: 'market not found', code: 'NOT_FOUND' }]);
    assert.equal((await server.request('GET', '/v1/markets/none')).status, 404);
  });
});

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

describe('events', () => {
  test('a new event has every documented field, its slug made from the title', async () => {
    const { status, body } = await server.adminRequest('POST', '/admin/events', { title: 'Who wins, really?' });
    assert.equal(status, 201);
    const { id, created_at, updated_at, start_time, ...rest } = body;
    assert.deepEqual(rest, {
      slug: 'who-wins-really',
      title: 'Who wins, really?',
      description: '',
      status: 'upcoming',
      category: 'Other',
      sport_league: null,
      sport_teams: null,
      image_url: null,
      external_event_id: '',
      external_platform: 'native',
      external_event_subtitle: null,
      external_event_mutually_exclusive: false,
      market_count: 0,
    });
    assert.equal(created_at, updated_at);
    assert.ok(id !== '' && start_time !== '');
  });

  test('a slug is given once', async () => {
    await server.admin.createEvent({ slug: 'taken', title: 'One' });
    const conflict = [409, 'CONFLICT', 'slug is used by another event'];
    assert.deepEqual(await refusal('POST', '/admin/events', { title: 'Taken' }), conflict);
    assert.deepEqual(await refusal('POST', '/admin/events', { slug: 'taken', title: 'Two' }), conflict);
  });

  const malformed: [string, Record<string, unknown>, string][] = [
    ['no title', {}, 'missing field: title'],
    ['a title without a letter for the slug', { title: '???' }, 'invalid slug'],
    ['a slug with a space', { title: 'x', slug: 'a b' }, 'invalid slug'],
    ['the path of a list as its slug', { title: 'x', slug: 'browse' }, 'invalid slug'],
    ['a title that would make it one', { title: 'Browse!' }, 'invalid slug'],
    ['an unknown status', { title: 'x', status: 'over' }, 'invalid status'],
    ['a start that is no timestamp', { title: 'x', start_time: 'now' }, 'invalid start_time'],
    ['an unknown field', { title: 'x', colour: 'red' }, 'unknown field: colour'],
  ];
  for (const [what, body, message] of malformed) {
    test(`an event with ${what} is refused`, async () => {
      assert.deepEqual(await refusal('POST', '/admin/events', body), [400, 'VALIDATION_ERROR', message]);
    });
  }

  test('a change shows in the event; an unknown event is 404', async () => {
    const { id } = await server.admin.createEvent({ slug: 'changing', title: 'Before' });
    const change = { title: 'After', status: 'live', sport_teams: ['A', 'B'] };
    const { body } = await server.adminRequest('PATCH', `/admin/events/${id}`, change);
    assert.deepEqual([body.title, body.status, body.sport_teams, body.slug], ['After', 'live', ['A', 'B'], 'changing']);
    assert.ok(body.updated_at > body.created_at);
    const unknown = await refusal('PATCH', `/admin/events/${NOBODY}`, change);
    assert.deepEqual(unknown, [404, 'NOT_FOUND', 'event not found']);
  });

  test('an event lists all its markets in the order of creation, drafts too', async () => {
    const event = await server.admin.createEvent({ slug: 'full', title: 'Full' });
    const first = await create({ event_id: event.id.toUpperCase(), title: 'one', status: 'draft' });
    const second = await create({ title: 'two' });
    // In upper case it is the same id.
    await server.adminRequest('PATCH', `/admin/markets/${second.id}`, { event_id: event.id.toUpperCase() });
    assert.deepEqual(await get('/v1/events/full'), {
      slug: 'full',
      title: 'Full',
      status: 'upcoming',
      markets: [
        { id: first.id, title: 'one', status: 'draft', outcomes: ['Yes', 'No'] },
        { id: second.id, title: 'two', status: 'active', outcomes: ['Yes', 'No'] },
      ],
      created_at: event.created_at,
    });
    const { events } = await get('/v1/events?search=FULL');
    assert.equal(events[0].market_count, 2);
    await server.adminRequest('PATCH', `/admin/markets/${second.id}`, { event_id: null });
    assert.equal((await get('/v1/events/full')).markets.length, 1);
    assert.equal((await server.request('GET', '/v1/events/nothing')).status, 404);
  });

  test('events are listed newest first and filtered', async () => {
    const category = `events ${randomUUID()}`;
    for (const [slug, status] of [
      ['list-a', 'upcoming'],
      ['list-b', 'live'],
      ['list-c', 'live'],
    ] as const) {
      await server.admin.createEvent({ slug, title: slug, status, category });
    }
    const list = async (query: Record<string, string>): Promise<Json> =>
      get(`/v1/events?${new URLSearchParams({ category, ...query })}`);
    assert.deepEqual(titles((await list({})).events), ['list-c', 'list-b', 'list-a']);
    assert.deepEqual(titles((await list({ status: 'live', limit: '1', offset: '1' })).events), ['list-b']);
    assert.deepEqual(titles((await list({ search: 'LIST (a)' })).events), ['list-a']);
  });
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
    const category = `sport ${randomUUID()}`;
    const league = { category, sport_league: 'NFL' };
    await server.admin.createEvent({ slug: 'game-1', title: 'Game 1', ...league, sport_teams: ['Lions', 'Bears'] });
    const { id } = await server.admin.createEvent({
      slug: 'game-2',
      title: 'Game 2',
      ...league,
      sport_teams: ['Bears', 'Jets'],
    });
    await server.admin.createEvent({ slug: 'game-3', title: 'Game 3', category, sport_league: 'NBA' });
    await server.admin.createEvent({ slug: 'no-game', title: 'No game', category, sport_teams: ['Nobody'] });
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

describe('time', () => {
  test('a market opens at its start and closes at its end by itself', async () => {
    const start = Date.now() + 400;
    const opening = await create({ trading_starts_at: new Date(start).toISOString() });
    const closing = await create({ trading_ends_at: new Date(start).toISOString() });
    assert.deepEqual([opening.status, closing.status], ['pending', 'active']);
    // Polled, not slept for: the ticks of the server decide when.
    const waitFor = async (id: string, status: string): Promise<void> => {
      while ((await client.market(id)).status !== status);
    };
    await waitFor(opening.id, 'active');
    await waitFor(closing.id, 'locked');
    const reopened = await refusal('PATCH', `/admin/markets/${closing.id}`, { status: 'active' });
    assert.equal(reopened[0], 409);
  });
});

describe('a crash between the catalogue and the shard', () => {
  test('leaves a market that the next start opens, and what fell due meanwhile has happened', async () => {
    const trader = await makeTrader(server);
    const market = await makeMarket(server);
    const expirationSec = Math.floor(Date.now() / 1000) + 2;
    await trader.place(market, { price: '0.30', size: '10', timeInForce: 'GTD', expirationSec });
    const ending = await create({ trading_ends_at: new Date(expirationSec * 1000).toISOString() });
    await server.kill();
    await eventually('the second of both', async () => Date.now() >= expirationSec * 1000);
    const database = openControlDatabase(join(server.dataDir, 'control.db'));
    const { id, yesTokenId } = new Catalog(database, 2).createMarket(
      {
        eventId: null,
        ticksPerUnit: 100,
        minOrderAtomic: 1_000_000,
        tokenIds: null,
        opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: Date.now(), endMs: Date.parse(FAR) },
        details: completeMarketDetails({ title: 'Left over', description: '', category: 'Weather' }),
      },
      Date.now(),
    );
    database.close();
    await server.restart();
    // RULES.md 10.2: nobody is told that the exchange is ready while an order past its expiration still shows as open.
    assert.deepEqual(await trader.reconnected().client.openOrders(market.id), []);
    assert.equal((await get(`/v1/markets/${ending.id}`)).status, 'locked');
    const left = await get(`/v1/markets/${id}`);
    assert.deepEqual([left.status, left.yes_token_id], ['active', yesTokenId]);
  });
});

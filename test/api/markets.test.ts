/** Markets over HTTP on a real server: how they are made, changed and shown, opened and closed in time. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openControlDatabase } from '../../gateway/base/database.ts';
import { Catalog } from '../../gateway/markets/catalog.ts';
import { completeMarketDetails } from '../../gateway/markets/marketDetails.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import { draftOrder } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { Market } from '../../shared/client/types.ts';
import { catalogueOf, FAR, fields } from '../support/catalogue.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DAY_MS = 86_400_000;
const NOBODY = '00000000-0000-4000-8000-000000000000';

const server = await sharedServer();
const client = new ExchangeClient({ baseUrl: server.baseUrl });
const { create, refusal, get } = catalogueOf(server);

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
      stage: 'open',
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
    ...[
      'javascript:alert(1)',
      'data:text/html,x',
      ' https://example.org',
      'https://',
      '//example.org',
      'ftp://a',
      '',
    ].flatMap((url): [string, Record<string, unknown>, string][] => [
      [`the source ${url}`, { resolution_source: url }, 'invalid resolution_source'],
      [`settled by ${url}`, { settlement_sources: [{ name: 'a', url }] }, 'invalid url'],
    ]),
    // A terminal obeys these signs, or hides them (RULES.md 9.4).
    ...[0x07, 0x0a, 0x1b, 0x9b, 0x200b, 0x200e, 0x202e, 0x061c, 0x2028, 0x2029, 0xfeff, 0xe0041].flatMap(
      (code): [string, Record<string, unknown>, string][] => {
        const text = `Yes${String.fromCodePoint(code)}`;
        const sign = code.toString(16);
        return [
          [`a title with the sign ${sign}`, { title: text }, 'invalid title'],
          [`an outcome with the sign ${sign}`, { outcomes: [text, 'No'] }, 'invalid outcomes'],
          // A description has ends of lines.
          [`a description with the sign ${sign}`, { description: text.replace('\n', '\0') }, 'invalid description'],
        ];
      },
    ),
    ['no title', { title: undefined }, 'missing field: title'],
    ['an empty title', { title: '' }, 'invalid title'],
    ['no end', { trading_ends_at: undefined }, 'missing field: trading_ends_at'],
    ['an end that is no timestamp', { trading_ends_at: 'tomorrow' }, 'invalid trading_ends_at'],
    ['an end in the past', { trading_ends_at: '2020-01-01T00:00:00Z' }, 'invalid trading_ends_at'],
    ['a start after the end', { trading_starts_at: '2099-01-02T00:00:00Z' }, 'invalid trading_ends_at'],
    ['active before its start', { status: 'active', trading_starts_at: '2098-01-01T00:00:00Z' }, 'invalid status'],
    ['a status of later life', { status: 'resolved' }, 'invalid status'],
    ['another grid', { ticks_per_unit: 60 }, 'invalid ticks_per_unit'],
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

  test("from then on the fee and the times are the shard's", async () => {
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

describe('time', () => {
  test('a market opens at its start and closes at its end by itself', async () => {
    // Late enough that a busy machine has made the market by then.
    const soon = () => new Date(Date.now() + 2000).toISOString();
    const opening = await create({ trading_starts_at: soon() });
    const closing = await create({ trading_ends_at: soon() });
    assert.deepEqual([opening.status, closing.status], ['pending', 'active']);
    const waitFor = (id: string, status: string) =>
      eventually(status, async () => (await client.market(id)).status === status);
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

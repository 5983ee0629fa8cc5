/** Terms that people rely on change by two operators where there are two, and outcomes never (RULES.md 9.80). */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { AdminClient } from '../../shared/client/admin.ts';
import { ApprovalNeededError } from '../../shared/client/approvalNeeded.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const LATER = '2098-01-01T00:00:00.000Z';
const SOURCE = [{ name: 'A', url: 'https://a.example' }];

/** A value of each term that is not the present one. */
const MARKET_TERMS: Readonly<Record<string, unknown>> = {
  title: 'Will it snow tomorrow?',
  subtitle: 'anywhere',
  description: 'Yes if it snows.',
  external_source: 'feed',
  external_event_id: 'E-1',
  external_market_type: 'total',
  series_ticker: 'SNOW',
  player_name: 'Ada',
  player_team_abbrev: 'ADA',
  stat_category: 'points',
  period: 'Q1',
  line: 2.5,
  resolution_source: 'https://other.example',
  settlement_sources: SOURCE,
  trading_ends_at: LATER,
  fee_bps: 10_000,
};
/** Fields that promise nothing to a buyer. */
const MARKET_REST: Readonly<Record<string, unknown>> = {
  category: 'Snow',
  subcategories: ['a'],
  outcome_probabilities: [40, 60],
  open_interest: 3,
  volume_24h: 4,
};
const EVENT_TERMS: Readonly<Record<string, unknown>> = {
  title: 'Another week',
  description: 'Of snow.',
  start_time: LATER,
  sport_league: 'NFL',
  sport_teams: ['North', 'South'],
  external_event_id: 'E-2',
  external_platform: 'feed',
  external_event_subtitle: 'x',
  external_event_mutually_exclusive: true,
  home_player_full_name: 'Ada',
  away_player_full_name: 'Bea',
};
const EVENT_REST: Readonly<Record<string, unknown>> = {
  status: 'live',
  category: 'Snow',
  image_url: 'https://image.example/x.png',
};

const server = await startServer(fileScope, { SHARDS: '2' });
const buyer = await makeTrader(server);
const seller = await makeTrader(server);
let names = 0;

type Operator = { readonly client: AdminClient; readonly token: string };

async function operator(): Promise<Operator> {
  const { token } = await server.admin.createOperator({ name: `clerk-${++names}`, roles: ['catalogue'] });
  return { token, client: new AdminClient({ baseUrl: server.baseUrl, token }) };
}

function patch(path: string, body: unknown, token = server.adminToken): Promise<Answer> {
  return server.request('PATCH', path, body, { authorization: `Bearer ${token}` });
}

async function bid(market: OrderMarket, who: Trader = buyer): Promise<string> {
  return (await who.place(market, { price: '0.40', size: '10' })).order_hash;
}

/** The buyer gets ten Yes tokens, the seller ten No tokens. */
async function trade(market: OrderMarket): Promise<void> {
  await bid(market);
  await seller.place(market, { outcomeIndex: 1, price: '0.60', size: '10' });
  assert.equal((await buyer.holdings(market)).yes, 9_950_000);
}

async function shown(market: OrderMarket): Promise<Json> {
  return (await server.request('GET', `/v1/markets/${market.id}`)).body;
}

async function termsChanged(): Promise<Json[]> {
  return (await server.admin.audit({ event: 'terms_changed', limit: 100 })).records as Json[];
}

function importLines(lines: readonly object[], token = server.adminToken): Promise<Answer> {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return server.request('POST', '/admin/catalogue/import', text, { authorization: `Bearer ${token}` });
}

function assertOutcomesRefused({ status, body }: Answer): void {
  const error = 'outcomes never change once a market has orders, tokens or trades';
  assert.deepEqual([status, body.code, body.error], [409, 'CONFLICT', error]);
  assert.deepEqual(body.details, { field: 'outcomes', rule: 'unchanged' });
}

describe('with one operator alone', () => {
  test('terms that nobody relies on, even outcomes, are changed without a record of their own', async () => {
    const market = await makeMarket(server);
    const changed = await patch(`/admin/markets/${market.id}`, { ...MARKET_TERMS, outcomes: ['Up', 'Down'] });
    assert.equal(changed.status, 200);
    assert.deepEqual(changed.body.outcomes, ['Up', 'Down']);
    assert.deepEqual(await termsChanged(), []);
  });

  test('a change of terms that people have bought is recorded as such, with the terms before', async () => {
    const market = await makeMarket(server);
    await trade(market);
    const { status } = await patch(`/admin/markets/${market.id}`, { title: 'Snow?', category: 'Snow' });
    assert.equal(status, 200);
    const { record } = await eventually('a record', async () => {
      const [first] = await termsChanged();
      return first !== undefined && { record: first };
    });
    assert.partialDeepStrictEqual(record, { operator: 'bootstrap', market_id: market.id });
    assert.deepEqual([record['before'], record['after']], [{ title: 'Will it rain tomorrow?' }, { title: 'Snow?' }]);
    const report = await importLines([{ market: { id: market.id, description: 'Or hail.' } }]);
    assert.equal(report.body.updated, 1);
    await eventually('the record of the line', async () => {
      const [newest] = await termsChanged();
      return newest!['after'].description === 'Or hail.';
    });
  });

  test('outcomes never change by any route once there is an order, a token or a trade', async () => {
    const outcomes = ['No', 'Yes'];
    const markets = await Promise.all([makeMarket(server), makeMarket(server), makeMarket(server)]);
    const [ordered, split, traded] = markets as [OrderMarket, OrderMarket, OrderMarket];
    const hash = await bid(ordered);
    await buyer.client.split(split.id, 1_000_000);
    await trade(traded);
    for (const { id } of markets) {
      assertOutcomesRefused(await patch(`/admin/markets/${id}`, { outcomes }));
      const { lines } = (await importLines([{ market: { id, outcomes } }])).body;
      assert.deepEqual([lines[0].result, lines[0].code], ['failed', 'CONFLICT']);
      assert.equal((await patch(`/admin/markets/${id}`, { outcomes: ['Yes', 'No'] })).status, 200, 'as they are');
    }
    await buyer.client.cancelOrder(hash);
    assert.equal(
      (await patch(`/admin/markets/${ordered.id}`, { outcomes })).status,
      200,
      'nobody relies on it any more',
    );
  });

  test('people still count as relying on a traded market after its last token is gone', async () => {
    const market = await makeMarket(server);
    await buyer.client.split(market.id, 1_000_000);
    const order = { outcomeIndex: 0, price: '0.50', size: '1' } as const;
    await buyer.place(market, { ...order, side: 'SELL' });
    await seller.place(market, { ...order, side: 'BUY', size: '1' });
    await eventually('the volume', async () => (await shown(market))['total_volume'] !== '0');
    await server.admin.cancelMarket(market.id);
    await server.adminRequest('POST', `/admin/markets/${market.id}/settle`);
    assertOutcomesRefused(await patch(`/admin/markets/${market.id}`, { outcomes: ['No', 'Yes'] }));
  });
});

describe('with a second operator', () => {
  let ann: Operator;
  let ben: Operator;

  before(async () => {
    ann = await operator();
    ben = await operator();
  });

  test('each term of a market that has traded waits; the rest, and terms that stay as they are, do not', async () => {
    const market = await makeMarket(server);
    await trade(market);
    const path = `/admin/markets/${market.id}`;
    const present = await shown(market);
    for (const [name, value] of Object.entries(MARKET_TERMS)) {
      const { status, body } = await patch(path, { [name]: value }, ann.token);
      assert.deepEqual([status, body.kind, body.status], [202, 'market_terms', 'pending'], name);
      assert.deepEqual(body.request, {
        market_id: market.id,
        change: { [name]: value },
        replaces: { [name]: present[name] ?? null },
      });
      assert.equal((await patch(path, { [name]: present[name] ?? null }, ann.token)).status, 200, `${name} as it is`);
      assert.equal((await ben.client.reject(body.id)).status, 'rejected');
    }
    const after = await shown(market);
    for (const name of Object.keys(MARKET_TERMS)) assert.deepEqual(after[name], present[name], name);
    for (const [name, value] of Object.entries(MARKET_REST)) {
      assert.equal((await patch(path, { [name]: value }, ann.token)).status, 200, name);
    }
    assert.equal((await patch(path, { status: 'locked' }, ann.token)).status, 200, 'trading is stopped by one');
  });

  test('an approved change is carried out once, and requesting it again answers that it is done', async () => {
    const market = await makeMarket(server);
    await trade(market);
    const path = `/admin/markets/${market.id}`;
    const change = { description: 'Yes if it snows.', trading_ends_at: LATER, resolution_source: null };
    const asked = await patch(path, change, ann.token);
    assert.equal(asked.status, 202);
    assert.deepEqual((await patch(path, change, ann.token)).body, asked.body, 'a repeat is the same request');
    const other = await patch(path, { title: 'Hail?' }, ben.token);
    assert.deepEqual([other.status, other.body.code], [409, 'CONFLICT']);
    const own = await server.request('POST', `/admin/approvals/${asked.body.id}/approve`, undefined, {
      authorization: `Bearer ${ann.token}`,
    });
    assert.deepEqual([own.status, own.body.code], [403, 'SECOND_OPERATOR_REQUIRED']);
    const records = (await termsChanged()).length;
    assert.equal((await ben.client.approve(asked.body.id)).status, 'carried_out');
    assert.partialDeepStrictEqual(await shown(market), { description: 'Yes if it snows.', trading_ends_at: LATER });
    const again = await patch(path, change, ann.token);
    assert.equal(again.status, 200);
    assert.equal((await termsChanged()).length, records, 'no operator has changed it alone');
    await assert.rejects(
      ann.client.patchMarket(market.id, { title: 'Hail?' }),
      (error) => error instanceof ApprovalNeededError && error.approval.kind === 'market_terms',
    );
  });

  test('the fee of an active market with orders waits, and its orders keep to their fee', async () => {
    const market = await makeMarket(server);
    const path = `/admin/markets/${market.id}`;
    assert.equal((await patch(path, { fee_bps: 60 }, ann.token)).status, 200, 'nobody has an order');
    assert.equal((await patch(path, { fee_bps: 50 }, ann.token)).status, 200);
    const hash = await bid(market);
    const asked = await patch(path, { fee_bps: 10_000 }, ann.token);
    assert.deepEqual([asked.status, asked.body.request.replaces], [202, { fee_bps: 50 }]);
    assert.equal((await shown(market))['fee_bps'], 50);
    assert.equal((await ben.client.approve(asked.body.id)).status, 'carried_out');
    const sold = await seller.post(
      seller.body(market, { outcomeIndex: 1, price: '0.60', size: '10', feeRateBps: 10_000 }),
    );
    assert.deepEqual([sold.status, sold.body.status], [200, 'open'], 'the bid sleeps: it has not signed this fee');
    const back = await patch(path, { fee_bps: 50 }, ann.token);
    assert.equal(back.status, 202, 'dormant orders count too');
    assert.equal((await buyer.send('GET', `/v1/orders/${hash}`)).body.status, 'open');
  });

  test('a change that would be refused anyway does not wait for approval, and nobody can change outcomes', async () => {
    const market = await makeMarket(server);
    await trade(market);
    const path = `/admin/markets/${market.id}`;
    assertOutcomesRefused(await patch(path, { outcomes: ['No', 'Yes'] }, ann.token));
    assertOutcomesRefused(await patch(path, { title: 'Hail?', outcomes: ['No', 'Yes'] }, ann.token));
    const early = await patch(path, { trading_ends_at: '2001-01-01T00:00:00.000Z' }, ann.token);
    assert.deepEqual([early.status, early.body.code], [400, 'VALIDATION_ERROR']);
    const { approvals } = await server.admin.approvals({ limit: 1 });
    assert.ok(!JSON.stringify(approvals).includes(market.id));
  });

  test('a change is looked at again when it is approved: outcomes may have been relied on meanwhile', async () => {
    const market = await makeMarket(server);
    const path = `/admin/markets/${market.id}`;
    const hash = await bid(market);
    const asked = await patch(path, { title: 'Hail?', outcomes: ['Yes', 'No'] }, ann.token);
    assert.equal(asked.status, 202);
    await buyer.client.cancelOrder(hash);
    assert.equal((await patch(path, { outcomes: ['Up', 'Down'] }, ann.token)).status, 200);
    await bid(market);
    const { status, failure } = await ben.client.approve(asked.body.id);
    assert.deepEqual([status, failure?.code], ['failed', 'CONFLICT']);
    assert.partialDeepStrictEqual(await shown(market), { title: 'Will it rain tomorrow?', outcomes: ['Up', 'Down'] });
  });

  test('each term of an event, and its place, waits once people rely on one of its markets', async () => {
    const event = await server.admin.createEvent({ title: 'A week of rain' });
    const path = `/admin/events/${event.id}`;
    assert.equal((await patch(path, { title: 'A week of hail' }, ann.token)).status, 200, 'no market');
    const market = await makeMarket(server, { event_id: event.id });
    await makeMarket(server, { event_id: event.id });
    assert.equal((await patch(path, { title: 'A week of rain' }, ann.token)).status, 200, 'no order');
    await trade(market);
    for (const [name, value] of Object.entries(EVENT_TERMS)) {
      const { status, body } = await patch(path, { [name]: value }, ann.token);
      assert.deepEqual([status, body.kind], [202, 'event_terms'], name);
      const isLast = name === 'away_player_full_name';
      assert.equal(
        (await ben.client[isLast ? 'approve' : 'reject'](body.id)).status,
        isLast ? 'carried_out' : 'rejected',
      );
    }
    for (const [name, value] of Object.entries(EVENT_REST)) {
      assert.equal((await patch(path, { [name]: value }, ann.token)).status, 200, name);
    }
    const approved = await patch(path, { description: 'Of snow.' }, ann.token);
    assert.equal((await ben.client.approve(approved.body.id)).status, 'carried_out');
    const { body } = await server.request('GET', `/v1/events/${event.slug}`);
    assert.equal(body.title, 'A week of rain');
    const elsewhere = await patch(`/admin/markets/${market.id}`, { event_id: null }, ann.token);
    assert.deepEqual([elsewhere.status, elsewhere.body.request.replaces], [202, { event_id: event.id }]);
  });

  test('a line of an import that changes relied-on terms fails and says how to request the change', async () => {
    const event = await server.admin.createEvent({ title: 'A week' });
    const market = await makeMarket(server, { event_id: event.id });
    await trade(market);
    const free = await makeMarket(server);
    const { body } = await importLines(
      [
        { market: { id: market.id, title: 'Snow?' } },
        { event: { slug: event.slug, title: 'Another week' } },
        { market: { id: market.id, category: 'Snow' } },
        { market: { id: market.id, trading_ends_at: LATER, fee_bps: 1 } },
        { market: { id: free.id, title: 'Snow?' } },
      ],
      ann.token,
    );
    const second = 'SECOND_OPERATOR_REQUIRED';
    assert.deepEqual(
      body.lines.map(({ result, code }: Json) => code ?? result),
      [second, second, 'updated', second, 'updated'],
    );
    assert.deepEqual(body.lines[3].details, {
      fields: ['trading_ends_at', 'fee_bps'],
      rule: 'asked for by a PATCH of its own',
    });
    assert.partialDeepStrictEqual(await shown(market), {
      title: 'Will it rain tomorrow?',
      category: 'Snow',
      fee_bps: 50,
    });
  });

  test('what waits is known after a restart, and so is what people rely on', async () => {
    const [held, ordered] = [await makeMarket(server), await makeMarket(server)];
    await trade(held);
    await bid(ordered);
    const asked = await patch(`/admin/markets/${held.id}`, { title: 'Snow?' }, ann.token);
    await server.kill();
    await server.restart({ SHARDS: '2' });
    for (const { id } of [held, ordered]) {
      assertOutcomesRefused(await patch(`/admin/markets/${id}`, { outcomes: ['No', 'Yes'] }, ann.token));
    }
    const repeat = await patch(`/admin/markets/${held.id}`, { title: 'Snow?' }, ann.token);
    assert.deepEqual([repeat.status, repeat.body.id], [202, asked.body.id]);
    assert.equal((await patch(`/admin/markets/${ordered.id}`, { title: 'Snow?' }, ann.token)).status, 202);
    const second = new AdminClient({ baseUrl: server.baseUrl, token: ben.token });
    assert.equal((await second.approve(asked.body.id)).status, 'carried_out');
    assert.equal((await shown(held))['title'], 'Snow?');
  });
});

/** Event sets over HTTP (RULES.md 19): made, traded, converted both ways, eliminated, decided, paid. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import type { FundMovements, Market, Position } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { Pmx } from '../support/pmx.ts';
import { sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const DAY_MS = 86_400_000;
const TEN = 10_000_000;
const MEMBER = [409, 'MEMBER_OF_SET', 'the market belongs to a set, which is changed and decided as a whole'] as const;

describe('event sets', () => {
  afterEach(() => assertBalanced(server));

  async function makeSet(names: readonly string[]): Promise<{ id: string; markets: readonly Market[] }> {
    const { event, markets } = await server.admin.sets.create({
      event: { title: `Who wins ${randomUUID()}` },
      winners: 1,
      fee_bps: 0,
      trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
      markets: names.map((title) => ({ title })),
    });
    assert.equal(event.winners, 1);
    assert.deepEqual(
      markets.map(({ title }) => title),
      names,
    );
    return { id: event.id, markets };
  }

  const usdcOf = async (trader: Trader): Promise<number> => Number((await trader.client.balances()).usdc.available);
  const tokensOf = async (trader: Trader, market: Market): Promise<[yes: number, no: number]> => {
    const { tokens } = await trader.client.balances();
    const held = (outcome: number): number =>
      Number(tokens.find((row) => row.market_id === market.id && row.outcome_index === outcome)?.available ?? 0);
    return [held(0), held(1)];
  };
  const idsOf = (markets: readonly Market[]): string[] => markets.map(({ id }) => id);

  test('RULES.md 19.3: a No in each of two markets of three is one USDC and a Yes of the third, and back', async () => {
    const { id, markets } = await makeSet(['A', 'B', 'C']);
    const [a, b, c] = markets as [Market, Market, Market];
    const trader = await makeTrader(server);
    for (const market of [a, b]) await trader.client.split(market.id, TEN);
    const before = await usdcOf(trader);
    const wanted = { direction: 'to_usdc', markets: [a.id, b.id], amount: '4000001' } as const;
    const preview = await trader.client.convert(id, { ...wanted, dry_run: true });
    assert.equal(await usdcOf(trader), before, 'a dry run changes nothing');
    const key = randomUUID();
    const done = await trader.client.convert(id, wanted, key);
    assert.deepEqual({ ...preview, dry_run: false }, done);
    assert.deepEqual(await trader.client.convert(id, wanted, key), done, 'the key converts once');
    assert.equal(await usdcOf(trader), before + 4_000_001);
    assert.deepEqual(await tokensOf(trader, a), [TEN, TEN - 4_000_001]);
    assert.deepEqual(await tokensOf(trader, c), [4_000_001, 0]);
    await trader.client.convert(id, { ...wanted, direction: 'from_usdc' });
    assert.equal(await usdcOf(trader), before);
    assert.deepEqual(await tokensOf(trader, a), [TEN, TEN]);
    assert.deepEqual(await tokensOf(trader, c), [0, 0]);
  });

  test('RULES.md 19.9: the costs of a conversion go over to what comes, and its lines add up', async () => {
    const { id, markets } = await makeSet(['A', 'B', 'C']);
    const [a, b, c] = markets as [Market, Market, Market];
    const trader = await makeTrader(server);
    await trader.client.split(a.id, TEN);
    await trader.client.convert(id, { direction: 'to_usdc', markets: [a.id], amount: String(TEN) });
    // A No that cost 0.50 became a Yes of two markets.
    const prices = await eventually('the positions', async () => {
      const positions = (await trader.send('GET', '/v1/user/positions')).body as Position[];
      const priceOf = ({ id: market }: Market): string | null | undefined =>
        positions.find((row) => row.market_id === market && row.outcome_index === 0)?.average_entry_price;
      return priceOf(c) !== undefined && [b, c].map(priceOf);
    });
    assert.deepEqual(prices.map(Number), [0.25, 0.25]);
    const { movements } = (await trader.send('GET', '/v1/user/fund-movements')).body as FundMovements;
    const lines = movements.filter(({ type }) => type === 'conversion');
    const sum = lines.reduce((total, { amount_usdc_micro: micro }) => total + Number(micro), 0);
    assert.deepEqual([lines.length, sum], [3, 0]);
  });

  test('RULES.md 19.5, 19.6, 19.8: one market is eliminated, then the set is decided and pays everything', async () => {
    const { id, markets } = await makeSet(['A', 'B', 'C']);
    const [a, b, c] = markets as [Market, Market, Market];
    const trader = await makeTrader(server);
    const start = await usdcOf(trader);
    await trader.client.convert(id, { direction: 'from_usdc', markets: [], amount: String(TEN) });
    assert.equal(await usdcOf(trader), start - TEN, 'a Yes of every market costs one USDC');
    await trader.client.split(a.id, TEN);
    for (const [step, body] of [
      ['resolve', { outcome_index: 0 }],
      ['cancel', {}],
      ['settle', undefined],
    ] as const)
      assertRefused(await server.adminRequest('POST', `/admin/markets/${b.id}/${step}`, body), ...MEMBER);
    assertRefused(await server.adminRequest('PATCH', `/admin/markets/${b.id}`, { fee_bps: 10 }), ...MEMBER);
    assertRefused(await server.adminRequest('PATCH', `/admin/markets/${b.id}`, { event_id: null }), ...MEMBER);
    await server.admin.resolveMarket(a.id, { outcome_index: 1 });
    await trader.client.claim(a.id);
    assert.equal(await usdcOf(trader), start - TEN, 'the No of the eliminated market pays at once');
    const last = await server.adminRequest('POST', `/admin/markets/${b.id}/resolve`, { outcome_index: 1 });
    assertRefused(last, 409, 'TOO_FEW_MEMBERS', 'at least two markets of a set stay until it is decided');
    const late = { direction: 'from_usdc', markets: [], amount: String(TEN) } as const;
    const refused = await trader.send('POST', `/v1/events/${id}/convert`, late);
    assertRefused(refused, 400, 'MARKET_NOT_ACTIVE', 'market not active');
    await server.admin.sets.resolve(id, { winner: c.id });
    await server.admin.sets.settle(id);
    assert.equal(await usdcOf(trader), start, 'the Yes of the winner pays what all of them cost');
    const { markets: settled } = await server.admin.sets.settle(id).catch(() => ({ markets: [] }));
    assert.deepEqual(settled, [], 'a set is settled once');
    for (const market of [b, c]) assert.equal((await trader.client.market(market.id)).status, 'settled');
  });

  test('RULES.md 19.7: a set without an answer pays an equal part for every Yes', async () => {
    const { id, markets } = await makeSet(['A', 'B', 'C']);
    const trader = await makeTrader(server);
    const start = await usdcOf(trader);
    await trader.client.convert(id, { direction: 'from_usdc', markets: idsOf(markets), amount: '1' });
    assert.equal(await usdcOf(trader), start - 2, 'a No of all three markets costs two USDC');
    await server.admin.sets.cancel(id);
    await server.admin.sets.settle(id);
    assert.equal((await trader.client.market(markets[0]!.id)).status, 'cancelled');
  });

  test('pmx converts, and a dry run only says what would change', async () => {
    const { id, markets } = await makeSet(['A', 'B']);
    const trader = await makeTrader(server);
    const { keyId, secret, passphrase } = trader.credentials;
    const key = { API_KEY: keyId, API_SECRET: secret, API_PASSPHRASE: passphrase };
    const pmx = new Pmx({ BASE_URL: server.baseUrl, ...key });
    const preview = await pmx.lines('convert', id, '2', '--back', '--dry-run');
    assert.match(preview.join('\n'), /^ASSET +WOULD CHANGE BY[\s\S]*^USDC +-2\b[\s\S]*^Yes +2 +A$/m);
    assert.equal((await pmx.json('convert', id, '2', '--back')).usdc_micro, '-2000000');
    assert.equal((await pmx.json('convert', id, '2')).usdc_micro, '2000000');
    const both = await pmx.json('convert', id, '2', '--back', '--markets', idsOf(markets).join());
    assert.equal(both.usdc_micro, '-2000000', 'a No of both is one USDC');
  });

  test('of two sets with one slug that are made at once there is one', async () => {
    const wanted = {
      event: { title: 'Twice', slug: `twice-${randomUUID()}` },
      winners: 1,
      trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
      markets: [{ title: 'A' }, { title: 'B' }],
    };
    const made = [1, 2].map(() => server.adminRequest('POST', '/admin/event-sets', wanted));
    const statuses = (await Promise.all(made)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [201, 409]);
  });

  test('RULES.md 9.44: an exported set is made anew by its lines, with other ids, and trades', async () => {
    const { id, markets } = await makeSet(['A', 'B', 'C']);
    const text = await new Response(await server.admin.exportCatalogue()).text();
    const ids = [id, ...idsOf(markets)];
    const own = text.split('\n').filter((each) => ids.some((one) => each.includes(`"id":"${one}"`)));
    assert.deepEqual(own.map((each) => Object.keys(JSON.parse(each))[0]).sort(), [
      ...['event', 'event_set'],
      ...['market', 'market', 'market'],
    ]);
    const { slug } = JSON.parse(own[0]!).event_set;
    const fresh = ids.map(() => randomUUID());
    const other = [...ids.entries()].reduce((file, [at, one]) => file.replaceAll(one, fresh[at]!), own.join('\n'));
    // The tokens follow from the ids.
    const file = other.replaceAll(`"${slug}"`, `"${slug}-2"`).replaceAll(/,"(?:yes|no)_token_id":"\d+"/g, '');
    const made = await server.admin.importCatalogue(file);
    assert.deepEqual([made.failed, made.created, made.lines[0]!.kind], [0, 1, 'event_set'], JSON.stringify(made));
    assert.equal((await server.admin.importCatalogue(file)).unchanged, own.length);
    const trader = await makeTrader(server);
    const body = { direction: 'from_usdc', markets: [], amount: '1000000' };
    const { status } = await trader.send('POST', `/v1/events/${fresh[0]}/convert`, body);
    assert.equal(status, 200);
    const wrong = { event: { slug: `fresh-${randomUUID()}`, title: 'Fresh', winners: 1 } };
    const { lines } = await server.admin.importCatalogue(JSON.stringify(wrong));
    assert.deepEqual(
      [lines[0]!.code, lines[0]!.details],
      ['VALIDATION_ERROR', { field: 'event.winners', rule: 'left out: an event set is made by a line "event_set"' }],
    );
    await assertBalanced(server);
  });

  test('what is no set, or not of it, is refused by name, and no market joins', async () => {
    const { id, markets } = await makeSet(['A', 'B']);
    const trader = await makeTrader(server);
    const event = await server.admin.createEvent({ title: `No set ${randomUUID()}` });
    const other = await makeMarket(server);
    const body = { direction: 'to_usdc', markets: [], amount: '1000000' };
    const convert = (of: string, asked: object) => trader.send('POST', `/v1/events/${of}/convert`, asked);
    assertRefused(await convert(event.id, body), 409, 'NOT_A_SET', 'the event is not a set');
    assertRefused(await convert(randomUUID(), body), 404, 'NOT_FOUND', 'event not found');
    const stranger = await trader.send('POST', `/v1/events/${id}/convert`, { ...body, markets: [other.id] });
    assert.deepEqual([stranger.status, stranger.body.code], [400, 'VALIDATION_ERROR']);
    for (const dry_run of [true, false]) {
      const poor = await trader.send('POST', `/v1/events/${id}/convert`, { ...body, markets: idsOf(markets), dry_run });
      assertRefused(poor, 400, 'INSUFFICIENT_BALANCE', 'insufficient balance');
      const details = { asset: 'TOKEN', required: '1000000', available: '0', reserved: '0' };
      assert.deepEqual(poor.body.details, details);
    }
    assertRefused(await server.adminRequest('PATCH', `/admin/markets/${other.id}`, { event_id: id }), ...MEMBER);
    const { trading_ends_at } = markets[0]!;
    const joining = { title: 'C', description: 'C', category: 'C', event_id: id, trading_ends_at };
    assertRefused(await server.adminRequest('POST', '/admin/markets', joining), ...MEMBER);
    const unequal = await server.adminRequest('POST', `/admin/event-sets/${id}/resolve`, {
      payouts: markets.map((market) => ({ market_id: market.id, payout_yes_ppm: 1 })),
    });
    assert.deepEqual([unequal.status, unequal.body.code], [400, 'VALIDATION_ERROR']);
    const [first, second] = idsOf(markets);
    const twice = [first, first!.toUpperCase(), second].map((market_id, at) => {
      return { market_id, payout_yes_ppm: at === 2 ? 400_000 : 600_000 };
    });
    for (const step of ['resolve', 'cancel']) {
      const refused = await server.adminRequest('POST', `/admin/event-sets/${id}/${step}`, { payouts: twice });
      assert.deepEqual([refused.status, refused.body.details?.rule], [400, 'one for each market']);
    }
    for (const dry_run of [true, false]) {
      const named = [first!, first!.toUpperCase()];
      const again = await trader.send('POST', `/v1/events/${id}/convert`, { ...body, markets: named, dry_run });
      assert.deepEqual([again.status, again.body.details?.rule], [400, 'named once']);
    }
    assertRefused(
      await server.adminRequest('POST', `/admin/event-sets/${event.id}/resolve`, { winner: other.id }),
      ...([409, 'NOT_A_SET', 'the event is not a set'] as const),
    );
  });
});

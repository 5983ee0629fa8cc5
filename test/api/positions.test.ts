/** Positions, claims and marks as accounts see them, on a real server (RULES.md 14.20 to 14.25). */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { Position } from '../../shared/client/types.ts';
import { onLedgerOnly } from '../support/backend.ts';
import { sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const NOT_ALLOWED = [409, 'CONFLICT', 'market status does not allow this'] as const;
const NOTHING = [404, 'NOT_FOUND', 'nothing to claim'] as const;
const PATH = '/v1/user/positions';

const ofMarks = onLedgerOnly(
  'on a chain a mark needs a claim of the wallet there (RULES.md 17.34); test/chain/markets tests it',
);

describe('positions', () => {
  afterEach(() => assertBalanced(server));

  const pathOf = (market: OrderMarket, step: 'claim' | 'mark-claimed'): string => `${PATH}/${market.id}/${step}`;
  const usdcOf = async (trader: Trader): Promise<number> => Number((await trader.client.balances()).usdc.available);

  /** Returns the positions without their ids. */
  async function shown(trader: Trader): Promise<Omit<Position, 'id' | 'market_id'>[]> {
    return (await trader.client.positions.list()).map(({ id: _id, market_id: _market, ...rest }) => rest);
  }

  /** Alice buys 10 Yes at 0.60 and Bob 10 No at 0.40; both pay a fee of 0.05 tokens. */
  async function bet(): Promise<{ market: OrderMarket; alice: Trader; bob: Trader }> {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.place(market, { price: '0.60', size: '10' });
    await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10' });
    return { market, alice, bob };
  }

  test('RULES.md 14.20: bought, sold in part, claimed: 6.00 paid, 2.985 and 5.95 received make 2.935', async () => {
    const { market, alice, bob } = await bet();
    const carol = await makeTrader(server);
    const bought = { quantity: '9950000', realized_pnl: '0.000000', claimed: false };
    assert.deepEqual(await shown(alice), [{ ...bought, outcome_index: 0, average_entry_price: '0.60000000' }]);
    assert.deepEqual(await shown(bob), [{ ...bought, outcome_index: 1, average_entry_price: '0.40000000' }]);
    assert.deepEqual(await shown(carol), []);

    await alice.place(market, { side: 'SELL', price: '0.75', size: '4' });
    await carol.place(market, { price: '0.75', size: '4' });
    const yes = { outcome_index: 0, average_entry_price: '0.60000000', claimed: false };
    // 4 of 9.95 tokens that cost 6.00 take 2.412060 along, and bring 3.00 less 0.015.
    assert.deepEqual(await shown(alice), [{ ...yes, quantity: '5950000', realized_pnl: '0.572940' }]);
    const [id] = (await alice.client.positions.list()).map((position) => position.id);

    await server.admin.resolveMarket(market.id, { outcome_index: 0 });
    // The decision realizes the payout of winning and losing tokens; the claim moves nothing.
    const no = { outcome_index: 1, average_entry_price: '0.40000000', realized_pnl: '-4.000000' };
    assert.deepEqual(await shown(alice), [{ ...yes, quantity: '5950000', realized_pnl: '2.935000' }]);
    assert.deepEqual(await shown(bob), [{ ...no, quantity: '9950000', claimed: false }]);
    await alice.client.claim(market.id);
    assert.deepEqual(await shown(alice), [{ ...yes, quantity: '0', realized_pnl: '2.935000', claimed: true }]);
    assert.equal((await alice.client.positions.list())[0]!.id, id, 'the id of a position stays');
    await server.admin.settleMarket(market.id);
    assert.deepEqual(await shown(bob), [{ ...no, quantity: '0', claimed: true }]);
    const settled = { outcome_index: 0, average_entry_price: '0.75000000', claimed: true };
    assert.deepEqual(await shown(carol), [{ ...settled, quantity: '0', realized_pnl: '0.980000' }]);
  });

  test('RULES.md 14.20: a sold position is shown with its realized gain, and cannot be claimed', async () => {
    const market = await makeMarket(server, { fee_bps: 0 });
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.client.split(market.id, 10_000_000);
    await bob.place(market, { price: '0.70', size: '10', feeRateBps: 0 });
    await alice.place(market, { side: 'SELL', price: '0.70', size: '10', feeRateBps: 0 });
    await server.admin.cancelMarket(market.id);
    await alice.client.claim(market.id);
    const half = { average_entry_price: '0.50000000', quantity: '0' };
    assert.deepEqual(await shown(alice), [
      { ...half, outcome_index: 0, realized_pnl: '2.000000', claimed: false },
      { ...half, outcome_index: 1, realized_pnl: '0.000000', claimed: true },
    ]);
  });

  test('RULES.md 14.23: pages neither skip nor repeat a position, and together are the whole list', async () => {
    const trader = await makeTrader(server);
    const markets: OrderMarket[] = [];
    for (let n = 0; n < 3; n++) markets.push(await makeMarket(server));
    for (const { id } of markets) await trader.client.split(id, 1_000_000);
    const all = await trader.client.positions.list();
    const expected = markets.flatMap(({ id }) => [0, 1].map((outcome) => [id, outcome]));
    assert.deepEqual(
      all.map(({ market_id, outcome_index }) => [market_id, outcome_index]),
      expected,
      'in the order of markets, Yes before No',
    );
    assert.equal(new Set(all.map(({ id }) => id)).size, 6);
    for (const limit of [1, 2, 4, 6]) {
      const pages: Position[] = [];
      for (let page = await trader.client.positions.list({ limit }); page.length > 0; ) {
        assert.ok(page.length <= limit);
        pages.push(...page);
        page = await trader.client.positions.list({ limit, cursor: page.at(-1)!.id });
      }
      assert.deepEqual(pages, all);
    }
    assert.deepEqual(await trader.client.positions.list({ market_id: markets[1]!.id }), all.slice(2, 4));
    assert.deepEqual(await trader.client.positions.list({ market_id: markets[1]!.id, cursor: all[2]!.id }), [all[3]]);

    const stranger = await makeTrader(server);
    const foreign = await stranger.send('GET', `${PATH}?cursor=${all[0]!.id}`);
    assertRefused(foreign, 400, 'VALIDATION_ERROR', 'invalid cursor');
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=1', 'market_id=x']) {
      assert.equal((await trader.send('GET', `${PATH}?${query}`)).status, 400, query);
    }
    const unknown = await trader.send('GET', `${PATH}?market_id=${UNKNOWN_MARKET}`);
    assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
    assert.equal((await server.request('GET', PATH)).status, 401);
  });

  test('RULES.md 14.21: a mark makes positions claimed and moves no money: a claim still pays', ofMarks, async () => {
    const { market, alice, bob } = await bet();
    assertRefused(await alice.send('POST', pathOf(market, 'mark-claimed')), ...NOT_ALLOWED);
    assertRefused(await alice.send('POST', pathOf(market, 'claim')), ...NOT_ALLOWED);
    await server.admin.resolveMarket(market.id, { outcome_index: 0 });
    const before = await usdcOf(alice);
    assert.equal((await alice.client.redeemable()).length, 1);

    assert.deepEqual(await alice.client.positions.markClaimed(market.id), { message: 'marked as claimed' });
    assert.deepEqual(
      await alice.client.positions.markClaimed(market.id),
      { message: 'marked as claimed' },
      'as often as it is asked',
    );
    const [marked] = await shown(alice);
    assert.deepEqual([marked!.claimed, marked!.quantity, marked!.realized_pnl], [true, '9950000', '3.950000']);
    assert.deepEqual(await alice.client.redeemable(), []);
    assert.equal(await usdcOf(alice), before);
    assert.equal((await shown(bob))[0]!.claimed, false, 'the marks of an account are its own');

    await alice.client.claim(market.id);
    assert.equal(await usdcOf(alice), before + 9_950_000);
    assertRefused(await alice.send('POST', pathOf(market, 'claim')), ...NOTHING);
    assert.equal(
      (await alice.client.positions.markClaimed(market.id)).message,
      'marked as claimed',
      'after the claim, too',
    );

    const [stranger, reader] = [await makeTrader(server), await makeTrader(server, { scopes: ['read:account'] })];
    assertRefused(await stranger.send('POST', pathOf(market, 'mark-claimed')), ...NOTHING);
    const unscoped = await reader.send('POST', pathOf(market, 'mark-claimed'));
    assertRefused(unscoped, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    const unknown = await alice.send('POST', `${PATH}/${UNKNOWN_MARKET}/mark-claimed`);
    assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
    assert.equal((await server.request('POST', pathOf(market, 'mark-claimed'))).status, 401);
  });

  test('RULES.md 14.24: of 100 claims at the same time one pays, and 99 find nothing to claim', async () => {
    const { market, alice } = await bet();
    await server.admin.resolveMarket(market.id, { payouts: [600_000, 400_000] });
    const before = await usdcOf(alice);
    const answers = await Promise.all(Array.from({ length: 100 }, () => alice.send('POST', pathOf(market, 'claim'))));
    const paid = answers.filter(({ status }) => status === 200);
    assert.equal(paid.length, 1);
    assert.deepEqual(Object.keys(paid[0]!.body), ['message', 'market_id', 'tx_hash']);
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, ...NOTHING);
    // 9.95 tokens at 0.60.
    assert.equal(await usdcOf(alice), before + 5_970_000);
    assert.equal((await shown(alice))[0]!.realized_pnl, '-0.030000');
  });

  test('RULES.md 14.25: the P&L of a day follows the books, and includes the account’s actions at once', async () => {
    const { market, alice } = await bet();
    const first = await alice.client.positions.pnl24h();
    // 9.95 tokens that cost 6.00 are worth the last trade, 0.60.
    assert.deepEqual(
      [first.available_balance_usdc, first.pnl_24h_usdc, first.pnl_24h_pct],
      ['994.00', '-0.03', 0],
      'nothing was there a day ago, so there is no part of it',
    );
    assert.ok(Math.abs(Date.parse(first.computed_at) - Date.now()) < 60_000);
    const carol = await makeTrader(server);
    await carol.place(market, { price: '0.70', size: '1' });
    await carol.client.split(market.id, 1_000_000);
    await carol.place(market, { side: 'SELL', price: '0.80', size: '1' });
    await alice.place(market, { price: '0.10', size: '10' });
    const second = await alice.client.positions.pnl24h();
    // 9.95 x 0.75 = 7.4625.
    assert.deepEqual([second.available_balance_usdc, second.pnl_24h_usdc], ['993.00', '1.46']);
    assert.deepEqual(await alice.client.positions.pnl24h(), second, 'kept for 30 seconds');

    const pauper = await makeTrader(server, { depositMicro: 0 });
    const none = await pauper.client.positions.pnl24h();
    assert.deepEqual([none.available_balance_usdc, none.pnl_24h_usdc, none.pnl_24h_pct], ['0.00', '0.00', 0]);
    const placer = await makeTrader(server, { scopes: ['trade:orders'] });
    assertRefused(
      await placer.send('GET', '/v1/user/portfolio/pnl-24h'),
      403,
      'INSUFFICIENT_SCOPE',
      'API key lacks the required scope',
    );
    assert.equal((await server.request('GET', '/v1/user/portfolio/pnl-24h')).status, 401);
  });

  test(
    'RULES.md 14.21: marks and positions are the same after kill -9, and none had to be corrected',
    ofMarks,
    async () => {
      const { market, alice, bob } = await bet();
      await server.admin.resolveMarket(market.id, { outcome_index: 0 });
      await alice.client.positions.markClaimed(market.id);
      const before = [await alice.client.positions.list(), await bob.client.positions.list()];
      await server.kill();
      await server.start();
      const again = [
        await alice.reconnected().client.positions.list(),
        await bob.reconnected().client.positions.list(),
      ];
      assert.deepEqual(again, before);
      assert.deepEqual(await alice.reconnected().client.redeemable(), []);
      const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text();
      assert.match(metrics, /^exchange_position_differences_total 0$/m);
    },
  );
});

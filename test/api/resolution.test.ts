/** The end of a market as clients and the administrator see it, on a real server (RULES.md 3.4, 9.6). */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { Market } from '../../shared/client/types.ts';
import { backend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const START = 1_000_000_000;
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const NOT_ALLOWED = [409, 'CONFLICT', 'market status does not allow this'] as const;
const NOTHING = [404, 'NOT_FOUND', 'nothing to claim'] as const;

describe('resolutions', () => {
  afterEach(() => assertBalanced(server));

  const claimPath = (market: OrderMarket): string => `/v1/user/positions/${market.id}/claim`;
  const adminPath = (market: OrderMarket, step: string): string => `/admin/markets/${market.id}/${step}`;
  const usdcOf = async (trader: Trader): Promise<number> => Number((await trader.client.balances()).usdc.available);

  /** Without the volume, which the read model adds up in its own time. */
  const standing = ({ status, resolved_at, settled_at, updated_at }: Market) => ({
    status,
    resolved_at,
    settled_at,
    updated_at,
  });

  /** Alice holds 10 Yes for 6.00, Bob 10 No for 4.00; no fees. */
  async function bet(size = '10'): Promise<{ market: OrderMarket; alice: Trader; bob: Trader }> {
    const market = await makeMarket(server, { fee_bps: 0, min_order_size_atomic: '100' });
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.place(market, { price: '0.60', size, feeRateBps: 0 });
    await bob.place(market, { outcomeIndex: 1, price: '0.40', size, feeRateBps: 0 });
    return { market, alice, bob };
  }

  test('a viewer sees how many accounts hold tokens of a market, also before it has any (9.6)', async () => {
    const { market, alice, bob } = await bet();
    const holders = async (): Promise<number> => (await server.admin.marketHolders(market.id)).accounts;
    await eventually('both holders', async () => (await holders()) === 2);
    // A holder of both outcomes is one, and one of nothing is none.
    await bob.place(market, { side: 'SELL', outcomeIndex: 1, price: '0.40', size: '10', feeRateBps: 0 });
    await alice.place(market, { outcomeIndex: 1, price: '0.40', size: '10', feeRateBps: 0 });
    await eventually('one holder', async () => (await holders()) === 1);
    assert.deepEqual(await server.admin.marketHolders((await makeMarket(server)).id), { accounts: 0 });
    const unknown = await server.adminRequest('GET', `/admin/markets/${UNKNOWN_MARKET}/holders`);
    assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
    assert.equal((await server.request('GET', adminPath(market, 'holders'))).status, 401);
  });

  describe('deploying (9.19)', () => {
    const deployPath = (market: { id: string }): string => `/v1/markets/${market.id}/deploy`;

    test('gives a market its condition and question, keeps its tokens, and is answered again', async () => {
      const market = await makeMarket(server);
      const { id } = market;
      const trader = await makeTrader(server);
      const before = await trader.client.market(id);
      assert.equal(before.deploy_status, 'not_deployed');
      const first = await trader.send('POST', deployPath({ id }));
      // On a busy machine it may be deployed before the answer is written.
      assert.deepEqual([first.status, first.body.market_id], [200, id]);
      assert.match(first.body.status, /^(deploying|deployed)$/);
      const deployed = await eventually('a deployed market', async () => {
        const shown = await trader.client.market(id);
        return shown.deploy_status === 'deployed' && shown;
      });
      assert.match(`${deployed.condition_id} ${deployed.question_id}`, /^0x[0-9a-f]{64} 0x[0-9a-f]{64}$/);
      assert.match(deployed.contract_address!, /^0x[0-9a-fA-F]{40}$/);
      assert.deepEqual([deployed.yes_token_id, deployed.no_token_id], [before.yes_token_id, before.no_token_id]);
      const again = await trader.send('POST', deployPath({ id }));
      assert.deepEqual([again.status, again.body], [200, { status: 'deployed', market_id: id }]);
      const after = await trader.client.market(id);
      assert.deepEqual(after, deployed, 'a repeat changes nothing');
      await trader.place(market, { price: '0.50', size: '10' });
      await server.admin.cancelMarket(id);
      assert.deepEqual((await trader.send('POST', deployPath({ id }))).body.status, 'deployed');
    });

    test('is refused for a decided market, an unknown one, and a key without the scope', async () => {
      const market = await makeMarket(server);
      const trader = await makeTrader(server);
      await server.admin.cancelMarket(market.id);
      assertRefused(await trader.send('POST', deployPath(market)), ...NOT_ALLOWED);
      assert.equal((await trader.client.market(market.id)).deploy_status, 'not_deployed');
      const unknown = await trader.send('POST', deployPath({ id: UNKNOWN_MARKET }));
      assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
      const reader = await makeTrader(server, { scopes: ['read:account'] });
      assert.equal((await reader.send('POST', deployPath(market))).status, 403);
      assert.equal((await server.request('POST', deployPath(market))).status, 401);
    });
  });

  describe('resolving', () => {
    test('ends trading and the open orders, and says when', async () => {
      const { market, alice, bob } = await bet();
      const open = await alice.place(market, { price: '0.10', size: '1', feeRateBps: 0 });
      const before = await server.admin.patchMarket(market.id, { status: 'locked' });
      assert.equal(before.resolved_at, undefined);
      const resolved = await server.admin.resolveMarket(market.id, { outcome_index: 0 });
      assert.equal(resolved.status, 'resolved');
      assert.equal(resolved.settled_at, undefined);
      assert.ok(Math.abs(Date.parse(resolved.resolved_at!) - Date.now()) < 60_000);
      assert.ok(Date.parse(resolved.updated_at) > Date.parse(before.updated_at));
      assert.deepEqual(standing(await alice.client.market(market.id)), standing(resolved));
      assert.equal((await alice.client.getOrder(open.order_hash)).status, 'cancelled');
      assert.deepEqual(await alice.holdings(market), { usdc: START - 6_000_000, reserved: 0, yes: 10_000_000, no: 0 });

      const late = await bob.post(bob.body(market, { price: '0.50', size: '1', feeRateBps: 0 }));
      assertRefused(late, 400, 'MARKET_NOT_ACTIVE', 'market not active');
      for (const step of ['split', 'merge']) {
        const answer = await alice.send('POST', `/v1/markets/${market.id}/${step}`, { amount: '100' });
        assertRefused(answer, 400, 'MARKET_NOT_ACTIVE', 'market not active');
      }
    });

    test('is refused for anything but one outcome or shares that add up to a USDC', async () => {
      const market = await makeMarket(server);
      const wrong: [unknown, string][] = [
        [{}, 'invalid body'],
        [{ outcome_index: 2 }, 'invalid outcome_index'],
        [{ outcome_index: '0' }, 'invalid outcome_index'],
        [{ outcome_index: 0, payouts: [1_000_000, 0] }, 'invalid body'],
        [{ payouts: [1_000_000] }, 'invalid payouts'],
        [{ payouts: [500_000, 500_001] }, 'invalid payouts'],
        [{ payouts: [-1, 1_000_001] }, 'invalid payouts'],
        [{ payouts: [0.5, 999_999.5] }, 'invalid payouts'],
        [{ outcome: 0 }, 'unknown field: outcome'],
      ];
      for (const [body, message] of wrong) {
        const answer = await server.adminRequest('POST', adminPath(market, 'resolve'), body);
        assertRefused(answer, 400, 'VALIDATION_ERROR', message);
      }
      const missing = await server.adminRequest('POST', adminPath(market, 'resolve'));
      assertRefused(missing, 400, 'VALIDATION_ERROR', 'missing body');
      const sum = await server.adminRequest('POST', adminPath(market, 'cancel'), { payouts: [1, 1] });
      assertRefused(sum, 400, 'VALIDATION_ERROR', 'invalid payouts');
      assert.equal((await server.admin.patchMarket(market.id, { subtitle: 'still open' })).status, 'active');
    });

    test('and cancelling and settling are for the administrator alone, and for markets that exist', async () => {
      const market = await makeMarket(server);
      for (const step of ['resolve', 'cancel', 'settle']) {
        const body = step === 'resolve' ? { outcome_index: 0 } : undefined;
        const anonymous = await server.request('POST', adminPath(market, step), body);
        assertRefused(anonymous, 401, 'UNAUTHORIZED', 'invalid admin token');
        const unknown = await server.adminRequest('POST', `/admin/markets/${UNKNOWN_MARKET}/${step}`, body);
        assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
      }
    });

    test('happens once: a decided market is neither resolved nor cancelled, an undecided one not settled', async () => {
      const [resolved, cancelled] = [await makeMarket(server), await makeMarket(server)];
      assertRefused(await server.adminRequest('POST', adminPath(resolved, 'settle')), ...NOT_ALLOWED);
      await server.admin.resolveMarket(resolved.id, { outcome_index: 1 });
      await server.admin.cancelMarket(cancelled.id);
      for (const market of [resolved, cancelled]) {
        const again = await server.adminRequest('POST', adminPath(market, 'resolve'), { outcome_index: 0 });
        assertRefused(again, ...NOT_ALLOWED);
        assertRefused(await server.adminRequest('POST', adminPath(market, 'cancel')), ...NOT_ALLOWED);
        await server.admin.settleMarket(market.id);
        assertRefused(await server.adminRequest('POST', adminPath(market, 'settle')), ...NOT_ALLOWED);
      }
    });

    test('a draft is cancelled but not resolved', async () => {
      const market = await server.admin.createMarket({
        title: 'A draft',
        description: 'Nobody has seen it.',
        category: 'Weather',
        trading_ends_at: new Date(Date.now() + 60_000).toISOString(),
        status: 'draft',
      });
      const answer = await server.adminRequest('POST', `/admin/markets/${market.id}/resolve`, { outcome_index: 0 });
      assertRefused(answer, ...NOT_ALLOWED);
      assert.equal((await server.admin.cancelMarket(market.id)).status, 'cancelled');
    });
  });

  describe('claiming', () => {
    test('pays a USDC for each token that won, and only once', async () => {
      const { market, alice, bob } = await bet();
      assertRefused(await alice.send('POST', claimPath(market)), ...NOT_ALLOWED);
      assert.deepEqual(await alice.client.redeemable(), []);
      const { resolved_at } = await server.admin.resolveMarket(market.id, { outcome_index: 0 });

      assert.deepEqual(await alice.client.redeemable(), [
        {
          market_id: market.id,
          outcome_index: 0,
          quantity: '10000000',
          payout: '10000000',
          resolution: 'Yes',
          resolved_at,
        },
      ]);
      const claimed = await alice.client.claim(market.id);
      assert.deepEqual(claimed, { message: claimed.message, market_id: market.id, tx_hash: claimed.tx_hash });
      // A chain may take longer than the answer waits for it (17.34).
      const isLate = backend !== null && claimed.tx_hash === null;
      assert.ok(isLate || /^0x[0-9a-f]{64}$/.test(claimed.tx_hash!), String(claimed.tx_hash));
      assert.deepEqual(await alice.holdings(market), { usdc: START + 4_000_000, reserved: 0, yes: 0, no: 0 });
      assert.deepEqual(await alice.client.redeemable(), []);
      assertRefused(await alice.send('POST', claimPath(market)), ...NOTHING);

      assert.deepEqual(await bob.client.redeemable(), []);
      assertRefused(await bob.send('POST', claimPath(market)), ...NOTHING);
      assert.deepEqual(await bob.holdings(market), { usdc: START - 4_000_000, reserved: 0, yes: 0, no: 10_000_000 });
      await server.admin.settleMarket(market.id);
      assert.deepEqual(await bob.holdings(market), { usdc: START - 4_000_000, reserved: 0, yes: 0, no: 0 });
    });

    test('with a share for both outcomes is rounded down once, and the rows add up to it', async () => {
      const { market, alice, bob } = await bet('0.0005');
      await alice.client.split(market.id, 100);
      await server.admin.resolveMarket(market.id, { payouts: [333_333, 666_667] });
      const rows = await alice.client.redeemable();
      // 600 Yes: 199.9998; with 100 No: 266.6665.
      assert.deepEqual(
        rows.map((row) => [row.outcome_index, row.quantity, row.payout, row.resolution]),
        [
          [0, '600', '199', 'Yes 0.333333, No 0.666667'],
          [1, '100', '67', 'Yes 0.333333, No 0.666667'],
        ],
      );
      await alice.client.claim(market.id);
      assert.equal(await usdcOf(alice), START - 300 - 100 + 266);
      await assertBalanced(server);
      const ledger = await server.admin.ledger();
      const sets = ledger.sets.find((row) => row.market_id === market.id);
      assert.deepEqual(sets, { market_id: market.id, yes_atomic: '0', no_atomic: '500' });

      const settled = await server.admin.settleMarket(market.id);
      assert.equal(settled.status, 'settled');
      assert.ok(Date.parse(settled.settled_at!) >= Date.parse(settled.resolved_at!));
      // 333.3335: the half micros of both are the fee account's.
      assert.equal(await usdcOf(bob), START - 200 + 333);
      const after = await server.admin.ledger();
      assert.equal(Number(after.fees_usdc_micro) - Number(ledger.fees_usdc_micro), 1);
      assert.equal(Number(ledger.collateral_usdc_micro) - Number(after.collateral_usdc_micro), 334);
    });

    test('a cancelled market is refunded at one half, or as the administrator says', async () => {
      const [half, other] = [await bet(), await bet()];
      assert.equal((await server.admin.cancelMarket(half.market.id)).status, 'cancelled');
      await server.admin.cancelMarket(other.market.id, [600_000, 400_000]);
      await half.alice.client.claim(half.market.id);
      await other.alice.client.claim(other.market.id);
      assert.equal(await usdcOf(half.alice), START - 6_000_000 + 5_000_000);
      assert.equal(await usdcOf(other.alice), START);
      const settled = await server.admin.settleMarket(half.market.id);
      assert.equal(settled.status, 'cancelled');
      assert.ok(settled.settled_at !== undefined);
      assert.equal(await usdcOf(half.bob), START - 4_000_000 + 5_000_000);
      await other.bob.client.claim(other.market.id);
      assert.equal(await usdcOf(other.bob), START);
    });

    test('needs a key that manages the account and a market that exists; a paused platform still pays', async () => {
      const { market, alice } = await bet();
      await server.admin.resolveMarket(market.id, { outcome_index: 0 });
      const reader = await makeTrader(server, { scopes: ['read:account', 'trade:orders'] });
      const unscoped = await reader.send('POST', claimPath(market));
      assertRefused(unscoped, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
      for (const [method, path] of [
        ['POST', claimPath(market)],
        ['GET', '/v1/user/redeemable'],
      ] as const) {
        const anonymous = await server.request(method, path);
        assertRefused(anonymous, 401, 'UNAUTHORIZED', 'missing required API key headers');
      }
      for (const id of [UNKNOWN_MARKET, 'x']) {
        const unknown = await alice.send('POST', `/v1/user/positions/${id}/claim`);
        assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
      }
      await server.admin.pause();
      await alice.client.claim(market.id);
      await server.admin.resume();
      assert.equal(await usdcOf(alice), START + 4_000_000);
    });

    test('fees taken in tokens are paid to the fee account by the settlement', async () => {
      const market = await makeMarket(server);
      const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
      await alice.place(market, { price: '0.60', size: '10' });
      await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10' });
      const before = await server.admin.ledger();
      await server.admin.resolveMarket(market.id, { outcome_index: 0 });
      await alice.client.claim(market.id);
      assert.equal(await usdcOf(alice), START - 6_000_000 + 9_950_000);
      await server.admin.settleMarket(market.id);
      const after = await server.admin.ledger();
      assert.equal(Number(after.fees_usdc_micro) - Number(before.fees_usdc_micro), 50_000);
    });
  });

  test('a market stays as decided, and a holder as paid, over kill -9 at every step', async () => {
    const payouts = { payouts: [333_333, 666_667] } as const;
    const [decided, claimed, over] = [await bet('0.0005'), await bet('0.0005'), await bet('0.0005')];
    const resolved = await server.admin.resolveMarket(decided.market.id, payouts);
    await server.admin.resolveMarket(claimed.market.id, payouts);
    const redeemable = await claimed.bob.client.redeemable();
    await claimed.alice.client.claim(claimed.market.id);
    await server.admin.resolveMarket(over.market.id, payouts);
    await over.alice.client.claim(over.market.id);
    const settled = await server.admin.settleMarket(over.market.id);
    const assertPaid = async ({ alice, market }: typeof over): Promise<void> => {
      assert.equal(await usdcOf(alice.reconnected()), START - 300 + 166);
      assertRefused(await alice.reconnected().send('POST', claimPath(market)), ...NOTHING);
    };
    const assertSettled = async ({ alice, bob, market }: typeof over, as: Market): Promise<void> => {
      assert.deepEqual(standing(await bob.reconnected().client.market(market.id)), standing(as));
      await assertPaid({ alice, bob, market });
      assert.equal(await usdcOf(bob.reconnected()), START - 200 + 333);
      assertRefused(await server.adminRequest('POST', adminPath(market, 'settle')), ...NOT_ALLOWED);
    };

    await server.kill();
    await server.start();
    await assertBalanced(server);
    const alice = decided.alice.reconnected();
    assert.deepEqual(standing(await alice.client.market(decided.market.id)), standing(resolved));
    assert.equal(await usdcOf(alice), START - 300);
    await assertPaid(claimed);
    assert.deepEqual(await claimed.bob.reconnected().client.redeemable(), redeemable);
    await assertSettled(over, settled);

    // Settlements that a kill interrupted go on from there.
    await alice.client.claim(decided.market.id);
    await assertPaid(decided);
    for (const half of [decided, claimed]) {
      await assertSettled(half, await server.admin.settleMarket(half.market.id));
    }
    await assertBalanced(server);
  });
});

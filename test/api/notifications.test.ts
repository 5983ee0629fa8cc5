/** An account about itself: its profile, its referrals, its notifications and its achievements. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';

const server = await startServer({ after });

describe('the profile (RULES.md 14.73)', () => {
  test('is the one that the administrator sees, with the wallets in the order in which they were linked', async () => {
    const trader = await makeTrader(server);
    const second = `0x${'c5'.repeat(20)}`;
    await server.admin.addWallet(trader.userId, second);
    const { status, body } = await trader.send('GET', '/v1/user/profile');
    const { usdc: _, ...shown } = (await server.adminRequest('GET', `/admin/users/${trader.userId}`)).body;
    assert.deepEqual([status, body], [200, shown]);
    assert.deepEqual(
      [body.id, body.wallet_address, body.linked_wallets, body.email, body.display_name, body.role],
      [trader.userId, trader.address, [trader.address, second], null, null, 'user'],
    );
  });

  test('and the referrals are for a key that may read the account', async () => {
    const trader = await makeTrader(server, { scopes: ['trade:orders'] });
    for (const path of ['/v1/user/profile', '/v1/user/referral']) {
      assert.equal((await trader.send('GET', path)).status, 403);
      assert.equal((await server.request('GET', path)).status, 401);
    }
  });
});

describe('referrals (RULES.md 14.74)', () => {
  test('count those who signed up with the code; the referred one sees whose it was', async () => {
    const referrer = await makeTrader(server);
    const before = (await referrer.send('GET', '/v1/user/referral')).body;
    assert.deepEqual(before, {
      referral_code: before.referral_code,
      referrals_count: 0,
      is_referred: false,
      referred_by: null,
    });
    const { referral_code: code } = before;
    const { id } = await server.admin.createUser({ referral_code: code });
    await server.admin.createUser({ referral_code: code.toLowerCase() });
    const { key_id, secret, passphrase } = await server.admin.createApiKey(id, { scopes: ['read:account'] });
    const referred = referrer.withKey({ keyId: key_id, secret, passphrase });
    const own = (await referred.send('GET', '/v1/user/referral')).body;
    assert.deepEqual([own.referrals_count, own.is_referred, own.referred_by], [0, true, referrer.userId]);
    assert.equal((await referrer.send('GET', '/v1/user/referral')).body.referrals_count, 2);
  });
});

/** The step-up that changes of wallets need (RULES.md 15.45), with a clock of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { walletRoutes } from '../../../../gateway/account/walletsRoutes.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { anything } from '../../../support/anything.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const START_MS = 1_790_000_000_000;
const WALLETS = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];

test('15.45: ten minutes after the proof a session is asked for another one, a key never', async (t) => {
  const database = openControlDatabase(':memory:');
  t.after(() => database.close());
  const accounts = new Accounts(database);
  const user = accounts.signUp(
    { displayName: null, email: null, role: 'user', referralCode: null, wallet: WALLETS[0]! },
    START_MS,
  );
  const clock = new ManualClock(START_MS);
  const removed: string[] = [];
  const restrictions = {
    removeWallet: (address: string) => {
      removed.push(address);
      return Promise.resolve({ cancelled: 0, isComplete: true });
    },
  };
  const accountStates = { of: () => 0 };
  const needsWallet = () => false;
  const deps = { ...anything, accounts, accountStates, clock, restrictions, needsWallet };
  const routes = walletRoutes(deps as never);
  const unlink = routes.find(({ method, path }) => method === 'DELETE' && path === '/v1/wallets/:address')!;
  const ask = async (principal: object): Promise<number> => {
    const sent = new TestCall({ method: 'DELETE', path: unlink.path, account: user.index });
    Object.assign(sent.call, { params: { address: WALLETS[1] } });
    Object.assign(sent.call, { principal: { ...sent.call.principal, ...principal } });
    void unlink.handler(sent.call);
    await sent.answered;
    return sent.status;
  };
  const session = { kind: 'session', authenticatedAtMs: START_MS };
  assert.equal(await ask(session), 404, 'not linked');
  accounts.addWallet(user, WALLETS[1]!);
  clock.advance(600_000);
  assert.equal(await ask(session), 200);
  clock.advance(1);
  assert.equal(await ask(session), 403);
  assert.equal(await ask({ kind: 'apiKey' }), 200);
  assert.deepEqual(removed, [WALLETS[1], WALLETS[1]]);
});

test('an account has at most fifty wallets in all its time, those that were removed too', (t) => {
  const database = openControlDatabase(':memory:');
  t.after(() => database.close());
  const accounts = new Accounts(database);
  const user = accounts.signUp({ displayName: null, email: null, role: 'user', referralCode: null, wallet: null }, 0);
  for (const wallet of WALLETS) accounts.addWallet(user, wallet);
  accounts.grants.remove(WALLETS[0]!, null, 0);
  accounts.addWallet(user, WALLETS[0]!);
  assert.equal(accounts.walletsEver(user.index), 2);
  assert.equal(new Accounts(database).walletsEver(user.index), 2, 'after a restart too');
});

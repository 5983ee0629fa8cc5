/** Accounts in control.db: their indexes, wallets, delegates and referrals (ACCOUNTS-1 to ACCOUNTS-4). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Accounts, type User } from '../../../../gateway/account/accounts.ts';
import { UNKNOWN_GRANT } from '../../../../shared/base/codes.ts';
import { NOW_MS, newDatabase, newUser, WALLET_A, WALLET_B } from '../../../support/controlRows.ts';

describe('accounts', () => {
  test('indexes are dense from 1, and 0 owns every wallet that no user has linked', (t) => {
    const accounts = new Accounts(newDatabase(t));
    assert.equal(accounts.signUp(newUser(WALLET_A), NOW_MS).index, 1);
    assert.equal(accounts.signUp(newUser(null), NOW_MS).index, 2);
    assert.equal(accounts.ownerOf(WALLET_A), 1);
    assert.equal(accounts.ownerOf(WALLET_B), 0);
  });

  test('a wallet signs for itself, a delegate for the wallet that named it and for no other', (t) => {
    const accounts = new Accounts(newDatabase(t));
    const user = accounts.signUp(newUser(WALLET_A), NOW_MS);
    const delegate = `0x${'dd'.repeat(20)}`;
    accounts.addWallet(user, WALLET_B);
    accounts.addDelegate(WALLET_A, delegate);
    assert.ok(accounts.grantOf(1, WALLET_A, WALLET_A) > 0);
    assert.ok(accounts.grantOf(1, WALLET_A, delegate) > 0);
    assert.equal(accounts.grantOf(1, WALLET_B, delegate), UNKNOWN_GRANT);
    assert.equal(accounts.grantOf(1, WALLET_A, WALLET_B), UNKNOWN_GRANT);
  });

  test('the escrow of an account is its first wallet for ever, also over a restart and while it is not linked', (t) => {
    const database = newDatabase(t);
    const accounts = new Accounts(database);
    const user = accounts.signUp(newUser(null), NOW_MS);
    assert.equal(accounts.escrowOf(user.index), null);
    for (const wallet of [WALLET_B, WALLET_A]) accounts.addWallet(user, wallet);
    accounts.grants.remove(WALLET_B, null, NOW_MS);
    accounts.addWallet(user, WALLET_B);
    assert.deepEqual(user.wallets, [WALLET_A, WALLET_B]);
    assert.equal(accounts.escrowOf(user.index), WALLET_B);
    assert.equal(new Accounts(database).escrowOf(user.index), WALLET_B);
  });

  test('a wallet that has an owner is never linked again', (t) => {
    const accounts = new Accounts(newDatabase(t));
    accounts.signUp(newUser(WALLET_A), NOW_MS);
    const other = accounts.signUp(newUser(null), NOW_MS);
    assert.throws(() => accounts.addWallet(other, WALLET_A), { message: /ACCOUNTS-2/ });
    assert.throws(() => accounts.signUp(newUser(WALLET_A), NOW_MS));
    assert.equal(accounts.count, 2);
    assert.equal(accounts.ownerOf(WALLET_A), 1);
  });

  test('users, wallets in their order and delegates come back from the file', (t) => {
    const database = newDatabase(t);
    const before = new Accounts(database);
    const referrer = before.signUp(newUser(null), NOW_MS);
    const user = before.signUp(
      {
        displayName: 'Ann',
        email: 'ann@example.org',
        role: 'desk',
        referralCode: referrer.referralCode,
        wallet: WALLET_B,
      },
      NOW_MS + 1,
    );
    before.addWallet(user, WALLET_A);
    before.addDelegate(WALLET_A, WALLET_B);
    const after = new Accounts(database);
    assert.deepEqual(after.byId(user.id), user);
    assert.deepEqual(after.byId(user.id)!.wallets, [WALLET_B, WALLET_A]);
    assert.deepEqual(
      [after.byId(user.id)!.referredBy, after.referredBy(referrer.index)],
      [referrer.index, [user.index]],
    );
    assert.ok(after.grantOf(user.index, WALLET_A, WALLET_B) > 0);
    assert.equal(after.idOf(2), user.id);
  });
});

describe('signing up', () => {
  test('RULES.md 14.74: a code counts in any case; one that no account had before is ignored', (t) => {
    const accounts = new Accounts(newDatabase(t));
    const { referralCode } = accounts.signUp(newUser(null), NOW_MS);
    const codes = [null, '', 'NOSUCHCODE', referralCode, ` ${referralCode.toLowerCase()}\n`];
    const users = codes.map((code) => accounts.signUp({ ...newUser(null), referralCode: code }, NOW_MS));
    assert.deepEqual(
      users.map((user) => user.referredBy),
      [null, null, null, 1, 1],
    );
    assert.deepEqual(accounts.referredBy(1), [5, 6]);
    assert.deepEqual(accounts.referredBy(2), []);
  });

  test('ACCOUNTS-4: the account is there with all that is kept about it, or not at all', (t) => {
    const database = newDatabase(t);
    const accounts = new Accounts(database);
    database.exec('CREATE TABLE kept (account_index INTEGER REFERENCES users (account_index))');
    const referrer = accounts.signUp(newUser(null), NOW_MS);
    const fields = { ...newUser(WALLET_A), referralCode: referrer.referralCode };
    const keep = ({ index }: User) => void database.prepare('INSERT INTO kept VALUES (?)').run(index);
    const fail = (user: User): void => {
      keep(user);
      throw new Error('failed');
    };
    assert.throws(() => accounts.signUp(fields, NOW_MS, fail), { message: 'failed' });
    for (const found of [accounts, new Accounts(database)]) {
      assert.deepEqual([found.count, found.ownerOf(WALLET_A), found.referredBy(1)], [1, 0, []]);
    }
    accounts.signUp(fields, NOW_MS, keep);
    assert.deepEqual(database.prepare('SELECT * FROM kept').all(), [{ account_index: 2 }]);
    for (const found of [accounts, new Accounts(database)]) {
      assert.deepEqual([found.count, found.ownerOf(WALLET_A), found.referredBy(1)], [2, 2, [2]]);
    }
  });
});

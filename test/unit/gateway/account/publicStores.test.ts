/** Public names (RULES.md 13.3), the accounts of the last hours and marks of claims (14.21), over a restart. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { ClaimMarks } from '../../../../gateway/account/claimMarksStore.ts';
import type { Pseudonyms } from '../../../../gateway/account/pseudonymsStore.ts';
import { PublicProfiles } from '../../../../gateway/account/publicProfiles.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { OnlineAccounts } from '../../../../gateway/markets/onlineAccountsStore.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const HOUR_MS = 3_600_000;
const NOON_MS = 500_000 * HOUR_MS;

function openDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const user = { wallet: null, displayName: null, email: null, role: 'user', referralCode: null };
  for (let account = 1; account <= 3; account++) new Accounts(database).signUp(user, 0);
  return database;
}

test('a handle belongs to one account until that account takes another one (PROFILES-1)', (t) => {
  const database = openDatabase(t);
  const pseudonyms = { of: (account: number) => `trader-${account}` } as unknown as Pseudonyms;
  const open = () => new PublicProfiles(database, pseudonyms, (account) => `user-${account}`);
  const profiles = open();
  const set = (account: number, handle: string, isPublic: boolean) =>
    profiles.set(account, { handle, avatarUrl: 'a', isPublic });
  set(1, 'ada', true);
  set(2, 'eve', false);
  set(1, 'ada', true);
  assert.deepEqual(
    [profiles.isFree('ada', 1), profiles.isFree('ada', 2), profiles.isFree('eve', 3)],
    [true, false, false],
  );
  assert.throws(() => set(3, 'eve', true), /PROFILES-1/);
  set(1, 'countess', true);
  for (const each of [profiles, open()]) {
    assert.deepEqual([each.isFree('ada', 3), each.isFree('countess', 3)], [true, false]);
    assert.deepEqual(each.of(2), { handle: 'eve', avatarUrl: 'a', isPublic: false });
    assert.equal(each.of(3), null);
    assert.deepEqual(each.shown(1), { handle: 'countess', userId: 'user-1', avatarUrl: 'a' });
    for (const account of [2, 3]) {
      assert.deepEqual(each.shown(account), { handle: `trader-${account}`, userId: null, avatarUrl: null });
    }
  }
});

test('each account is counted once in the hours that are asked for, and for two days', (t) => {
  const database = openDatabase(t);
  const online = new OnlineAccounts(database);
  const accounts = [0, 1, 31, 32, 1023, 1024, 5000];
  for (const account of accounts) for (let again = 0; again < 2; again++) online.note(account, NOON_MS + again);
  online.note(1, NOON_MS + HOUR_MS);
  online.note(7, NOON_MS + HOUR_MS);
  const counts = (each: OnlineAccounts): number[] => [
    each.count(NOON_MS + HOUR_MS - 1, 1),
    each.count(NOON_MS + HOUR_MS, 1),
    each.count(NOON_MS + HOUR_MS, 2),
    each.count(NOON_MS + 3 * HOUR_MS, 2),
    each.count(NOON_MS - 1, 24),
  ];
  assert.deepEqual(counts(online), [7, 2, 8, 0, 0]);
  online.save(NOON_MS + HOUR_MS);
  assert.deepEqual(counts(new OnlineAccounts(database)), [7, 2, 8, 0, 0]);
  online.note(9, NOON_MS + 48 * HOUR_MS);
  online.save(NOON_MS + 48 * HOUR_MS);
  for (const each of [online, new OnlineAccounts(database)]) {
    assert.equal(each.count(NOON_MS, 1), 0, 'forgotten after 48 hours');
    assert.equal(each.count(NOON_MS + 48 * HOUR_MS, 48), 3);
  }
});

test('a mark of a claim is made once, and is of one account and one market', (t) => {
  const database = openDatabase(t);
  database.exec('PRAGMA foreign_keys = OFF');
  const marks = new ClaimMarks(database);
  for (const market of [7, 8, 7]) marks.add(1, market);
  marks.add(2, 7);
  for (const each of [marks, new ClaimMarks(database)]) {
    assert.deepEqual(
      [1, 2, 3].map((account) => [...each.of(account)]),
      [[7, 8], [7], []],
    );
  }
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { Pseudonyms } from '../../../../gateway/account/pseudonymsStore.ts';
import { PublicProfiles } from '../../../../gateway/account/publicProfiles.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const secret = Buffer.alloc(32, 7);
const NEW_USER = { displayName: null, email: null, role: 'user', referralCode: null, wallet: null };

function open() {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  const accounts = new Accounts(database);
  const users = [accounts.signUp(NEW_USER, 1), accounts.signUp(NEW_USER, 2)];
  const make = () => new PublicProfiles(database, new Pseudonyms(secret), (account) => accounts.idOf(account));
  return { database, users, make };
}

test('RULES.md 13.3: a pseudonym follows from account and secret: anon- and four of base32', () => {
  const [one, other] = [new Pseudonyms(secret), new Pseudonyms(Buffer.alloc(32, 8))];
  const names = Array.from({ length: 200 }, (_, account) => one.of(account));
  for (const name of names) assert.match(name, /^anon-[A-Z2-7]{4}$/);
  assert.ok(new Set(names).size > 195, 'names differ');
  assert.deepEqual(
    names,
    Array.from({ length: 200 }, (_, account) => new Pseudonyms(secret).of(account)),
  );
  assert.ok(names.filter((name, account) => name === other.of(account)).length < 3);
});

test('RULES.md 13.2: a cursor leads back to its id and does not show it; other texts are no cursors', () => {
  const pseudonyms = new Pseudonyms(secret);
  const id = Buffer.from('0190a0b0c0d070008000000000000001', 'hex');
  const cursor = pseudonyms.cursorOf(id);
  assert.deepEqual(pseudonyms.idOf(cursor), id);
  assert.notDeepEqual(Buffer.from(cursor, 'base64url'), id);
  assert.notDeepEqual(new Pseudonyms(Buffer.alloc(32, 8)).idOf(cursor), id);
  for (const text of ['', 'abc', `${cursor}A`, `${cursor}=`, cursor.slice(1), '!'.repeat(22)]) {
    assert.equal(pseudonyms.idOf(text), null, text);
  }
});

test('RULES.md 13.3: only a public profile shows handle, picture and user id, also after a start', () => {
  const { database, users, make } = open();
  const profiles = make();
  const hidden = { handle: profiles.pseudonyms.of(1), userId: null, avatarUrl: null };
  assert.deepEqual(profiles.shown(1), hidden);
  profiles.set(1, { handle: 'ann', avatarUrl: 'https://a.example/a.png', isPublic: false });
  assert.deepEqual(profiles.shown(1), hidden);
  profiles.set(1, { handle: 'ann', avatarUrl: 'https://a.example/a.png', isPublic: true });
  const shown = { handle: 'ann', userId: users[0]!.id, avatarUrl: 'https://a.example/a.png' };
  assert.deepEqual(profiles.shown(1), shown);
  assert.deepEqual(make().shown(1), shown);
  database.close();
});

test('PROFILES-1: a handle is free for its own account and for all once it is given up', () => {
  const { database, make } = open();
  const profiles = make();
  profiles.set(1, { handle: 'ann', avatarUrl: null, isPublic: false });
  assert.deepEqual([profiles.isFree('ann', 1), profiles.isFree('ann', 2)], [true, false]);
  assert.equal(make().isFree('ann', 2), false);
  assert.throws(() => profiles.set(2, { handle: 'ann', avatarUrl: null, isPublic: true }), /PROFILES-1/);
  profiles.set(1, { handle: 'bob', avatarUrl: null, isPublic: false });
  profiles.set(2, { handle: 'ann', avatarUrl: null, isPublic: false });
  assert.deepEqual([make().of(1)?.handle, make().of(2)?.handle], ['bob', 'ann']);
  database.close();
});

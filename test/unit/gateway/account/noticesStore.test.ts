import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { Notices } from '../../../../gateway/account/noticesStore.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('NOTICES-1: the newest hundred of an account are kept, newest first; another account has its own', (t) => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const accounts = new Accounts(database);
  const user = { displayName: null, email: null, role: 'user', referralCode: null, wallet: null };
  for (let account = 1; account <= 2; account++) accounts.signUp(user, 0);
  const notices = new Notices(database);
  notices.add(2, 'security', 'A title', 'A body', 7);
  for (let index = 0; index < 105; index++) notices.add(1, 'security', `Title ${index}`, 'A body', index >> 1);
  const restarted = new Notices(database);
  const kept = restarted.of(1);
  assert.deepEqual(
    kept.map(({ title }) => title),
    Array.from({ length: 100 }, (_, index) => `Title ${104 - index}`),
  );
  const [{ id, sequence, ...rest }] = restarted.of(2);
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.equal(sequence, 1);
  assert.deepEqual(rest, { type: 'security', title: 'A title', body: 'A body', createdMs: 7 });
  assert.deepEqual(restarted.of(3), []);
});

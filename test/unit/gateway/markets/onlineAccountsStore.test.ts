import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { OnlineAccounts } from '../../../../gateway/markets/onlineAccountsStore.ts';
import { MAX_ACCOUNTS } from '../../../../shared/base/codes.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 0, 1, 12);

function open() {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  return { database, online: new OnlineAccounts(database) };
}

test('RULES.md 13.5: an account is counted once, however many hours it was there in', () => {
  const { database, online } = open();
  for (const account of [1, 31, 32, 5000]) online.note(account, NOON);
  online.note(1, NOON + HOUR_MS);
  online.note(2, NOON + HOUR_MS);
  assert.equal(online.count(NOON, 1), 4);
  assert.equal(online.count(NOON + HOUR_MS, 1), 2);
  assert.equal(online.count(NOON + HOUR_MS, 2), 5);
  assert.equal(online.count(NOON + 23 * HOUR_MS, 24), 5, 'the present hour and the 23 before it');
  assert.equal(online.count(NOON + 24 * HOUR_MS, 24), 2);
  assert.equal(online.count(NOON + 25 * HOUR_MS, 24), 0);
  database.close();
});

test('noted accounts are there after a restart, even one with a high number', () => {
  const { database, online } = open();
  for (const account of [1, MAX_ACCOUNTS - 1]) online.note(account, NOON);
  online.save(NOON);
  online.note(7, NOON);
  const again = new OnlineAccounts(database);
  assert.equal(again.count(NOON, 24), 2);
  again.note(7, NOON);
  assert.equal(again.count(NOON, 24), 3);
  database.close();
});

test('ONLINE-1: hours are kept for two days, in memory and in control.db', () => {
  const { database, online } = open();
  online.note(1, NOON);
  online.save(NOON);
  const later = NOON + 48 * HOUR_MS;
  online.note(2, later);
  online.save(later);
  assert.equal(online.count(NOON, 1), 0);
  assert.equal(database.prepare('SELECT count(*) FROM online_hours').pluck().get(), 1);
  database.close();
});

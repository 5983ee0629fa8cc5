import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentlyUsed } from '../../../../gateway/http/recentlyUsed.ts';

test('as many answers are kept as there is room for; the next one starts anew', () => {
  const cache = new RecentlyUsed<number>();
  const most = 1024;
  for (let n = 0; n < most; n++) cache.keep(`q${n}`, n);
  for (let n = 0; n < most; n++) assert.equal(cache.get(`q${n}`), n);
  cache.keep('one more', most);
  assert.equal(cache.get('q0'), undefined);
  assert.equal(cache.get('one more'), most);
});

test('a long question is not kept, so that a thousand of them take no memory', () => {
  const cache = new RecentlyUsed<number>();
  cache.keep('q'.repeat(120), 1);
  cache.keep('q'.repeat(121), 2);
  assert.equal(cache.get('q'.repeat(120)), 1);
  assert.equal(cache.get('q'.repeat(121)), undefined);
});

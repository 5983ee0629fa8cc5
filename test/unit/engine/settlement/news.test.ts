/** News of settlement for the gateway (engine/settlement/news.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { News } from '../../../../engine/settlement/news.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';

const FAILED = { shard: 1, tradeSequence: 5, market: 3, reason: 'OrderExpired' };

function rig() {
  const clock = { nowMs: 0 };
  const db = openSettlementDb(':memory:');
  const start = () => new News(db, () => clock.nowMs);
  const numbers = (news: News) => news.due().map(({ number }) => number);
  return { clock, start, numbers };
}

test('news are sent in their order, each until it is acknowledged (NEWS-1, NEWS-2)', () => {
  const { clock, start, numbers } = rig();
  const news = start();
  news.add('tradeFailed', FAILED);
  news.add('tradeFailed', { ...FAILED, tradeSequence: 6 });
  assert.deepEqual(news.due(), [{ number: 1, kind: 'tradeFailed', facts: FAILED }]);
  clock.nowMs = 1999;
  assert.deepEqual(numbers(news), [], 'it was sent just now');
  clock.nowMs = 2000;
  assert.deepEqual(numbers(news), [1]);
  news.acknowledge(1);
  assert.deepEqual(numbers(news), [2]);
  assert.deepEqual(numbers(start()), [2], 'another thread sends it again at once');
  news.acknowledge(1);
  news.acknowledge(2);
  clock.nowMs = 9000;
  assert.deepEqual(numbers(news), []);
});

test('news of one kind do not wait for those of another, and a number is given once', () => {
  const { start, numbers } = rig();
  const news = start();
  news.add('exit', { wallet: '0x01', isLeaving: true });
  news.add('tradeFailed', FAILED);
  news.add('exit', { wallet: '0x01', isLeaving: false });
  assert.deepEqual(numbers(news), [1, 2]);
  for (const number of [1, 2, 3]) news.acknowledge(number);
  news.add('exit', { wallet: '0x02', isLeaving: true });
  assert.deepEqual(numbers(start()), [4]);
});

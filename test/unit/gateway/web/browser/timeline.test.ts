import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decisionOf, feeInWords, timelineOf } from '../../../../../gateway/web/browser/timeline.ts';

const market = {
  outcomes: ['Warmer', 'Colder'],
  trading_starts_at: '2026-11-01T00:00:00.000Z',
  trading_ends_at: '2026-12-01T00:00:00.000Z',
};
const now = Date.parse('2026-11-29T00:00:00.000Z');

test('the timeline of a market says what is past and what comes next, in every status', () => {
  const states = (status: 'pending' | 'active' | 'locked' | 'resolved' | 'settled' | 'cancelled', at = now): string =>
    timelineOf({ ...market, status, ...(status === 'settled' && { settled_at: market.trading_ends_at }) }, at)
      .map(({ name, state }) => `${name} ${state}`)
      .join(', ');
  assert.equal(states('pending'), 'Opens next, Closes later, Decided later, Paid later');
  assert.equal(states('active'), 'Opens done, Closes next, Decided later, Paid later');
  assert.equal(states('active', now + 7 * 86_400_000), 'Opens done, Closes done, Decided next, Paid later');
  assert.equal(states('locked'), 'Opens done, Closes done, Decided next, Paid later');
  assert.equal(states('resolved'), 'Opens done, Closes done, Decided done, Paid next');
  assert.equal(states('settled'), 'Opens done, Closes done, Decided done, Paid done');
  assert.equal(states('cancelled'), 'Opens done, Closes done, Cancelled done, Paid next');
});

test('a decision names the outcome that won, or what the tokens of both pay', () => {
  assert.equal(decisionOf({ ...market, payouts: [0, 1_000_000] }), 'Colder: each of its tokens pays $1.');
  assert.equal(
    decisionOf({ ...market, payouts: [333_333, 666_667] }),
    'each token of Warmer pays 33.3333¢, each token of Colder pays 66.6667¢.',
  );
  assert.equal(decisionOf(market), '');
});

test('a fee is said in per cent, whole or with its hundredths', () => {
  assert.equal(feeInWords(0), 'There is no fee.');
  const percents = [1, 50, 100, 205].map((bps) => feeInWords(bps).split(' ')[0]);
  assert.deepEqual(percents, ['0.01%', '0.5%', '1%', '2.05%']);
});

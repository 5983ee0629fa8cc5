/** The share of a shard that one account may have waiting (RULES.md 5.9). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlacementShares } from '../../../../gateway/shardlink/placementShares.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { type OrderReply, WRONGLY_SIGNED } from '../../../../shared/wire/hashStart.ts';

function replyOf(code: number, c = 0): OrderReply {
  return { code, a: 0, b: 0, c };
}

function fill(shares: PlacementShares, account: number): number {
  let added = 0;
  for (; shares.admits(account); added++) shares.add(account);
  return added;
}

test('alone an account gets half of the room; beside it, one that had nothing waiting always finds some', () => {
  const shares = new PlacementShares(100);
  assert.equal(fill(shares, 1), 50);
  assert.equal(fill(shares, 1000), 25, 'as many as are left beside those of the first');
  assert.equal(shares.waiting, 75);
  assert.equal(shares.admits(1), false);
  assert.equal(fill(shares, 3), 16, 'never fewer than a whole batch and one');
  assert.equal(fill(shares, 4), 16);
  assert.equal(shares.waiting, 107, 'also where there is no room left');
});

test('an answered placement makes room again, and an unsent one takes none', () => {
  const shares = new PlacementShares(40);
  assert.equal(fill(shares, 1), 20);
  shares.remove(1, replyOf(OK));
  assert.equal(shares.waiting, 19);
  assert.equal(fill(shares, 1), 1);
  assert.throws(() => shares.remove(2, replyOf(OK)), /SHARES-1/);
  assert.throws(() => shares.remove(70_000, replyOf(OK)), /SHARES-1/);
});

test('an account whose signature was wrong is checked behind the others until an order of it is accepted', () => {
  const shares = new PlacementShares(192);
  shares.add(1);
  shares.remove(1, replyOf(E.INVALID_SIGNATURE));
  assert.equal(fill(shares, 1), 3, 'a sixty-fourth');
  shares.remove(1, replyOf(E.INSUFFICIENT_BALANCE));
  assert.equal(fill(shares, 1), 1, 'another refusal says nothing of its signature');
  shares.remove(1, replyOf(OK));
  assert.ok(fill(shares, 1) > 16);
  const slow = new PlacementShares(10);
  slow.add(2);
  slow.remove(2, replyOf(E.MARKET_NOT_ACTIVE, WRONGLY_SIGNED[2]));
  assert.equal(fill(slow, 2), 1, 'never none');
});

/** Orders that end by themselves (RULES.md 2.8). */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { TIME_IN_FORCE } from '../../../shared/base/codes.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

const FREE = { feeBps: 0 };

it('an order rests until the last millisecond before its expiration and is gone at it', () => {
  const x = new Scenario(FREE);
  const expirationSec = x.nowMs / 1000 + 10;
  x.order(ALICE, 'BUY Yes 2 @ 60', { expirationSec, timeInForce: TIME_IN_FORCE.GTD });
  x.nowMs += 9_999;
  assert.deepEqual(x.order(BOB, 'SELL Yes 1 @ 60'), ['standard 1 @ 60: alice fee 0, bob fee 0', 'bob filled']);
  x.nowMs += 1;
  // An order that comes at that moment no longer meets it.
  assert.deepEqual(x.order(BOB, 'SELL Yes 1 @ 60'), ['alice expired 1 left', 'bob rests 1']);
  assert.equal(x.moved(ALICE), 'usdc -60, yes +100');
});

it('a due expiry is a journal row of its own, before the command that noticed it', () => {
  const x = new Scenario(FREE);
  x.order(ALICE, 'BUY Yes 2 @ 60', { expirationSec: x.nowMs / 1000 + 10 });
  x.nowMs += 10_000;
  const rows = x.journal.rows.length;
  x.order(BOB, 'BUY Yes 2 @ 101');
  assert.equal(x.journal.rows.length, rows + 1, 'the refused order left no row, the expiry did');
  assert.equal(x.journal.rows.at(-1)!.timeMs, x.nowMs);
});

it('a GTC order with an expiration expires as well; without one it stays', () => {
  const x = new Scenario(FREE);
  x.order(ALICE, 'BUY Yes 1 @ 60 GTC', { expirationSec: x.nowMs / 1000 + 1 });
  x.order(ALICE, 'BUY Yes 2 @ 60 GTC');
  x.nowMs += 80_000;
  assert.deepEqual(x.tell(x.tick()), ['alice expired 1 left']);
  assert.deepEqual(x.drawn(), ['bid 60  alice 2 Yes']);
});

it('an order whose second has begun is refused', () => {
  const x = new Scenario(FREE);
  const expirationSec = x.nowMs / 1000;
  assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60', { expirationSec }), ['refused ORDER_EXPIRED']);
  x.nowMs -= 1; // the clock of an exchange never goes back
  assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60', { expirationSec }), ['refused ORDER_EXPIRED']);
});

it('an expired order cannot be cancelled any more', () => {
  const x = new Scenario(FREE);
  x.order(ALICE, 'BUY Yes 1 @ 60', { expirationSec: x.nowMs / 1000 + 1 });
  x.nowMs += 1000;
  assert.deepEqual(x.tell(x.cancel(ALICE, x.lastHash)), ['alice expired 1 left', 'refused ORDER_NOT_CANCELLABLE']);
});

it('orders that expire together leave in order of their sequence numbers, even if others left in between', () => {
  const x = new Scenario(FREE);
  const expirationSec = x.nowMs / 1000 + 5;
  const hashes = [1, 2, 3, 4, 5].map((lots) => {
    x.order(ALICE, `BUY Yes ${lots} @ ${50 + lots}`, { expirationSec: lots === 5 ? expirationSec - 1 : expirationSec });
    return x.lastHash;
  });
  x.cancel(ALICE, hashes[1]);
  x.nowMs += 5_000;
  assert.deepEqual(x.tell(x.tick()), [
    'alice expired 5 left',
    'alice expired 1 left',
    'alice expired 3 left',
    'alice expired 4 left',
  ]);
});

it('a FOK or FAK with an expiration leaves nothing to expire', () => {
  const x = new Scenario(FREE);
  x.order(BOB, 'SELL Yes 1 @ 60');
  x.order(ALICE, 'BUY Yes 2 @ 60 FAK', { expirationSec: x.nowMs / 1000 + 5 });
  x.nowMs += 5_000;
  assert.deepEqual(x.tell(x.tick()), []);
});

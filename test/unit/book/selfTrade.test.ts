/** An order that meets one of its own account, in each mode (RULES.md 2.6). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALICE, BOB, FEES, Scenario } from '../../support/scenario.ts';

/** ask 61: bob 2, alice 5, bob 3 */
function mixedQueue(feeBps = 0): Scenario {
  const x = new Scenario({ feeBps });
  x.order(BOB, 'SELL Yes 2 @ 61');
  x.order(ALICE, 'SELL Yes 5 @ 61');
  x.order(BOB, 'SELL Yes 3 @ 61');
  assert.deepEqual(x.drawn(), ['ask 61  bob 2 Yes, alice 5 Yes, bob 3 Yes']);
  return x;
}

describe('none', () => {
  it('lets the account trade with itself: it pays both fees and nothing else moves', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(ALICE, 'SELL Yes 100 @ 60');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 100 @ 65'), [
      'standard 100 @ 60: alice fee 30, alice fee 50',
      'alice filled',
      'alice filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -30, yes -50');
    assert.equal(x.moved(FEES), 'usdc +30, yes +50');
  });

  it('mints and merges with itself too', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'BUY Yes 10 @ 60');
    x.order(ALICE, 'BUY No 10 @ 40');
    assert.equal(x.moved(ALICE), 'usdc -1000, yes +1000, no +1000');
    x.order(ALICE, 'SELL No 10 @ 40');
    x.order(ALICE, 'SELL Yes 10 @ 60');
    assert.equal(x.moved(ALICE), 'nothing');
  });
});

describe('cancel_newest', () => {
  it('keeps the fills before the meeting, cancels the rest of the order, and leaves the resting order alone', () => {
    const x = mixedQueue();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 61 cancel_newest'), [
      'standard 2 @ 61: bob fee 0, alice fee 0',
      'bob filled',
      'alice self_trade 7 left',
    ]);
    assert.deepEqual(x.drawn(), ['ask 61  alice 5 Yes, bob 3 Yes']);
    assert.equal(x.moved(ALICE), 'usdc -122, yes -300 (reserved 500)');
  });

  it('cancels the whole order when the first it meets is its own', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'BUY No 5 @ 40');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 5 @ 60 cancel_newest'), ['alice self_trade 5 left']);
    assert.deepEqual(x.drawn(), ['ask 60  alice 5 No']);
    assert.equal(x.moved(ALICE), 'usdc -200 (reserved 200)');
  });

  it('does nothing to an order that is filled before the meeting', () => {
    const x = mixedQueue();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 2 @ 61 cancel_newest'), [
      'standard 2 @ 61: bob fee 0, alice fee 0',
      'bob filled',
      'alice filled',
    ]);
  });
});

describe('cancel_oldest', () => {
  it('cancels the resting order and goes on to the next', () => {
    const x = mixedQueue();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 61 cancel_oldest'), [
      'standard 2 @ 61: bob fee 0, alice fee 0',
      'bob filled',
      'alice self_trade 5 left',
      'standard 3 @ 61: bob fee 0, alice fee 0',
      'bob filled',
      'alice rests 4',
    ]);
    assert.deepEqual(x.drawn(), ['bid 61  alice 4 Yes']);
    assert.equal(x.moved(ALICE), 'usdc -549 (reserved 244), yes +500');
  });

  it('cancels only those it meets', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'SELL Yes 5 @ 60');
    x.order(ALICE, 'SELL Yes 5 @ 62');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 61 cancel_oldest'), ['alice self_trade 5 left', 'alice rests 1']);
    assert.deepEqual(x.drawn(), ['ask 62  alice 5 Yes', 'bid 61  alice 1 Yes']);
  });
});

describe('cancel_both', () => {
  it('cancels the resting order and the rest of the incoming one', () => {
    const x = mixedQueue();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 61 cancel_both'), [
      'standard 2 @ 61: bob fee 0, alice fee 0',
      'bob filled',
      'alice self_trade 5 left',
      'alice self_trade 7 left',
    ]);
    assert.deepEqual(x.drawn(), ['ask 61  bob 3 Yes']);
    assert.equal(x.moved(ALICE), 'usdc -122, yes +200');
  });
});

describe('orders that must fill at once look past or stop at their own', () => {
  it('a FOK counts only orders that it could really take', () => {
    const oldest = mixedQueue();
    assert.deepEqual(oldest.order(ALICE, 'BUY Yes 6 @ 61 FOK cancel_oldest'), ['refused FOK_NOT_FILLED']);
    assert.deepEqual(oldest.drawn(), ['ask 61  bob 2 Yes, alice 5 Yes, bob 3 Yes']);
    assert.deepEqual(oldest.order(ALICE, 'BUY Yes 5 @ 61 FOK cancel_oldest').at(-1), 'alice filled');
    assert.deepEqual(oldest.drawn(), []);

    const newest = mixedQueue();
    assert.deepEqual(newest.order(ALICE, 'BUY Yes 3 @ 61 FOK cancel_newest'), ['refused FOK_NOT_FILLED']);
    assert.deepEqual(newest.order(ALICE, 'BUY Yes 2 @ 61 FOK cancel_newest').at(-1), 'alice filled');
  });

  it('an own order is found after any number of orders in the look-ahead', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(BOB, 'SELL Yes 5 @ 61');
    x.order(ALICE, 'SELL Yes 5 @ 62');
    for (let i = 0; i < 600; i++)
      assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 62 FOK cancel_oldest'), ['refused FOK_NOT_FILLED'], `order ${i}`);
  });

  it('a FOK stopped by its own order does not count what lies behind it', () => {
    for (const mode of ['cancel_newest', 'cancel_both']) {
      const x = new Scenario({ feeBps: 0 });
      x.order(ALICE, 'SELL Yes 5 @ 61');
      x.order(BOB, 'SELL Yes 5 @ 62');
      assert.deepEqual(x.order(ALICE, `BUY Yes 5 @ 62 FOK ${mode}`), ['refused FOK_NOT_FILLED'], mode);
    }
  });

  it('a FAK that could meet only its own account is refused, and its resting order stays', () => {
    for (const mode of ['cancel_newest', 'cancel_oldest', 'cancel_both']) {
      const x = new Scenario({ feeBps: 0 });
      x.order(ALICE, 'SELL Yes 5 @ 61');
      assert.deepEqual(x.order(ALICE, `BUY Yes 9 @ 61 FAK ${mode}`), ['refused FAK_NO_FILL'], mode);
      assert.deepEqual(x.drawn(), ['ask 61  alice 5 Yes'], mode);
    }
  });

  it('a FAK stopped by its own order is cancelled for that reason, not as a remainder', () => {
    const x = mixedQueue();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 61 FAK cancel_newest'), [
      'standard 2 @ 61: bob fee 0, alice fee 0',
      'bob filled',
      'alice self_trade 7 left',
    ]);
  });

  it('a post-only order is refused by its own account’s order as by any other', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'SELL Yes 5 @ 61');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 5 @ 61 post-only cancel_oldest'), ['refused POST_ONLY_WOULD_CROSS']);
    assert.deepEqual(x.drawn(), ['ask 61  alice 5 Yes']);
  });
});

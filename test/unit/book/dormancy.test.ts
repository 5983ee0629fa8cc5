/** Orders asleep under a moved fee (RULES.md 2.4). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALICE, BOB, CAROL, Scenario } from '../../support/scenario.ts';

/** ask 62: bob 4; bid 60: alice 1, carol 2; bid 58: alice 3 */
function quoted(): Scenario {
  const x = new Scenario({ feeBps: 50 });
  x.order(ALICE, 'BUY Yes 1 @ 60');
  x.order(BOB, 'SELL Yes 4 @ 62');
  x.order(ALICE, 'BUY Yes 3 @ 58');
  x.order(CAROL, 'SELL No 2 @ 40');
  return x;
}
const QUOTED = ['ask 62  bob 4 Yes', 'bid 60  alice 1 Yes, carol 2 No', 'bid 58  alice 3 Yes'];

describe('a moved fee', () => {
  it('puts every order of another fee to sleep, in order of sequence, and keeps what they reserve', () => {
    const x = quoted();
    assert.deepEqual(x.tell(x.patch(0, { feeBps: 40 })), [
      'alice dormant',
      'bob dormant',
      'alice dormant',
      'carol dormant',
    ]);
    assert.deepEqual(x.drawn(), []);
    assert.equal(x.moved(ALICE), 'usdc -234 (reserved 234)');
    assert.equal(x.moved(BOB), 'yes -400 (reserved 400)');
  });

  it('lets nothing match what sleeps', () => {
    const x = quoted();
    x.patch(0, { feeBps: 40 });
    assert.deepEqual(x.order(CAROL, 'SELL Yes 9 @ 1 FAK'), ['refused FAK_NO_FILL']);
    assert.deepEqual(x.order(CAROL, 'BUY Yes 9 @ 99 post-only'), ['carol rests 9']);
  });

  it('that comes back wakes them in their old places', () => {
    const x = quoted();
    x.patch(0, { feeBps: 40 });
    assert.deepEqual(x.tell(x.patch(0, { feeBps: 50 })), ['alice woken', 'bob woken', 'alice woken', 'carol woken']);
    assert.deepEqual(x.drawn(), QUOTED);
    // Time priority survived: alice's order of before is served first.
    assert.deepEqual(x.order(BOB, 'SELL Yes 2 @ 60')[1], 'alice filled');
  });

  it('tells orders apart by the fee they signed, over several moves', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(ALICE, 'BUY Yes 1 @ 60');
    x.patch(0, { feeBps: 40 });
    x.order(BOB, 'SELL Yes 2 @ 55');
    x.patch(0, { feeBps: 30 });
    x.order(CAROL, 'BUY Yes 3 @ 57');
    assert.deepEqual(x.drawn(), ['bid 57  carol 3 Yes']);
    x.patch(0, { feeBps: 40 });
    assert.deepEqual(x.drawn(), ['ask 55  bob 2 Yes']);
    x.patch(0, { feeBps: 50 });
    assert.deepEqual(x.drawn(), ['bid 60  alice 1 Yes']);
  });

  it('to the same value changes nothing', () => {
    const x = quoted();
    assert.deepEqual(x.tell(x.patch(0, { feeBps: 50 })), []);
    assert.deepEqual(x.drawn(), QUOTED);
  });

  it('keeps the fee an order has paid so far', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(BOB, 'SELL Yes 3 @ 99');
    x.order(ALICE, 'BUY Yes 2 @ 99');
    x.patch(0, { feeBps: 40 });
    x.patch(0, { feeBps: 50 });
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 99')[0], 'standard 1 @ 99: bob fee 1, alice fee 0');
  });
});

describe('a dormant order', () => {
  it('can be cancelled, alone or with the others, and gets everything back', () => {
    const x = quoted();
    const carols = x.lastHash;
    x.patch(0, { feeBps: 40 });
    assert.deepEqual(x.tell(x.cancel(CAROL, carols)), ['carol user 2 left']);
    assert.deepEqual(x.tell(x.cancelMany(ALICE)), ['alice user 1 left', 'alice user 3 left']);
    assert.equal(x.moved(ALICE), 'nothing');
    assert.equal(x.moved(CAROL), 'nothing');
    x.patch(0, { feeBps: 50 });
    assert.deepEqual(x.drawn(), ['ask 62  bob 4 Yes']);
  });

  it('expires', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(ALICE, 'BUY Yes 1 @ 60', { expirationSec: x.nowMs / 1000 + 10 });
    x.patch(0, { feeBps: 40 });
    x.nowMs += 10_000;
    assert.deepEqual(x.tell(x.tick()), ['alice expired 1 left']);
    assert.equal(x.moved(ALICE), 'nothing');
  });

  it('is cancelled when its market closes', () => {
    const x = new Scenario({ feeBps: 50, endMs: 1_800_000_001_000 });
    x.order(ALICE, 'BUY Yes 1 @ 60');
    x.patch(0, { feeBps: 40 });
    x.nowMs += 1000;
    assert.deepEqual(x.tell(x.tick()), ['alice market_closed 1 left']);
  });
});

/** Fees: both roles, in the asset received, accumulated over the life of the order (RULES.md 2.3). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALICE, BOB, FEES, Scenario } from '../../support/scenario.ts';

describe('a fee', () => {
  it('is paid by maker and taker alike: the buyer in tokens, the seller in USDC', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(BOB, 'SELL Yes 100 @ 60');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 100 @ 60'), [
      'standard 100 @ 60: bob fee 30, alice fee 50',
      'bob filled',
      'alice filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -6000, yes +9950');
    assert.equal(x.moved(BOB), 'usdc +5970, yes -10000');
    assert.equal(x.moved(FEES), 'usdc +30, yes +50');
  });

  it('is floored on the running total of the order, not on each fill', () => {
    const x = new Scenario({ feeBps: 50 });
    x.order(BOB, 'SELL Yes 3 @ 99');
    const charged = [1, 2, 3].map(() => x.order(ALICE, 'BUY Yes 1 @ 99')[0]);
    // 50 bps of 99, 198, 297 micro: 0.495, 0.99, 1.485.
    assert.deepEqual(charged, [
      'standard 1 @ 99: bob fee 0, alice fee 0',
      'standard 1 @ 99: bob fee 0, alice fee 0',
      'standard 1 @ 99: bob fee 1, alice fee 0',
    ]);
    assert.equal(x.moved(BOB), 'usdc +296, yes -300');
    assert.equal(x.moved(FEES), 'usdc +1');
  });

  it('of zero basis points is nothing, of 10,000 is everything', () => {
    const all = new Scenario({ feeBps: 10_000 });
    all.order(BOB, 'SELL Yes 7 @ 60');
    all.order(ALICE, 'BUY Yes 7 @ 60');
    assert.equal(all.moved(ALICE), 'usdc -420');
    assert.equal(all.moved(BOB), 'yes -700');
    assert.equal(all.moved(FEES), 'usdc +420, yes +700');
  });

  it('on price improvement is charged on the amount really received', () => {
    const x = new Scenario({ feeBps: 100 });
    x.order(BOB, 'BUY Yes 10 @ 80');
    x.order(ALICE, 'SELL Yes 10 @ 20');
    assert.equal(x.moved(ALICE), 'usdc +792, yes -1000');
    assert.equal(x.moved(BOB), 'usdc -800, yes +990');
  });
});

describe('many small fills pay what one large fill pays', () => {
  for (const [ticksPerUnit, feeBps] of [
    [10, 1],
    [100, 50],
    [1000, 33],
    [10_000, 9_999],
  ] as const) {
    for (const side of ['BUY', 'SELL'] as const) {
      it(`${side} at ${feeBps} bps, D = ${ticksPerUnit}`, () => {
        const ticks = Math.floor(ticksPerUnit * 0.7);
        const other = side === 'BUY' ? 'SELL' : 'BUY';
        const moved = [97, 1].map((parts) => {
          const x = new Scenario({ ticksPerUnit, feeBps });
          x.order(ALICE, `${side} Yes 97 @ ${ticks}`);
          for (let part = 0; part < parts; part++) x.order(BOB, `${other} Yes ${97 / parts} @ ${ticks}`);
          assert.deepEqual(x.drawn(), []);
          return x.moved(ALICE);
        });
        assert.equal(moved[0], moved[1]);
      });
    }
  }

  it('also when the small fills came at different prices', () => {
    const x = new Scenario({ feeBps: 50 });
    for (const ticks of [51, 53, 57, 59]) x.order(BOB, `BUY Yes 7 @ ${ticks}`);
    x.order(ALICE, 'SELL Yes 28 @ 50');
    // 7 x (59 + 57 + 53 + 51) = 1540; 50 bps of it is 7.7, charged 7.
    assert.equal(x.moved(ALICE), 'usdc +1533, yes -2800');
  });
});

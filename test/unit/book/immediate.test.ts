/** FOK, FAK, post-only and the minimum net: all decided before anything changes (RULES.md 1.4, 2.5, 2.7). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIDE, TIME_IN_FORCE } from '../../../shared/base/codes.ts';
import { stateOf } from '../../support/engine.ts';
import { ALICE, BOB, CAROL, Scenario } from '../../support/scenario.ts';

/** ask 60: bob 5 (BUY No); ask 62: carol 5 */
function twoAsks(feeBps = 0): Scenario {
  const x = new Scenario({ feeBps });
  x.order(BOB, 'BUY No 5 @ 40');
  x.order(CAROL, 'SELL Yes 5 @ 62');
  return x;
}

describe('FOK', () => {
  it('fills completely, over levels and kinds', () => {
    const x = twoAsks();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 10 @ 62 FOK'), [
      'mint 5 @ 60: bob fee 0, alice fee 0',
      'bob filled',
      'standard 5 @ 62: carol fee 0, alice fee 0',
      'carol filled',
      'alice filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -610, yes +1000');
  });

  it('is refused when one lot is missing, and nothing has happened', () => {
    const x = twoAsks();
    const before = stateOf(x.engine);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 11 @ 62 FOK'), ['refused FOK_NOT_FILLED']);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 6 @ 61 FOK'), ['refused FOK_NOT_FILLED']);
    assert.deepEqual(stateOf(x.engine), before);
    assert.equal(x.moved(ALICE), 'nothing');
  });
});

describe('FAK', () => {
  it('takes what is there and kills the rest', () => {
    const x = twoAsks();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 60 FAK'), [
      'mint 5 @ 60: bob fee 0, alice fee 0',
      'bob filled',
      'alice fak_remainder 4 left',
    ]);
    assert.deepEqual(x.drawn(), ['ask 62  carol 5 Yes']);
    assert.equal(x.moved(ALICE), 'usdc -300, yes +500');
  });

  it('is refused when nothing crosses', () => {
    const x = twoAsks();
    const before = stateOf(x.engine);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 59 FAK'), ['refused FAK_NO_FILL']);
    assert.deepEqual(x.order(ALICE, 'SELL Yes 9 @ 1 FAK'), ['refused FAK_NO_FILL']);
    assert.deepEqual(stateOf(x.engine), before);
  });
});

describe('FOK and FAK may carry any ratio', () => {
  // D = 100, T = 10,000,050, U = 6,507,000: the price is 65.06… ticks and T is 100,000 lots and a half.
  const signed = { timeInForce: TIME_IN_FORCE.FAK };

  it('a buy is limited to the tick below and to whole lots', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(BOB, 'SELL Yes 50000 @ 65');
    x.order(BOB, 'SELL Yes 100000 @ 66');
    const more = { ...signed, side: SIDE.BUY, makerAmount: 6_507_000, takerAmount: 10_000_050 };
    assert.deepEqual(x.order(ALICE, 'BUY Yes 0 @ 0', more), [
      'standard 50000 @ 65: bob fee 0, alice fee 0',
      'bob filled',
      'alice fak_remainder 50000 left',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -3250000, yes +5000000');
  });

  it('a sell is limited to the tick above and to whole lots', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(BOB, 'BUY Yes 50000 @ 66');
    x.order(BOB, 'BUY Yes 100000 @ 65');
    const more = { ...signed, side: SIDE.SELL, makerAmount: 10_000_050, takerAmount: 6_507_000 };
    assert.deepEqual(x.order(ALICE, 'SELL Yes 0 @ 0', more), [
      'standard 50000 @ 66: bob fee 0, alice fee 0',
      'bob filled',
      'alice fak_remainder 50000 left',
    ]);
    assert.equal(x.moved(ALICE), 'usdc +3300000, yes -5000000');
  });

  it('a FOK is complete when all its whole lots are', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(BOB, 'SELL Yes 100000 @ 65');
    const more = { timeInForce: TIME_IN_FORCE.FOK, makerAmount: 6_507_000, takerAmount: 10_000_050 };
    assert.deepEqual(x.order(ALICE, 'BUY Yes 0 @ 0', more).at(-1), 'alice filled');
    assert.equal(x.moved(ALICE), 'usdc -6500000, yes +10000000');
  });

  it('a price that leaves no tick is refused', () => {
    const x = new Scenario({ feeBps: 0 });
    const buy = (makerAmount: number, takerAmount: number): string[] =>
      x.order(ALICE, 'BUY Yes 0 @ 0', { ...signed, makerAmount, takerAmount });
    const sell = (makerAmount: number, takerAmount: number): string[] =>
      x.order(ALICE, 'SELL Yes 0 @ 0', { ...signed, makerAmount, takerAmount });
    assert.deepEqual(buy(9_999, 1_000_000), ['refused INVALID_TICK']); // 0.9999 of a tick, down to 0
    assert.deepEqual(buy(1_000_000, 1_000_000), ['refused FAK_NO_FILL']); // any price will do: down to the last tick
    assert.deepEqual(sell(1_000_000, 990_001), ['refused INVALID_TICK']); // 99.0001 ticks, up to 100
    assert.deepEqual(buy(10_000, 1_000_000), ['refused FAK_NO_FILL']);
    assert.deepEqual(sell(1_000_000, 990_000), ['refused FAK_NO_FILL']);
    assert.deepEqual(sell(1_000_000, 1), ['refused FAK_NO_FILL']); // any price will do: up to the first tick
  });
});

describe('post-only', () => {
  it('rests when it does not cross and is refused when it would, complementary orders included', () => {
    const x = twoAsks();
    const before = stateOf(x.engine);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60 post-only'), ['refused POST_ONLY_WOULD_CROSS']);
    assert.deepEqual(x.order(ALICE, 'SELL No 1 @ 40 post-only'), ['refused POST_ONLY_WOULD_CROSS']);
    assert.deepEqual(stateOf(x.engine), before);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 59 post-only'), ['alice rests 1']);
    assert.deepEqual(x.order(ALICE, 'BUY No 1 @ 41 post-only'), ['refused POST_ONLY_WOULD_CROSS']);
  });

  it('with FOK or FAK can never succeed', () => {
    const x = twoAsks();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60 FOK post-only'), ['refused POST_ONLY_WOULD_CROSS']);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 59 FOK post-only'), ['refused FOK_NOT_FILLED']);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 59 FAK post-only'), ['refused FAK_NO_FILL']);
  });
});

describe('minimum net', () => {
  it('of a buy is in tokens after the fee', () => {
    const x = twoAsks(50);
    const before = stateOf(x.engine);
    // 10 lots are 1000 atomic tokens, less 5.
    assert.deepEqual(x.order(ALICE, 'BUY Yes 10 @ 62 FOK', { minTakerNet: 996 }), ['refused MIN_NET_NOT_MET']);
    assert.deepEqual(stateOf(x.engine), before);
    assert.equal(x.order(ALICE, 'BUY Yes 10 @ 62 FOK', { minTakerNet: 995 }).at(-1), 'alice filled');
    assert.equal(x.moved(ALICE), 'usdc -610, yes +995');
  });

  it('of a sell is in USDC after the fee, at the prices it would really get', () => {
    const x = new Scenario({ feeBps: 100 });
    x.order(BOB, 'BUY Yes 5 @ 62');
    x.order(BOB, 'SELL No 5 @ 40');
    // 5 x 62 + 5 x 60 = 610, less 6.
    assert.deepEqual(x.order(ALICE, 'SELL Yes 10 @ 50 FAK', { minTakerNet: 605 }), ['refused MIN_NET_NOT_MET']);
    assert.equal(x.order(ALICE, 'SELL Yes 10 @ 50 FAK', { minTakerNet: 604 }).at(-1), 'alice filled');
    assert.equal(x.moved(ALICE), 'usdc +604, yes -1000');
  });

  it('of a sell of No counts No prices', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(BOB, 'SELL Yes 10 @ 62');
    assert.deepEqual(x.order(ALICE, 'SELL No 10 @ 38 FOK', { minTakerNet: 381 }), ['refused MIN_NET_NOT_MET']);
    assert.equal(x.order(ALICE, 'SELL No 10 @ 38 FOK', { minTakerNet: 380 }).at(-1), 'alice filled');
  });

  it('of a FAK applies to the quantity that it would fill, not to its size', () => {
    const x = twoAsks(0);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 9 @ 60 FAK', { minTakerNet: 501 }), ['refused MIN_NET_NOT_MET']);
    assert.equal(x.order(ALICE, 'BUY Yes 9 @ 60 FAK', { minTakerNet: 500 }).at(-1), 'alice fak_remainder 4 left');
  });
});

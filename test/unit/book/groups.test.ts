/** Order groups: their fills within a window, and the effect of the maximum (RULES.md 7.9). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MOST_ENTRIES } from '../../../engine/book/fillWindow.ts';
import { CLOSE_REASON, MAX_ORDER_AMOUNT } from '../../../shared/base/codes.ts';
import { EVENT } from '../../../shared/wire/events.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import { type CommandResult, closedOf } from '../../support/engineRig.ts';
import { ALICE, BOB, CAROL, Scenario } from '../../support/scenario.ts';

const GROUP = 5;
const OTHER = 6;
/** In the scenario's market a lot is 100 atomic tokens. */
const LOT = 100;

/** Alice's group of `maxLots` in 60 seconds. */
function withGroup(maxLots: number): Scenario {
  const x = new Scenario();
  x.groupSet(ALICE, GROUP, 60, maxLots * LOT);
  return x;
}

function codeOf({ reply }: CommandResult): string {
  return errorKey(reply.code);
}

describe('a group', () => {
  it('trips with the fill that reaches its maximum and takes its other orders along, oldest first', () => {
    const x = withGroup(10);
    x.order(ALICE, 'BUY Yes 10 @ 40', { group: GROUP });
    x.order(ALICE, 'BUY Yes 5 @ 39', { group: GROUP });
    x.order(ALICE, 'SELL Yes 5 @ 60', { group: GROUP });
    x.order(ALICE, 'BUY Yes 5 @ 38');
    x.order(BOB, 'SELL Yes 9 @ 40');
    assert.equal(x.drawn().length, 4, 'one less than the maximum');
    const outcome = x.place({ account: BOB, side: 1, lots: 1, ticks: 40 });
    assert.deepEqual(
      closedOf(outcome).map(({ reason }) => reason),
      [CLOSE_REASON.FILLED, CLOSE_REASON.GROUP_LIMIT, CLOSE_REASON.GROUP_LIMIT, CLOSE_REASON.FILLED],
    );
    assert.equal(outcome.types.filter((type) => type === EVENT.GROUP.TYPE).length, 1);
    assert.deepEqual(x.drawn(), ['bid 38  alice 5 Yes']);
  });

  it('takes away resting orders that an order is about to meet, in the middle of its matching', () => {
    const x = withGroup(8);
    x.order(ALICE, 'BUY Yes 4 @ 40', { group: GROUP });
    x.order(ALICE, 'BUY Yes 6 @ 40', { group: GROUP });
    x.order(ALICE, 'BUY Yes 5 @ 40', { group: GROUP });
    x.order(CAROL, 'BUY Yes 7 @ 40');
    x.order(ALICE, 'BUY Yes 5 @ 39', { group: GROUP });
    x.order(CAROL, 'BUY Yes 1 @ 38');
    x.order(BOB, 'SELL Yes 30 @ 38');
    assert.deepEqual(x.drawn(), ['ask 38  bob 12 Yes'], 'sold 4 + 6 to Alice, 7 + 1 to Carol');
  });

  it('stops an incoming order of its own, and closes what is left of it', () => {
    const x = withGroup(10);
    x.order(BOB, 'SELL Yes 6 @ 40');
    x.order(BOB, 'SELL Yes 6 @ 41');
    x.order(BOB, 'SELL Yes 6 @ 42');
    x.order(ALICE, 'BUY Yes 5 @ 30', { group: GROUP });
    const told = x.place({ account: ALICE, lots: 18, ticks: 42, group: GROUP });
    const own = closedOf(told).find(({ left }) => left === 6);
    assert.equal(own?.reason, CLOSE_REASON.GROUP_LIMIT);
    assert.deepEqual(x.drawn(), ['ask 42  bob 6 Yes']);
  });

  it('counts both orders of a fill, and twice where both are of the same group', () => {
    const x = withGroup(10);
    x.groupSet(BOB, OTHER, 60, 4 * LOT);
    x.order(ALICE, 'BUY Yes 4 @ 40', { group: GROUP });
    x.order(BOB, 'BUY Yes 1 @ 20', { group: OTHER });
    x.order(BOB, 'SELL Yes 4 @ 40', { group: OTHER });
    assert.deepEqual(x.drawn(), [], "Bob's has tripped");
    x.order(ALICE, 'BUY Yes 3 @ 40', { group: GROUP });
    x.order(ALICE, 'BUY Yes 1 @ 20', { group: GROUP });
    x.order(ALICE, 'SELL Yes 3 @ 40', { group: GROUP });
    assert.deepEqual(x.drawn(), [], 'four and twice three reach ten');
  });

  it('forgets a fill when the window has passed it, to the millisecond', () => {
    for (const [afterMs, isTripped] of [
      [59_999, true],
      [60_000, false],
    ] as const) {
      const x = withGroup(10);
      x.order(ALICE, 'BUY Yes 20 @ 40', { group: GROUP });
      x.order(BOB, 'SELL Yes 6 @ 40');
      x.nowMs += afterMs;
      x.order(BOB, 'SELL Yes 4 @ 40');
      assert.deepEqual(x.drawn(), isTripped ? [] : ['bid 40  alice 10 Yes']);
    }
  });

  it('refuses new orders until it is reset, and then begins at nothing', () => {
    const x = withGroup(5);
    x.order(ALICE, 'BUY Yes 5 @ 40', { group: GROUP });
    x.order(BOB, 'SELL Yes 5 @ 40');
    assert.equal(codeOf(x.place({ account: ALICE, group: GROUP })), 'ORDER_GROUP_TRIGGERED');
    assert.equal(codeOf(x.place({ account: ALICE, lots: 1, ticks: 10 })), 'OK', 'an order without it');
    assert.equal(codeOf(x.groupReset(ALICE, GROUP)), 'OK');
    x.order(ALICE, 'BUY Yes 9 @ 40', { group: GROUP });
    x.order(BOB, 'SELL Yes 4 @ 40');
    assert.equal(x.drawn()[0], 'bid 40  alice 5 Yes');
  });

  it('trips at once if its maximum is lowered to the filled quantity, or if another shard reports it', () => {
    const x = withGroup(10);
    x.order(ALICE, 'BUY Yes 9 @ 40', { group: GROUP });
    x.order(BOB, 'SELL Yes 4 @ 40');
    x.groupSet(ALICE, GROUP, 60, 5 * LOT);
    assert.deepEqual(x.drawn(), ['bid 40  alice 5 Yes']);
    x.groupSet(ALICE, GROUP, 60, 4 * LOT);
    assert.deepEqual(x.drawn(), []);
    x.groupReset(ALICE, GROUP);
    x.order(ALICE, 'BUY Yes 3 @ 40', { group: GROUP });
    x.groupTrip(ALICE, GROUP);
    assert.deepEqual(x.drawn(), []);
    const rows = x.journal.rows.length;
    assert.equal(codeOf(x.groupTrip(ALICE, GROUP)), 'OK');
    assert.equal(codeOf(x.groupSet(ALICE, GROUP, 60, 4 * LOT)), 'OK');
    assert.equal(x.journal.rows.length, rows, 'what changes nothing is not journaled');
  });

  it("is its own account's, and its settings are within bounds", () => {
    const x = withGroup(10);
    assert.equal(codeOf(x.place({ account: BOB, group: GROUP })), 'VALIDATION_ERROR');
    assert.equal(codeOf(x.place({ account: ALICE, group: OTHER })), 'VALIDATION_ERROR');
    assert.equal(codeOf(x.groupSet(BOB, GROUP, 60, 1)), 'VALIDATION_ERROR');
    assert.equal(codeOf(x.groupReset(BOB, GROUP)), 'VALIDATION_ERROR');
    assert.equal(codeOf(x.groupTrip(ALICE, OTHER)), 'VALIDATION_ERROR');
    for (const [group, windowSec, max] of [
      [0, 60, 1],
      [OTHER, 0, 1],
      [OTHER, 3601, 1],
      [OTHER, 60, 0],
      [OTHER, 60, MAX_ORDER_AMOUNT + 1],
    ] as const) {
      assert.equal(codeOf(x.groupSet(ALICE, group, windowSec, max)), 'VALIDATION_ERROR');
    }
    assert.equal(codeOf(x.groupSet(ALICE, OTHER, 3600, MAX_ORDER_AMOUNT)), 'OK');
  });
});

describe('FOK and FAK account for orders that a group will take away', () => {
  it('a FOK order that needs orders behind the trip is refused and changes nothing', () => {
    const x = withGroup(6);
    x.order(ALICE, 'BUY Yes 6 @ 40', { group: GROUP });
    x.order(ALICE, 'BUY Yes 6 @ 39', { group: GROUP });
    x.order(CAROL, 'BUY Yes 6 @ 38');
    const before = stateOf(x.engine);
    assert.equal(codeOf(x.place({ account: BOB, side: 1, lots: 13, ticks: 38, timeInForce: 2 })), 'FOK_NOT_FILLED');
    assert.deepEqual(stateOf(x.engine), before);
    x.order(BOB, 'SELL Yes 12 @ 38 FOK');
    assert.deepEqual(x.drawn(), [], '6 to Alice and 6 to Carol');
  });

  it('a FOK order of a group that would trip before its end is refused; one that ends with it is filled', () => {
    const x = withGroup(6);
    x.order(BOB, 'SELL Yes 4 @ 40');
    x.order(BOB, 'SELL Yes 4 @ 41');
    const place = (lots: number): string => {
      return codeOf(x.place({ account: ALICE, lots, ticks: 41, timeInForce: 2, group: GROUP }));
    };
    assert.equal(place(8), 'OK', 'the second fill trips it, and is the last');
    x.groupReset(ALICE, GROUP);
    x.order(BOB, 'SELL Yes 6 @ 40');
    x.order(BOB, 'SELL Yes 4 @ 41');
    assert.equal(place(7), 'FOK_NOT_FILLED');
    assert.equal(place(6), 'OK');
  });

  it('the minimum net of a FAK order counts only the quantity that it can really get', () => {
    const x = withGroup(6);
    x.order(ALICE, 'BUY Yes 6 @ 50', { group: GROUP });
    x.order(ALICE, 'BUY Yes 6 @ 50', { group: GROUP });
    const fak = { account: BOB, side: 1, lots: 12, ticks: 50, timeInForce: 3 };
    assert.equal(codeOf(x.place({ ...fak, minTakerNet: 300 })), 'MIN_NET_NOT_MET', '300 less the fee');
    assert.equal(codeOf(x.place({ ...fak, minTakerNet: 299 })), 'OK');
  });
});

describe('the window', () => {
  it('is the same after a replay and out of a snapshot, tripped or not', () => {
    const x = withGroup(100);
    x.groupSet(BOB, OTHER, 5, 10 * LOT);
    for (let i = 0; i < 40; i++) {
      x.place({ account: ALICE, lots: 3, ticks: 40, group: GROUP });
      x.place({ account: BOB, side: 1, lots: 2, ticks: 40, group: OTHER });
      x.nowMs += 700;
      if (i % 9 === 8) x.groupReset(BOB, OTHER);
    }
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
  });

  it('keeps a bounded number of entries, and what it merges counts longer, never shorter', () => {
    const x = withGroup(10 * MOST_ENTRIES);
    const { window } = x.engine.state.groups.get(GROUP);
    const startMs = x.nowMs;
    for (let i = 0; i <= MOST_ENTRIES; i++) window.add(startMs + i, LOT);
    assert.equal(window.count, MOST_ENTRIES / 2 + 1);
    assert.equal(window.sumAtomic, (MOST_ENTRIES + 1) * LOT);
    window.dropUntil(startMs);
    assert.equal(window.sumAtomic, (MOST_ENTRIES + 1) * LOT, 'merged with its later neighbour');
    window.dropUntil(startMs + 1);
    assert.equal(window.sumAtomic, (MOST_ENTRIES - 1) * LOT);
    window.validate();
  });
});

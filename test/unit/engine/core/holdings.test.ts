/** A holding below the minimum of an order can be sold, all of it in one order (RULES.md 1.5), on a drawn market. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { REPLACE_MODE } from '../../../../shared/wire/commands.ts';
import { stateOf } from '../../../support/engine.ts';
import { ALICE, BOB, CAROL, Scenario } from '../../../support/scenario.ts';

const MIN_LOTS = 10_000;
const ALL_LOTS = 10_000_000;
const REFUSED = ['refused BELOW_MIN_SIZE'];

let it: Scenario;

/** Leaves Alice this many lots of Yes. */
function keepYes(lots: number): void {
  it.order(BOB, `BUY Yes ${ALL_LOTS - lots} @ 10`);
  it.order(ALICE, `SELL Yes ${ALL_LOTS - lots} @ 10`);
  assert.deepEqual(it.tokens(ALICE, OUTCOME.YES, 0), { available: lots * 100, reserved: 0 });
}

beforeEach(() => {
  it = new Scenario({ minOrderAtomic: MIN_LOTS * 100 });
});

test('all whole lots that are held can be sold, resting or at once, and no part of them', () => {
  keepYes(50);
  for (const lots of [1, 49, 51]) assert.deepEqual(it.order(ALICE, `SELL Yes ${lots} @ 60`), REFUSED);
  assert.deepEqual(it.order(ALICE, 'BUY Yes 50 @ 60'), REFUSED);
  assert.deepEqual(it.order(ALICE, 'SELL No 50 @ 60'), REFUSED, 'of No she holds more');
  assert.deepEqual(it.order(ALICE, 'SELL Yes 50 @ 60'), ['alice rests 50']);
  assert.deepEqual(it.order(ALICE, 'SELL Yes 50 @ 61'), REFUSED, 'they are reserved');
  it.cancel(ALICE, it.lastHash);
  it.order(CAROL, `BUY Yes ${MIN_LOTS} @ 20`);
  const sold = it.order(ALICE, 'SELL Yes 50 @ 20 FOK');
  assert.match(sold[0], /^standard 50 @ 20/);
  assert.deepEqual(it.order(ALICE, 'SELL Yes 1 @ 20'), REFUSED, 'nothing is held');
});

test('a part of a lot neither hinders nor is sold', () => {
  keepYes(50);
  const amounts = { account: ALICE, side: SIDE.SELL, lots: 50, ticks: 60, feeBps: 50 };
  assert.equal(it.convert(ALICE, 0, 30, MOVEMENT.MERGE).reply.code, OK, 'a merge takes any number of atomic tokens');
  assert.equal(it.convert(ALICE, 0, 30, MOVEMENT.SPLIT).reply.code, E.INVALID_LOT);
  assert.deepEqual(it.tokens(ALICE, OUTCOME.YES, 0), { available: 4970, reserved: 0 });
  assert.equal(it.place(amounts).reply.code, E.BELOW_MIN_SIZE);
  assert.equal(it.place({ ...amounts, lots: 49 }).reply.code, OK);
});

test('less than one lot is below the minimum, also of an account that holds nothing', () => {
  keepYes(0);
  it.order(BOB, `BUY Yes ${MIN_LOTS} @ 50`);
  for (const timeInForce of [TIME_IN_FORCE.FAK, TIME_IN_FORCE.FOK]) {
    const order = { account: ALICE, side: SIDE.SELL, timeInForce, makerAmount: 99, takerAmount: 1, feeBps: 50 };
    assert.equal(it.place(order).reply.code, E.BELOW_MIN_SIZE, `${timeInForce}`);
  }
});

test('an order that replaces the only other one may sell all of them, and beside a second one none', () => {
  keepYes(MIN_LOTS + 50);
  const order = { account: ALICE, side: SIDE.SELL, lots: MIN_LOTS, ticks: 60, feeBps: 50 };
  const first = it.place(order);
  assert.deepEqual(it.order(ALICE, 'SELL Yes 50 @ 60'), REFUSED, 'others are reserved');
  it.order(BOB, `BUY Yes ${MIN_LOTS} @ 60`);
  assert.equal(it.replace(first.hash, { ...order, lots: 50, ticks: 61 }).reply.code, E.ORDER_NOT_CANCELLABLE);
  const small = it.place({ ...order, lots: 50 });
  assert.equal(small.reply.code, OK);
  for (const lots of [49, 51]) {
    assert.equal(it.replace(small.hash, { ...order, lots, ticks: 61 }).reply.code, E.BELOW_MIN_SIZE);
  }
  assert.equal(it.amend(small.hash, { ...order, lots: 50, ticks: 61 }).reply.code, OK);
});

test('a replacement that expects another remainder is refused, and the journal never says what was expected', () => {
  const order = { account: ALICE, side: SIDE.BUY, lots: MIN_LOTS, ticks: 60, feeBps: 50 };
  const old = it.place({ ...order, lots: 2 * MIN_LOTS });
  it.order(BOB, `SELL Yes ${MIN_LOTS} @ 60`);
  const left = MIN_LOTS * 60;
  const replace = (expected?: number) => it.replace(old.hash, order, REPLACE_MODE.AMEND, expected);
  for (const expected of [left - 1, left + 1, left + 2 ** 32, 10 ** 15]) {
    const { reply } = replace(expected);
    assert.deepEqual([reply.code, reply.a], [E.REMAINING_CHANGED, left], `${expected}`);
  }
  const { reply } = replace(left);
  assert.deepEqual([reply.code, reply.a, reply.b, reply.c], [OK, 1, 0, MIN_LOTS]);
  assert.deepEqual(stateOf(it.replayed()), stateOf(it.engine));
});

test('the order of another account, or of the other outcome, gives nothing to a replacement', () => {
  keepYes(50);
  const order = { account: ALICE, side: SIDE.SELL, lots: 50, ticks: 60, feeBps: 50 };
  const own = it.place(order);
  const others = it.place({ ...order, account: BOB, lots: MIN_LOTS });
  assert.equal(it.replace(others.hash, { ...order, ticks: 61 }).reply.code, E.BELOW_MIN_SIZE);
  const no = it.place({ ...order, outcome: OUTCOME.NO, lots: MIN_LOTS });
  assert.equal(it.replace(no.hash, { ...order, ticks: 61 }).reply.code, E.BELOW_MIN_SIZE);
  assert.equal(it.replace(own.hash, { ...order, ticks: 61 }).reply.code, OK);
});

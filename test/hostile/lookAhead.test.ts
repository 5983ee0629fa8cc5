/**
 * Attack: immediate orders that are refused after the shard has walked the whole book for them, order by order, because
 * somebody once made an order group (RULES.md 2.7, 7.9).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SELF_TRADE, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { E } from '../../shared/base/errors.ts';
import { EngineRig, type PlaceOptions } from '../support/engineRig.ts';
import { timesOf } from '../support/seeds.ts';

const ORDERS = timesOf({ suite: 200, soak: 1000 });
const LEVELS = 20;
const [ATTACKER, MAKER, GROUP] = [1, 2, 9];

/** A book of ORDERS asks at ticks 41 to 60, and a group of the attacker. */
function crowdedBook(): EngineRig {
  const rig = new EngineRig();
  rig.market(0);
  for (const account of [ATTACKER, MAKER]) {
    rig.fund(account, 10_000_000_000_000);
    rig.convert(account, 0, 1_000_000_000);
  }
  for (let i = 0; i < ORDERS; i++)
    rig.place({ account: MAKER, side: SIDE.SELL, ticks: 41 + (i % LEVELS), lots: 10_000 });
  rig.groupSet(ATTACKER, GROUP, 60, 1_000_000);
  return rig;
}

/** The number of orders that the shard steps over to decide on an order that it refuses. */
function stepsFor(rig: EngineRig, order: PlaceOptions, expected: number): number {
  const { orders } = rig.engine.state;
  const column = orders.next;
  let steps = 0;
  orders.next = new Proxy(column, {
    get: (target, at) => {
      steps++;
      return Reflect.get(target, at) as unknown;
    },
  });
  // After any command the rig's own checks step over the same orders.
  rig.place({ ...order, market: 99 });
  const checks = steps;
  steps = 0;
  assert.equal(rig.place(order).reply.code, expected);
  orders.next = column;
  return steps - checks;
}

const SWEEP = { account: ATTACKER, ticks: 99, timeInForce: TIME_IN_FORCE.FOK } as const;

test('an order for more than the book holds is refused without a look at single orders', () => {
  const rig = crowdedBook();
  const lots = ORDERS * 10_000 + 1;
  assert.equal(stepsFor(rig, { ...SWEEP, lots }, E.FOK_NOT_FILLED), 0);
  assert.equal(stepsFor(rig, { ...SWEEP, lots, selfTrade: SELF_TRADE.CANCEL_NEWEST }, E.FOK_NOT_FILLED), 0);
  assert.equal(stepsFor(rig, { ...SWEEP, lots, group: GROUP }, E.FOK_NOT_FILLED), 0);
});

test('orders of groups, own orders and a group that trips cost a walk of their level, not of the book', () => {
  const rig = crowdedBook();
  const lots = ORDERS * 10_000;
  const perLevel = ORDERS / LEVELS;
  assert.equal(stepsFor(rig, { ...SWEEP, lots, minTakerNet: 1, group: GROUP }, E.FOK_NOT_FILLED) <= perLevel, true);

  // The first of the two trips the group, so the second cannot be filled: the book holds less than it seems to.
  for (let i = 0; i < 2; i++) rig.place({ account: ATTACKER, side: SIDE.SELL, ticks: 61, lots: 10_000, group: GROUP });
  const all = { ...SWEEP, lots: lots + 20_000 };
  const steps = stepsFor(rig, all, E.FOK_NOT_FILLED);
  assert.ok(steps <= 2, `${steps} steps over a level of two`);
  const ownSteps = stepsFor(rig, { ...all, selfTrade: SELF_TRADE.CANCEL_OLDEST }, E.FOK_NOT_FILLED);
  assert.ok(ownSteps <= 2, `${ownSteps} steps over a level of two own orders`);
});

test('an order that takes what there is looks for a single lot', () => {
  const rig = crowdedBook();
  const order = { ...SWEEP, timeInForce: TIME_IN_FORCE.FAK, ticks: 40, lots: ORDERS * 10_000 };
  assert.equal(stepsFor(rig, order, E.FAK_NO_FILL), 0);
});

/** `checkInvariants` notices a damaged state of every kind, and names the invariant. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Market } from '../../../../engine/book/market.ts';
import { DOUBLE_SHIFT, WORD_SHIFT } from '../../../../engine/book/orders.ts';
import { brokenInvariant, checkInvariants } from '../../../../engine/core/invariants.ts';
import type { ShardState } from '../../../../engine/core/state.ts';
import { MARKET_STATUS, MAX_ORDER_AMOUNT, OUTCOME } from '../../../../shared/base/codes.ts';
import { PPM } from '../../../../shared/base/payout.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { ALICE, BOB, Scenario } from '../../../support/scenario.ts';

/** Three orders of Alice (two at one tick, one with a group and an expiration) and one of Bob. */
function richState(): { x: Scenario; state: ShardState; slots: number[] } {
  const x = new Scenario();
  x.groupSet(ALICE, 1, 60, MAX_ORDER_AMOUNT);
  const slots = [
    x.place({ account: ALICE, ticks: 40, lots: 10_000 }),
    x.place({ account: ALICE, ticks: 40, lots: 10_000 }),
    x.place({ account: ALICE, ticks: 41, lots: 10_000, group: 1 }),
    x.place({ account: BOB, outcome: OUTCOME.NO, ticks: 40, lots: 10_000 }),
  ].map(({ hash }) => x.slotOf(hash));
  return { x, state: x.engine.state, slots };
}

const DAMAGES: readonly [name: string, label: RegExp, damage: (state: ShardState, slots: number[]) => void][] = [
  ['lots of an order', /LEVELS-2/, ({ orders }, [slot]) => orders.remainingLots[slot << DOUBLE_SHIFT]--],
  ['the total of a level', /LEVELS-2/, ({ markets }) => markets.peek(0)!.book.bids.totalLots[40]++],
  ['the best tick', /LEVELS-4/, ({ markets }) => (markets.peek(0)!.book.bids.bestTick = 40)],
  ['a link of a queue', /LEVELS-3/, ({ orders }, [, second]) => (orders.previous[second << WORD_SHIFT] = -1)],
  ['the number of open orders of a market', /MARKET-4/, ({ markets }) => markets.peek(0)!.openOrders++],
  ['the number of open orders', /ORDERS-1/, ({ orders }) => orders.openCount--],
  ['the list of an account', /ORDERS-2/, ({ orders }, [slot]) => (orders.accountNext[slot << WORD_SHIFT] = -1)],
  [
    'an entry of the index of open orders',
    /ORDERS-2/,
    ({ openOrders, orders }, [slot]) => {
      openOrders.remove(orders.signed.words, slot);
    },
  ],
  ['the heap of expirations', /EXPIRY-1/, ({ orders }, [slot]) => (orders.expirationSec[slot << DOUBLE_SHIFT] = 9)],
  [
    'a tag',
    /TAGS-2/,
    ({ orders }, [, , third]) => (orders.tags.priority[orders.tag[third << WORD_SHIFT]] = Number.MAX_SAFE_INTEGER),
  ],
  ['a group', /GROUPS-1/, ({ groups }) => (groups.get(1).isTripped = true)],
  ['a group window', /WINDOW-1/, ({ groups }) => groups.get(1).window.sumAtomic++],
  ['reserved USDC', /LEDGER-2/, ({ ledger }) => ledger.reservedMicro[ALICE]++],
  ['reserved tokens', /POSITIONS-1/, ({ ledger }) => ledger.positions.reserved[0]++],
  ['available USDC', /LEDGER-1/, ({ ledger }) => ledger.netMicro[ALICE]++],
  ['available tokens', /MARKET-1/, ({ ledger }) => ledger.positions.available[0]++],
  ['collateral', /MARKET-1/, ({ markets }) => markets.peek(0)!.collateralMicro++],
  ['a digest', /DIGEST-1/, ({ digest }) => digest.low++],
  ['the part of the digest that hashes have', /DIGEST-1/, ({ digest }) => digest.accepted.high++],
  ['the number of accepted orders', /HASHES-3/, ({ digest }) => digest.accepted.count--],
];

/** Three holders of a market, of whom the first is paid; one record pays one. */
function settling(): { state: ShardState; market: Market } {
  const rig = new EngineRig({ rowsOfRecord: 1 });
  rig.market(0);
  for (const account of [1, 2, 3]) {
    rig.fund(account, 1_000_000);
    rig.convert(account, 0, 1_000_000);
  }
  rig.resolve(0, PPM);
  rig.settle();
  const { state } = rig.engine;
  return { state, market: state.markets.peek(0)! };
}

/** One of its three orders has been cancelled. */
function closing(): { state: ShardState; market: Market } {
  const rig = new EngineRig({ rowsOfRecord: 1 });
  rig.market(0);
  rig.fund(1, 100_000_000);
  for (const ticks of [40, 41, 42]) rig.place({ account: 1, ticks });
  rig.resolve(0, PPM);
  const { state } = rig.engine;
  return { state, market: state.markets.peek(0)! };
}

const ENDINGS: readonly [name: string, make: typeof settling, label: RegExp, damage: (market: Market) => void][] = [
  ['closes', closing, /MARKET-5/, (market) => (market.status = MARKET_STATUS.RESOLVED)],
  ['closes', closing, /MARKET-5/, (market) => Object.assign(market, { status: MARKET_STATUS.LOCKED, isClosed: true })],
  ['settles', settling, /MARKET-6/, (market) => (market.settledMs = 1)],
  ['settles', settling, /MARKET-6/, (market) => (market.cursor = 2)],
  ['settles', settling, /MARKET-6/, (market) => (market.cursor = 3)],
];

describe('the walk over all invariants', () => {
  it('finds nothing in a good state', () => {
    const { state } = richState();
    assert.equal(brokenInvariant(state), null);
  });

  for (const [name, label, damage] of DAMAGES) {
    it(`notices ${name} that is not right`, () => {
      const { state, slots } = richState();
      damage(state, slots);
      assert.throws(() => checkInvariants(state), label);
      assert.match(brokenInvariant(state) ?? '', label);
    });
  }

  for (const [index, [name, make, label, damage]] of ENDINGS.entries()) {
    it(`notices a market that ${name} and is not right (${index})`, () => {
      const { state, market } = make();
      assert.equal(brokenInvariant(state), null);
      damage(market);
      assert.throws(() => checkInvariants(state), label);
    });
  }
});

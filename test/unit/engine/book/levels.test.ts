import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Levels, NO_TICK } from '../../../../engine/book/levels.ts';
import { DOUBLE_SHIFT, NONE, Orders, WORD_SHIFT } from '../../../../engine/book/orders.ts';
import { TICKS_PER_UNIT } from '../../../../shared/base/codes.ts';

/** One side of a book and orders whose sequence is the order they were made in. */
class Side {
  readonly orders = new Orders(4);
  readonly levels: Levels;
  readonly #isBid: boolean;
  #sequence = 0;

  constructor(ticksPerUnit: number, isBid: boolean) {
    this.#isBid = isBid;
    this.levels = new Levels(this.orders, ticksPerUnit, isBid);
  }

  order(tick: number, lots: number): number {
    const slot = this.orders.allocate(1);
    this.orders.yesTicks[slot << WORD_SHIFT] = tick;
    this.orders.isBid[slot << WORD_SHIFT] = this.#isBid ? 1 : 0;
    this.orders.sequence[slot << DOUBLE_SHIFT] = ++this.#sequence;
    this.orders.remainingLots[slot << DOUBLE_SHIFT] = lots;
    return slot;
  }

  rest(tick: number, lots = 1): number {
    const slot = this.order(tick, lots);
    this.levels.append(slot, tick);
    return slot;
  }

  queue(tick: number): number[] {
    const slots: number[] = [];
    for (let slot = this.levels.head[tick]; slot !== NONE; slot = this.orders.next[slot << WORD_SHIFT])
      slots.push(slot);
    const backwards: number[] = [];
    for (let slot = this.levels.tail[tick]; slot !== NONE; slot = this.orders.previous[slot << WORD_SHIFT])
      backwards.push(slot);
    assert.deepEqual(backwards.reverse(), slots, 'linked both ways');
    return slots;
  }

  /** Every occupied tick, best first. */
  ticks(): number[] {
    this.levels.validate();
    const ticks: number[] = [];
    for (let tick = this.levels.bestTick; tick !== NO_TICK; tick = this.levels.worseThan(tick)) ticks.push(tick);
    return ticks;
  }
}

describe('the best tick', () => {
  for (const ticksPerUnit of TICKS_PER_UNIT) {
    for (const isBid of [true, false]) {
      it(`is found over words of the bitmap: D = ${ticksPerUnit}, ${isBid ? 'bids' : 'asks'}`, () => {
        const wanted = [1, 2, 30, 31, 32, 33, 63, 64, 65, 95, 96, 97, ticksPerUnit - 2, ticksPerUnit - 1];
        const ticks = [...new Set(wanted.filter((tick) => tick >= 1 && tick < ticksPerUnit))].sort((a, b) => a - b);
        if (isBid) ticks.reverse();
        const side = new Side(ticksPerUnit, isBid);
        assert.equal(side.levels.bestTick, NO_TICK);
        // Put in from the middle outwards, so that the best changes and also does not.
        const slots = new Map<number, number>();
        for (const tick of ticks.toSorted((a, b) => Math.abs(a - 50) - Math.abs(b - 50))) {
          slots.set(tick, side.rest(tick));
        }
        assert.deepEqual(side.ticks(), ticks);
        for (let i = 0; i < ticks.length; i++) {
          assert.equal(side.levels.bestTick, ticks[i]);
          side.levels.remove(slots.get(ticks[i])!, ticks[i]);
          assert.deepEqual(side.ticks(), ticks.slice(i + 1));
          assert.equal(side.levels.isOccupied(ticks[i]), false);
        }
        assert.equal(side.levels.bestTick, NO_TICK);
      });
    }
  }

  it('stays when a worse level is emptied', () => {
    const side = new Side(100, true);
    side.rest(60);
    const worse = side.rest(40);
    side.levels.remove(worse, 40);
    assert.deepEqual(side.ticks(), [60]);
  });
});

describe('a queue', () => {
  it('keeps its order when its head, middle or tail leaves', () => {
    for (const leaving of [0, 1, 2]) {
      const side = new Side(100, false);
      const slots = [side.rest(50, 1), side.rest(50, 2), side.rest(50, 4)];
      side.levels.remove(slots[leaving], 50);
      assert.deepEqual(
        side.queue(50),
        slots.filter((_, index) => index !== leaving),
      );
      assert.equal(side.levels.totalLots[50], 7 - 2 ** leaving);
      assert.equal(side.levels.count[50], 2);
    }
  });

  it('takes a returning order back to its old place', () => {
    for (const leaving of [0, 1, 2]) {
      const side = new Side(100, true);
      const slots = [side.rest(50), side.rest(50), side.rest(50)];
      side.levels.remove(slots[leaving], 50);
      side.levels.insertByPriority(slots[leaving], 50);
      assert.deepEqual(side.queue(50), slots);
    }
    const empty = new Side(100, true);
    const slot = empty.order(50, 3);
    empty.levels.insertByPriority(slot, 50);
    assert.deepEqual(empty.queue(50), [slot]);
    assert.equal(empty.levels.bestTick, 50);
  });

  it('counts the lots a fill takes, and never below nothing', () => {
    const side = new Side(100, true);
    const slot = side.rest(50, 5);
    side.levels.reduce(50, 2);
    assert.equal(side.levels.totalLots[50], 3);
    side.orders.remainingLots[slot << DOUBLE_SHIFT] = 3;
    assert.throws(() => side.levels.reduce(50, 4), /LEVELS-2/);
    side.levels.remove(slot, 50);
    assert.equal(side.levels.totalLots[50], 0);
  });
});

/**
 * A validator of the books that is too simple to share a mistake with them: it scans the pool of orders, sorts what
 * rests, and compares the result with the levels. The engine's rig runs it after every command of every book test.
 */
import assert from 'node:assert/strict';
import type { Levels } from '../../engine/book/levels.ts';
import { DOUBLE_SHIFT, NONE, type Orders, SLOT_STATE, WORD_SHIFT } from '../../engine/book/orders.ts';
import type { ShardState } from '../../engine/core/state.ts';

type Level = { readonly tick: number; readonly lots: number; readonly slots: readonly number[] };

export function validateBooks({ markets, orders }: ShardState): void {
  for (const { index, book } of markets.all()) {
    const bids = restingLevels(orders, index, 1).reverse();
    const asks = restingLevels(orders, index, 0);
    assert.deepEqual(levelsOf(orders, book.bids), bids, `market ${index}: the bids are the resting bids, sorted`);
    assert.deepEqual(levelsOf(orders, book.asks), asks, `market ${index}: the asks are the resting asks, sorted`);
    if (bids.length > 0 && asks.length > 0) {
      assert.ok(bids[0].tick < asks[0].tick, `market ${index}: the best bid is below the best ask`);
    }
  }
}

/** The levels of one side by rising tick, from a scan of the whole pool. */
function restingLevels(orders: Orders, market: number, isBid: number): Level[] {
  const byTick = new Map<number, number[]>();
  for (let slot = 0; slot < orders.capacity; slot++) {
    if (orders.state[slot << WORD_SHIFT] !== SLOT_STATE.RESTING) continue;
    if (orders.market[slot << WORD_SHIFT] !== market || orders.isBid[slot << WORD_SHIFT] !== isBid) continue;
    const tick = orders.yesTicks[slot << WORD_SHIFT];
    byTick.set(tick, [...(byTick.get(tick) ?? []), slot]);
  }
  return [...byTick.entries()]
    .sort(([a], [b]) => a - b)
    .map(([tick, slots]) => ({
      tick,
      lots: slots.reduce((sum, slot) => sum + orders.remainingLots[slot << DOUBLE_SHIFT], 0),
      slots: slots.sort((a, b) => orders.priorityOf(a) - orders.priorityOf(b)),
    }));
}

/** The levels of one side, best first, as the book links them. */
function levelsOf(orders: Orders, levels: Levels): Level[] {
  const found: Level[] = [];
  for (let tick = levels.bestTick; tick >= 0; tick = levels.worseThan(tick)) {
    const slots: number[] = [];
    for (let slot = levels.head[tick]; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) slots.push(slot);
    found.push({ tick, lots: levels.totalLots[tick], slots });
  }
  return found;
}

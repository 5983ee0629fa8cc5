/** Views as plain data, to be compared with an engine's own state or with the views of another thread. */
import assert from 'node:assert/strict';
import { type Book, type BookSide, NO_TICK } from '../../gateway/shardlink/bookViews.ts';
import { ORDER_STATE } from '../../gateway/shardlink/orderViews.ts';
import type { Views } from '../../gateway/shardlink/views.ts';
import { FLOW_TICKS_PER_UNIT } from './flow.ts';

export type Level = { tick: number; lots: number; orders: number; buyLots: number; queue: number[] };

function viewLevels(views: Views, book: Book | undefined, name: 'bids' | 'asks'): Level[] {
  if (book === undefined) return [];
  const side: BookSide = book[name];
  const orders = views.orders[0];
  const rows: Level[] = [];
  for (let tick = name === 'bids' ? side.highest() : side.lowest(); tick !== NO_TICK; ) {
    const queue: number[] = [];
    for (let slot = side.head[tick]; slot >= 0; slot = orders.queueNext[slot]) queue.push(orders.orderSequence[slot]);
    rows.push({ tick, lots: side.lots[tick], orders: side.orders[tick], buyLots: side.buyLots[tick], queue });
    tick = name === 'bids' ? side.below(tick) : side.above(tick);
  }
  return rows;
}

/** The first shard as views show it: accounts 0 to 7 and the markets of the flow (flow.ts). */
export function stateOfViews(views: Views) {
  const orders = views.orders[0];
  const open: Record<string, (number | string)[][]> = {};
  const tokens: Record<string, number[]> = {};
  for (let account = 0; account < 8; account++) {
    for (let market = 0; market < FLOW_TICKS_PER_UNIT.length; market++) {
      const pair = views.pairs.find(account, market);
      if (pair < 0) continue;
      const rows: (number | string)[][] = [];
      for (const slot of orders.openAfter(pair, 0, Number.POSITIVE_INFINITY)) {
        assert.equal(orders.find(orders.hash, slot * 8), slot, 'ORDERVIEW-1: an open order is found by its hash');
        const isDormant = orders.state[slot] === ORDER_STATE.DORMANT ? 1 : 0;
        const clientId = orders.clientIdOf(slot);
        if (clientId !== null)
          assert.deepEqual(views.findByClientId(account, clientId), { orders, slot }, 'ORDERVIEW-5');
        rows.push([
          orders.orderSequence[slot],
          orders.remainingLots[slot],
          orders.filledNotionalMicro[slot],
          isDormant,
          orders.priority[slot],
          orders.groupOf(slot),
          clientId ?? '',
        ]);
      }
      if (rows.length > 0) open[`${account}/${market}`] = rows;
      const { yesAvailable, yesReserved, noAvailable, noReserved } = views.accounts;
      const cells = [yesAvailable[pair], yesReserved[pair], noAvailable[pair], noReserved[pair]];
      tokens[`${account}/${market}`] = cells;
    }
  }
  const usdc = Array.from({ length: 8 }, (_, account) => [
    views.accounts.availableMicro(account),
    views.accounts.reservedMicro(account),
  ]);
  const markets = FLOW_TICKS_PER_UNIT.map((_, market) => ({
    bids: viewLevels(views, views.books.of(market), 'bids'),
    asks: viewLevels(views, views.books.of(market), 'asks'),
    sequence: views.markets.sequence(market),
    status: views.markets.status(market),
    feeBps: views.markets.feeBps(market),
    collateralMicro: views.markets.collateralMicro[market],
  }));
  return { open, tokens, usdc, markets };
}

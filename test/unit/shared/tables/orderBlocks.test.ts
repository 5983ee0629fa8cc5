/** A block of archived orders has every value of them, in any mixture. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDamaged } from '../../../../shared/base/damagedDatabase.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import {
  encodeBlock,
  encodeMarkets,
  hasMarket,
  type Order,
  OrderBlock,
} from '../../../../shared/tables/orderBlocks.ts';
import { ORDERS } from '../../../../shared/tables/orders.ts';
import { OrderTable } from '../../../../shared/tables/orderTable.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(3);
const T0 = Date.UTC(2026, 0, 1);
const LARGEST = Number.MAX_SAFE_INTEGER;

type Options = { readonly largest?: number; readonly texts?: readonly (string | null)[]; readonly isOdd?: boolean };

describe(`blocks of orders (seed ${SEED})`, () => {
  const random = new Random(SEED);

  function ordersOf(count: number, { largest = 1_000_000, texts = [null], isOdd = false }: Options = {}): Order[] {
    const amount = (): number => (random.below(4) === 0 ? largest - random.below(3) : random.below(1000));
    let [created_ms, order_sequence] = [T0, 5];
    return Array.from({ length: count }, (_, index) => {
      created_ms += random.below(3000);
      order_sequence += 1 + random.below(9);
      const lots = amount();
      return {
        id: timeOrderedIdBytes(created_ms + Number(isOdd), random.below(2), ID_KIND.ORDER, order_sequence),
        hash: Uint8Array.from({ length: 32 }, () => random.below(256)),
        ...{ account: Math.floor(index / 7), market: random.below(5), shard: random.below(2), slot: null },
        ...{ side: random.below(2), outcome: random.below(2), limit_ticks: random.below(100) },
        ...{ maker_amount: amount(), taker_amount: amount(), lots, remaining_lots: lots, filled_notional_micro: 0 },
        ...{ time_in_force: random.below(3), post_only: random.below(2), fee_bps: 50, expiration_sec: amount() },
        ...{ status: 3, reason: 1, client_order_id: texts[random.below(texts.length)]!, order_group: random.below(2) },
        ...{ order_sequence, shard_sequence: amount(), created_ms, updated_ms: created_ms + random.below(99_999) },
      };
    });
  }

  function readBack(orders: readonly Order[], account: number | null = null, market: number | null = null): Order[] {
    const table = new OrderTable();
    table.fill(new OrderBlock(encodeBlock(orders)), account, market);
    const rows = table.db.prepare<[], Order>('SELECT * FROM orders ORDER BY id').all();
    table.db.close();
    return rows.map(comparable);
  }

  it('have every value, whatever the orders are', () => {
    const texts = [null, '', 'mm-1', 'ü "\\ \u{1F600}', 'x'.repeat(36)];
    const cases: Options[] = [{}, { texts }, { largest: LARGEST, texts }, { isOdd: true }, { texts: ['one'] }];
    for (const options of cases) {
      for (const count of [1, 2, 50, 128]) {
        const orders = ordersOf(count, options);
        assert.deepEqual(readBack(orders), orders.map(comparable), JSON.stringify({ ...options, count }));
      }
    }
  });

  it('have a number that is so far from its neighbours that twice the distance is not exact', () => {
    const orders = ordersOf(20).map((order, index) => {
      return { ...order, lots: LARGEST, remaining_lots: LARGEST, maker_amount: index === 7 ? 2 ** 51 : LARGEST };
    });
    assert.deepEqual(readBack(orders), orders.map(comparable));
  });

  it('are read for one account, or one market, alone', () => {
    const orders = ordersOf(60);
    const expected = orders.filter(({ account, market }) => account === 3 && market === 2).map(comparable);
    assert.deepEqual(readBack(orders, 3, 2), expected);
    for (let market = 0; market < 8; market++) {
      const isThere = orders.some((order) => order.market === market);
      assert.equal(hasMarket(encodeMarkets(orders), market), isThere, `market ${market}`);
    }
  });

  it('take less than 64 bytes an order, of which the hash has 32', () => {
    const orders = ordersOf(128);
    const bytes = encodeBlock(orders).length / orders.length;
    assert.ok(bytes < 64, `${bytes} bytes`);
  });

  it('are damaged, not other orders, if a bit has flipped', () => {
    const orders = ordersOf(40);
    const good = encodeBlock(orders);
    for (let flip = 0; flip < 200; flip++) {
      const bytes = Uint8Array.from(good);
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      try {
        assert.equal(new OrderBlock(bytes).orders, orders.length);
      } catch (error) {
        assert.ok(isDamaged(error), String(error));
        continue;
      }
      assert.fail(`flip ${flip} was not found`);
    }
  });
});

function comparable(order: Order): Order {
  const values = Object.keys(ORDERS.columns).map((name) => [name, order[name as keyof Order]] as const);
  return Object.fromEntries(
    values.map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value]),
  ) as unknown as Order;
}

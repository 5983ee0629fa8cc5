import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { LongLists } from '../../../../gateway/account/longLists.ts';
import { OrderLists } from '../../../../gateway/account/orderListsQueries.ts';
import { MAX_COUNTED, SINCE_EVER } from '../../../../gateway/base/page.ts';
import { ORDER_STATUS } from '../../../../shared/base/codes.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import { MARKETS } from '../../../../shared/tables/markets.ts';
import { ORDERS } from '../../../../shared/tables/orders.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';
import { insert } from '../../../../shared/tables/table.ts';

test('a list that only grows is counted until it is long, one that may get shorter always', () => {
  const lists = new LongLists();
  let rows = MAX_COUNTED;
  let counts = 0;
  const counted = (list: string | null): [number, number] => {
    counts = 0;
    const found = lists.counted(list, () => {
      counts++;
      return rows;
    });
    return [found, counts];
  };
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED, 1]);
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED, 1]);
  rows++;
  assert.deepEqual(counted(null), [MAX_COUNTED + 1, 1]);
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED + 1, 1]);
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED + 1, 0]);
  rows = 3;
  assert.deepEqual(counted('2/filled'), [3, 1], 'of another account');
  assert.deepEqual(counted('1/expired'), [3, 1], 'under other filters');
  assert.deepEqual(counted(null), [3, 1]);
});

test('open orders are counted again when they are fewer, filled ones stay many', () => {
  const db = new Database(':memory:');
  db.pragma('foreign_keys = OFF');
  db.exec(READ_DB_SCHEMA);
  db.prepare(insert(MARKETS)).run({ ...zeros(MARKETS), uuid: new Uint8Array(16), ticks_per_unit: 100 });
  const add = db.prepare(insert(ORDERS));
  db.transaction(() => {
    for (let n = 0; n <= MAX_COUNTED; n++) {
      for (const status of [ORDER_STATUS.OPEN, ORDER_STATUS.FILLED]) {
        const id = timeOrderedIdBytes(n, status, ID_KIND.ORDER, n);
        const slot = status === ORDER_STATUS.OPEN ? n : null;
        add.run({ ...zeros(ORDERS), id, slot, status, hash: new Uint8Array(32), reason: null, client_order_id: null });
      }
    }
  })();
  const lists = new OrderLists(db);
  const every = { sides: 0xff, outcomes: 0xff, sinceMs: SINCE_EVER, sort: 'updated_at', after: null } as const;
  const totalOf = (...statuses: readonly number[]): [number, boolean] => {
    const mask = statuses.reduce((found, status) => found | (1 << status), 0);
    const { total, isFloor } = lists.list(0, { ...every, statuses: mask, limit: 1, offset: 0 });
    return [total, isFloor];
  };
  const { OPEN, FILLED, CANCELLED, EXPIRED } = ORDER_STATUS;
  assert.deepEqual(totalOf(OPEN), [MAX_COUNTED, true]);
  assert.deepEqual(totalOf(FILLED, EXPIRED), [MAX_COUNTED, true]);
  assert.deepEqual(totalOf(OPEN, CANCELLED), [MAX_COUNTED, true]);
  db.exec(`UPDATE orders SET slot = NULL, status = ${EXPIRED} WHERE status = ${OPEN}
    AND id > (SELECT id FROM orders WHERE status = ${OPEN} ORDER BY id LIMIT 1 OFFSET 2)`);
  assert.deepEqual(totalOf(OPEN), [3, false]);
  assert.deepEqual(totalOf(OPEN, CANCELLED), [3, false]);
  assert.deepEqual(totalOf(FILLED, EXPIRED), [MAX_COUNTED, true]);
  db.close();
});

/** A row in which everything is zero. */
function zeros({ inserted }: { readonly inserted: readonly string[] }): object {
  return Object.fromEntries(inserted.map((name) => [name, 0]));
}

/** Writes the orders of the next file of the archive into blocks (shared/tables/orderArchive.ts). */
import Database from 'better-sqlite3';
import { setUserVersion } from '../../shared/base/openDatabase.ts';
import { prepared } from '../../shared/base/prepared.ts';
import { ARCHIVE_LAYOUT, BLOCK_IDS, ID_END_BYTES, ORDER_BLOCKS } from '../../shared/tables/orderArchive.ts';
import { encodeBlock, encodeMarkets, type Order } from '../../shared/tables/orderBlocks.ts';
import { ORDERS } from '../../shared/tables/orders.ts';
import { insert } from '../../shared/tables/table.ts';

type Pace = { readonly blockOrders: number; readonly stepOrders: number };

/** A block is in pages of its own, the last of which is filled half on average. */
const PAGE_BYTES = 1024;
const NEXT = `
  SELECT ${Object.keys(ORDERS.columns).join(', ')} FROM archive.orders INDEXED BY orders_created
  WHERE (account, id) > (?, ?) ORDER BY account, id LIMIT ?`;

/** @param db the orders are in the database that is attached as `archive` @param path of the new file */
export function* packOrders(db: Database.Database, path: string, pace: Pace): Generator<void, void> {
  const { blockOrders, stepOrders } = pace;
  const packed = new Database(path);
  try {
    // Before it is listed it is synced as a whole.
    packed.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF`);
    packed.exec(ORDER_BLOCKS.schema);
    packed.exec(BLOCK_IDS.schema);
    setUserVersion(packed, ARCHIVE_LAYOUT);
    const next = prepared<[number, Uint8Array, number], Order>(db, NEXT);
    let left: Pick<Order, 'account' | 'id'> = { account: -1, id: new Uint8Array(0) };
    for (let block = 0, waiting = 0; ; block++) {
      const orders = next.all(left.account, left.id, blockOrders);
      if (orders.length === 0) break;
      add(packed, block, orders);
      left = orders[orders.length - 1];
      waiting += orders.length;
      if (waiting < stepOrders) continue;
      waiting = 0;
      yield;
    }
  } finally {
    packed.close();
  }
}

function add(packed: Database.Database, block: number, orders: readonly Order[]): void {
  const [first, last] = [orders[0], orders[orders.length - 1]];
  prepared(packed, insert(ORDER_BLOCKS)).run({
    block,
    first_account: first.account,
    first_id: first.id,
    last_account: last.account,
    last_id: last.id,
    last_ms: Math.max(...orders.map(({ updated_ms }) => updated_ms)),
    markets: encodeMarkets(orders),
    data: encodeBlock(orders),
  });
  const ends = Buffer.concat(orders.map(({ id }) => id.subarray(-ID_END_BYTES)));
  prepared(packed, insert(BLOCK_IDS)).run({ block, ends });
}

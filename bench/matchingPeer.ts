/**
 * nodejs-order-book as a subject of the matching bench: the best-kept order book for Node, on the same stream in the
 * same run, so that their ratio does not depend on the load of the machine. It has only books: no accounts, fees,
 * states or events. String ids are created before the run.
 */
import { createRequire } from 'node:module';
import { assert } from '../shared/base/assert.ts';
import { SIDE } from '../shared/base/codes.ts';
import type { Run } from './matchingRun.ts';
import { ID_OFFSET, LOTS_OFFSET, OPERATION, OPERATION_BYTES, type Stream, type Totals } from './workload.ts';

type PeerOrder = { side: string; id: string; size: number; price: number; timeInForce: string };
type PeerSide = readonly { readonly orders: readonly unknown[] }[];
type PeerBook = {
  limit(order: PeerOrder): { readonly err: Error | null; readonly quantityLeft: number };
  cancel(id: string): unknown;
  snapshot(): { readonly bids: PeerSide; readonly asks: PeerSide };
};

// The package.json of the package names a file of types that does not exist.
const { OrderBook } = createRequire(import.meta.url)('nodejs-order-book') as { OrderBook: new () => PeerBook };

export class PeerRun implements Run {
  readonly count: number;
  readonly #book = new OrderBook();
  readonly #bytes: Buffer;
  readonly #ids: readonly string[];
  #tradedLots = 0;

  constructor(stream: Stream, ids: string[]) {
    this.#bytes = stream.bytes;
    this.#ids = ids;
    this.count = ids.length;
  }

  step(index: number): void {
    const bytes = this.#bytes;
    const at = index * OPERATION_BYTES;
    const id = this.#ids[index];
    if (bytes[at] === OPERATION.CANCEL) {
      this.#book.cancel(id);
      return;
    }
    const side = bytes[at + 1] === SIDE.BUY ? 'buy' : 'sell';
    const timeInForce = bytes[at] === OPERATION.SWEEP ? 'IOC' : 'GTC';
    const size = bytes.readUInt32LE(at + LOTS_OFFSET);
    const { err, quantityLeft } = this.#book.limit({ side, id, size, price: bytes[at + 2], timeInForce });
    if (err !== null) throw err;
    this.#tradedLots += size - quantityLeft;
  }

  endBatch(): void {}

  check(totals: Totals): void {
    const { bids, asks } = this.#book.snapshot();
    const live = [...bids, ...asks].reduce((sum, level) => sum + level.orders.length, 0);
    assert(
      this.#tradedLots === totals.tradedLots && live === totals.live,
      'matching: the peer comes to the known totals',
    );
  }
}

export function peerIds({ bytes }: Stream): string[] {
  const count = bytes.length / OPERATION_BYTES;
  return Array.from({ length: count }, (_, index) => `o${bytes.readUInt32LE(index * OPERATION_BYTES + ID_OFFSET)}`);
}

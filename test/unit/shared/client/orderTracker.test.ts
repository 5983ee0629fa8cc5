/** Following orders to their end, over a stream and reads that the test directs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../../../../shared/client/http.ts';
import { type FinalOrder, OrderTracker } from '../../../../shared/client/orderTracker.ts';
import type { UserEvent, UserOptions } from '../../../../shared/client/stream/userStream.ts';
import type { OrderRecord } from '../../../../shared/client/types.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const POLL_MS = 5;

class Exchange {
  readonly reads: string[] = [];
  opened = 0;
  closed = 0;
  /** The answer to the next reads of an order; an error is thrown. */
  answer: string | Error = 'open';
  isLive = true;
  streamError: Error | null = null;
  #onEvent: (event: UserEvent) => void = () => {};

  readonly tracker = new OrderTracker({
    pollMs: POLL_MS,
    openStream: async () => {
      this.opened++;
      if (this.streamError !== null) throw this.streamError;
      return {
        openUser: ({ onEvent }: UserOptions) => {
          this.#onEvent = onEvent!;
          const exchange = this;
          return {
            ready: async () => {},
            get isLive() {
              return exchange.isLive;
            },
          } as never;
        },
        close: () => this.closed++,
      };
    },
    read: async (hash) => {
      this.reads.push(hash);
      if (this.answer instanceof Error) throw this.answer;
      return { status: this.answer, order_hash: hash } as OrderRecord;
    },
  });

  /** The private frame of an order that is closed. */
  closes(status: string, reason: string, hash = HASH): void {
    const data = { order_hash: hash, status, reason };
    this.#onEvent({ type: 'order_status', frame: { data } } as never);
  }

  misses(): void {
    this.#onEvent({ type: 'gap' } as never);
  }
}

/** Lets everything happen that needs no timer. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

/** Null while it is pending. */
async function now(promise: Promise<FinalOrder>): Promise<FinalOrder | null> {
  return Promise.race([promise, settled().then(() => null)]);
}

const error = (status: number, code: string): ApiError => new ApiError(status, code, code, undefined, null);

test('ORDERTRACKER-1: an order that was closed before the stream began is seen by the first read', async () => {
  const exchange = new Exchange();
  exchange.answer = 'filled';
  const end = await exchange.tracker.follow(HASH.toUpperCase().replace('0X', '0x'));
  assert.deepEqual([end.status, end.reason, end.orderHash], ['filled', null, HASH]);
  await settled();
  assert.deepEqual([exchange.opened, exchange.closed], [1, 1], 'ORDERTRACKER-3');
});

test('ORDERTRACKER-2: a frame that closes an order leads to a read, and the result has its reason', async (t) => {
  for (const status of ['filled', 'cancelled', 'expired'] as const) {
    const exchange = new Exchange();
    t.after(() => exchange.tracker.close());
    const done = exchange.tracker.follow(HASH);
    assert.equal(exchange.tracker.follow(HASH), done, 'one follower for all who wait');
    assert.equal(await now(done), null);
    exchange.closes('open', 'placed');
    exchange.closes('filled', 'filled', `0x${'cd'.repeat(32)}`);
    assert.equal(await now(done), null);
    exchange.answer = status;
    exchange.closes(status, 'why');
    const end = await done;
    assert.deepEqual([end.status, end.reason, end.record?.status], [status, 'why', status]);
    assert.equal(exchange.closed, 1);
  }
});

test('missed changes are read again, and so are all orders while the stream is down or cannot be opened', async (t) => {
  const missed = new Exchange();
  t.after(() => missed.tracker.close());
  const afterGap = missed.tracker.follow(HASH);
  assert.equal(await now(afterGap), null);
  missed.answer = 'expired';
  missed.misses();
  assert.equal((await afterGap).status, 'expired');

  for (const streamError of [null, new Error('no sockets here')]) {
    const away = new Exchange();
    t.after(() => away.tracker.close());
    away.isLive = false;
    away.streamError = streamError;
    const done = away.tracker.follow(HASH);
    assert.equal(await now(done), null);
    away.answer = 'cancelled';
    assert.equal((await done).status, 'cancelled');
  }
});

test('a read that fails for a moment is repeated; one that is refused for good rejects', async (t) => {
  const exchange = new Exchange();
  t.after(() => exchange.tracker.close());
  exchange.answer = error(503, 'ENGINE_BUSY');
  const done = exchange.tracker.follow(HASH);
  assert.equal(await now(done), null);
  exchange.closes('filled', 'filled');
  assert.equal(await now(done), null);
  exchange.answer = 'filled';
  assert.deepEqual([(await done).status, (await done).reason], ['filled', 'filled']);

  for (const refusal of [error(401, 'UNAUTHORIZED'), error(403, 'INSUFFICIENT_SCOPE'), error(404, 'NOT_FOUND')]) {
    const refused = new Exchange();
    refused.answer = refusal;
    await assert.rejects(refused.tracker.follow(HASH), refusal);
    await settled();
    assert.equal(refused.closed, refused.opened);
  }
});

test('an order whose placement was not answered is waited for until it is found, or was ruled out', async (t) => {
  const found = new Exchange();
  t.after(() => found.tracker.close());
  found.answer = error(404, 'NOT_FOUND');
  const done = found.tracker.follow(HASH, true);
  assert.equal(await now(done), null);
  found.answer = 'filled';
  assert.equal((await done).status, 'filled', 'it arrived late');

  const never = new Exchange();
  never.answer = error(404, 'NOT_FOUND');
  const rejected = never.tracker.follow(HASH, true);
  never.tracker.rejected(HASH);
  assert.deepEqual(await rejected, { status: 'rejected', orderHash: HASH, reason: null, record: null });
});

test('closing ends all waits, and nothing more is read', async () => {
  const exchange = new Exchange();
  const done = exchange.tracker.follow(HASH);
  await settled();
  exchange.tracker.close();
  await assert.rejects(done, /the client was closed/);
  const reads = exchange.reads.length;
  exchange.misses();
  await new Promise((resolve) => setTimeout(resolve, 3 * POLL_MS));
  assert.equal(exchange.reads.length, reads);
  assert.equal(exchange.closed, 1);
});

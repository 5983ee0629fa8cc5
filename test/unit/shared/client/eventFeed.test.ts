/** Events between a stream and its reader: each once, in order, and none dropped without notice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventFeed, SlowReaderError } from '../../../../shared/client/stream/eventFeed.ts';

type Changes = { limit?: number; keepsUnread?: boolean; onFull?: () => number | null };

function feedOf({ limit = 10_000, keepsUnread = true, onFull = () => null }: Changes = {}): EventFeed<number> {
  return new EventFeed({ limit, keepsUnread, onFull, onEvent: undefined });
}

async function read(events: AsyncIterator<number>, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) {
    const { done, value } = await events.next();
    assert.ok(!done, `event ${i} is there`);
    found.push(value);
  }
  return found;
}

const upTo = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

test('thousands of waiting events are read in order, each once, even while others arrive', async () => {
  const feed = feedOf();
  const events = feed[Symbol.asyncIterator]();
  for (const event of upTo(0, 3000)) feed.push(event);
  assert.deepEqual(await read(events, 1500), upTo(0, 1500));
  for (const event of upTo(3000, 5000)) feed.push(event);
  assert.deepEqual(await read(events, 3500), upTo(1500, 5000));
  const next = events.next();
  feed.push(5000);
  assert.deepEqual(await next, { done: false, value: 5000 });
});

test('the limit counts waiting events, not events already read', async () => {
  let wasFull = false;
  const feed = feedOf({
    limit: 3,
    onFull: () => {
      wasFull = true;
      return -1;
    },
  });
  const events = feed[Symbol.asyncIterator]();
  for (let round = 0; round < 10; round++) {
    for (const event of [1, 2, 3]) feed.push(event);
    assert.deepEqual(await read(events, 3), [1, 2, 3]);
  }
  assert.ok(!wasFull);
  for (const event of [1, 2, 3, 4, 5]) feed.push(event);
  assert.deepEqual(await read(events, 2), [-1, 5], 'one event stands for all that had no room');
});

test('what waits at the end is still read; then the reader gets the end, or the error', async () => {
  for (const error of [null, new SlowReaderError('too slow')]) {
    const feed = feedOf();
    const events = feed[Symbol.asyncIterator]();
    feed.push(1);
    if (error === null) feed.end();
    else feed.fail(error);
    feed.push(2);
    assert.deepEqual(await read(events, 1), [1]);
    if (error === null) assert.deepEqual(await events.next(), { done: true, value: undefined });
    else await assert.rejects(events.next(), error);
  }
});

test('a reader that waits gets the end, or the error, at once', async () => {
  const ended = feedOf();
  const last = ended[Symbol.asyncIterator]().next();
  ended.end();
  assert.deepEqual(await last, { done: true, value: undefined });
  const failed = feedOf();
  const lost = failed[Symbol.asyncIterator]().next();
  failed.fail(new SlowReaderError('too slow'));
  await assert.rejects(lost, SlowReaderError);
});

test('without `keepsUnread` events wait only from the first iterator to its return', async () => {
  const feed = feedOf({ keepsUnread: false });
  feed.push(1);
  const events = feed[Symbol.asyncIterator]();
  feed.push(2);
  assert.deepEqual(await read(events, 1), [2]);
  feed.push(3);
  await events.return?.();
  feed.push(4);
  const again = feed[Symbol.asyncIterator]();
  feed.push(5);
  assert.deepEqual(await read(again, 1), [5]);
});

test('a second reader at the same time is an error', async () => {
  const feed = feedOf();
  const events = feed[Symbol.asyncIterator]();
  const first = events.next();
  await assert.rejects(events.next(), /one reader/);
  feed.push(1);
  assert.deepEqual(await first, { done: false, value: 1 });
});

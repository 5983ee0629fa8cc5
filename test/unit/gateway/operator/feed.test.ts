/** The administrator's feed: who listens, and who does not keep up (RULES.md 9.11). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdminFeed, type EventSink, MAX_LISTENERS, MAX_QUEUED } from '../../../../gateway/operator/feed.ts';

/** A response whose client reads when the test says so. */
class FakeSink {
  readonly written: string[] = [];
  reads = true;
  ended = false;
  closed = false;
  writable: (offset: number) => boolean = () => true;
  aborted: () => void = () => {};

  write(chunk: unknown): boolean {
    this.written.push(String(chunk));
    return this.reads;
  }

  cork(write: () => void): this {
    write();
    return this;
  }

  end(): this {
    this.ended = true;
    return this;
  }

  close(): this {
    this.closed = true;
    return this;
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.writable = handler;
    return this;
  }

  onAborted(handler: () => void): this {
    this.aborted = handler;
    return this;
  }

  get sink(): EventSink {
    return this as unknown as EventSink;
  }
}

function listening(feed: AdminFeed): FakeSink {
  const fake = new FakeSink();
  feed.attach(fake.sink, 'bootstrap', ['stats', { at: 0 }]);
  return fake;
}

test('a frame is an id, a type and one line of JSON; the id grows with every change, not with reports', () => {
  const feed = new AdminFeed();
  feed.publish('unheard', {});
  const { written } = listening(feed);
  feed.report('stats', () => ({ at: 1 }));
  feed.publish('market_status', { text: 'a\nb' });
  assert.deepEqual(written, [
    'id: 1\nevent: stats\ndata: {"at":0}\n\n',
    'id: 1\nevent: stats\ndata: {"at":1}\n\n',
    'id: 2\nevent: market_status\ndata: {"text":"a\\nb"}\n\n',
  ]);
});

test('a listener that does not read gets its changes later, in order, and of the reports only the next', () => {
  const feed = new AdminFeed();
  const slow = listening(feed);
  const other = listening(feed);
  slow.reads = false;
  feed.publish('a', {});
  for (const type of ['b', 'c']) feed.publish(type, {});
  feed.report('stats', () => ({}));
  assert.deepEqual(slow.written.length, 2, 'the frame that filled its buffer is the last');
  assert.equal(other.written.length, 5);
  slow.reads = true;
  slow.writable(0);
  assert.deepEqual(
    slow.written.slice(1).map((frame) => /event: (.*)/.exec(frame)![1]),
    ['a', 'b', 'c'],
  );
  feed.publish('d', {});
  assert.equal(slow.written.length, 5);
});

test('a listener that is too far behind is disconnected, and no other is', () => {
  const feed = new AdminFeed();
  const slow = listening(feed);
  const other = listening(feed);
  slow.reads = false;
  for (let count = 0; count < MAX_QUEUED + 1; count++) feed.publish('change', {});
  assert.equal(slow.closed, false);
  feed.publish('change', {});
  assert.deepEqual([slow.closed, other.closed, feed.listeners], [true, false, 1]);
});

test('a listener that goes away is removed, and the others are sent the end', () => {
  const feed = new AdminFeed();
  const gone = listening(feed);
  gone.aborted();
  const last = listening(feed);
  feed.close('draining', {});
  assert.deepEqual([gone.ended, last.ended, feed.listeners], [false, true, 0]);
  assert.match(last.written.at(-1)!, /event: draining/);
});

test('there are no more listeners than there is room for', () => {
  const feed = new AdminFeed();
  for (let count = 0; count < MAX_LISTENERS; count++) listening(feed);
  assert.equal(feed.isFull, true);
});

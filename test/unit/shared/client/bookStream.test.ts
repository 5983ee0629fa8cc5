/** The book of a client on its own: its events for frames, answers, heartbeats and losses (RULES.md 8.3, 8.7). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BookEvent, type BookOptions, BookStream } from '../../../../shared/client/stream/bookStream.ts';
import { SlowReaderError } from '../../../../shared/client/stream/eventFeed.ts';
import type { BookFrame, DeltaFrame, TradeFrame } from '../../../../shared/client/stream/frames.ts';
import { record } from '../../../../shared/client/stream/recording.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const MARKET = '01900000-0000-7000-8000-00000000000a';
/** The checksum of an empty book. */
const EMPTY_CHECKSUM = 0;

/** The connection as a book sees it, and the book's events. */
class Host {
  readonly events: BookEvent[] = [];
  /** The failures in a row at each request for a subscription. */
  readonly asked: number[] = [];
  readonly book: BookStream;
  left = 0;

  constructor(options: BookOptions = {}) {
    const host = {
      subscribe: (_: BookStream, failures: number) => this.asked.push(failures),
      leave: () => this.left++,
    };
    this.book = new BookStream(MARKET.toUpperCase(), host, { onEvent: (event) => this.events.push(event), ...options });
  }

  /** The events since the last call: "book start 7", "trade 8", "stale gap 8", "live 9". */
  since(): string[] {
    return this.events.splice(0).map((event) => {
      if (event.type === 'stale') return `stale ${event.cause} ${event.sequence}`;
      if (event.type === 'live') return `live ${event.sequence}`;
      return event.type === 'book'
        ? `book ${event.cause} ${event.frame.sequence}`
        : `${event.type} ${event.frame.sequence}`;
    });
  }

  heartbeat(sequences: Record<string, number>): void {
    this.book.heartbeat({ channel: 'heartbeat', data: { time: 1, sequences } });
  }

  /** A subscription that is answered with a book. */
  begin(sequence = 7): this {
    this.book.subscribing();
    this.book.subscribed();
    this.book.received(bookFrame(sequence));
    this.book.caughtUp();
    return this;
  }
}

function bookFrame(sequence: number, checksum = EMPTY_CHECKSUM): BookFrame {
  const none = { bids: [], asks: [] };
  const data = { outcome_0: none, outcome_1: none, checksum };
  return { channel: 'book', market_id: MARKET, sequence, timestamp: 1000 + sequence, data };
}

function trade(sequence: number): TradeFrame {
  const data = {
    trade_id: 't',
    outcome_index: 0,
    taker_side: 'BUY',
    price: '0.5',
    token_quantity_atomic: '1',
    notional_usdc_micro: '1',
    match_type: 'standard',
  } as unknown as TradeFrame['data'];
  return { channel: 'trade', market_id: MARKET, sequence, timestamp: 1000 + sequence, data };
}

function delta(sequence: number, checksum?: number): DeltaFrame {
  const level = { outcome_index: 0, side: 'BUY', price: '0.5', token_quantity_atomic: '1', num_orders: 1 } as const;
  const data = {
    event: 'open',
    order_id: MARKET,
    outcome_index: 0,
    side: 'BUY',
    price: '0.5',
    token_quantity_atomic: '1',
    remaining_token_quantity_atomic: '1',
    level,
    ...(checksum === undefined ? {} : { checksum }),
  } as const;
  return { channel: 'book_delta', market_id: MARKET, sequence, timestamp: 1000 + sequence, data };
}

test('a book starts with its first frame, which ready waits for, and emits what follows in order', async () => {
  const host = new Host();
  const { book } = host;
  assert.equal(book.marketId, MARKET, 'ids are compared in lower case');
  assert.deepEqual([book.state, book.sequence, book.timestamp], ['starting', null, 0]);
  assert.equal(book.subscribing(), null);
  book.subscribed();
  book.received(trade(6));
  assert.deepEqual(host.since(), [], 'nothing is known before the first book');
  book.received(bookFrame(7));
  await book.ready();
  book.received(trade(8));
  book.received(delta(9));
  assert.deepEqual(host.since(), ['book start 7', 'live 7', 'trade 8', 'delta 9']);
  assert.deepEqual([book.state, book.sequence, book.timestamp], ['live', 9, 1009]);
  assert.deepEqual(host.asked, []);
  assert.deepEqual(book.levels(1), { bids: [], asks: [{ price: '0.5', token_quantity_atomic: '1', num_orders: 1 }] });
});

test('a gap makes the book stale and is asked for once; the missing frames make it live again', () => {
  const host = new Host().begin();
  host.since();
  host.book.received(trade(10));
  host.book.received(trade(11));
  assert.deepEqual(host.since(), ['stale gap 7']);
  assert.deepEqual(host.asked, [0]);
  assert.equal(host.book.subscribing(), 7, 'from the last sequence');
  host.book.received(trade(8));
  assert.equal(host.book.state, 'stale', 'the replay is under way');
  host.book.subscribed();
  for (const sequence of [9, 10, 11]) host.book.received(trade(sequence));
  host.book.caughtUp();
  assert.deepEqual(host.since(), ['trade 8', 'live 9', 'trade 9', 'trade 10', 'trade 11']);
});

test('a wrong checksum asks for a new book at once, each time after a longer pause', () => {
  const host = new Host({ verify: 'every' }).begin();
  assert.equal(host.book.wantsChecksum, true);
  assert.equal(new Host({ verify: 'snapshots' }).book.wantsChecksum, false);
  assert.equal(new Host().book.wantsChecksum, false);
  host.since();
  host.book.received(delta(8, 12345));
  assert.deepEqual(host.since(), ['stale checksum null']);
  assert.deepEqual(host.asked, [1]);
  assert.equal(host.book.subscribing(), null, 'with a new book');
  host.book.subscribed();
  host.book.received(bookFrame(9, 54321));
  assert.deepEqual(host.asked, [1, 2]);
  host.book.subscribing();
  host.book.subscribed();
  host.book.received(bookFrame(10));
  assert.deepEqual(host.since(), ['book resync 10', 'live 10']);
  host.heartbeat({ [MARKET]: 10 });
  host.book.received(delta(11, 12345));
  assert.deepEqual(host.asked, [1, 2, 1], 'a heartbeat that agrees ends the row of failures');
});

test('a mismatch while a subscription is under way asks for a book, which that subscription did not', () => {
  const host = new Host({ verify: 'every' }).begin();
  assert.equal(host.book.subscribing(), 7);
  host.book.received(delta(8, 12345));
  host.asked.length = 0;
  host.book.subscribed();
  assert.deepEqual(host.asked, [1]);
  host.book.subscribing();
  host.book.subscribed();
  assert.deepEqual(host.asked, [1], 'this one does');
});

test('a heartbeat that is ahead shows a gap; two without the market, that it is not subscribed', () => {
  const host = new Host().begin();
  host.since();
  host.heartbeat({ [MARKET]: 7 });
  assert.deepEqual([host.since(), host.asked], [[], []]);
  host.heartbeat({ [MARKET]: 9 });
  assert.deepEqual([host.since(), host.asked], [['stale behind 7'], [0]]);
  host.book.subscribing();
  host.book.subscribed();
  host.heartbeat({ [MARKET]: 7 });
  assert.deepEqual(host.since(), ['live 7']);
  host.heartbeat({});
  assert.deepEqual([host.since(), host.asked], [[], [0]]);
  host.heartbeat({ other: 1 });
  assert.deepEqual([host.since(), host.asked], [['stale unsubscribed 7'], [0, 0]]);
  // Its answer may be lost, too: a heartbeat in between counts like one without the market.
  host.heartbeat({ [MARKET]: 7 });
  assert.deepEqual(host.asked, [0, 0]);
  host.heartbeat({ [MARKET]: 7 });
  assert.deepEqual(host.asked, [0, 0, 0]);
});

test('a lost connection makes the book stale once, and it continues after its last frame', () => {
  const host = new Host().begin();
  host.since();
  host.book.connectionLost();
  host.book.connectionLost();
  assert.deepEqual(host.since(), ['stale connection 7']);
  assert.deepEqual(host.asked, [], 'the stream subscribes it when it is back');
  assert.equal(host.book.subscribing(), 7);
  host.book.caughtUp();
  assert.equal(host.book.state, 'stale', 'an answer of the old connection');
  host.book.subscribed();
  host.book.caughtUp();
  assert.deepEqual(host.since(), ['live 7']);
});

test('a closed book leaves once, and nothing comes after', async () => {
  const host = new Host();
  host.book.close();
  host.book.close();
  host.book.fail(new Error('later'));
  host.book.received(bookFrame(7));
  host.heartbeat({ [MARKET]: 9 });
  host.book.connectionLost();
  assert.deepEqual([host.left, host.book.state, host.since()], [1, 'closed', []]);
  await assert.rejects(host.book.ready(), /the book was closed/);
});

test('a failure reaches the one who waits and the one who reads', async () => {
  const host = new Host();
  const iterator = host.book[Symbol.asyncIterator]();
  const next = iterator.next();
  host.book.fail(new Error('unknown market'));
  await assert.rejects(next, /unknown market/);
  await assert.rejects(host.book.ready(), /unknown market/);
  assert.equal(host.left, 1);
});

test('a reader that starts late begins with the book as it is', async () => {
  const host = new Host().begin();
  host.book.received(trade(8));
  const iterator = host.book[Symbol.asyncIterator]();
  const { value } = await iterator.next();
  assert.deepEqual([value.type, value.cause, value.frame.sequence, value.frame.timestamp], ['book', 'start', 8, 1008]);
});

test('a reader that is too slow gets the book in place of missed changes, or an error if it wants one', async () => {
  const host = new Host({ limit: 2 }).begin();
  const iterator = host.book[Symbol.asyncIterator]();
  for (const sequence of [8, 9, 10, 11]) host.book.received(trade(sequence));
  const { value } = await iterator.next();
  assert.deepEqual([value.type, value.cause], ['book', 'slow_reader']);
  assert.ok(value.frame.sequence >= 9);

  const strict = new Host({ limit: 2, onSlow: 'error' }).begin();
  const failing = strict.book[Symbol.asyncIterator]();
  for (const sequence of [8, 9, 10, 11]) strict.book.received(trade(sequence));
  await assert.rejects(async () => {
    for (let event = await failing.next(); !event.done; event = await failing.next());
  }, SlowReaderError);
  assert.equal(strict.book.state, 'closed');
});

test('a recording has each event with the time of its arrival, and says where it ends', async () => {
  const host = new Host();
  const clock = new ManualClock(5000);
  const lines: string[] = [];
  const done = record(host.book, { url: 'ws://x', ticksPerUnit: 400 }, clock, (line) => void lines.push(line));
  await new Promise(setImmediate);
  host.begin();
  host.book.received(trade(8));
  host.book.connectionLost();
  host.book.close();
  await done;
  const start = { received_at: 5000, event: 'start', format: 1, market_id: MARKET, ticks_per_unit: 400, url: 'ws://x' };
  const head = `${JSON.stringify(start)}\n`;
  assert.equal(lines[0], head);
  assert.deepEqual(
    lines.slice(1).map((line) => {
      const { received_at, frame, ...rest } = JSON.parse(line);
      assert.equal(received_at, 5000);
      assert.ok(line.endsWith('}\n'));
      return frame === undefined ? rest : `${frame.channel} ${frame.sequence}`;
    }),
    [
      'book 7',
      { event: 'live', sequence: 7 },
      'trade 8',
      { event: 'stale', cause: 'connection', sequence: 8 },
      { event: 'end' },
    ],
  );
});

test('a recording says where its writer was too slow', async () => {
  const host = new Host({ limit: 2 });
  const lines: string[] = [];
  let release = (): void => undefined;
  const write = (line: string): Promise<void> | void => {
    lines.push(line);
    if (lines.length === 1) return new Promise((resolve) => (release = resolve));
  };
  const done = record(host.book, { url: 'ws://x', ticksPerUnit: 400 }, new ManualClock(1), write);
  host.begin();
  release();
  await new Promise(setImmediate);
  for (const sequence of [8, 9, 10, 11, 12]) host.book.received(trade(sequence));
  await new Promise(setImmediate);
  host.book.close();
  await done;
  const kinds = lines.map((line) => {
    const { event, cause, frame } = JSON.parse(line);
    return frame === undefined ? [event, cause].filter(Boolean).join(' ') : frame.channel;
  });
  const slow = kinds.indexOf('stale slow_reader');
  assert.ok(slow > 0, kinds.join());
  assert.equal(kinds[slow + 1], 'book');
});

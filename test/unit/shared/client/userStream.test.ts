/** The private stream of a client on its own: its events for the frames, answers and heartbeats of a server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderStatusFrame } from '../../../../shared/client/stream/frames.ts';
import { type UserEvent, type UserOptions, UserStream } from '../../../../shared/client/stream/userStream.ts';

/** The connection as a user stream sees it, and the stream's events. */
class Host {
  readonly events: UserEvent[] = [];
  /** The `user_since` of each subscription; undefined: from the next event on. */
  readonly asked: (number | undefined)[] = [];
  readonly user: UserStream;
  hasLeft = false;

  constructor(options: UserOptions = {}) {
    const host = {
      subscribeUser: (user: UserStream) => this.asked.push(user.subscribing()),
      leaveUser: () => {
        this.hasLeft = true;
      },
    };
    this.user = new UserStream(host, { ...options, onEvent: (event) => this.events.push(event) });
    this.user.subscribing();
  }

  /** "3" is a frame, "gap 4-6 expired", "live" and "stale" are themselves. */
  told(): string[] {
    return this.events.splice(0).map((event) => {
      if (event.type === 'gap') return `gap ${event.from}-${event.to} ${event.cause}`;
      return 'frame' in event ? String(event.frame.user_sequence) : event.type;
    });
  }

  heartbeat(userSequence?: number): void {
    const sequence = userSequence === undefined ? {} : { user_sequence: userSequence };
    this.user.heartbeat({ channel: 'heartbeat', data: { time: 1, sequences: {}, ...sequence } });
  }

  /** The answer to a subscription after `since`, and the frames that the server still keeps. */
  answer(last: number, frames: readonly number[] = []): void {
    this.user.subscribed(last, last);
    for (const sequence of frames) this.user.received(frame(sequence));
    this.user.caughtUp();
  }
}

function frame(user_sequence: number, remaining = '0'): OrderStatusFrame {
  const order_hash = `0x${user_sequence}`;
  const data = {
    order_id: 'o',
    order_hash,
    market_id: 'm',
    status: 'cancelled',
    remaining,
    filled_amount: '0',
  } as const;
  return { channel: 'order_status', user_sequence, timestamp: 1000 + user_sequence, data: { ...data, reason: 'user' } };
}

test('frames that the server no longer keeps are a gap that names them, before the frames after it', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [11, 12]);
  assert.deepEqual(host.told(), [], 'they are requested first');
  assert.deepEqual(host.asked, [4]);
  host.answer(4, [11, 12]);
  assert.deepEqual(host.told(), []);
  host.answer(4, [11, 12]);
  assert.deepEqual(host.told(), ['gap 6-10 expired', '11', '12', 'live']);
  assert.equal(host.user.userSequence, 12);
});

test('a gap says since when, and what to read again', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [5, 6]);
  for (let attempt = 0; attempt < 3; attempt++) host.answer(5, [9]);
  const gap = host.events.find((event) => event.type === 'gap');
  assert.deepEqual(gap, {
    type: 'gap',
    cause: 'expired',
    from: 7,
    to: 8,
    sinceMs: 1006,
    reread: ['userOrders', 'userTrades', 'balances'],
  });
});

test('frames whose loss only a heartbeat shows are requested, and then a gap', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [5]);
  assert.deepEqual(host.told(), ['live']);
  host.heartbeat(7);
  assert.deepEqual([host.told(), host.asked], [['stale'], [4]]);
  host.answer(4, [5]);
  host.heartbeat(7);
  host.answer(4, [5]);
  host.heartbeat(7);
  assert.ok(host.told().includes('gap 6-7 expired'));
  assert.equal(host.user.userSequence, 7);
  host.user.received(frame(8));
  assert.ok(host.told().includes('8'));
});

test('a frame that was missed once arrives by the repeated request, without a gap', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [5]);
  host.user.received(frame(7));
  assert.deepEqual(host.asked, [4]);
  host.answer(4, [5, 6, 7]);
  assert.deepEqual(host.told(), ['live', 'stale', '6', '7', 'live']);
});

test('a frame that is sent several times is emitted once', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [5, 6, 6, 5, 7]);
  assert.deepEqual(host.told(), ['6', '7', 'live']);
});

test('a server that restarts its numbers is a gap without an end, and all of its frames count as new', () => {
  const cases: [string, (host: Host) => void][] = [
    ['another frame under the last number', (host) => host.user.received(frame(6, '7'))],
    ['an answer before the last number', (host) => host.user.subscribed(3, 5)],
  ];
  for (const [name, restart] of cases) {
    const host = new Host({ since: 5 });
    host.answer(4, [5, 6]);
    host.told();
    restart(host);
    assert.deepEqual(host.told(), ['gap 7-null restarted'], name);
    assert.deepEqual(host.asked, [0], name);
    host.answer(2, [1, 2]);
    assert.deepEqual(
      host.told().filter((each) => each !== 'live'),
      ['1', '2'],
      name,
    );
  }
});

test('a heartbeat before the last number asks again, as a standby may only be behind', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [5, 6, 7]);
  host.told();
  host.heartbeat(6);
  assert.deepEqual([host.told(), host.asked], [[], [6]]);
  host.answer(6, [7, 8]);
  assert.deepEqual(host.told(), ['8']);
  host.heartbeat(7);
  host.user.subscribed(3, 7);
  assert.deepEqual(host.told(), ['gap 9-null restarted']);
});

test('a first subscription starts with the next frame, and fetches the last one to compare it later', () => {
  const host = new Host();
  assert.equal(host.user.subscribing(), undefined);
  host.user.subscribed(9, undefined);
  assert.deepEqual(host.asked, [8]);
  host.answer(8, [9]);
  assert.deepEqual(host.told(), ['live']);
  host.user.received(frame(10));
  assert.deepEqual(host.told(), ['10']);
});

test('a lost connection is stale until the next subscription has caught up', () => {
  const host = new Host({ since: 5 });
  host.answer(4, [5]);
  host.user.connectionLost();
  assert.equal(host.user.isLive, false);
  assert.equal(host.user.subscribing(), 4);
  host.heartbeat(5);
  assert.equal(host.user.isLive, false, 'not before the answer');
  host.answer(4, [5]);
  assert.deepEqual(host.told(), ['live', 'stale', 'live']);
});

test('a subscription whose answer does not come is sent again at the third heartbeat', () => {
  const host = new Host({ since: 5 });
  host.heartbeat();
  host.heartbeat();
  assert.deepEqual(host.asked, []);
  host.heartbeat();
  assert.deepEqual(host.asked, [4]);
});

test('a stream that was closed says nothing more and has left its connection', async () => {
  const host = new Host({ since: 5 });
  const ready = host.user.ready();
  host.user.close();
  host.user.received(frame(6));
  assert.deepEqual([host.told(), host.hasLeft, host.user.isLive], [[], true, false]);
  await assert.rejects(ready, /closed/);
});

/** Long answers without sockets: whose turn it is, and what ends one (RULES.md 7.4 has the answers). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LongAnswers, PIECE_MS, PIECE_ROWS } from '../../../../gateway/http/longAnswers.ts';
import { okInSlices } from '../../../../gateway/http/respond.ts';
import { TurnTimes } from '../../../../gateway/http/turnTimes.ts';
import { TestCall } from '../../../support/calls.ts';

const STALLED_MS = 20_000;
const [ANN, BOB] = [1, 2];

/** Answers under way, and the names of those that wrote a piece or ended, in order. */
class Desk {
  readonly written: string[] = [];
  readonly errors: unknown[] = [];
  nowMs = 0;
  readonly answers = new LongAnswers(
    new TurnTimes(),
    (error) => this.errors.push(error),
    () => false,
    () => this.nowMs,
  );

  /** An answer with this many pieces; its client reads at once while `reads` says so. */
  open(name: string, account: number, pieces: number, reads = true) {
    const { call } = new TestCall({ method: 'GET', path: '/long', account });
    const client = { call, reads, isClosed: false, read: () => {} };
    Object.assign(call.response, {
      write: () => {
        this.written.push(name);
        return client.reads;
      },
      end: () => this.written.push(`${name} ends`),
      onWritable: (handler: () => boolean) => {
        client.read = handler;
      },
      close: () => {
        client.isClosed = true;
        call.transport.onGone?.();
      },
    });
    this.answers.continue(call, rowsOf(pieces), reads);
    return client;
  }

  async turns(count: number): Promise<string[]> {
    for (let turn = 0; turn < count; turn++) await nextTurn();
    return this.written.splice(0);
  }
}

function* rowsOf(pieces: number): Generator<string> {
  for (let row = 0; row < PIECE_ROWS * (pieces - 1) + 1; row++) yield 'x';
}

test('accounts take turns, and so do the answers of one account, a piece each', async () => {
  const desk = new Desk();
  desk.open('a1', ANN, 3);
  desk.open('a2', ANN, 3);
  desk.open('b', BOB, 3);
  assert.deepEqual(await desk.turns(6), ['a1', 'b', 'a2', 'b', 'a1', 'b ends']);
  assert.deepEqual(await desk.turns(6), ['a2', 'a1 ends', 'a2 ends']);
  assert.equal(desk.answers.underway, 0);
  assert.equal(desk.answers.pieces, 9);
});

test('a piece ends early when its rows take long, and has at least one', async () => {
  const desk = new Desk();
  const { call } = desk.open('quick', ANN, 1);
  await desk.turns(1);
  const texts: string[] = [];
  Object.assign(call.response, { write: (text: string) => texts.push(text), end: (text: string) => texts.push(text) });
  const takeMs = [PIECE_MS / 2, PIECE_MS / 2, 3 * PIECE_MS, 0, PIECE_MS / 4];
  const rows = (function* (): Generator<string> {
    for (const [row, tookMs] of takeMs.entries()) {
      desk.nowMs += tookMs;
      yield String(row);
    }
  })();
  desk.answers.continue(call, rows, true);
  await desk.turns(4);
  assert.deepEqual(texts, ['01', '2', '34']);
});

test('an answer whose client goes away leaves the others of its account going on', async () => {
  const desk = new Desk();
  const gone = desk.open('gone', ANN, 5);
  desk.open('stays', ANN, 2);
  desk.open('b', BOB, 1);
  gone.call.transport.onGone!();
  assert.equal(desk.answers.underway, 2);
  assert.deepEqual(await desk.turns(6), ['stays', 'b ends', 'stays ends']);
  assert.equal(desk.answers.underway, 0);
});

test('a client that does not read gets its next piece when it has read the last one', async () => {
  const desk = new Desk();
  const slow = desk.open('slow', ANN, 3, false);
  assert.deepEqual(await desk.turns(3), []);
  slow.read();
  assert.deepEqual(await desk.turns(3), ['slow']);
  slow.reads = true;
  slow.read();
  assert.deepEqual(await desk.turns(3), ['slow', 'slow ends']);
});

test('a client that has read nothing for 20 seconds is cut off, a slow reader is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const desk = new Desk();
  const slow = desk.open('slow', ANN, 9, false);
  for (let piece = 0; piece < 3; piece++) {
    t.mock.timers.tick(STALLED_MS - 1);
    slow.read();
    assert.deepEqual(await desk.turns(2), ['slow']);
  }
  t.mock.timers.tick(STALLED_MS - 1);
  assert.equal(slow.isClosed, false);
  t.mock.timers.tick(1);
  assert.deepEqual([slow.isClosed, desk.answers.underway], [true, 0]);
});

test('an account has eight answers under way, and another account is not held up by it', () => {
  const desk = new Desk();
  const first = desk.open('0', ANN, 9);
  for (let n = 1; n < 8; n++) {
    assert.ok(desk.answers.admits(first.call), `${n}`);
    desk.open(`${n}`, ANN, 9);
  }
  assert.ok(!desk.answers.admits(first.call));
  assert.ok(desk.answers.admits(new TestCall({ method: 'GET', path: '/long', account: BOB }).call));
  first.call.transport.onGone!();
  assert.ok(desk.answers.admits(first.call));
});

test('an answer whose rows fail is cut off, so that its client sees that it is not whole', async () => {
  const desk = new Desk();
  const failing = desk.open('fails', ANN, 3);
  const failure = new Error('no row');
  const rows = {
    next: (): never => {
      throw failure;
    },
  };
  const broken = desk.open('broken', BOB, 1, false);
  broken.call.transport.onGone!();
  desk.answers.continue(broken.call, rows, true);
  assert.deepEqual(await desk.turns(6), ['fails', 'fails', 'fails ends']);
  assert.deepEqual([desk.errors, broken.isClosed, failing.isClosed], [[failure], true, false]);
  assert.equal(desk.answers.underway, 0);
});

test('an answer waits for rows that are not there yet, and for its client, in either order', async () => {
  const desk = new Desk();
  for (const isReadFirst of [true, false]) {
    const client = desk.open('whole', ANN, 1);
    assert.deepEqual(await desk.turns(2), ['whole ends']);
    const [rows, come] = awaitedRows('a', 'b');
    client.reads = false;
    desk.answers.continue(client.call, rows, true);
    assert.deepEqual(await desk.turns(3), ['whole'], 'the first rows');
    if (isReadFirst) client.read();
    else come.resolve();
    assert.deepEqual(await desk.turns(3), [], 'one of the two is missing');
    client.reads = true;
    if (isReadFirst) come.resolve();
    else client.read();
    assert.deepEqual(await desk.turns(3), ['whole ends']);
  }
  assert.equal(desk.answers.underway, 0);
});

test('an answer whose next rows never come is cut off; one whose client has gone has no error', async () => {
  const desk = new Desk();
  const failure = new Error('no slice');
  for (const isGone of [true, false]) {
    const client = desk.open('cut', ANN, 1);
    await desk.turns(2);
    const [rows, come] = awaitedRows('a', 'b');
    desk.answers.continue(client.call, rows, true);
    assert.deepEqual(await desk.turns(2), ['cut']);
    if (isGone) client.call.transport.onGone!();
    come.reject(failure);
    assert.deepEqual(await desk.turns(2), []);
    assert.deepEqual([desk.errors, client.isClosed], isGone ? [[], false] : [[failure], true]);
  }
  assert.equal(desk.answers.underway, 0);
});

test('an array in slices is whole, and each is asked for while the one before is written', async () => {
  const slices = Array.from({ length: 5 }, (_, slice) =>
    Array.from({ length: 100 }, (_, row) => `${slice * 100 + row}`),
  );
  for (const [count, firstWritten] of [
    [0, 0],
    [1, 1],
    [2, 1],
    [5, 1],
  ] as const) {
    const asked = new TestCall({ method: 'GET', path: '/long', account: ANN });
    let text = '';
    Object.assign(asked.call.response, {
      write: (piece: string) => {
        text += piece;
        return true;
      },
      end: (piece: string) => {
        text += piece;
      },
      onWritable: () => {},
    });
    const left = slices.slice(0, count);
    const first = left.shift() ?? [];
    let waiting = 0;
    okInSlices(asked.call, first, () => {
      const slice = left.shift();
      waiting += slice === undefined ? 0 : 1;
      return slice === undefined ? null : Promise.resolve(slice);
    });
    assert.ok(waiting <= firstWritten);
    await asked.answered;
    assert.deepEqual(JSON.parse(text), slices.slice(0, count).flat().map(Number));
  }
});

/** A row, and another when the promise resolves. */
function awaitedRows(first: string, second: string) {
  const come = Promise.withResolvers<void>();
  come.promise.catch(() => {});
  const rows = (function* (): Generator<string | Promise<unknown>> {
    yield first;
    yield come.promise;
    yield second;
  })();
  return [rows, come] as const;
}

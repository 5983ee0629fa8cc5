import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Asker, Askers, type Lane } from '../../../../gateway/base/askers.ts';
import { FairQueue, NOT_RUN } from '../../../../gateway/wiring/fairQueue.ts';
import { eventually } from '../../../support/eventually.ts';

const [ALICE, BOB, CAROL, DAVE] = [1, 2, 3, 4];
const THREADS = 2;

/** A queue whose queries end when the test says so. */
class Rig {
  nowMs = 0;
  readonly started: string[] = [];
  readonly queue: FairQueue;
  readonly #ends = new Map<string, { resolve: (value: string) => void; reject: (error: Error) => void }>();

  constructor(paces = true) {
    this.queue = new FairQueue(THREADS, () => this.nowMs, paces);
  }

  ask(by: Lane | Asker, name: string): Promise<string | typeof NOT_RUN> {
    const asker = typeof by === 'object' ? by : { lane: by, isGone: false };
    const answer = this.queue.run(asker, () => {
      this.started.push(name);
      return new Promise<string>((resolve, reject) => this.#ends.set(name, { resolve, reject }));
    });
    assert.ok(answer !== null, 'the queue has room');
    return answer;
  }

  /** The query of this name ends, and all that follows from it happens. */
  async end(name: string, error?: Error): Promise<void> {
    const { resolve, reject } = this.#ends.get(name)!;
    if (error === undefined) resolve(name);
    else reject(error);
    await new Promise(setImmediate);
  }
}

describe('queries of accounts', () => {
  it('take turns: one of each account, however many one has asked', async () => {
    const rig = new Rig();
    for (const name of ['a1', 'a2', 'a3']) void rig.ask(ALICE, name);
    for (const name of ['b1', 'b2']) void rig.ask(BOB, name);
    void rig.ask(CAROL, 'c1');
    assert.deepEqual(rig.started, ['a1', 'b1']);
    await rig.end('a1');
    await rig.end('b1');
    await rig.end('c1');
    assert.deepEqual(rig.started, ['a1', 'b1', 'c1', 'a2', 'b2']);
  });

  it('are answered each with its own result, and a failure frees the thread', async () => {
    const rig = new Rig();
    const [first, second, third] = [rig.ask(ALICE, 'a1'), rig.ask(ALICE, 'a2'), rig.ask(BOB, 'b1')];
    const failed = assert.rejects(first, /disk/);
    await rig.end('a1', new Error('disk'));
    await failed;
    await rig.end('a2');
    await rig.end('b1');
    assert.deepEqual(await Promise.all([second, third]), ['a2', 'b1']);
  });

  it('of accounts that were slow leave a thread to the others', async () => {
    const rig = new Rig();
    for (const [account, name] of [
      [ALICE, 'a1'],
      [BOB, 'b1'],
    ] as const)
      void rig.ask(account, name);
    rig.nowMs += 1000;
    await rig.end('a1');
    await rig.end('b1');
    for (const [account, name] of [
      [ALICE, 'a2'],
      [BOB, 'b2'],
      [CAROL, 'c1'],
      [DAVE, 'd1'],
    ] as const) {
      void rig.ask(account, name);
    }
    assert.deepEqual(rig.started.slice(2), ['a2', 'c1']);
    await rig.end('c1');
    assert.deepEqual(rig.started.slice(2), ['a2', 'c1', 'd1']);
    // A slow lane that was quick this time stays slow for a while, and then no longer is.
    await rig.end('a2');
    assert.deepEqual(rig.started.slice(2), ['a2', 'c1', 'd1', 'b2']);
    rig.nowMs += 10_000;
    void rig.ask(ALICE, 'a3');
    await rig.end('d1');
    assert.deepEqual(rig.started.slice(2), ['a2', 'c1', 'd1', 'b2', 'a3']);
  });

  it('beyond what one account may have waiting are refused, and others are not', () => {
    const rig = new Rig();
    const ask = (account: number): boolean =>
      rig.queue.run({ lane: account, isGone: false }, () => new Promise(() => undefined)) !== null;
    let accepted = 0;
    while (ask(ALICE)) accepted++;
    assert.equal(accepted, 256 + 1);
    assert.ok(ask(BOB));
  });
});

describe('an account that has read for long', () => {
  /** Alice's reads have taken eleven seconds. */
  async function restingRig(paces = true): Promise<Rig> {
    const rig = new Rig(paces);
    void rig.ask(ALICE, 'a1');
    rig.nowMs += 11_000;
    await rig.end('a1');
    return rig;
  }

  it('rests until its reads are a twentieth of the time, beside the first ten seconds', async () => {
    const rig = await restingRig();
    void rig.ask(ALICE, 'a2');
    void rig.ask(BOB, 'b1');
    assert.deepEqual(rig.started, ['a1', 'b1'], 'others go on');
    rig.nowMs += 19_999;
    await rig.end('b1');
    assert.deepEqual(rig.started, ['a1', 'b1']);
    rig.nowMs += 1;
    void rig.ask(CAROL, 'c1');
    assert.deepEqual(rig.started, ['a1', 'b1', 'a2', 'c1']);
  });

  it('is looked at again by itself', async () => {
    const rig = await restingRig();
    void rig.ask(ALICE, 'a2');
    rig.nowMs += 20_000;
    await eventually('its next read', async () => rig.started.includes('a2'));
  });

  it('has a bounded number of waiting reads, and does not delay queries that its cancels need', async () => {
    const rig = await restingRig();
    let waiting = 0;
    const ask = (isRead: boolean): boolean => {
      const query = (): Promise<unknown> => {
        rig.started.push('cancel');
        return new Promise(() => undefined);
      };
      return rig.queue.run({ lane: ALICE, isGone: false }, query, isRead) !== null;
    };
    while (ask(true)) waiting++;
    assert.equal(waiting, 16);
    assert.ok(ask(false));
    assert.deepEqual(rig.started, ['a1', 'cancel']);
  });

  it('does not rest for time in which others had the processor', async () => {
    const rig = new Rig();
    const starved = rig.queue.run({ lane: ALICE, isGone: false }, async (took) => {
      rig.nowMs += 11_000;
      took(9_000);
    });
    await starved;
    void rig.ask(ALICE, 'a2');
    assert.deepEqual(rig.started, ['a2']);
  });

  it('goes on where nothing is limited', async () => {
    const rig = await restingRig(false);
    void rig.ask(ALICE, 'a2');
    assert.deepEqual(rig.started, ['a1', 'a2']);
  });
});

describe('a query for which several wait', () => {
  it('has the turn of whoever comes first, and runs once', async () => {
    const rig = new Rig();
    const shared = new Askers({ lane: '198.51.100.1', isGone: false });
    for (const name of ['a1', 'a2', 'a3']) void rig.ask('198.51.100.1', name);
    void rig.ask(BOB, 'b1');
    const answer = rig.ask(shared, 'shared');
    assert.deepEqual(rig.started, ['a1', 'b1']);
    shared.join({ lane: '198.51.100.2', isGone: false });
    await rig.end('b1');
    assert.deepEqual(rig.started, ['a1', 'b1', 'shared'], 'the address that asked first has still its own before it');
    await rig.end('shared');
    assert.equal(await answer, 'shared');
    for (const name of ['a1', 'a2', 'a3']) await rig.end(name);
    assert.deepEqual(rig.started, ['a1', 'b1', 'shared', 'a2', 'a3']);
    assert.equal(rig.queue.waiting, 0);
  });

  it('is not run once all of them have gone', async () => {
    const rig = new Rig();
    const [first, second] = [
      { lane: ALICE, isGone: false },
      { lane: BOB, isGone: false },
    ];
    void rig.ask(CAROL, 'c1');
    void rig.ask(DAVE, 'd1');
    const shared = new Askers(first);
    shared.join(second);
    const answers = [rig.ask(shared, 'shared'), rig.ask(first, 'a1'), rig.ask(second, 'b1')];
    first.isGone = true;
    await rig.end('c1');
    assert.deepEqual(rig.started, ['c1', 'd1', 'shared']);
    second.isGone = true;
    await rig.end('shared');
    await rig.end('d1');
    assert.deepEqual(rig.started, ['c1', 'd1', 'shared']);
    assert.deepEqual(await Promise.all(answers), ['shared', NOT_RUN, NOT_RUN]);
    assert.equal(rig.queue.waiting, 0);
  });
});

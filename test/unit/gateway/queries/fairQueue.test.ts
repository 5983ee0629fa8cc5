import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairQueue } from '../../../../gateway/queries/fairQueue.ts';

const [ALICE, BOB, CAROL, DAVE] = [1, 2, 3, 4];
const THREADS = 2;

/** A queue whose queries end when the test says so. */
class Rig {
  nowMs = 0;
  readonly started: string[] = [];
  readonly queue = new FairQueue(THREADS, () => this.nowMs);
  readonly #ends = new Map<string, { resolve: (value: string) => void; reject: (error: Error) => void }>();

  ask(account: number, name: string): Promise<string> {
    const answer = this.queue.run(account, () => {
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
    // A slow one that was quick this time is still slow for a while, and then is not.
    await rig.end('a2');
    assert.deepEqual(rig.started.slice(2), ['a2', 'c1', 'd1', 'b2']);
    rig.nowMs += 10_000;
    void rig.ask(ALICE, 'a3');
    await rig.end('d1');
    assert.deepEqual(rig.started.slice(2), ['a2', 'c1', 'd1', 'b2', 'a3']);
  });

  it('beyond what one account may have waiting are refused, and others are not', () => {
    const rig = new Rig();
    const ask = (account: number): boolean => rig.queue.run(account, () => new Promise(() => undefined)) !== null;
    let accepted = 0;
    while (ask(ALICE)) accepted++;
    assert.equal(accepted, 256 + 1);
    assert.ok(ask(BOB));
  });
});

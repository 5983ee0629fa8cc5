/** The outbox over the real link and its rings. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Errand, Outbox } from '../../../../gateway/shardlink/outbox.ts';
import { CLOSE_REASON, SIDE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { ClientRig } from '../../../support/clientRig.ts';

/** The best price of an empty side. */
const NONE = 0;

class Scene {
  readonly rig: ClientRig;
  readonly outbox: Outbox;
  /** The calls of the errand: orders cancelled, `shard n`, `done`. */
  readonly seen: (number | string)[] = [];

  constructor(t: TestContext) {
    this.rig = new ClientRig(t);
    this.outbox = new Outbox(2, this.rig.client);
  }

  get errand(): Errand {
    return {
      send: (shard, handler, context) => this.rig.client.cancelMany(shard, 1, CLOSE_REASON.USER, handler, context),
      onCancelled: (orders) => this.seen.push(orders),
      onShardDone: (shard) => this.seen.push(`shard ${shard}`),
      onDone: () => this.seen.push('done'),
    };
  }

  async place(ticks: number, market = 0): Promise<void> {
    assert.equal((await this.rig.run(this.rig.place(this.rig.record(SIDE.BUY, ticks), 1, market))).code, OK);
  }

  /** The thread of shard 0 ends, and its successor becomes READY. */
  async lose(): Promise<void> {
    this.rig.link.shardLost(0);
    this.rig.shards[0] = this.rig.shards[0]!.rebuilt();
    const back = this.rig.attachShard(0);
    this.rig.shards[0].describe();
    await back;
  }

  /** Seconds pass, in which whatever is still owed goes out and is carried out. */
  async settle(): Promise<void> {
    for (let second = 0; second < 3; second++) {
      this.rig.clock.advance(1000);
      this.rig.link.tick();
      this.rig.step();
      await this.allTried();
    }
  }

  async allTried(): Promise<void> {
    await Promise.all([0, 1].map((shard) => this.outbox.allTriedAt(shard)));
  }

  best(market = 0): number {
    return this.rig.views.books.of(market)!.bids.highest();
  }
}

async function scene(t: TestContext): Promise<Scene> {
  const it = new Scene(t);
  await it.rig.start();
  await it.place(40);
  return it;
}

test('an order placed as soon as a lost shard is READY is not cancelled by an end before it (OUTBOX-1)', async (t) => {
  const it = await scene(t);
  const sent = it.outbox.put('1', it.errand);
  await it.lose();
  await it.place(41);
  assert.deepEqual(await sent, { cancelled: 1, isComplete: true });
  await it.settle();
  assert.deepEqual([it.best(), it.seen], [41, [1, 'shard 0', 0, 'done']]);
});

test('nor is one placed while the shard was slow to answer, although requests were given up (OUTBOX-2)', async (t) => {
  const it = await scene(t);
  const sent = it.outbox.put('1', it.errand);
  const placed = it.rig.place(it.rig.record(SIDE.BUY, 41));
  it.rig.link.answerUnknown(0);
  it.outbox.stopWaiting();
  assert.deepEqual(await sent, { cancelled: 0, isComplete: false });
  await placed;
  await it.settle();
  assert.deepEqual([it.best(), it.seen], [41, [1, 'shard 0', 0, 'done']]);
});

test('who waits for one shard does not wait for another that is slow to answer', async (t) => {
  const it = await scene(t);
  let isComplete = false;
  const sent = it.outbox.put('1', it.errand).finally(() => (isComplete = true));
  const [first] = [it.outbox.allTriedAt(0), it.outbox.allTriedAt(1)];
  it.rig.shards[0]!.step();
  await first;
  assert.deepEqual([it.seen, isComplete], [[1, 'shard 0'], false]);
  await it.outbox.allTriedAt(0);
  it.rig.step();
  await it.outbox.allTriedAt(1);
  assert.deepEqual(await sent, { cancelled: 1, isComplete: true });
});

test('a shard that was away gets one command about a subject, however many were put (OUTBOX-3, OWED-2)', async (t) => {
  const it = await scene(t);
  await it.place(30, 1);
  it.rig.link.shardLost(0);
  for (let time = 0; time < 100; time++) void it.outbox.put('1', it.errand);
  it.rig.step();
  await it.allTried();
  assert.deepEqual(
    it.seen.filter((each) => each !== 0),
    [1, 'shard 1'],
    'replies to replaced ones end nothing',
  );
  it.rig.shards[0] = it.rig.shards[0]!.rebuilt();
  const back = it.rig.attachShard(0);
  it.rig.shards[0].describe();
  await back;
  assert.equal(it.rig.link.inFlight, 1);
  await it.settle();
  assert.deepEqual([it.seen.at(-1), it.best(), it.outbox.has('1')], ['done', NONE, false]);
});

test('a shard that has carried it out before is not asked, and a dropped errand asks no more', async (t) => {
  const it = await scene(t);
  await it.place(30, 1);
  void it.outbox.put('1', it.errand, [0]);
  await it.settle();
  assert.deepEqual([it.seen.splice(0), it.best(), it.best(1)], [[1, 'done'], 40, NONE]);
  void it.outbox.put('1', it.errand, [0, 1]);
  assert.deepEqual([it.seen.splice(0), it.outbox.has('1')], [['done'], false]);
  it.rig.link.shardLost(0);
  void it.outbox.put('1', it.errand, [1]);
  it.outbox.drop('1');
  await it.lose();
  await it.settle();
  assert.deepEqual([it.seen, it.best()], [[], 40]);
});

test('a replaced errand whose shard is lost takes nothing from the one that replaced it (OUTBOX-3)', async (t) => {
  const it = await scene(t);
  void it.outbox.put('1', it.errand);
  let hasRoom = false;
  const { send, ...rest } = it.errand;
  const later: Errand = {
    ...rest,
    send: (shard, handler, context) => (shard === 0 && !hasRoom ? E.ENGINE_BUSY : send(shard, handler, context)),
  };
  void it.outbox.put('1', later);
  hasRoom = true;
  await it.lose();
  await it.settle();
  assert.deepEqual([it.seen.at(-1), it.best(), it.outbox.has('1')], ['done', NONE, false]);
});

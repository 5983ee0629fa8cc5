import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../../../engine/core/engine.ts';
import type { ShardReply } from '../../../../gateway/shardlink/reply.ts';
import { CLOSE_REASON, MOVEMENT, ORDER_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { COMMAND, EXTENDED_PLACE } from '../../../../shared/wire/commands.ts';
import { EVENT, EVENT_VERSION, typeOf } from '../../../../shared/wire/events.ts';
import { RecordBuffer, writeSafe } from '../../../../shared/wire/record.ts';
import { RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import type { FrontRings } from '../../../../shared/wire/threads.ts';
import { ClientRig, START_MS } from '../../../support/clientRig.ts';
import { amountsOf, writePlacement } from '../../../support/commandBodies.ts';
import { eventually } from '../../../support/eventually.ts';
import { ledgerOf } from '../../../support/ledger.ts';
import { RecordWriter } from '../../../support/recordWriter.ts';

const CANCEL_BYTES = COMMAND.CANCEL.BYTES;

test('a shard is attached once it is READY, and not before', async (t) => {
  const rig = new ClientRig(t);
  let isStarted = false;
  const started = rig.attach().then(() => {
    isStarted = true;
  });
  const ready = (): boolean[] => [0, 1, 2].map((shard) => rig.link.isReady(shard));
  assert.deepEqual(ready(), [false, false, false]);
  rig.shards[0].describe();
  await eventually('the first shard', async () => ready()[0]);
  assert.deepEqual([isStarted, ready()], [false, [true, false, false]]);
  rig.shards[1].describe();
  await started;
  assert.deepEqual([isStarted, ready()], [true, [true, true, false]]);
  rig.link.shardLost(0);
  assert.deepEqual(ready(), [false, true, false]);
});

test('a leader sends no command while changes of the gateway wait for room in the log (LINK-9)', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  let isWaiting = true;
  rig.link.lead(() => isWaiting);
  const noReply = (): void => assert.fail('there is no reply');
  assert.equal(rig.client.place(0, 1, 0, rig.writer(SIDE.BUY, 40), noReply, null), E.ENGINE_BUSY);
  assert.equal(rig.client.cancelAll(1, noReply, null), E.ENGINE_BUSY);
  assert.deepEqual([rig.link.inFlight, rig.link.hasRoomEverywhere], [0, false]);
  isWaiting = false;
  const placed = rig.place(rig.record(SIDE.BUY, 40), 1, 0);
  rig.shards[0].step();
  assert.equal((await placed).code, OK);
});

test('a reply finds its own handler and context whatever the order of replies', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const placed = [40, 30, 20].map((ticks, market) => rig.place(rig.record(SIDE.BUY, ticks), 1, market % 2));
  assert.equal(rig.link.inFlight, 3);
  rig.shards[1].step();
  assert.equal((await placed[1]).shard, 1);
  rig.shards[0].step();
  const replies = await Promise.all(placed);
  assert.deepEqual(
    replies.map(({ code, shard, status }) => [code, shard, status]),
    [
      [OK, 0, ORDER_STATUS.OPEN],
      [OK, 1, ORDER_STATUS.OPEN],
      [OK, 0, ORDER_STATUS.OPEN],
    ],
  );
  assert.equal(rig.link.inFlight, 0);
});

test('when a handler runs the views already show what its record did', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const record = rig.writer(SIDE.BUY, 40);
  const seen = await rig.run(
    new Promise<number[]>((resolve) => {
      rig.client.place(
        0,
        1,
        0,
        record,
        () => resolve([rig.views.books.of(0)!.bids.highest(), rig.views.accounts.reservedMicro(1)]),
        null,
      );
    }),
  );
  assert.deepEqual(seen, [40, 40_000_000]);
});

test('a placement is answered with its fills, a refusal after it without them', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  for (const ticks of [40, 41]) await rig.run(rig.place(rig.record(SIDE.BUY, ticks)));
  // Both are matched by one BUY No that asks for the mirror of 40 and finds 100 tokens at 41 first.
  const record = rig.record(SIDE.BUY, 60, OUTCOME.NO);
  const placed = rig.place(record);
  const repeated = rig.place(record);
  rig.step();
  assert.deepEqual(await placed.then(({ status, fills }) => [status, fills]), [ORDER_STATUS.FILLED, 1]);
  assert.deepEqual(await repeated.then(({ code, slot, fills }) => [code, slot, fills]), [E.DUPLICATE_ORDER, -1, 0]);
});

test('a full ring enqueues nothing, and a cancel still finds room where a placement does not', async (t) => {
  const rig = new ClientRig(t, { shards: 1, commandRingBytes: 4096 });
  await rig.start();
  const replies: number[] = [];
  const place = (): number =>
    rig.client.place(0, 1, 0, rig.writer(SIDE.BUY, 40), ({ code }) => replies.push(code), null);
  let placed = 0;
  while (place() === OK) placed++;
  assert.ok(placed > 5);
  assert.equal(rig.link.inFlight, placed);
  assert.equal(place(), E.ENGINE_BUSY);
  assert.equal(rig.link.inFlight, placed);
  const cancelled = rig.ask((handler) => rig.client.cancelAll(1, handler, null));
  assert.equal(rig.shards[0].step(), placed + 1);
  assert.equal((await cancelled).a, placed);
  assert.deepEqual(replies, Array(placed).fill(OK));
});

test('a fan-out that one ring has no room for reaches no ring', async (t) => {
  const rig = new ClientRig(t, { commandRingBytes: 4096 });
  await rig.start();
  const hash = new Uint32Array(8);
  let sent = 0;
  while (rig.client.cancel(1, 1, hash, () => {}, null) === OK) sent++;
  assert.ok(sent >= Math.floor(4096 / CANCEL_BYTES) - 1);
  assert.equal(rig.client.cancelAll(1, assert.fail, null), E.ENGINE_BUSY);
  assert.equal(rig.client.cancelAnywhere(1, hash, assert.fail, null), E.ENGINE_BUSY);
  assert.equal(rig.shards[0].step(), 0);
  rig.shards[1].step();
});

test('a lost shard leaves no request without an answer and takes no more', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const orphan = rig.place(rig.record(SIDE.BUY, 40), 1, 0);
  const other = rig.place(rig.record(SIDE.BUY, 40), 1, 1);
  const everywhere = rig.ask((handler) => rig.client.cancelAll(1, handler, null));
  assert.equal(rig.link.shardLost(0), true);
  assert.equal((await orphan).code, E.OUTCOME_UNKNOWN);
  assert.equal(rig.client.place(0, 1, 0, rig.writer(SIDE.BUY, 40), assert.fail, null), E.ENGINE_BUSY);
  rig.shards[1].step();
  assert.equal((await other).code, OK);
  assert.equal((await everywhere).code, E.OUTCOME_UNKNOWN);
  assert.equal(rig.link.inFlight, 0);
  rig.link.shardLost(1);
  assert.equal(rig.client.cancelAll(1, assert.fail, null), E.ENGINE_BUSY);
});

test('records that a shard published before it was lost are answered unchanged', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const answered = rig.place(rig.record(SIDE.BUY, 40));
  rig.shards[0].step();
  const unknown = rig.place(rig.record(SIDE.BUY, 41));
  rig.link.shardLost(0);
  assert.deepEqual([(await answered).code, (await unknown).code], [OK, E.OUTCOME_UNKNOWN]);
});

test('a returned shard sends its recovered state, and accepts commands from then on', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const first = await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  // Committed and lost before its events were published: the record exists, the reply does not.
  const committed = rig.record(SIDE.BUY, 41);
  const unanswered = rig.place(committed);
  rig.link.shardLost(0);
  rig.shards[0].step();
  assert.equal((await unanswered).code, E.OUTCOME_UNKNOWN);
  assert.equal(rig.views.isWhole, false);
  assert.equal(rig.views.books.of(0)!.bids.highest(), 40, 'what is known stays to be read');

  rig.shards[0] = rig.shards[0].rebuilt();
  const back = rig.attachShard(0);
  assert.equal(
    rig.client.place(0, 1, 0, new RecordWriter(committed), assert.fail, null),
    E.ENGINE_BUSY,
    'attached is not READY',
  );
  rig.shards[0].describe();
  await back;
  assert.ok(rig.views.isWhole && ledgerOf(rig.views).balanced);
  assert.equal(rig.views.books.of(0)!.bids.highest(), 41);
  assert.equal(rig.views.accounts.reservedMicro(1), 81_000_000);
  assert.equal(rig.views.lastAcknowledged(1, 0), first.shardSequence + 1);
  assert.equal((await rig.run(rig.place(committed))).code, E.DUPLICATE_ORDER);
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 60, OUTCOME.NO)))).fills, 1);
});

/** Cancels all that account 1 has in shard 0, until that has said that it has. */
function cancelOwed(rig: ClientRig, subject = 'a silence'): { cancelled: number } {
  const done = { cancelled: -1 };
  const onReply = ({ code, a }: ShardReply): void => {
    if (code === OK) done.cancelled = a;
    else owe();
  };
  const owe = (): void =>
    rig.client.owe(0, subject, () => rig.client.cancelMany(0, 1, CLOSE_REASON.USER, onReply, null));
  owe();
  return done;
}

test('commands that a shard is owed precede all others once it is back (LINK-12, OWED-1)', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  const owed = cancelOwed(rig);
  rig.link.shardLost(0);
  rig.shards[0] = rig.shards[0]!.rebuilt();
  const back = rig.attachShard(0);
  rig.shards[0]!.describe();
  await back;
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 41)))).code, OK);
  assert.equal(owed.cancelled, 1);
  assert.equal(rig.views.books.of(0)!.bids.highest(), 41, 'what came later stays');
});

test('what found no room goes before all that comes once there is room (LINK-12, OWED-1)', async (t) => {
  const rig = new ClientRig(t, { shards: 1, commandRingBytes: 4096 });
  await rig.start();
  await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  const hash = new Uint32Array(8);
  while (rig.client.cancel(0, 1, hash, () => {}, null) === OK);
  const owed = cancelOwed(rig);
  rig.shards[0]!.step();
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 41)))).code, OK);
  assert.equal(owed.cancelled, 1);
  assert.equal(rig.views.books.of(0)!.bids.highest(), 41, 'what came later stays');
});

test('owed commands may take the space that a fan-out needs, and the fan-out is then refused as busy', async (t) => {
  const rig = new ClientRig(t, { shards: 1, commandRingBytes: 4096 });
  await rig.start();
  const hash = new Uint32Array(8);
  while (rig.client.cancel(0, 1, hash, () => {}, null) === OK);
  const owed = Array.from({ length: 200 }, (_, index) => cancelOwed(rig, `silence ${index}`));
  rig.shards[0]!.step();
  assert.equal(rig.client.cancelAll(1, assert.fail, null), E.ENGINE_BUSY);
  while (owed.some(({ cancelled }) => cancelled < 0)) {
    rig.shards[0]!.step();
    await eventually('the replies', async () => rig.link.inFlight === 0);
    rig.link.tick();
  }
  assert.equal((await rig.run(rig.ask((handler) => rig.client.cancelAll(1, handler, null)))).a, 0);
});

test('a handler that throws is reported with its context, and the next reply still arrives', async (t) => {
  const errors: unknown[] = [];
  const rig = new ClientRig(t, { onHandlerError: (error, context) => errors.push([error, context]) });
  await rig.start();
  const broken = new Error('broken handler');
  rig.client.place(
    0,
    1,
    0,
    rig.writer(SIDE.BUY, 40),
    () => {
      throw broken;
    },
    'its call',
  );
  const next = await rig.run(rig.place(rig.record(SIDE.BUY, 41)));
  assert.equal(next.code, OK);
  assert.deepEqual(errors, [[broken, 'its call']]);
});

test('an event the views cannot take is fatal', async (t) => {
  const fatal: unknown[] = [];
  const rig = new ClientRig(t, { shards: 1, onFatal: (error) => fatal.push(error) });
  const { engine } = rig.shards[0];
  void rig.attach();
  engine.out.append(32, 999 | (EVENT_VERSION << 16));
  rig.shards[0].step();
  await eventually('the fatal error', async () => fatal.length > 0);
  assert.match(String(fatal[0]), /EVENT-2/);
});

test('an account is remembered at the record that last touched it, its makers included', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  await rig.run(rig.client.funds(2, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(2)));
  const resting = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1));
  assert.equal(rig.views.lastAcknowledged(1, 0), resting.shardSequence);
  const taking = await rig.run(rig.place(rig.record(SIDE.BUY, 60, OUTCOME.NO), 2));
  assert.equal(taking.shardSequence, resting.shardSequence + 1);
  assert.equal(rig.views.lastAcknowledged(2, 0), taking.shardSequence);
  assert.equal(rig.views.lastAcknowledged(1, 0), taking.shardSequence, 'the maker was filled by that record');
  assert.equal(rig.views.lastAcknowledged(500, 0), 0);
});

test('after a restart everything recovered counts as acknowledged to every account', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const { engine } = rig.shards[0];
  const again = new ClientRig(t, { shards: 1 });
  const started = again.attach();
  engine.describe(() => {
    again.shards[0].engine.out.appendRecords(engine.out.words, 0, engine.out.lengthBytes);
    engine.out.clear();
  });
  again.shards[0].step();
  await started;
  assert.equal(again.views.lastAcknowledged(77, 0), engine.sequence);
  assert.equal(again.views.accounts.availableMicro(1), 1_000_000_000);
});

test('a tick carries the time to every shard and waits for no reply', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const record = rig.record(SIDE.BUY, 40, OUTCOME.YES, TIME_IN_FORCE.GTD);
  writeSafe(record, COMMAND.PLACE.expirationSec, START_MS / 1000 + 5);
  await rig.run(rig.place(record));
  rig.clock.advance(5000);
  rig.link.tick();
  assert.equal(rig.link.inFlight, 0);
  rig.step();
  // Any later reply follows the events of the tick.
  await rig.run(rig.ask((handler) => rig.client.cancelAll(2, handler, null)));
  assert.equal(rig.views.orders[0].count, 0);
  assert.equal(rig.views.accounts.reservedMicro(1), 0);
});

test('a shard has caught up when the views show everything that was due', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const record = rig.record(SIDE.BUY, 40, OUTCOME.YES, TIME_IN_FORCE.GTD);
  writeSafe(record, COMMAND.PLACE.expirationSec, START_MS / 1000 + 5);
  await rig.run(rig.place(record));
  rig.clock.advance(5000);
  await rig.run(rig.client.catchUp(0));
  assert.equal(rig.views.orders[0].count, 0);
  // There is a reply even if nothing is due, and a shard that is down is not waited for.
  await rig.run(rig.client.catchUp(0));
  rig.link.shardLost(0);
  await rig.client.catchUp(0);
  assert.equal(rig.link.inFlight, 0);
});

test('a group that trips in one shard trips in the others, and a reset reaches all', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  assert.equal(await rig.run(rig.client.setGroup(1, 3, 60, 1_000_000)), OK);
  const trippedIn = (): boolean[] => rig.shards.map(({ engine }) => engine.state.groups.get(3).isTripped);
  const trip = async (): Promise<void> => {
    // The fills so far exceed the new maximum.
    rig.shards[0].engine.state.groups.get(3).window.add(START_MS, 500_000);
    const set = rig.client.setGroup(1, 3, 60, 400_000);
    rig.step();
    assert.equal(await set, OK);
  };
  await trip();
  rig.step();
  assert.deepEqual(trippedIn(), [true, true]);
  assert.equal(rig.views.groups.of(3, START_MS)!.isTripped, true);
  assert.equal(await rig.run(rig.client.resetGroup(1, 3)), OK);
  assert.deepEqual(trippedIn(), [false, false]);
  assert.equal(rig.views.groups.of(3, START_MS)!.isTripped, false);
});

test('a trip that found no room precedes every later command of its shard (LINK-5, LINK-12)', async (t) => {
  const rig = new ClientRig(t, { commandRingBytes: 4096 });
  await rig.start();
  assert.equal(await rig.run(rig.client.setGroup(1, 3, 60, 1_000_000)), OK);
  const isTripped = (): boolean => rig.shards[1]!.engine.state.groups.get(3).isTripped;
  rig.shards[0]!.engine.state.groups.get(3).window.add(START_MS, 500_000);
  const set = rig.client.setGroup(1, 3, 60, 400_000);
  for (let before = -1; rig.link.inFlight > before; ) {
    before = rig.link.inFlight;
    void rig.client.catchUp(1);
  }
  rig.shards[0]!.step();
  await eventually('the trip of the first shard', async () => rig.views.groups.of(3, START_MS)!.isTripped);
  rig.shards[1]!.step();
  assert.equal(await set, OK);
  assert.equal(isTripped(), false, 'its ring was full');
  const placed = rig.place(rig.record(SIDE.BUY, 41), 1, 1);
  assert.equal(rig.shards[1]!.step(), 2);
  assert.deepEqual([isTripped(), (await placed).code], [true, OK]);
});

test('a shard with much to say leaves turns to the sockets, between two records', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  await rig.run(rig.client.funds(1, MOVEMENT.DEPOSIT, 10 ** 12, new Uint8Array(32).fill(2)));
  const sent = 600;
  const answered: number[] = [];
  for (let i = 0; i < sent; i++) {
    void rig.place(rig.record(SIDE.BUY, 1 + (i % 40))).then(() => answered.push(i));
    if (i % 60 === 59) for (const shard of rig.shards) shard.step();
  }
  let turns = 0;
  const openAtTurns: number[] = [];
  while (answered.length < sent) {
    await new Promise(setImmediate);
    turns++;
    // Every order that the views show is answered: no turn ends inside a record.
    openAtTurns.push(rig.views.orders[0].count - answered.length);
    assert.ok(turns < 1000, 'the pump goes on by itself');
  }
  assert.ok(turns > 2, `other work ran ${turns} times meanwhile`);
  assert.ok(
    openAtTurns.every((behind) => behind === 0),
    'a turn ends between two records',
  );
});

test('a stopped link applies nothing more, and requests in flight stay unanswered', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  let isAnswered = false;
  void rig.place(rig.record(SIDE.BUY, 40)).then(() => {
    isAnswered = true;
  });
  rig.link.stop();
  // The pump ends in the turn in which it wakes.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  rig.step();
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  assert.deepEqual([isAnswered, rig.link.inFlight, rig.views.orders[0].count], [false, 1, 0]);
});

test('a front sends no time and trips no group: that is for main (LINK-11)', async (t) => {
  for (const isFront of [false, true]) {
    const rig = new ClientRig(t, { isFront });
    await rig.start();
    rig.link.tick();
    assert.deepEqual(
      rig.shards.map((shard) => shard.step()),
      isFront ? [0, 0] : [1, 1],
    );
    assert.equal(await rig.run(rig.client.setGroup(1, 1, 60, 1)), OK);
    const record = new Uint32Array(EXTENDED_PLACE.BYTES / 4);
    const fields = { salt: 99, group: 1, feeBps: 50, ...amountsOf(SIDE.BUY, 1_000_000, 40) };
    writePlacement(record, 0, fields, true);
    await rig.run(rig.place(record));
    await rig.run(rig.place(rig.record(SIDE.BUY, 60, OUTCOME.NO)));
    assert.equal(rig.views.groups.of(1, START_MS)!.isTripped, true);
    assert.equal(rig.shards[1]!.step(), isFront ? 0 : 1, 'the trip in the other shard');
  }
});

test('a front applies a state in pieces, turn by turn, and then the events in its ring (LINK-10)', async (t) => {
  const main = new ClientRig(t, { shards: 1 });
  await main.start();
  for (const ticks of [40, 41, 42]) await main.run(main.place(main.record(SIDE.BUY, ticks)));
  const rings = newRings();
  const front = new ClientRig(t, { shards: 1, isFront: true });
  const isAttached = front.link.attach(0, rings, piecesOf(main.shards[0]!.engine));
  // After the state its ring has the following events: every order is cancelled.
  const events = new RingProducer(rings.eventRing);
  const { engine } = main.shards[0]!;
  const cancelled = main.ask((handler) => main.client.cancelAll(1, handler, null));
  main.shards[0]!.step((words, word) => {
    if (typeOf(words[word + 1]!) === EVENT.REPLY.TYPE) return;
    events.words.set(words.subarray(word, word + words[word]! / 4), events.tryClaim(words[word]!, 0));
    events.publish();
  });
  assert.equal(front.link.isReady(0), false);
  await isAttached;
  assert.equal(front.views.accounts.reservedMicro(1), 123_000_000);
  assert.equal((await cancelled).a, 3);
  await eventually('what follows', async () => front.views.appliedSequence(0) === engine.sequence);
  assert.equal(front.views.accounts.reservedMicro(1), 0);
});

test('of a state that a front has not applied to its end nothing is kept when the shard is lost', async (t) => {
  const main = new ClientRig(t, { shards: 1 });
  await main.start();
  await main.run(main.place(main.record(SIDE.BUY, 40)));
  const { engine } = main.shards[0]!;
  const front = new ClientRig(t, { shards: 1, isFront: true });
  void front.link.attach(0, newRings(), piecesOf(engine));
  assert.equal(front.link.shardLost(0), false);
  assert.equal(front.views.isWhole, false);
  await front.link.attach(0, newRings(), piecesOf(engine));
  assert.deepEqual(front.views.books.of(0)!.bids.highest(), 40);
});

function newRings(): FrontRings {
  return { commandRing: createRingBuffer(4096), eventRing: createRingBuffer(1 << 16) };
}

/** The state of an engine, a piece for each event. */
function piecesOf(engine: Engine): ArrayBuffer[] {
  const out = new RecordBuffer(64);
  const pieces: ArrayBuffer[] = [];
  engine.describe(() => undefined, out);
  for (let word = 0; word < out.lengthBytes / 4; word += out.words[word]! / 4) {
    pieces.push(out.bytes.slice(word * 4, word * 4 + out.words[word]!).buffer);
  }
  return pieces;
}

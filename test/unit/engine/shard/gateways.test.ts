/**
 * A shard with several gateways: the order in which commands are read, the destination of replies, and the output for a
 * front.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../../../engine/core/engine.ts';
import type { JournalStore } from '../../../../engine/journal/journalStore.ts';
import { Gateways } from '../../../../engine/shard/gateways.ts';
import { ShardLoop } from '../../../../engine/shard/loop.ts';
import { Outlet } from '../../../../engine/shard/outlet.ts';
import { Views } from '../../../../gateway/shardlink/views.ts';
import { CLOSE_REASON } from '../../../../shared/base/codes.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { ANY_COMMAND, COMMAND, claimCommand, NO_MARKET } from '../../../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../../../shared/wire/events.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { RecordBuffer, readSafe } from '../../../../shared/wire/record.ts';
import { RingConsumer, RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import type { FrontRings, ShardMessage } from '../../../../shared/wire/threads.ts';
import { MemoryJournal, makeEngine } from '../../../support/engine.ts';
import { CommandFlow } from '../../../support/flow.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { stateOfViews } from '../../../support/viewsState.ts';

/** Small, so that rings are full now and then. */
const RING_BYTES = 8192;
const { CANCEL, PLACE } = COMMAND;

function newRings(eventBytes = RING_BYTES): FrontRings {
  return { commandRing: createRingBuffer(RING_BYTES), eventRing: createRingBuffer(eventBytes) };
}

/** A loop over an engine that only records its commands: their gateway and number. */
class LoopRig {
  readonly ran: [gateway: number, order: number, request: number][] = [];
  readonly loop: ShardLoop;
  readonly gateways: Gateways;
  readonly producers = new Map<number, RingProducer>();
  /** Commands that were sent: each has its number as its request id. */
  requests = 0;
  readonly #known = new Set<number>();
  readonly #mainRings = newRings();

  constructor() {
    const { ran } = this;
    const known = this.#known;
    const engine = {
      gateway: 0,
      hasSteps: false,
      arrivedAt: () => undefined,
      isDue: () => false,
      state: { hashes: {}, wasAccepted: (words: Uint32Array, word: number) => known.has(words[word]!) },
      out: new RecordBuffer(64),
      describe: () => undefined,
      submit(words: Uint32Array) {
        const isPlace = (words[ANY_COMMAND.type]! & 0xffff) === PLACE.TYPE;
        const order = words[isPlace ? PLACE.salt : CANCEL.hash]!;
        // As in the real engine: the hash is known once its order was accepted.
        if (isPlace) words[PLACE.hash] = order;
        if (isPlace) known.add(order);
        ran.push([this.gateway, isPlace ? order : -order, words[ANY_COMMAND.requestId]!]);
      },
    };
    this.gateways = new Gateways(this.#mainRings);
    this.producers.set(0, new RingProducer(this.#mainRings.commandRing));
    this.loop = new ShardLoop({
      shard: 0,
      engine: engine as unknown as Engine,
      journal: { isStaged: false } as JournalStore,
      progress: new Progress(Progress.create(1)),
      outlet: new Outlet(engine as unknown as Engine, this.gateways),
      clock: { nowMs: () => 0 },
      checks: { work: () => false, take: () => undefined },
    });
  }

  attach(front: number): void {
    const rings = newRings();
    this.loop.attach(front, rings);
    this.producers.set(front, new RingProducer(rings.commandRing, this.#mainRings.commandRing));
  }

  /** @returns false when the ring of the gateway is full. */
  send(front: number, order: number, account = 1, isCancel = false): boolean {
    const ring = this.producers.get(front)!;
    const type = isCancel ? CANCEL.TYPE : PLACE.TYPE;
    const word = claimCommand(ring, type, this.requests + 1, account, 0, isCancel ? NO_MARKET : 1, CLOSE_REASON.USER);
    if (word < 0) return false;
    ring.words[word + (isCancel ? CANCEL.hash : PLACE.salt)] = order;
    ring.publish();
    this.requests++;
    return true;
  }

  /** Runs all that waits. */
  runAll(): void {
    for (;;) {
      while (this.loop.readAhead()) this.loop.run();
      if (this.loop.ranCount === 0) return;
      this.loop.commit();
    }
  }
}

test('of several gateways one command each is read in turn, and each stays in order (GATEWAYS-2)', () => {
  const rig = new LoopRig();
  rig.attach(7);
  rig.attach(8);
  for (let order = 1; order <= 6; order++) rig.send(0, order);
  for (let order = 11; order <= 12; order++) rig.send(7, order);
  rig.send(8, 21);
  rig.runAll();
  assert.deepEqual(
    rig.ran.map(([, order]) => order),
    [1, 11, 21, 2, 12, 3, 4, 5, 6],
  );
});

test('a cancel waits for what was read before it, whichever gateway has sent it (LOOP-4)', () => {
  const rig = new LoopRig();
  rig.attach(7);
  rig.send(0, 1);
  rig.send(0, 2);
  rig.send(7, 2, 1, true);
  rig.send(7, 3);
  rig.send(0, 4, 2);
  rig.runAll();
  // It reads 1, the cancel of 2, 2, 3, 4 …: the cancel waits for everything that its account has sent until then.
  const at = (order: number): number => rig.ran.findIndex(([, ran]) => ran === order);
  assert.deepEqual(
    [...rig.ran.map(([, order]) => order)].sort((a, b) => a - b),
    [-2, 1, 2, 3, 4],
  );
  assert.equal(at(-2), at(1) + 1, 'it was read before the order it names, and did not wait for it');
});

test('held cancels keep their place in their ring while orders of another gateway hold them', () => {
  const rig = new LoopRig();
  rig.attach(7);
  let [lastOfMain, lastOfFront] = [0, 1000];
  while (rig.send(0, lastOfMain + 1, 1)) lastOfMain++;
  rig.loop.readAhead();
  const cancelled = Array.from({ length: 30 }, (_, index) => 100 + index);
  for (const order of cancelled) rig.send(7, order, 1, true);
  while (rig.ran.length < lastOfMain) {
    while (rig.send(7, lastOfFront + 1, 2)) lastOfFront++;
    rig.loop.readAhead();
    rig.loop.run();
    rig.loop.commit();
  }
  assert.ok(lastOfFront > 1000, 'its ring was full');
  assert.deepEqual(
    rig.ran.slice(lastOfMain).map(([, order]) => order),
    cancelled.map((order) => -order),
  );
});

test('whatever gateways send while some come and go, every command runs once and unchanged, in their order', () => {
  const seed = seedOr(3);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const rig = new LoopRig();
  let lastOrder = 0;
  let nextFront = 1;
  /** By gateway: the orders that it has sent, and as negative numbers its cancels. */
  const sent = new Map<number, number[]>([[0, []]]);
  const numbers = new Map<number, number>([[0, 0]]);
  /** By request: the gateway that has sent it. */
  const senders: number[] = [];
  const left = new Set<number>();
  const attach = (): void => {
    rig.attach(nextFront);
    numbers.set(nextFront, rig.gateways.list.at(-1)!.number);
    sent.set(nextFront++, []);
  };
  attach();
  attach();
  /** Per gateway number, in time: who had it. */
  const ranOf = new Map<number, number[]>([...sent.keys()].map((front) => [front, []]));
  let noted = 0;
  const note = (): void => {
    for (; noted < rig.ran.length; noted++) {
      const [number, order, request] = rig.ran[noted]!;
      const front = senders[request - 1]!;
      assert.equal(number, numbers.get(front), `command ${order} is one of front ${front}`);
      ranOf.set(front, [...(ranOf.get(front) ?? []), order]);
    }
  };
  for (let turn = 0; turn < timesOf({ suite: 4000, soak: 100_000 }); turn++) {
    const fronts = [...sent.keys()].filter((front) => !left.has(front));
    const front = random.pick(fronts);
    const own = sent.get(front)!;
    const isCancel = random.chance(30) && lastOrder > 0;
    // Cancels of another gateway's orders wait for the contents of that gateway's ring, and keep their own place.
    const cancelled =
      random.chance(50) && own.length > 0 ? Math.abs(random.pick(own)) : 1 + random.below(lastOrder + 1);
    const order = isCancel ? cancelled : ++lastOrder;
    if (!own.includes(-order) && rig.send(front, order, 1 + (order % 3), isCancel)) {
      own.push(isCancel ? -order : order);
      senders.push(front);
    }
    if (random.chance(20)) for (let run = random.below(20); run > 0 && rig.loop.readAhead(); run--) rig.loop.run();
    if (!random.chance(10)) continue;
    if (rig.loop.ranCount > 0) rig.loop.commit();
    note();
    if (random.chance(5) && fronts.length < 5) attach();
    if (random.chance(5) && fronts.length > 2) {
      const gone = random.pick(fronts.filter((each) => each !== 0));
      rig.loop.detach(gone);
      left.add(gone);
    }
    if (random.chance(2)) rig.runAll();
  }
  rig.runAll();
  note();
  for (const [front, commands] of sent) {
    const ran = ranOf.get(front) ?? [];
    assert.deepEqual(ran.toSorted(), commands.toSorted(), `everything front ${front} has sent has run, once`);
    const placed = (list: number[]): number[] => list.filter((order) => order > 0);
    assert.deepEqual(placed(ran), placed(commands), 'GATEWAYS-1');
    for (const order of commands) {
      if (order < 0 && commands.includes(-order))
        assert.ok(ran.indexOf(order) > ran.indexOf(-order), 'LOOP-4: no cancel overtakes its order');
    }
  }
  assert.equal(rig.gateways.list.length, sent.size - left.size, 'nothing is left of those that have ended');
});

/** A real engine behind an outlet, and gateways whose views follow their own event rings. */
class EngineRig {
  readonly engine = makeEngine(new Balances(createBalances()), new MemoryJournal(), true);
  readonly reports: ShardMessage[] = [];
  readonly rings = newRings();
  readonly gateways = new Gateways(this.rings, (message) => this.reports.push(message));
  readonly outlet: Outlet;
  readonly readers = new Map<number, Reader>();
  readonly #command = new RecordBuffer(4096);

  constructor(mostBehindBytes?: number) {
    this.engine.goLive();
    this.outlet = new Outlet(this.engine, this.gateways, mostBehindBytes);
    this.readers.set(0, new Reader(this.rings, 0));
    this.engine.describe(() => this.publish());
    this.publish();
  }

  attach(front: number, seed: number): Reader {
    const rings = newRings();
    this.outlet.attach(front, rings);
    const reader = new Reader(rings, seed);
    this.readers.set(front, reader);
    return reader;
  }

  /** Runs every command that is in a ring, as one batch. */
  run(): void {
    for (let gateway = this.gateways.next(); gateway !== null; gateway = this.gateways.next()) {
      const { words } = gateway.commands;
      this.#command.clear();
      this.#command.appendRecords(words, gateway.word, words[gateway.word]!);
      this.engine.gateway = gateway.number;
      this.engine.submit(this.#command.words, this.#command.bytes, 0);
    }
    for (const { commands } of this.gateways.list) commands.release();
    this.engine.state.ledger.releaseCredits();
    this.publish();
  }

  /** Main always reads; the others when the test says so. */
  publish(): void {
    while (!this.outlet.publish()) this.readers.get(0)!.read();
    this.readers.get(0)!.read();
    for (const report of this.reports.splice(0)) {
      if ('attached' in report) this.readers.get(report.attached)!.applyState(report.state);
      else if ('cutOff' in report) this.readers.get(report.cutOff)!.isCutOff = true;
    }
  }
}

class Reader {
  readonly views = new Views(1);
  readonly flow: CommandFlow;
  replies = 0;
  sent = 0;
  hasState = false;
  isCutOff = false;
  /** The last record of which it has read an event, and the bytes of each record's events. */
  record = 0;
  readonly bytesOf = new Map<number, number>();
  readonly #events: RingConsumer;

  constructor({ commandRing, eventRing }: FrontRings, seed: number) {
    this.flow = new CommandFlow(commandRing, seed, seed * 100_000);
    this.#events = new RingConsumer(eventRing);
    this.views.recovering(0);
  }

  applyState(state: readonly ArrayBuffer[]): void {
    assert.equal(this.hasState, false, 'OUTLET-2: the state comes once');
    this.hasState = true;
    for (const piece of state) {
      const words = new Uint32Array(piece);
      for (let word = 0; word < words.length; word += words[word]! >>> 2) this.#take(words, word);
    }
  }

  read(limit = Number.POSITIVE_INFINITY): void {
    for (let count = 0; count < limit; count++) {
      const word = this.#events.next();
      if (word < 0) break;
      this.#take(this.#events.words, word);
    }
    this.#events.release();
  }

  send(): void {
    this.flow.next();
    this.sent++;
  }

  #take(words: Uint32Array, word: number): void {
    const type = typeOf(words[word + ANY_EVENT.type]!);
    if (type === EVENT.RECORD.TYPE) this.record = readSafe(words, word + EVENT.RECORD.shardSequence);
    if (type !== EVENT.REPLY.TYPE) this.bytesOf.set(this.record, (this.bytesOf.get(this.record) ?? 0) + words[word]!);
    if (type === EVENT.REPLY.TYPE) {
      this.replies++;
      this.views.replied(0);
    } else if (type === EVENT.READY.TYPE) {
      this.views.recovered(0, readSafe(words, word + EVENT.READY.shardSequence));
    } else {
      if (type === EVENT.ORDER.TYPE)
        this.flow.remember(words.slice(word + EVENT.ORDER.hash, word + EVENT.ORDER.hash + 8));
      this.views.apply(0, words, word);
    }
  }
}

test('a front gets the state at any moment and from there on every event, and shows what main shows (OUTLET-1)', () => {
  const seed = seedOr(5);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const rig = new EngineRig();
  const main = rig.readers.get(0)!;
  main.flow.openMarkets();
  rig.run();
  main.flow.fundAccounts();
  rig.run();
  let compared = 0;
  for (let turn = 0, front = 1; turn < timesOf({ suite: 1500, soak: 30_000 }); turn++) {
    const alive = [...rig.readers.values()];
    for (const reader of alive) {
      if (reader.hasState || reader === main) for (let count = random.below(3); count > 0; count--) reader.send();
    }
    rig.run();
    for (const reader of alive) if (random.chance(60)) reader.read(random.below(40));
    if (random.chance(3) && rig.readers.size < 4) rig.attach(front++, seed + turn);
    if (rig.outlet.isBehind || !random.chance(5)) rig.publish();
    if (!random.chance(4)) continue;
    do {
      rig.publish();
      for (const reader of rig.readers.values()) reader.read();
    } while (rig.outlet.isBehind);
    for (const [number, reader] of rig.readers) {
      if (!reader.hasState) continue;
      assert.deepEqual(stateOfViews(reader.views), stateOfViews(main.views), `front ${number} after turn ${turn}`);
      assert.equal(reader.replies, reader.sent, 'GATEWAYS-3: as many replies as commands');
      compared++;
    }
    const [gone] = [...rig.readers.keys()].slice(1).filter(() => random.chance(30));
    if (gone === undefined) continue;
    const gateway = rig.gateways.leave(gone)!;
    rig.gateways.remove(gateway);
    rig.readers.delete(gone);
  }
  assert.ok(compared > 20, `views were compared ${compared} times`);
});

test('a front that is behind has whole records only, unless one fills half of its ring (OUTLET-4)', () => {
  const seed = seedOr(8);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const rig = new EngineRig();
  const main = rig.readers.get(0)!;
  main.flow.openMarkets();
  rig.run();
  main.flow.fundAccounts();
  rig.run();
  const front = rig.attach(1, seed);
  rig.publish();
  let behind = 0;
  for (let turn = 0; turn < timesOf({ suite: 3000, soak: 50_000 }); turn++) {
    for (let count = random.below(4); count > 0; count--) main.send();
    rig.run();
    if (!random.chance(15)) continue;
    if (rig.outlet.isBehind) behind++;
    front.read();
    const bytes = main.bytesOf.get(front.record)!;
    if (bytes <= RING_BYTES / 2 - EVENT.REPLY.BYTES)
      assert.equal(front.bytesOf.get(front.record), bytes, `of record ${front.record}`);
  }
  assert.ok(behind > 20, `it was behind ${behind} times`);
});

test('a front that does not read stops no one, and is cut off once it is too far behind (OUTLET-3)', () => {
  const rig = new EngineRig(100_000);
  const main = rig.readers.get(0)!;
  main.flow.openMarkets();
  rig.run();
  main.flow.fundAccounts();
  rig.run();
  const [idle, busy] = [rig.attach(1, 1), rig.attach(2, 2)];
  rig.publish();
  let turns = 0;
  for (; !idle.isCutOff; turns++) {
    assert.ok(turns < 10_000, 'it is cut off');
    for (const reader of [main, busy]) reader.send();
    rig.run();
    busy.read();
    assert.equal(main.replies - 2 - 6 * 4, main.sent, 'main has its replies at once');
  }
  assert.ok(turns > 20, 'not as soon as its ring is full');
  assert.equal(busy.isCutOff, false);
  assert.equal(rig.outlet.isBehind, false, 'nothing is kept for it any more');
  assert.deepEqual(stateOfViews(busy.views), stateOfViews(main.views));
});

test('the state for a front leaves only when all that precedes it may (OUTLET-2)', () => {
  const rig = new EngineRig();
  const main = rig.readers.get(0)!;
  main.flow.openMarkets();
  rig.run();
  const held = rig.outlet.end;
  const front = rig.attach(1, 1);
  rig.outlet.publish(held - 1);
  assert.deepEqual(rig.reports, []);
  rig.outlet.publish(held);
  rig.publish();
  assert.ok(front.hasState);
});

/** The sequence in which a shard runs commands. The engine here only records its commands and knows their orders. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../../../engine/core/engine.ts';
import type { JournalStore } from '../../../../engine/journal/journalStore.ts';
import { Gateways } from '../../../../engine/shard/gateways.ts';
import { ShardLoop } from '../../../../engine/shard/loop.ts';
import { Outlet } from '../../../../engine/shard/outlet.ts';
import { CLOSE_REASON } from '../../../../shared/base/codes.ts';
import { ANY_COMMAND, COMMAND, type CommandType, claimCommand, NO_MARKET } from '../../../../shared/wire/commands.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { RecordBuffer, readSafe } from '../../../../shared/wire/record.ts';
import { RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';

const [ANN, BOB] = [1, 2];
const RING_BYTES = 1 << 16;

test('a cancel of an order that is there runs before everything that waits', () => {
  const rig = new Rig();
  rig.place(ANN, 10).runAll();
  rig.place(BOB, 11).place(ANN, 12).funds(ANN).place(BOB, 13).cancel(ANN, 10);
  assert.deepEqual(rig.runAll(), ['cancel 10', 'place 11', 'place 12', 'funds', 'place 13']);
});

test('a cancel that arrives while a signature is checked waits for that one alone', () => {
  const rig = new Rig();
  rig.place(ANN, 10).runAll();
  for (let order = 20; order < 40; order++) rig.place(BOB, order);
  rig.runs(3).cancel(ANN, 10).runs(1).cancelMany(ANN).runs(1);
  assert.deepEqual(rig.takeRan(), [
    'place 20',
    'place 21',
    'place 22',
    'cancel 10',
    'place 23',
    'cancelMany',
    'place 24',
  ]);
});

test('a cancel that arrives during any slice of work on signatures runs before the next slice', () => {
  for (let slice = 1; slice <= 8; slice++) {
    const rig = new Rig();
    rig.place(ANN, 10).runAll();
    for (let order = 20; order < 30; order++) rig.place(BOB, order);
    rig.slicesToTake = 8;
    rig.runs(slice).cancel(ANN, 10).runs(1);
    assert.deepEqual(rig.takeRan(), slice < 8 ? ['cancel 10'] : ['cancel 10', 'place 20'], `slice ${slice}`);
    assert.equal(rig.slicesToTake, Math.max(0, 8 - slice - 1));
  }
});

test('a cancel that arrives during any check of a batch, the last one as well, is the next to run', () => {
  for (let checks = 1; checks <= 40; checks++) {
    const rig = new Rig();
    for (let order = 100; order < 150; order++) rig.place(BOB, order);
    rig.runsThroughBatches(checks).cancel(ANN, 10);
    assert.equal(rig.runAll().indexOf('cancel 10'), checks, `after ${checks} checks`);
  }
});

test('a cancel of an order that still waits runs right behind it', () => {
  const rig = new Rig();
  rig.place(BOB, 10).place(ANN, 11).place(ANN, 12).place(BOB, 13).cancel(ANN, 11);
  assert.deepEqual(rig.runAll(), ['place 10', 'place 11', 'cancel 11', 'place 12', 'place 13']);
});

test('a cancel of an unknown order waits for all orders its account has sent before it, and for no others', () => {
  const rig = new Rig();
  rig.place(ANN, 10).place(BOB, 11).place(ANN, 12).place(BOB, 13).cancel(ANN, 99).place(ANN, 14).cancel(BOB, 98);
  assert.deepEqual(rig.runAll(), [
    ...['place 10', 'place 11', 'place 12', 'cancel 99', 'place 13', 'cancel 98', 'place 14'],
  ]);
});

test('however many cancels one order held back, they all run right behind it, in its batch', () => {
  const rig = new Rig();
  rig.place(ANN, 10).place(BOB, 11);
  const cancels = Array.from({ length: 100 }, (_, i) => 1000 + i);
  for (const order of cancels) rig.cancel(ANN, order);
  assert.deepEqual(rig.runAll(), ['place 10', ...cancels.map((order) => `cancel ${order}`), 'place 11']);
});

test('a cancel waits for a replacement of its order, and runs behind it', () => {
  const rig = new Rig();
  rig.place(ANN, 10).place(ANN, 20).runAll();
  rig.place(BOB, 11).replace(ANN, 12, 10).place(BOB, 13).cancel(ANN, 10).cancel(ANN, 12).cancel(ANN, 20);
  assert.deepEqual(rig.runAll(), ['cancel 20', 'place 11', 'replace 10 12', 'cancel 10', 'cancel 12', 'place 13']);
});

test('a cancel of an order that waits, and of which a replacement waits too, runs behind both', () => {
  const rig = new Rig();
  rig.place(ANN, 10).place(BOB, 11).replace(ANN, 12, 10).place(BOB, 13).cancel(ANN, 10);
  assert.deepEqual(rig.runAll(), ['place 10', 'place 11', 'replace 10 12', 'cancel 10', 'place 13']);
});

test('a replacement that is sent after a cancel does not hold it', () => {
  const rig = new Rig();
  rig.place(ANN, 10).place(BOB, 11).cancel(ANN, 10).replace(ANN, 12, 10).place(BOB, 13);
  assert.deepEqual(rig.runAll(), ['place 10', 'cancel 10', 'place 11', 'replace 10 12', 'place 13']);
});

test('cancelling many waits for the orders its account has sent for those markets, and for no others', () => {
  const rig = new Rig();
  rig.place(ANN, 10, 1).place(BOB, 11, 2).place(ANN, 12, 2).place(BOB, 13, 1).place(ANN, 14, 3).place(BOB, 15, 1);
  rig.cancelMany(ANN, 4).cancelMany(ANN, 2).cancelMany(ANN).cancelMany(ANN, 1);
  assert.deepEqual(rig.runAll(), [
    ...['cancelMany 4', 'place 10', 'cancelMany 1', 'place 11', 'place 12', 'cancelMany 2'],
    ...['place 13', 'place 14', 'cancelMany', 'place 15'],
  ]);
});

test('the administrator cancels an order that waits, whoever placed it, right behind it', () => {
  const rig = new Rig();
  rig.place(BOB, 10).place(ANN, 11).place(BOB, 12).cancel(0, 11, CLOSE_REASON.ADMIN);
  assert.deepEqual(rig.runAll(), ['place 10', 'place 11', 'cancel 11', 'place 12']);
});

test('what overtakes runs at the time of the first command it passes, and nothing it passed is later for it', () => {
  const rig = new Rig();
  rig.place(ANN, 10).runAll();
  rig.at(100).place(BOB, 11).at(200).place(BOB, 12).at(300).cancel(ANN, 10).runAll();
  assert.deepEqual(rig.timesMs.slice(1), [100, 100, 200]);
  rig.at(400).cancel(ANN, 11).runAll();
  assert.deepEqual(rig.timesMs.slice(4), [400], 'with nothing to pass it is its own time');
});

test('a stream of cancels does not keep an order waiting for more than a batch', () => {
  const rig = new Rig();
  rig.place(BOB, 10);
  for (let i = 0; i < 600; i++) rig.cancel(ANN, 1000 + i);
  assert.equal(rig.runAll().indexOf('place 10'), 127);
});

test('a cancel beside which only signatures were worked on need not wait for the first of the queue', () => {
  const rig = new Rig();
  rig.place(ANN, 10).runAll();
  for (let order = 20; order < 30; order++) rig.place(BOB, order);
  rig.slicesToTake = 3;
  rig.runs(1);
  assert.equal(rig.isWorthEnding, false, 'nothing has run');
  rig.cancel(ANN, 10).runs(1);
  assert.deepEqual(rig.takeRan(), ['cancel 10']);
  assert.equal(rig.isWorthEnding, true, 'its answer may leave');
  assert.equal(rig.runAll()[0], 'place 20', 'and the first runs when there is no such work left');
});

test('to end a batch is worth it once as many commands have run as still wait', () => {
  const rig = new Rig();
  for (let order = 10; order < 20; order++) rig.place(BOB, order);
  rig.runs(4);
  assert.equal(rig.isWorthEnding, false, 'four have run and six wait');
  rig.runs(1);
  assert.equal(rig.isWorthEnding, true, 'five and five');
  rig.commit();
  rig.place(BOB, 20).runs(1);
  assert.equal(rig.isWorthEnding, false, 'those of the batch before do not count');
});

test('to end a batch is worth it once a cancel has run, however many wait', () => {
  const rig = new Rig();
  rig.place(ANN, 10).runAll();
  for (let order = 20; order < 30; order++) rig.place(BOB, order);
  rig.runs(1).cancel(ANN, 10).runs(1);
  assert.equal(rig.isWorthEnding, true);
});

test('room in the ring comes back as the front of the queue runs, and nothing that waits is written over', () => {
  const rig = new Rig();
  let sent = 0;
  const expected: string[] = [];
  for (let round = 0; round < 50; round++) {
    while (rig.tryPlace(BOB, 1000 + sent)) expected.push(`place ${1000 + sent++}`);
    assert.ok(rig.cancel(ANN, 7).runs(round % 3), 'cancels still find room');
    rig.commit();
  }
  rig.runAll();
  assert.deepEqual(
    rig.allRan.filter((ran) => ran.startsWith('place')),
    expected,
  );
  assert.equal(rig.allRan.length, sent + 50);
});

test('due work before a command takes turns of its own, and cancels overtake between them', () => {
  const rig = new Rig();
  rig.place(ANN, 10).runAll();
  rig.at(5000);
  rig.ticksDue = 4;
  rig.dueMs = 5000;
  rig.place(BOB, 11).runs(2).cancel(ANN, 10);
  assert.deepEqual(rig.runAll(), ['tick', 'tick', 'cancel 10', 'tick', 'tick', 'place 11']);
});

test('work due after a command does not delay it', () => {
  const rig = new Rig();
  rig.ticksDue = 1;
  rig.dueMs = 5000;
  rig.at(4999).place(BOB, 11).at(5000).place(BOB, 12);
  assert.deepEqual(rig.runAll(), ['place 11', 'tick', 'place 12']);
});

test('more that is due than one batch may do ends the batch, and goes on in the next', () => {
  const rig = new Rig();
  rig.ticksDue = 100;
  rig.place(BOB, 11);
  assert.deepEqual(rig.runAll(), [...Array(100).fill('tick'), 'place 11']);
});

test('while markets are being ended commands go first, and a step comes in every fifth batch at the latest', () => {
  const rig = new Rig();
  rig.stepsLeft = 3;
  const batch = (order: number): string[] => {
    rig.place(BOB, order).runs(1).stepIfDue();
    rig.commit();
    return rig.takeRan();
  };
  for (let order = 11; order < 15; order++) assert.deepEqual(batch(order), [`place ${order}`]);
  assert.deepEqual(batch(15), ['place 15', 'step']);
  for (let order = 16; order < 20; order++) assert.deepEqual(batch(order), [`place ${order}`]);
  rig.stepIfDue();
  rig.commit();
  assert.deepEqual(rig.takeRan(), ['step'], 'nothing else to do');
  for (let order = 20; order < 24; order++) assert.deepEqual(batch(order), [`place ${order}`]);
  assert.deepEqual(batch(24), ['place 24', 'step']);
  rig.stepIfDue();
  assert.deepEqual(rig.takeRan(), [], 'all markets have ended');
});

/** A loop on real rings. Order hashes are their number in the first word; markets default to 1. */
class Rig {
  readonly allRan: string[] = [];
  readonly timesMs: number[] = [];
  /** Slices of work on signatures before the first command of the queue runs. */
  slicesToTake = 0;
  /** Records that are due from `dueMs` on. */
  ticksDue = 0;
  dueMs = 0;
  /** Records that the markets which are being ended still need. */
  stepsLeft = 0;
  readonly #known = new Set<number>();
  readonly #producer: RingProducer;
  readonly #loop: ShardLoop;
  #takenCount = 0;
  #nowMs = 0;

  constructor() {
    const ring = createRingBuffer(RING_BYTES);
    this.#producer = new RingProducer(ring);
    const hasSteps = (): boolean => this.stepsLeft > 0;
    const engine = {
      get hasSteps() {
        return hasSteps();
      },
      submit: (words: Uint32Array) => this.#submit(words),
      arrivedAt: () => undefined,
      isDue: (timeMs: number) => this.ticksDue > 0 && timeMs >= this.dueMs,
      tick: () => {
        this.ticksDue--;
        this.allRan.push('tick');
      },
      step: () => {
        this.stepsLeft--;
        this.allRan.push('step');
      },
      state: { hashes: {}, wasAccepted: (words: Uint32Array, word: number) => this.#known.has(words[word]) },
      out: new RecordBuffer(64),
    } as unknown as Engine;
    this.#loop = new ShardLoop({
      shard: 0,
      engine,
      journal: { isStaged: false } as JournalStore,
      progress: new Progress(Progress.create(1)),
      outlet: new Outlet(engine, new Gateways({ commandRing: ring, eventRing: createRingBuffer(4096) })),
      clock: { nowMs: () => this.#nowMs },
      checks: {
        work: () => this.slicesToTake > 0 && this.slicesToTake-- > 0,
        take: () => undefined,
      },
    });
  }

  at(timeMs: number): this {
    this.#nowMs = timeMs;
    return this;
  }

  place(account: number, order: number, market = 1): this {
    assert.ok(this.tryPlace(account, order, market), 'the ring has room');
    return this;
  }

  tryPlace(account: number, order: number, market = 1): boolean {
    const word = this.#begin(COMMAND.PLACE.TYPE, account, market);
    // The engine of this rig takes the salt for the hash.
    if (word >= 0) this.#producer.words[word + COMMAND.PLACE.salt] = order;
    this.#producer.publish();
    return word >= 0;
  }

  replace(account: number, order: number, replaced: number): this {
    const word = this.#begin(COMMAND.REPLACE.TYPE, account, 1);
    this.#producer.words[word + COMMAND.PLACE.salt] = order;
    this.#producer.words[word + COMMAND.REPLACE.oldHash] = replaced;
    return this.#sent();
  }

  cancel(account: number, order: number, reason: number = CLOSE_REASON.USER): this {
    const word = this.#begin(COMMAND.CANCEL.TYPE, account, NO_MARKET, reason);
    this.#producer.words[word + COMMAND.CANCEL.hash] = order;
    return this.#sent();
  }

  cancelMany(account: number, market: number = NO_MARKET): this {
    this.#begin(COMMAND.CANCEL_MANY.TYPE, account, market, CLOSE_REASON.USER);
    return this.#sent();
  }

  funds(account: number): this {
    this.#begin(COMMAND.FUNDS.TYPE, account, NO_MARKET);
    return this.#sent();
  }

  /** Runs this many turns, each of which takes the first command of the queue. */
  runs(turns: number): this {
    for (let turn = 0; turn < turns && this.#loop.readAhead(); turn++) this.#loop.run();
    return this;
  }

  /** Runs as many, with a commit whenever a batch is full. */
  runsThroughBatches(turns: number): this {
    for (let turn = 0; turn < turns; turn++) {
      if (!this.#loop.readAhead()) this.commit();
      this.runs(1);
    }
    return this;
  }

  stepIfDue(): void {
    if (this.#loop.isStepDue) this.#loop.step();
  }

  get isWorthEnding(): boolean {
    return this.#loop.isWorthEnding;
  }

  commit(): void {
    this.#loop.commit();
  }

  /** Batch after batch until nothing is left. @returns what ran since the last time. */
  runAll(): string[] {
    for (;;) {
      while (this.#loop.readAhead()) this.#loop.run();
      if (this.#loop.ranCount === 0) break;
      this.#loop.commit();
    }
    assert.equal(this.#producer.usedBytes(), 0, 'all room is given back');
    return this.takeRan();
  }

  takeRan(): string[] {
    const taken = this.allRan.slice(this.#takenCount);
    this.#takenCount = this.allRan.length;
    return taken;
  }

  #begin(type: CommandType, account: number, market: number, flags = 0): number {
    return claimCommand(this.#producer, type, 1, account, this.#nowMs, market, flags);
  }

  #sent(): this {
    this.#producer.publish();
    return this;
  }

  #submit(words: Uint32Array): void {
    this.timesMs.push(readSafe(words, ANY_COMMAND.timeMs));
    const market = words[ANY_COMMAND.market];
    const order = words[COMMAND.PLACE.salt];
    switch (words[ANY_COMMAND.type] & 0xffff) {
      case COMMAND.PLACE.TYPE:
        this.#bring(words, order);
        this.allRan.push(`place ${order}`);
        break;
      case COMMAND.REPLACE.TYPE:
        this.#bring(words, order);
        this.allRan.push(`replace ${words[COMMAND.REPLACE.oldHash]} ${order}`);
        break;
      case COMMAND.CANCEL.TYPE:
        this.allRan.push(`cancel ${words[COMMAND.CANCEL.hash]}`);
        break;
      case COMMAND.CANCEL_MANY.TYPE:
        this.allRan.push(market === NO_MARKET ? 'cancelMany' : `cancelMany ${market}`);
        break;
      default:
        this.allRan.push('funds');
    }
  }

  #bring(words: Uint32Array, order: number): void {
    words[COMMAND.PLACE.hash] = order;
    this.#known.add(order);
  }
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DeadMansSwitch, WINDOW_MS } from '../../gateway/deadMansSwitch.ts';
import { EngineClient, type EngineClientOptions, type EngineReply } from '../../gateway/engineClient.ts';
import { createLogger } from '../../gateway/log.ts';
import { Views } from '../../gateway/views/index.ts';
import { Balances, createBalances } from '../../shared/balances.ts';
import { ManualClock } from '../../shared/clock.ts';
import { MARKET_STATUS, MOVEMENT, ORDER_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import { E, OK } from '../../shared/errors.ts';
import { writeSafe } from '../../shared/record.ts';
import { InThreadShard } from '../support/inThreadShard.ts';

const START_MS = 1_800_000_000_000;
const CANCEL_BYTES = cmd.COMMAND_BYTES[cmd.COMMAND.CANCEL];

type RigOptions = { shards?: number; commandRingBytes?: number } & Partial<EngineClientOptions>;

/** A client over shards that run when the test says so. */
class Rig {
  readonly shards: InThreadShard[];
  readonly views: Views;
  readonly clock = new ManualClock(START_MS);
  readonly client: EngineClient;
  readonly fatal: unknown[] = [];
  #salt = 0;

  constructor(t: TestContext, { shards = 2, commandRingBytes, ...options }: RigOptions = {}) {
    const cells = createBalances(shards);
    this.shards = Array.from(
      { length: shards },
      (_, shard) => new InThreadShard(new Balances(cells, shard), commandRingBytes),
    );
    this.views = new Views(shards);
    this.client = new EngineClient({
      shards,
      views: this.views,
      clock: this.clock,
      onHandlerError: (error) => {
        throw error;
      },
      onFatal: (error) => this.fatal.push(error),
      ...options,
    });
    t.after(() => {
      this.client.stop();
      assert.deepEqual(this.fatal, []);
    });
  }

  /** @returns when all shards are READY. */
  attach(): Promise<unknown> {
    return Promise.all(this.shards.map((_, index) => this.attachShard(index)));
  }

  attachShard(index: number): Promise<void> {
    const { commandRing, eventRing } = this.shards[index]!;
    return this.client.attach(index, commandRing, eventRing);
  }

  async start(): Promise<void> {
    const started = this.attach();
    for (const shard of this.shards) shard.describe();
    await started;
    for (let index = 0; index < this.shards.length; index++) await this.#openMarket(index);
    await this.run(this.client.funds(1, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(1)));
  }

  /** Market k is in shard k here; the id only has to be one. */
  async #openMarket(index: number): Promise<void> {
    const idBytes = new Uint8Array(16).fill(index + 1);
    const opening = { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: START_MS, endMs: START_MS + 10 ** 9 };
    const terms = { index, shard: index, idBytes, ticksPerUnit: 100, minOrderAtomic: 1_000_000, opening };
    const reply = await this.run(this.client.openMarket(terms, opening.status, opening.feeBps));
    assert.equal(reply.code, OK);
  }

  step(): void {
    for (const shard of this.shards) shard.step();
  }

  run<T>(reply: Promise<T>): Promise<T> {
    this.step();
    return reply;
  }

  /** 100 tokens at `ticks`. */
  record(
    side: number,
    ticks: number,
    outcome: number = OUTCOME.YES,
    timeInForce: number = TIME_IN_FORCE.GTC,
  ): Uint32Array {
    const record = new Uint32Array(cmd.COMMAND_BYTES[cmd.COMMAND.PLACE] / 4);
    record[cmd.PLACE_SALT] = ++this.#salt;
    record[cmd.PLACE_KIND] = cmd.packKind(side, outcome, timeInForce, cmd.PLACE_BIT_AUTHORIZED);
    const [usdc, tokens] = [1_000_000 * ticks, 100_000_000];
    writeSafe(record, cmd.PLACE_MAKER_AMOUNT, side === SIDE.BUY ? usdc : tokens);
    writeSafe(record, cmd.PLACE_TAKER_AMOUNT, side === SIDE.BUY ? tokens : usdc);
    record[cmd.PLACE_FEE_BPS] = 50;
    return record;
  }

  place(
    record: Uint32Array,
    account = 1,
    market = 0,
  ): Promise<EngineReply & { status: number; slot: number; fills: number }> {
    return new Promise((resolve) => {
      const code = this.client.place(
        market,
        account,
        market,
        record,
        (reply, context) => {
          assert.equal(context, record, 'the context is the one that was given');
          const outcome = this.views.outcomes[reply.shard]!;
          resolve({ ...reply, status: outcome.status(), slot: outcome.slot, fills: outcome.fills });
        },
        record,
      );
      assert.equal(code, OK);
    });
  }

  /** The hash of an open order of shard 0. */
  hashOf(slot: number, shard = 0): Uint32Array {
    return this.views.orders[shard]!.hash.slice(slot * 8, slot * 8 + 8);
  }

  ask(send: (handler: (reply: EngineReply) => void) => number): Promise<EngineReply> {
    return new Promise((resolve) => {
      assert.equal(
        send((reply) => resolve({ ...reply })),
        OK,
      );
    });
  }
}

test('a shard is attached once it is READY, and not before', async (t) => {
  const rig = new Rig(t);
  let isStarted = false;
  const started = rig.attach().then(() => {
    isStarted = true;
  });
  rig.shards[0]!.describe();
  await new Promise(setImmediate);
  assert.equal(isStarted, false);
  rig.shards[1]!.describe();
  await started;
  assert.equal(isStarted, true);
});

test('a reply finds its own handler and context whatever the order of replies', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const placed = [40, 30, 20].map((ticks, market) => rig.place(rig.record(SIDE.BUY, ticks), 1, market % 2));
  assert.equal(rig.client.inFlight, 3);
  rig.shards[1]!.step();
  assert.equal((await placed[1]!).shard, 1);
  rig.shards[0]!.step();
  const replies = await Promise.all(placed);
  assert.deepEqual(
    replies.map(({ code, shard, status }) => [code, shard, status]),
    [
      [OK, 0, ORDER_STATUS.OPEN],
      [OK, 1, ORDER_STATUS.OPEN],
      [OK, 0, ORDER_STATUS.OPEN],
    ],
  );
  assert.equal(rig.client.inFlight, 0);
});

test('when a handler runs the views already show what its record did', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const record = rig.record(SIDE.BUY, 40);
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

test('a placement is answered with its fills, a refusal after it with none of them', async (t) => {
  const rig = new Rig(t);
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

test('the status of a placement tells filled, open, killed rest and stopped self-trade apart', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 40)))).status, ORDER_STATUS.OPEN);
  const half = rig.record(SIDE.BUY, 60, OUTCOME.NO, TIME_IN_FORCE.FAK);
  writeSafe(half, cmd.PLACE_MAKER_AMOUNT, 120_000_000);
  writeSafe(half, cmd.PLACE_TAKER_AMOUNT, 200_000_000);
  const killed = await rig.run(rig.place(half));
  assert.deepEqual([killed.status, killed.fills], [ORDER_STATUS.PARTIALLY_FILLED, 1]);

  await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  const newest = rig.record(SIDE.BUY, 60, OUTCOME.NO);
  newest[cmd.PLACE_KIND]! |= cmd.packKind(0, 0, 0, 1 << cmd.PLACE_SELF_TRADE_SHIFT);
  const stopped = await rig.run(rig.place(newest));
  assert.deepEqual([stopped.code, stopped.status, stopped.fills], [OK, ORDER_STATUS.CANCELLED, 0]);
});

test('a full ring enqueues nothing, and a cancel still finds room where a placement does not', async (t) => {
  const rig = new Rig(t, { shards: 1, commandRingBytes: 4096 });
  await rig.start();
  const replies: number[] = [];
  const place = (): number =>
    rig.client.place(0, 1, 0, rig.record(SIDE.BUY, 40), ({ code }) => replies.push(code), null);
  let placed = 0;
  while (place() === OK) placed++;
  assert.ok(placed > 5);
  assert.equal(rig.client.inFlight, placed);
  assert.equal(place(), E.ENGINE_BUSY);
  assert.equal(rig.client.inFlight, placed);
  const cancelled = rig.ask((handler) => rig.client.cancelAll(1, handler, null));
  assert.equal(rig.shards[0]!.step(), placed + 1);
  assert.equal((await cancelled).a, placed);
  assert.deepEqual(replies, Array(placed).fill(OK));
});

test('a fan-out that one ring has no room for reaches no ring', async (t) => {
  const rig = new Rig(t, { commandRingBytes: 4096 });
  await rig.start();
  const hash = new Uint32Array(8);
  let sent = 0;
  while (rig.client.cancel(1, 1, hash, () => {}, null) === OK) sent++;
  assert.ok(sent >= Math.floor(4096 / CANCEL_BYTES) - 1);
  assert.equal(rig.client.cancelAll(1, assert.fail, null), E.ENGINE_BUSY);
  assert.equal(rig.client.cancelAnywhere(1, hash, assert.fail, null), E.ENGINE_BUSY);
  assert.equal(rig.shards[0]!.step(), 0);
  rig.shards[1]!.step();
});

test('cancel-all adds up what every shard cancelled', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  for (const [market, ticks] of [
    [0, 40],
    [1, 30],
    [1, 31],
  ]) {
    await rig.run(rig.place(rig.record(SIDE.BUY, ticks!), 1, market));
  }
  const reply = await rig.run(rig.ask((handler) => rig.client.cancelAll(1, handler, null)));
  assert.deepEqual([reply.code, reply.a], [OK, 3]);
  assert.equal(rig.views.orders[0]!.count + rig.views.orders[1]!.count, 0);
  assert.equal(rig.views.accounts.reservedMicro(1), 0);
});

test('a cancel whose shard is unknown finds the order, even one whose placement is still in a ring', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const first = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1, 1));
  const hash = rig.hashOf(first.slot, 1);
  const cancel = (): Promise<EngineReply> => rig.ask((handler) => rig.client.cancelAnywhere(1, hash, handler, null));
  assert.equal((await rig.run(cancel())).code, OK);
  assert.equal((await rig.run(cancel())).code, E.ORDER_NOT_CANCELLABLE);
  hash[0]!++;
  assert.equal((await rig.run(cancel())).code, E.ORDER_NOT_FOUND);

  const record = rig.record(SIDE.BUY, 40);
  const digest = await hashBefore(rig, record);
  const placed = rig.place(record, 1, 1);
  const cancelled = rig.ask((handler) => rig.client.cancelAnywhere(1, digest, handler, null));
  rig.step();
  assert.equal((await placed).status, ORDER_STATUS.OPEN);
  assert.equal((await cancelled).code, OK);
  assert.equal(rig.views.orders[1]!.count, 0);
});

/** What the order will be called: placed once in a market of its own exchange, where nothing else is. */
async function hashBefore(rig: Rig, record: Uint32Array): Promise<Uint32Array> {
  const shard = new InThreadShard(new Balances(createBalances()));
  const { engine } = shard;
  const words = new Uint32Array(record.length);
  words.set(record);
  words[0] = record.length * 4;
  words[1] = cmd.COMMAND.PLACE | (cmd.COMMAND_VERSION << 16);
  writeSafe(words, cmd.CMD_TIME_MS, rig.clock.nowMs());
  engine.submit(words, new Uint8Array(words.buffer), 0);
  return words.slice(cmd.PLACE_HASH, cmd.PLACE_HASH + 8);
}

test('a lost shard leaves no request without an answer and takes no more', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const orphan = rig.place(rig.record(SIDE.BUY, 40), 1, 0);
  const other = rig.place(rig.record(SIDE.BUY, 40), 1, 1);
  const everywhere = rig.ask((handler) => rig.client.cancelAll(1, handler, null));
  assert.equal(rig.client.shardLost(0), true);
  assert.equal((await orphan).code, E.OUTCOME_UNKNOWN);
  assert.equal(rig.client.place(0, 1, 0, rig.record(SIDE.BUY, 40), assert.fail, null), E.ENGINE_BUSY);
  rig.shards[1]!.step();
  assert.equal((await other).code, OK);
  assert.equal((await everywhere).code, E.OUTCOME_UNKNOWN);
  assert.equal(rig.client.inFlight, 0);
  rig.client.shardLost(1);
  assert.equal(rig.client.cancelAll(1, assert.fail, null), E.ENGINE_BUSY);
});

test('what a shard had published before it was lost is answered as it was', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const answered = rig.place(rig.record(SIDE.BUY, 40));
  rig.shards[0]!.step();
  const unknown = rig.place(rig.record(SIDE.BUY, 41));
  rig.client.shardLost(0);
  assert.deepEqual([(await answered).code, (await unknown).code], [OK, E.OUTCOME_UNKNOWN]);
});

test('while a shard is away the others cancel theirs, and nobody claims that an order does not exist', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const { slot } = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1, 1));
  await rig.run(rig.place(rig.record(SIDE.BUY, 30), 1, 1));
  const hash = rig.hashOf(slot, 1);
  rig.client.shardLost(0);
  const search = (): Promise<EngineReply> => rig.ask((handler) => rig.client.cancelAnywhere(1, hash, handler, null));
  assert.equal((await rig.run(search())).code, OK);
  hash[0]!++;
  assert.equal((await rig.run(search())).code, E.ENGINE_BUSY);
  const all = await rig.run(rig.ask((handler) => rig.client.cancelAll(1, handler, null)));
  assert.deepEqual([all.code, all.a], [E.OUTCOME_UNKNOWN, 1]);
});

test('a shard that is back tells what it recovered, and takes commands from then on', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const first = await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  // Committed and lost before it could be told: the record is there, the answer is not.
  const committed = rig.record(SIDE.BUY, 41);
  const untold = rig.place(committed);
  rig.client.shardLost(0);
  rig.shards[0]!.step();
  assert.equal((await untold).code, E.OUTCOME_UNKNOWN);
  assert.equal(rig.views.isWhole, false);
  assert.equal(rig.views.books.of(0)!.bids.highest(), 40, 'what is known stays to be read');

  rig.shards[0] = rig.shards[0]!.rebuilt();
  const back = rig.attachShard(0);
  assert.equal(rig.client.place(0, 1, 0, committed, assert.fail, null), E.ENGINE_BUSY, 'attached is not READY');
  rig.shards[0].describe();
  await back;
  assert.ok(rig.views.isWhole && rig.views.ledger().balanced);
  assert.equal(rig.views.books.of(0)!.bids.highest(), 41);
  assert.equal(rig.views.accounts.reservedMicro(1), 81_000_000);
  assert.equal(rig.client.lastAcknowledged(1, 0), first.shardSequence + 1);
  assert.equal((await rig.run(rig.place(committed))).code, E.DUPLICATE_ORDER);
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 60, OUTCOME.NO)))).fills, 1);
});

test('silence cancels what an account has open and nothing else, on a lost shard once it is back', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  await rig.run(rig.client.funds(2, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(2)));
  for (const market of [0, 1]) {
    for (const account of [1, 2]) await rig.run(rig.place(rig.record(SIDE.BUY, 40), account, market));
  }
  const kept = new Set<number>();
  const deadMansSwitch = new DeadMansSwitch({
    shards: 2,
    engine: rig.client,
    store: { all: () => [...kept], arm: (account) => kept.add(account), disarm: (account) => kept.delete(account) },
    clock: rig.clock,
    log: createLogger('silent'),
    isServing: () => true,
  });
  const reserved = () => [1, 2].map((account) => rig.views.accounts.reservedMicro(account));
  const pass = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 250) {
      rig.clock.advance(250);
      deadMansSwitch.tick();
    }
    // Whatever was asked before this has been answered when this is.
    await rig.run(rig.ask((handler) => rig.client.cancelAll(3, handler, null)));
  };

  deadMansSwitch.beat(1);
  await pass(WINDOW_MS - 250);
  assert.deepEqual(reserved(), [80_000_000, 80_000_000]);
  rig.client.shardLost(0);
  await pass(1000);
  assert.deepEqual([reserved(), kept.size], [[40_000_000, 80_000_000], 1]);

  rig.shards[0] = rig.shards[0]!.rebuilt();
  const back = rig.attachShard(0);
  rig.shards[0].describe();
  await back;
  await pass(250);
  assert.deepEqual([reserved(), kept.size], [[0, 80_000_000], 0]);
  assert.deepEqual([deadMansSwitch.triggered, deadMansSwitch.cancelledOrders], [1, 2]);
});

test('a handler that throws is reported with its context, and the next reply still arrives', async (t) => {
  const errors: unknown[] = [];
  const rig = new Rig(t, { onHandlerError: (error, context) => errors.push([error, context]) });
  await rig.start();
  const broken = new Error('broken handler');
  rig.client.place(
    0,
    1,
    0,
    rig.record(SIDE.BUY, 40),
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
  const rig = new Rig(t, { shards: 1, onFatal: (error) => fatal.push(error) });
  const { engine } = rig.shards[0]!;
  void rig.attach();
  engine.out.append(32, 999 | (1 << 16));
  rig.shards[0]!.step();
  await new Promise(setImmediate);
  assert.match(String(fatal[0]), /unknown type/);
});

test('an account is remembered at the record that last touched it, its makers included', async (t) => {
  const rig = new Rig(t, { shards: 1 });
  await rig.start();
  await rig.run(rig.client.funds(2, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(2)));
  const resting = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1));
  assert.equal(rig.client.lastAcknowledged(1, 0), resting.shardSequence);
  const taking = await rig.run(rig.place(rig.record(SIDE.BUY, 60, OUTCOME.NO), 2));
  assert.equal(taking.shardSequence, resting.shardSequence + 1);
  assert.equal(rig.client.lastAcknowledged(2, 0), taking.shardSequence);
  assert.equal(rig.client.lastAcknowledged(1, 0), taking.shardSequence, 'the maker was filled by that record');
  assert.equal(rig.client.lastAcknowledged(500, 0), 0);
});

test('after a restart every account counts as told of all that was recovered', async (t) => {
  const rig = new Rig(t, { shards: 1 });
  await rig.start();
  const { engine } = rig.shards[0]!;
  const again = new Rig(t, { shards: 1 });
  const started = again.attach();
  engine.describe(() => {
    again.shards[0]!.engine.out.appendRecords(engine.out.words, 0, engine.out.lengthBytes);
    engine.out.clear();
  });
  again.shards[0]!.step();
  await started;
  assert.equal(again.client.lastAcknowledged(77, 0), engine.sequence);
  assert.equal(again.views.accounts.availableMicro(1), 1_000_000_000);
});

test('a tick carries the time to every shard and waits for no reply', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const record = rig.record(SIDE.BUY, 40, OUTCOME.YES, TIME_IN_FORCE.GTD);
  writeSafe(record, cmd.PLACE_EXPIRATION_SEC, START_MS / 1000 + 5);
  await rig.run(rig.place(record));
  rig.clock.advance(5000);
  rig.client.tick();
  assert.equal(rig.client.inFlight, 0);
  rig.step();
  // Any later reply comes behind the events of the tick.
  await rig.run(rig.ask((handler) => rig.client.cancelAll(2, handler, null)));
  assert.equal(rig.views.orders[0]!.count, 0);
  assert.equal(rig.views.accounts.reservedMicro(1), 0);
});

test('split, merge and a market patch go to the shard and come back as promises or handlers', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const convert = (movement: typeof MOVEMENT.SPLIT | typeof MOVEMENT.MERGE, amount: number): Promise<EngineReply> =>
    rig.run(rig.ask((handler) => rig.client.convert(1, 1, 1, movement, amount, handler, null)));
  assert.equal((await convert(MOVEMENT.SPLIT, 5_000_000)).code, OK);
  assert.deepEqual(
    rig.views.accounts.allTokens(1).map(({ market, outcome, availableAtomic }) => [market, outcome, availableAtomic]),
    [
      [1, OUTCOME.YES, 5_000_000],
      [1, OUTCOME.NO, 5_000_000],
    ],
  );
  assert.equal((await convert(MOVEMENT.MERGE, 5_000_100)).code, E.INSUFFICIENT_BALANCE);
  const patch = { feeBps: 70, startMs: START_MS, endMs: START_MS + 10 ** 9 };
  assert.equal((await rig.run(rig.client.patchMarket(1, 1, patch))).code, OK);
  assert.equal(rig.views.markets.feeBps(1), 70);
  assert.ok(rig.views.ledger().balanced);
});

test('a group that trips in one shard trips in the others, and a reset reaches all', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  assert.equal(await rig.run(rig.client.setGroup(1, 3, 60, 1_000_000)), OK);
  const trippedIn = (): boolean[] => rig.shards.map(({ engine }) => engine.state.groups.must(3).isTripped);
  const trip = async (): Promise<void> => {
    // What is filled already is more than the new maximum.
    rig.shards[0]!.engine.state.groups.must(3).window.add(START_MS, 500_000);
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

test('contracts change in every shard or in none, and only once', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const exchange = new Uint8Array(20).fill(0xcd);
  assert.equal(await rig.run(rig.client.rotateContracts(10, exchange)), OK);
  assert.equal(await rig.run(rig.client.rotateContracts(10, exchange)), OK);
  const expected = { chainId: 10, exchangeAddress: `0x${'cd'.repeat(20)}` };
  assert.deepEqual(rig.views.contracts, [expected, expected]);
  rig.client.shardLost(1);
  assert.equal(await rig.client.rotateContracts(11, exchange), E.ENGINE_BUSY);
  assert.equal(rig.shards[0]!.engine.state.contracts.chainId, 10);
});

test('while the contracts are changing no order reaches a shard, and a cancel does (RULES.md 5.6)', async (t) => {
  const rig = new Rig(t);
  await rig.start();
  const { slot } = await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  const hash = rig.hashOf(slot);
  rig.client.holdsPlacements = true;
  const refused = () => assert.fail('nothing was sent');
  assert.equal(rig.client.place(0, 1, 0, rig.record(SIDE.BUY, 41), refused, null), E.ENGINE_BUSY);
  const cancelled = rig.ask((handler) => rig.client.cancel(0, 1, hash, handler, null));
  assert.equal((await rig.run(cancelled)).code, OK);
  rig.client.holdsPlacements = false;
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 41)))).code, OK);
});

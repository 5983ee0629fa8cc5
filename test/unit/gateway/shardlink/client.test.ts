import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { Outbox } from '../../../../gateway/shardlink/outbox.ts';
import type { ShardReply } from '../../../../gateway/shardlink/reply.ts';
import { DeadMansSwitch, WINDOW_MS } from '../../../../gateway/trading/deadMansSwitch.ts';
import {
  FEE_ACCOUNT,
  MARKET_STATUS,
  MOVEMENT,
  ORDER_STATUS,
  OUTCOME,
  SIDE,
  STAGE,
  TIME_IN_FORCE,
} from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import {
  ANY_COMMAND,
  ANY_STAGE,
  COMMAND,
  COMMAND_VERSION,
  decodeCommand,
  KEYED_CANCEL,
  KEYED_CONVERT,
  NO_MARKET,
  PLACE_SELF_TRADE_SHIFT,
  packKind,
  UNCHANGED,
} from '../../../../shared/wire/commands.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { RingConsumer } from '../../../../shared/wire/ring.ts';
import { ClientRig, START_MS } from '../../../support/clientRig.ts';
import { InThreadShard } from '../../../support/inThreadShard.ts';
import { ledgerOf } from '../../../support/ledger.ts';

test('the status of a placement distinguishes filled, open, a killed remainder and a stopped self-trade', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 40)))).status, ORDER_STATUS.OPEN);
  const half = rig.record(SIDE.BUY, 60, OUTCOME.NO, TIME_IN_FORCE.FAK);
  writeSafe(half, COMMAND.PLACE.makerAmount, 120_000_000);
  writeSafe(half, COMMAND.PLACE.takerAmount, 200_000_000);
  const killed = await rig.run(rig.place(half));
  assert.deepEqual([killed.status, killed.fills], [ORDER_STATUS.PARTIALLY_FILLED, 1]);

  await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  const newest = rig.record(SIDE.BUY, 60, OUTCOME.NO);
  newest[COMMAND.PLACE.kind] |= packKind(0, 0, 0, 1 << PLACE_SELF_TRADE_SHIFT);
  const stopped = await rig.run(rig.place(newest));
  assert.deepEqual([stopped.code, stopped.status, stopped.fills], [OK, ORDER_STATUS.CANCELLED, 0]);
});

test('cancel-all adds up what every shard cancelled', async (t) => {
  const rig = new ClientRig(t);
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
  assert.equal(rig.views.orders[0].count + rig.views.orders[1].count, 0);
  assert.equal(rig.views.accounts.reservedMicro(1), 0);
});

test('a cancel whose shard is unknown finds the order, even one whose placement is still in a ring', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const first = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1, 1));
  const hash = rig.hashOf(first.slot, 1);
  const cancel = (): Promise<ShardReply> => rig.ask((handler) => rig.client.cancelAnywhere(1, hash, handler, null));
  assert.equal((await rig.run(cancel())).code, OK);
  assert.equal((await rig.run(cancel())).code, E.ORDER_NOT_CANCELLABLE);
  hash[0]++;
  assert.equal((await rig.run(cancel())).code, E.ORDER_NOT_FOUND);

  const record = rig.record(SIDE.BUY, 40);
  const digest = await hashBefore(rig, record);
  const placed = rig.place(record, 1, 1);
  const cancelled = rig.ask((handler) => rig.client.cancelAnywhere(1, digest, handler, null));
  rig.step();
  assert.equal((await placed).status, ORDER_STATUS.OPEN);
  assert.equal((await cancelled).code, OK);
  assert.equal(rig.views.orders[1].count, 0);
});

test('a cancel with a key carries the hash, the key and its fingerprint, each in its field', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const [hash, key, fingerprint] = [8, 4, 4].map((words, at) => new Uint32Array(words).fill(at + 1));
  const cancelled = rig.ask((handler) => rig.client.cancel(0, 1, hash, handler, null, 0, { key, fingerprint }));
  const ring = new RingConsumer(rig.shards[0].commandRing);
  const word = ring.next();
  assert.equal(ring.words[word], KEYED_CANCEL.BYTES);
  const at = (field: number, words: number): Uint32Array => ring.words.slice(word + field, word + field + words);
  assert.deepEqual(at(COMMAND.CANCEL.hash, 8), hash);
  assert.deepEqual(at(KEYED_CANCEL.key, 4), key);
  assert.deepEqual(at(KEYED_CANCEL.fingerprint, 4), fingerprint);
  rig.step();
  assert.equal((await cancelled).code, E.ORDER_NOT_FOUND);
});

test('a split with a key carries the amount, the key and its fingerprint, each in its field', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const [key, fingerprint] = [4, 4].map((words, at) => new Uint32Array(words).fill(at + 1));
  const split = rig.ask((handler) => {
    return rig.client.convert(0, 1, 0, MOVEMENT.SPLIT, 7_000_000, handler, null, { key, fingerprint });
  });
  const ring = new RingConsumer(rig.shards[0].commandRing);
  const word = ring.next();
  assert.equal(ring.words[word], KEYED_CONVERT.BYTES);
  assert.deepEqual(ring.words.slice(word + KEYED_CONVERT.key, word + KEYED_CONVERT.key + 4), key);
  const at = word + KEYED_CONVERT.fingerprint;
  assert.deepEqual(ring.words.slice(at, at + 4), fingerprint);
  rig.step();
  assert.equal((await split).code, OK);
  assert.equal(rig.views.accounts.allTokens(1)[0].availableAtomic, 7_000_000);
});

/** The order's ids: it is placed once in a market of its own exchange, where nothing else is. */
async function hashBefore(rig: ClientRig, record: Uint32Array): Promise<Uint32Array> {
  const shard = new InThreadShard(new Balances(createBalances()));
  const { engine } = shard;
  const words = new Uint32Array(record.length);
  words.set(record);
  words[0] = record.length * 4;
  words[1] = COMMAND.PLACE.TYPE | (COMMAND_VERSION << 16);
  writeSafe(words, ANY_COMMAND.timeMs, rig.clock.nowMs());
  engine.submit(words, new Uint8Array(words.buffer), 0);
  return words.slice(COMMAND.PLACE.hash, COMMAND.PLACE.hash + 8);
}

test('while a shard is away the others cancel theirs, and no reply says that an order does not exist', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const { slot } = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1, 1));
  await rig.run(rig.place(rig.record(SIDE.BUY, 30), 1, 1));
  const hash = rig.hashOf(slot, 1);
  rig.link.shardLost(0);
  const search = (): Promise<ShardReply> => rig.ask((handler) => rig.client.cancelAnywhere(1, hash, handler, null));
  assert.equal((await rig.run(search())).code, OK);
  hash[0]++;
  assert.equal((await rig.run(search())).code, E.ENGINE_BUSY);
  const all = await rig.run(rig.ask((handler) => rig.client.cancelAll(1, handler, null)));
  assert.deepEqual([all.code, all.a], [E.OUTCOME_UNKNOWN, 1]);
});

test('silence cancels exactly the open orders of the account, on a lost shard once it is back', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  await rig.run(rig.client.funds(2, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(2)));
  for (const market of [0, 1]) {
    for (const account of [1, 2]) await rig.run(rig.place(rig.record(SIDE.BUY, 40), account, market));
  }
  const kept = new Set<number>();
  const deadMansSwitch = new DeadMansSwitch({
    outbox: new Outbox(2, rig.client),
    engine: rig.client,
    store: {
      armed: () => [...kept],
      triggered: () => [],
      cancelledShards: () => [],
      cancelled: () => undefined,
      arm: (account) => kept.add(account),
      trigger: () => undefined,
      finish: (account) => kept.delete(account),
      durable: () => null,
    },
    clock: rig.clock,
    log: createLogger('silent'),
    ...{ isServing: () => true, isAccepting: () => true },
  });
  const reserved = () => [1, 2].map((account) => rig.views.accounts.reservedMicro(account));
  const pass = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 250) {
      rig.clock.advance(250);
      deadMansSwitch.tick();
    }
    // When this is answered, every earlier request has been answered.
    await rig.run(rig.ask((handler) => rig.client.cancelAll(3, handler, null)));
  };

  deadMansSwitch.beat(1);
  await pass(WINDOW_MS - 250);
  assert.deepEqual(reserved(), [80_000_000, 80_000_000]);
  rig.link.shardLost(0);
  await pass(1000);
  assert.deepEqual([reserved(), kept.size], [[40_000_000, 80_000_000], 1]);

  rig.shards[0] = rig.shards[0].rebuilt();
  const back = rig.attachShard(0);
  rig.shards[0].describe();
  await back;
  await pass(250);
  assert.deepEqual([reserved(), kept.size], [[0, 80_000_000], 0]);
  assert.deepEqual([deadMansSwitch.triggered, deadMansSwitch.cancelledOrders], [1, 2]);
});

test('split, merge and a market patch go to the shard and come back as promises or handlers', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const convert = (movement: typeof MOVEMENT.SPLIT | typeof MOVEMENT.MERGE, amount: number): Promise<ShardReply> =>
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
  assert.ok(ledgerOf(rig.views).balanced);
});

test('contracts change in every shard or in none, and only once', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const exchange = new Uint8Array(20).fill(0xcd);
  assert.equal(await rig.run(rig.client.rotateContracts(10, exchange)), OK);
  assert.equal(await rig.run(rig.client.rotateContracts(10, exchange)), OK);
  const expected = { chainId: 10, exchangeAddress: `0x${'cd'.repeat(20)}` };
  assert.deepEqual(rig.views.contracts, [expected, expected]);
  rig.link.shardLost(1);
  assert.equal(await rig.client.rotateContracts(11, exchange), E.ENGINE_BUSY);
  assert.equal(rig.shards[0].engine.state.contracts.chainId, 10);
});

test('while the contracts are changing no order reaches a shard, and a cancel does (RULES.md 5.6)', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const { slot } = await rig.run(rig.place(rig.record(SIDE.BUY, 40)));
  const hash = rig.hashOf(slot);
  rig.client.holdPlacements(true);
  const refused = () => assert.fail('nothing was sent');
  assert.equal(rig.client.place(0, 1, 0, rig.writer(SIDE.BUY, 41), refused, null), E.ENGINE_BUSY);
  const cancelled = rig.ask((handler) => rig.client.cancel(0, 1, hash, handler, null));
  assert.equal((await rig.run(cancelled)).code, OK);
  rig.client.holdPlacements(false);
  assert.equal((await rig.run(rig.place(rig.record(SIDE.BUY, 41)))).code, OK);
});

test('the command for a change of a market has the fields that the administrator changes', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const idBytes = Uint8Array.from({ length: 16 }, (_, index) => 255 - index);
  const opening = { status: MARKET_STATUS.PENDING, feeBps: 1, startMs: 10, endMs: 20 };
  const terms = { index: 7, shard: 0, idBytes, ticksPerUnit: 1000, minOrderAtomic: 3, opening };
  const { ACTIVE, LOCKED, RESOLVED } = MARKET_STATUS;
  void rig.client.openMarket(terms, ACTIVE, 45, STAGE.POST_ONLY);
  void rig.client.patchMarket(7, 0, { startMs: 11, endMs: 22 });
  void rig.client.patchMarket(7, 0, { status: LOCKED, feeBps: 46, startMs: 12, endMs: 23 });
  void rig.client.stepMarket(7, 0, STAGE.OPEN, STAGE.POST_ONLY);
  void rig.client.stepAll(STAGE.CANCEL_ONLY, null);
  void rig.client.decideMarket(7, 0, RESOLVED, 250_000);
  void rig.client.settleMarket(7, 0);
  void rig.client.setGroup(1, 9, 60, 5_000_000_000);
  void rig.client.rotateContracts(
    2 ** 40,
    Uint8Array.from({ length: 20 }, (_, index) => 200 + index),
  );
  const ring = new RingConsumer(rig.shards[0].commandRing);
  const shown: unknown[] = [];
  for (let word = ring.next(); word >= 0; word = ring.next()) {
    const { name, market, account, timeMs, ...rest } = decodeCommand(ring.words, word);
    const headers = { flags: 0, rows: 0, ...rest };
    const { requestId: _request, length: _length, type: _type, flags: _flags, rows: _rows, ...fields } = headers;
    assert.equal(timeMs, START_MS);
    shown.push({ name, ...(market === NO_MARKET ? { account } : { market }), ...fields });
  }
  assert.deepEqual(shown, [
    {
      name: 'MARKET_OPEN',
      market: 7,
      uuid: idBytes,
      ticksPerUnit: 1000,
      feeBps: 45,
      minOrderAtomic: 3,
      startMs: 10,
      endMs: 20,
      status: ACTIVE,
      stage: STAGE.POST_ONLY,
      set: 0,
      place: { ordinal: 0, members: 0 },
    },
    { name: 'MARKET_PATCH', market: 7, status: UNCHANGED, feeBps: UNCHANGED, startMs: 11, endMs: 22 },
    { name: 'MARKET_PATCH', market: 7, status: LOCKED, feeBps: 46, startMs: 12, endMs: 23 },
    { name: 'STAGE', market: 7, stage: STAGE.OPEN, from: STAGE.POST_ONLY },
    { name: 'STAGE', account: FEE_ACCOUNT, stage: STAGE.CANCEL_ONLY, from: ANY_STAGE },
    { name: 'RESOLVE', market: 7, status: RESOLVED, payoutYesPpm: 250_000 },
    { name: 'SETTLE', market: 7 },
    { name: 'GROUP_SET', account: 1, group: 9, windowSec: 60, maxAtomic: 5_000_000_000 },
    {
      name: 'CONTRACTS',
      account: FEE_ACCOUNT,
      chainId: 2 ** 40,
      exchange: Uint8Array.from({ length: 20 }, (_, index) => 200 + index),
    },
  ]);
});

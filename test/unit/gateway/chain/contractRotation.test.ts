/** The change of the signing contracts, from the intent to its end, whatever happens in between (RULES.md 5.6). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { Platform } from '../../../../gateway/base/platform.ts';
import { ContractRotation, type RotatingEngine } from '../../../../gateway/chain/contractRotation.ts';
import { ContractStore, type Contracts } from '../../../../gateway/markets/contracts.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const FIRST = `0x${'11'.repeat(20)}`;
const NEXT = `0x${'22'.repeat(20)}`;
const OTHER = `0x${'33'.repeat(20)}`;
const ENV = { EXCHANGE_ADDRESS: FIRST, CHAIN_ID: '137' };

/** Gives the prepared answer when the test says so. */
class FakeEngine implements RotatingEngine {
  holdsPlacements = false;
  readonly asked: string[] = [];
  #answer: (code: number) => void = () => assert.fail('nothing was asked');

  holdPlacements(isHeld: boolean): void {
    this.holdsPlacements = isHeld;
  }

  rotateContracts(chainId: number, exchange: Uint8Array): Promise<number> {
    this.asked.push(`${toHex(exchange)} on ${chainId}`);
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  answer(code: number): void {
    this.#answer(code);
  }
}

type Rig = {
  engine: FakeEngine;
  contracts: ContractStore;
  rotation: ContractRotation;
  clock: ManualClock;
  done: Contracts[];
};

function openRig(database: ControlDatabase, env: Record<string, string> = ENV): Rig {
  const engine = new FakeEngine();
  const contracts = new ContractStore(parseConfig(env, 2), new Platform(database));
  const clock = new ManualClock(1_790_000_000_000);
  const done: Contracts[] = [];
  const log = createLogger('silent');
  const rotation = new ContractRotation({ engine, contracts, clock, log, onDone: (each) => done.push(each) });
  return { engine, contracts, rotation, clock, done };
}

function openDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  return database;
}

const targetOf = ({ contracts }: Rig, exchange: string): Contracts => ({ ...contracts.current, exchange });

test('orders are held from the intent on, and the change is reported when every shard has it', async (t) => {
  const rig = openRig(openDatabase(t));
  const rotated = rig.rotation.rotate(targetOf(rig, NEXT));
  assert.equal(rig.engine.holdsPlacements, true);
  assert.equal(rig.contracts.current.exchange, FIRST);
  assert.equal(rig.contracts.pending?.exchange, NEXT);
  rig.engine.answer(OK);
  assert.equal(await rotated, OK);
  assert.equal(rig.engine.holdsPlacements, false);
  assert.equal(rig.contracts.current.exchange, NEXT);
  assert.equal(rig.contracts.pending, null);
  assert.deepEqual(rig.engine.asked, [`${NEXT} on 137`]);
  assert.deepEqual(rig.done, [rig.contracts.current]);
});

test('nothing has happened when no shard could be asked', async (t) => {
  const database = openDatabase(t);
  const rig = openRig(database);
  const rotated = rig.rotation.rotate(targetOf(rig, NEXT));
  rig.engine.answer(E.ENGINE_BUSY);
  assert.equal(await rotated, E.ENGINE_BUSY);
  assert.equal(rig.engine.holdsPlacements, false);
  assert.deepEqual([rig.contracts.current.exchange, rig.contracts.pending], [FIRST, null]);
  assert.equal(openRig(database).contracts.pending, null);
});

test('a shard lost on the way: orders stay held and all are asked again, no more than once a second', async (t) => {
  const rig = openRig(openDatabase(t));
  const rotated = rig.rotation.rotate(targetOf(rig, NEXT));
  rig.engine.answer(E.OUTCOME_UNKNOWN);
  assert.equal(await rotated, E.OUTCOME_UNKNOWN);
  assert.equal(rig.engine.holdsPlacements, true);
  rig.rotation.tick();
  assert.equal(rig.engine.asked.length, 1);
  rig.clock.advance(1000);
  rig.rotation.tick();
  assert.equal(rig.engine.asked.length, 2);
  // The others have changed already, so it is never withdrawn.
  const again = rig.rotation.rotate(targetOf(rig, NEXT));
  rig.engine.answer(E.ENGINE_BUSY);
  assert.equal(await again, E.ENGINE_BUSY);
  assert.equal(rig.engine.holdsPlacements, true);
  assert.equal(rig.contracts.pending?.exchange, NEXT);
  rig.clock.advance(1000);
  const finished = rig.rotation.finish();
  rig.engine.answer(OK);
  await finished;
  assert.equal(rig.engine.holdsPlacements, false);
  assert.equal(rig.contracts.current.exchange, NEXT);
});

test('a crash on the way: the next start holds orders from the beginning and finishes it', async (t) => {
  const database = openDatabase(t);
  const before = openRig(database);
  void before.rotation.rotate(targetOf(before, NEXT));
  const rig = openRig(database);
  assert.equal(rig.engine.holdsPlacements, true);
  assert.equal(rig.contracts.current.exchange, FIRST);
  assert.equal(rig.contracts.first.exchange, FIRST);
  const finished = rig.rotation.finish();
  rig.engine.answer(OK);
  await finished;
  assert.equal(rig.contracts.current.exchange, NEXT);
  assert.equal(openRig(database).contracts.current.exchange, NEXT);
});

test('one change at a time; the same again joins it, and what holds already is sent to no shard', async (t) => {
  const rig = openRig(openDatabase(t));
  assert.equal(await rig.rotation.rotate(rig.contracts.current), OK);
  assert.deepEqual(rig.engine.asked, []);
  const rotated = rig.rotation.rotate(targetOf(rig, NEXT));
  const joined = rig.rotation.rotate(targetOf(rig, NEXT));
  assert.equal(await rig.rotation.rotate(targetOf(rig, OTHER)), E.CONFLICT);
  rig.engine.answer(OK);
  assert.deepEqual(await Promise.all([rotated, joined]), [OK, OK]);
  assert.equal(rig.engine.asked.length, 1);
});

test('a result that cannot be stored keeps orders held until it can', async (t) => {
  const database = openDatabase(t);
  const rig = openRig(database);
  const rotated = rig.rotation.rotate(targetOf(rig, NEXT));
  database.pragma('query_only = ON');
  rig.engine.answer(OK);
  await assert.rejects(rotated);
  assert.equal(rig.engine.holdsPlacements, true);
  database.pragma('query_only = OFF');
  const finished = rig.rotation.finish();
  rig.engine.answer(OK);
  await finished;
  assert.equal(rig.engine.holdsPlacements, false);
  assert.equal(rig.contracts.current.exchange, NEXT);
});

test('an intent that cannot be stored changes nothing', async (t) => {
  const database = openDatabase(t);
  const rig = openRig(database);
  database.pragma('query_only = ON');
  assert.throws(() => rig.rotation.rotate(targetOf(rig, NEXT)));
  assert.equal(rig.engine.holdsPlacements, false);
  assert.deepEqual(rig.engine.asked, []);
});

test('settings name the first contracts or the present ones, and what was changed wins over them', async (t) => {
  const database = openDatabase(t);
  const rig = openRig(database);
  const rotated = rig.rotation.rotate({ ...targetOf(rig, NEXT), usdc: OTHER });
  rig.engine.answer(OK);
  await rotated;
  for (const exchange of [FIRST, NEXT]) {
    const { contracts } = openRig(database, { EXCHANGE_ADDRESS: exchange });
    assert.equal(contracts.current.exchange, NEXT);
    assert.equal(contracts.current.usdc, OTHER);
    assert.equal(contracts.first.exchange, FIRST);
  }
  assert.throws(() => openRig(database, { EXCHANGE_ADDRESS: OTHER }), {
    message: `EXCHANGE_ADDRESS, CHAIN_ID: the orders of this data directory are for ${NEXT} on chain 137`,
  });
});

test('asking again for a change that a shard may have does not withdraw it (ROTATION-2)', async (t) => {
  const database = openDatabase(t);
  const before = openRig(database);
  void before.rotation.rotate(targetOf(before, NEXT));
  // The process ends here: some shard may have the change.
  const rig = openRig(database);
  const rotated = rig.rotation.rotate(targetOf(rig, NEXT));
  rig.engine.answer(E.ENGINE_BUSY);
  assert.equal(await rotated, E.ENGINE_BUSY);
  assert.equal(rig.contracts.pending?.exchange, NEXT);
  assert.equal(rig.engine.holdsPlacements, true);
  assert.deepEqual(rig.done, []);
});

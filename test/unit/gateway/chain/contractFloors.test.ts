/** Floors that wallets have raised on the chain, in the ledger (gateway/chain/contractFloors.ts). RULES.md 5.13. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AccountStates } from '../../../../gateway/account/accountStates.ts';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { NonceFloors } from '../../../../gateway/account/nonceFloors.ts';
import { Restrictions } from '../../../../gateway/account/restrictions.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { Platform } from '../../../../gateway/base/platform.ts';
import { ContractFloors } from '../../../../gateway/chain/contractFloors.ts';
import { NonceFloorViews } from '../../../../gateway/shardlink/nonceFloorViews.ts';
import { Outbox } from '../../../../gateway/shardlink/outbox.ts';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { FLOORS } from '../../../../shared/base/floors.ts';
import type { SettlementHealth } from '../../../../shared/wire/threads.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { OwingShards, reply } from '../../../support/owingShards.ts';

const walletOf = (number: number): string => `0x${String(number).padStart(40, '0')}`;
const ACCOUNTS = 60;
const STRANGER = walletOf(999);

/** Accounts with a wallet each, and a contract with these floors. */
function rig(t: TestContext, contract: ReadonlyMap<string, number> = new Map()) {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const accounts = new Accounts(database);
  const platform = new Platform(database);
  const fields = { displayName: null, email: null, role: 'user', referralCode: null };
  for (let number = 1; number <= ACCOUNTS; number++) accounts.signUp({ ...fields, wallet: walletOf(number) }, 1);
  const nonceFloors = new NonceFloors(database);
  const sent: string[] = [];
  const states = new AccountStates(database);
  const restrictions = new Restrictions({
    ...{ outbox: new Outbox(1, new OwingShards(1)), accounts, nonceFloors, clock: new ManualClock(1), states },
    engine: {
      sweep: () => assert.fail('a floor cancels what is below it by itself'),
      raiseNonceFloor(shard, account, wallet, floor, handler, context) {
        sent.push(`${account} ${wallet} ${floor}`);
        queueMicrotask(() => reply(handler, context, shard, OK));
        return OK;
      },
    },
    views: { nonceFloors: new NonceFloorViews() },
  });
  const world = { isDown: false, accepts: true, waitsForDisk: null as Promise<void> | null };
  const asked: number[] = [];
  let take: (facts: { wallet: string; floor: number }) => Promise<void>;
  let problemOf: (facts: SettlementHealth) => string | null;
  const floors = new ContractFloors({
    link: {
      get acceptsNews() {
        return world.accepts;
      },
      onNews: (_: string, handler: typeof take) => {
        take = handler;
      },
      ask: async (_: string, { wallets }: { wallets: readonly string[] }) => {
        if (world.isDown) throw new ChainDown('no answer');
        asked.push(wallets.length);
        return { floors: wallets.map((wallet) => contract.get(wallet) ?? 0) };
      },
    } as never,
    health: {
      waitFor: (given) => {
        problemOf = given;
      },
    },
    accounts: {
      ownerOf: (wallet) => accounts.ownerOf(wallet),
      escrows: () => accounts.escrows(),
      durable: () => world.waitsForDisk ?? Promise.resolve(),
    },
    ...{ platform, restrictions, log: createLogger('silent') },
  });
  const problem = (floorsToCarry = 0) => problemOf({ floorsToCarry } as SettlementHealth);
  return {
    floors,
    world,
    asked,
    sent,
    nonceFloors,
    platform,
    problem,
    take: (wallet: string, floor: number) => take({ wallet, floor }),
  };
}

test('a floor of the chain is that of the ledger once it is durable, and no repeat or lower one is', async (t) => {
  const { take, sent, nonceFloors, world } = rig(t);
  let onDisk = (): void => {};
  world.waitsForDisk = new Promise((resolve) => (onDisk = resolve));
  let isDone = false;
  const taken = take(walletOf(1), 7).then(() => (isDone = true));
  await new Promise(setImmediate);
  assert.equal(isDone, false, 'the news are not acknowledged before');
  onDisk();
  await taken;
  for (const floor of [7, 5]) await take(walletOf(1), floor);
  await take(STRANGER, 9);
  assert.deepEqual(sent, [`1 ${walletOf(1)} 7`]);
  assert.deepEqual([nonceFloors.of(walletOf(1)), nonceFloors.of(STRANGER)], [7, 0]);
  // The ledger accepts any floor that the contract has accepted.
  await take(walletOf(1), Number.MAX_SAFE_INTEGER);
  assert.equal(nonceFloors.of(walletOf(1)), Number.MAX_SAFE_INTEGER);
});

test('orders wait until earlier raises are carried out, and not for later ones', (t) => {
  const { problem, world, asked } = rig(t);
  world.accepts = false;
  assert.match(problem()!, /not carried out yet/);
  world.accepts = true;
  assert.match(problem(2)!, /not carried out yet/);
  assert.equal(problem(), null);
  assert.equal(problem(1), null);
  assert.deepEqual(asked, [], 'a directory that was never restored has all of them in its news');
});

test('after a restore the contract is asked about all wallets once, and orders wait for that', async (t) => {
  const { problem, world, asked, nonceFloors, platform } = rig(
    t,
    new Map([
      [walletOf(1), 3],
      [walletOf(60), 8],
    ]),
  );
  platform.write(FLOORS, JSON.stringify([{ floor: 2 ** 40, records: [1], lastAccount: 60 }]));
  world.isDown = true;
  assert.match(problem()!, /the contract is asked/);
  await new Promise(setImmediate);
  world.isDown = false;
  assert.match(problem()!, /the contract is asked/, 'it is asked again');
  assert.match(problem()!, /the contract is asked/);
  for (let turn = 0; turn < 1000 && asked.length < 2; turn++) await new Promise(setImmediate);
  for (let turn = 0; turn < 1000 && problem() !== null; turn++) await new Promise(setImmediate);
  assert.equal(problem(), null);
  assert.deepEqual(asked, [48, 12], 'by one question at a time');
  assert.deepEqual([nonceFloors.of(walletOf(1)), nonceFloors.of(walletOf(60))], [3, 8]);
  assert.equal(platform.contractFloorsRead, 2 ** 40);
});

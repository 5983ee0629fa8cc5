/** States of accounts and grants that are taken away, and when that holds (RULES.md 9.15, 9.16). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { AccountStates } from '../../../../gateway/account/accountStates.ts';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { NonceFloors } from '../../../../gateway/account/nonceFloors.ts';
import { Restrictions, type SweepingEngine } from '../../../../gateway/account/restrictions.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { NonceFloorViews } from '../../../../gateway/shardlink/nonceFloorViews.ts';
import { Outbox } from '../../../../gateway/shardlink/outbox.ts';
import type { ReplyHandler } from '../../../../gateway/shardlink/reply.ts';
import { ACCOUNT_STATE, SIDE, UNKNOWN_GRANT } from '../../../../shared/base/codes.ts';
import { E, ERRORS, OK } from '../../../../shared/base/errors.ts';
import { TakenRows } from '../../../../shared/records/changedRows.ts';
import { BOTH_SIDES } from '../../../../shared/wire/commands.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { OwingShards, reply } from '../../../support/owingShards.ts';

const NOW_MS = 1_790_000_000_000;
const SHARDS = 2;
const WALLET = `0x${'a1'.repeat(20)}`;
const OTHER = `0x${'a2'.repeat(20)}`;
const DELEGATE = `0x${'dd'.repeat(20)}`;
const { ACTIVE, CLOSE_ONLY, FROZEN } = ACCOUNT_STATE;

/** A process on a database: `codes` by shard are the engine's next answers; OK once they are used up. */
function boot(database: ControlDatabase, codes: number[][] = [[], []]) {
  const accounts = new Accounts(database);
  const states = new AccountStates(database);
  const sent: number[][] = [];
  const raised: (number | string)[][] = [];
  const nonceFloors = new NonceFloors(database);
  const views = { nonceFloors: new NonceFloorViews() };
  const shards = new OwingShards(SHARDS);
  /** A busy shard takes nothing; one that is lost answers later. */
  const answer = <C>(shard: number, handler: ReplyHandler<C>, context: C, cancelled: number): number => {
    const code = codes[shard]!.shift() ?? OK;
    if (code === E.ENGINE_BUSY) return code;
    queueMicrotask(() => reply(handler, context, shard, code, cancelled));
    return OK;
  };
  const engine: SweepingEngine = {
    sweep(shard, account, side, grant, handler, context) {
      sent.push([shard, account, side, grant]);
      return answer(shard, handler, context, 3);
    },
    raiseNonceFloor(shard, account, wallet, floor, handler, context) {
      raised.push([shard, account, wallet, floor]);
      return answer(shard, handler, context, 2);
    },
  };
  const outbox = new Outbox(SHARDS, shards);
  const clock = new ManualClock(NOW_MS);
  const restrictions = new Restrictions({ outbox, engine, states, accounts, nonceFloors, views, clock });
  return { accounts, states, sent, raised, nonceFloors, views, restrictions, shards };
}

/** Each shard is READY. */
async function ready(restrictions: Restrictions): Promise<void> {
  await Promise.all([0, 1].map((shard) => restrictions.resume(shard)));
}

function openDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const accounts = new Accounts(database);
  const user = accounts.signUp(
    { displayName: null, email: null, role: 'user', referralCode: null, wallet: WALLET },
    NOW_MS,
  );
  accounts.addWallet(user, OTHER);
  accounts.addDelegate(WALLET, DELEGATE);
  accounts.addDelegate(OTHER, DELEGATE);
  return database;
}

describe('a state', () => {
  test('forbids at once, before any shard has answered, and says which orders were cancelled', async (t) => {
    const { restrictions, states, sent } = boot(openDatabase(t));
    const swept = restrictions.setState(1, CLOSE_ONLY);
    assert.equal(states.placingRefusal(1, SIDE.BUY), ERRORS.ACCOUNT_CLOSE_ONLY);
    assert.equal(states.placingRefusal(1, SIDE.SELL), null);
    assert.equal(states.addingRefusal(1), ERRORS.ACCOUNT_CLOSE_ONLY);
    assert.equal(states.reducingRefusal(1), null);
    assert.deepEqual(
      sent,
      [0, 1].map((shard) => [shard, 1, SIDE.BUY, 0]),
      'in the same turn',
    );
    assert.deepEqual(await swept, { cancelled: 6, isComplete: true });
    await restrictions.setState(1, FROZEN);
    for (const side of [SIDE.BUY, SIDE.SELL]) assert.equal(states.placingRefusal(1, side), ERRORS.ACCOUNT_FROZEN);
    assert.equal(states.addingRefusal(1), ERRORS.ACCOUNT_FROZEN);
    assert.equal(states.reducingRefusal(1), ERRORS.ACCOUNT_FROZEN);
    assert.deepEqual(
      sent.slice(2),
      [0, 1].map((shard) => [shard, 1, BOTH_SIDES, 0]),
    );
    assert.deepEqual(await restrictions.setState(1, ACTIVE), { cancelled: 0, isComplete: true });
    assert.equal(states.placingRefusal(1, SIDE.BUY), null);
    assert.equal(sent.length, 4);
    assert.equal(states.of(2), ACTIVE, 'of this account only');
  });

  test('comes back after a restart, and what a shard has not cancelled is sent again', async (t) => {
    const database = openDatabase(t);
    const first = boot(database, [[], [E.OUTCOME_UNKNOWN]]);
    assert.deepEqual(await first.restrictions.setState(1, FROZEN), { cancelled: 3, isComplete: false });
    const second = boot(database);
    assert.equal(second.states.of(1), FROZEN);
    assert.equal(second.sent.length, 0, 'nothing is sent before a shard is ready');
    await ready(second.restrictions);
    assert.deepEqual(
      second.sent,
      [0, 1].map((shard) => [shard, 1, BOTH_SIDES, 0]),
    );
    const third = boot(database);
    await ready(third.restrictions);
    assert.equal(third.states.of(1), FROZEN);
    assert.deepEqual(third.sent, [], 'every shard has answered once');
  });

  test('of another leader, which it had not carried out, is carried out by the next (RESTRICT-2)', async (t) => {
    const database = openDatabase(t);
    const standby = boot(database);
    await boot(database, [[E.ENGINE_BUSY], [E.ENGINE_BUSY]]).restrictions.setState(1, FROZEN);
    standby.states.reload(new TakenRows(new Map([['account_states', new Map([['1', [1]]])]])));
    await ready(standby.restrictions);
    assert.deepEqual(
      standby.sent,
      [0, 1].map((shard) => [shard, 1, BOTH_SIDES, 0]),
    );
    assert.deepEqual(standby.states.unswept(), []);
    await ready(standby.restrictions);
    assert.equal(standby.sent.length, SHARDS, 'once');
  });

  test('that cannot be written leaves the former one, and its orders are still cancelled', async (t) => {
    const database = openDatabase(t);
    const { restrictions, shards, states, sent } = boot(database, [[E.ENGINE_BUSY], []]);
    await restrictions.setState(1, FROZEN);
    database.pragma('query_only = ON');
    for (const state of [ACTIVE, CLOSE_ONLY]) assert.throws(() => restrictions.setState(1, state), /readonly/);
    database.pragma('query_only = OFF');
    assert.equal(states.of(1), FROZEN);
    assert.deepEqual(states.unswept(), [1]);
    shards.pay();
    await new Promise(setImmediate);
    assert.deepEqual(sent.at(-1), [0, 1, BOTH_SIDES, 0]);
    assert.equal(sent.length, 3);
  });

  test('is tried again while a ring is full, once at a time, and not after it was lifted', async (t) => {
    const busy = E.ENGINE_BUSY;
    const { restrictions, sent, shards } = boot(openDatabase(t), [[busy, busy, OK, busy], []]);
    const asked = () => sent.splice(0).map(([shard]) => shard);
    const swept = restrictions.setState(1, FROZEN);
    assert.deepEqual(asked(), [0, 1]);
    assert.deepEqual(await swept, { cancelled: 3, isComplete: false });
    for (let time = 0; time < 4; time++) shards.pay();
    assert.deepEqual(asked(), [0, 0], 'busy once more, and then on its way');
    await restrictions.setState(1, CLOSE_ONLY);
    assert.deepEqual(asked(), [0, 1]);
    await restrictions.setState(1, ACTIVE);
    shards.pay();
    assert.deepEqual(asked(), []);
  });
});

describe('a grant', () => {
  test('that is removed authorises nothing from the same turn on; its number never returns', async (t) => {
    const database = openDatabase(t);
    const { accounts, restrictions, sent } = boot(database);
    const number = accounts.grantOf(1, WALLET, DELEGATE);
    const swept = restrictions.removeDelegate(WALLET, DELEGATE);
    assert.equal(accounts.grantOf(1, WALLET, DELEGATE), UNKNOWN_GRANT);
    assert.deepEqual(
      sent,
      [0, 1].map((shard) => [shard, 1, BOTH_SIDES, number]),
    );
    assert.deepEqual(await swept, { cancelled: 6, isComplete: true });
    assert.equal(restrictions.removeDelegate(WALLET, DELEGATE), null, 'it is gone');
    assert.ok(accounts.grantOf(1, OTHER, DELEGATE) > 0, 'of the other wallet it still is one');
    assert.ok(accounts.grantOf(1, WALLET, WALLET) > 0);
    assert.deepEqual(accounts.grants.delegatesOf(WALLET), []);
    accounts.addDelegate(WALLET, DELEGATE);
    assert.ok(accounts.grantOf(1, WALLET, DELEGATE) > number);
    const later = boot(database);
    assert.equal(later.accounts.grantOf(1, WALLET, DELEGATE), accounts.grantOf(1, WALLET, DELEGATE));
    await ready(later.restrictions);
    assert.deepEqual(later.sent, []);
  });

  test('of a removed wallet goes with those of its delegates; the wallet stays bound to its account', async (t) => {
    const database = openDatabase(t);
    const { accounts, restrictions, sent } = boot(database, [[], [E.OUTCOME_UNKNOWN, E.OUTCOME_UNKNOWN]]);
    const user = accounts.list(0, 1)[0];
    const numbers = [accounts.grantOf(1, WALLET, WALLET), accounts.grantOf(1, WALLET, DELEGATE)];
    assert.equal((await restrictions.removeWallet(WALLET))?.isComplete, false);
    assert.deepEqual(user.wallets, [OTHER]);
    for (const signer of [WALLET, DELEGATE]) assert.equal(accounts.grantOf(1, WALLET, signer), UNKNOWN_GRANT);
    assert.equal(accounts.ownerOf(WALLET), 1, 'nobody else can link it');
    assert.equal(restrictions.removeWallet(WALLET), null);
    assert.deepEqual(new Set(sent.map(([, , , grant]) => grant)), new Set(numbers));

    const later = boot(database);
    assert.deepEqual(later.accounts.list(0, 1)[0].wallets, [OTHER]);
    await ready(later.restrictions);
    assert.deepEqual(
      later.sent,
      numbers.flatMap((grant) => [0, 1].map((shard) => [shard, 1, BOTH_SIDES, grant])),
    );
    const again = later.accounts.list(0, 1)[0];
    later.accounts.addWallet(again, WALLET);
    assert.deepEqual(again.wallets, [OTHER, WALLET], 'linked again it comes last');
    assert.equal(later.accounts.grantOf(1, WALLET, DELEGATE), UNKNOWN_GRANT, 'without its delegates');
    assert.deepEqual(new Accounts(database).list(0, 1)[0].wallets, [OTHER, WALLET], 'after a restart too');
  });
});

describe('a floor under nonces', () => {
  test('is stored before any shard is asked, and goes to every shard', async (t) => {
    const { nonceFloors, raised, restrictions } = boot(openDatabase(t));
    const swept = restrictions.raiseNonceFloor(WALLET, 5);
    assert.deepEqual([nonceFloors.of(WALLET), nonceFloors.isCarried(WALLET)], [5, false]);
    assert.deepEqual(
      raised,
      [0, 1].map((shard) => [shard, 1, WALLET, 5]),
    );
    assert.deepEqual(await swept, { cancelled: 4, isComplete: true });
    assert.equal(nonceFloors.isCarried(WALLET), true);
    for (const floor of [5, 2])
      assert.deepEqual(await restrictions.raiseNonceFloor(WALLET, floor), { cancelled: 0, isComplete: true });
    assert.equal(raised.length, 2, 'one that is in force is not sent again');
    assert.equal(nonceFloors.of(OTHER), 0);
  });

  test('that a shard has not taken is sent again, over a restart, also when a higher one came later', async (t) => {
    const database = openDatabase(t);
    const away = E.OUTCOME_UNKNOWN;
    const { nonceFloors, restrictions } = boot(database, [[], [away, away, away]]);
    assert.equal((await restrictions.raiseNonceFloor(WALLET, 5)).isComplete, false);
    assert.equal((await restrictions.raiseNonceFloor(WALLET, 7)).isComplete, false);
    assert.equal((await restrictions.raiseNonceFloor(WALLET, 6)).isComplete, false, 'the higher one is under way');
    assert.deepEqual(nonceFloors.uncarried(), [{ wallet: WALLET, floor: 7 }]);
    const later = boot(database);
    await ready(later.restrictions);
    assert.deepEqual(
      later.raised,
      [0, 1].map((shard) => [shard, 1, WALLET, 7]),
    );
    assert.equal(later.nonceFloors.isCarried(WALLET), true);
    assert.deepEqual(new NonceFloors(database).uncarried(), []);
  });

  test('that a shard has and control.db lacks is given to the others', async (t) => {
    const { nonceFloors, raised, restrictions, views } = boot(openDatabase(t));
    const words = new Uint32Array(EVENT.NONCE_FLOOR.WORDS);
    writeSafe(words, EVENT.NONCE_FLOOR.floor, 9);
    new Uint8Array(words.buffer).fill(0xa2, EVENT.NONCE_FLOOR.wallet * 4, EVENT.NONCE_FLOOR.wallet * 4 + 20);
    views.nonceFloors.apply(words, 0);
    await ready(restrictions);
    assert.equal(nonceFloors.of(OTHER), 9);
    assert.deepEqual(
      raised,
      [0, 1].map((shard) => [shard, 1, OTHER, 9]),
    );
  });
});

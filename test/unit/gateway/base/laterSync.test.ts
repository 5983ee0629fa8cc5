/** Changes that are committed now and synced by another thread: what waits for which sync. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { LaterSync } from '../../../../gateway/base/laterSync.ts';
import { TradingTimeouts } from '../../../../gateway/trading/tradingTimeoutsStore.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const NOW_MS = 1_800_000_000_000;
const FULL = 2;

function open(t: TestContext) {
  const path = join(temporaryDirectory(), 'control.db');
  const database = openControlDatabase(path);
  new Accounts(database).signUp(
    { displayName: null, email: null, role: 'user', referralCode: null, wallet: null },
    NOW_MS,
  );
  /** Requested syncs that are not over yet. */
  const syncs: PromiseWithResolvers<void>[] = [];
  const sync = (): Promise<void> => {
    const asked = Promise.withResolvers<void>();
    syncs.push(asked);
    return asked.promise;
  };
  const changes = new LaterSync({ database, walPath: `${path}-wal`, sync });
  t.after(() => {
    changes.close();
    database.close();
  });
  const setting = (name: string) => database.pragma(name, { simple: true });
  return { path, database, changes, syncs, setting };
}

/** Lets everything run that does not wait for a sync. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('SQLite makes no sync for a change, and one for all others', (t) => {
  const { changes, setting } = open(t);
  const usual = [setting('synchronous'), setting('wal_autocheckpoint')];
  changes.write(() => assert.deepEqual([setting('synchronous'), setting('wal_autocheckpoint')], [0, 0]));
  assert.deepEqual([setting('synchronous'), setting('wal_autocheckpoint')], usual);
  assert.equal(usual[0], FULL);
  const failing = (): void =>
    changes.write(() => {
      throw new Error('no');
    });
  assert.throws(failing, /no/);
  assert.deepEqual([setting('synchronous'), setting('wal_autocheckpoint')], usual);
});

test('a change is durable after a sync that began after it; changes that wait share one', async (t) => {
  const { changes, syncs } = open(t);
  await changes.durable();
  assert.deepEqual([changes.isDurable, syncs.length], [true, 0]);
  const done: string[] = [];
  const change = (name: string): void => {
    changes.write(() => {});
    void changes.durable().then(() => done.push(name));
  };
  change('a');
  change('b');
  assert.deepEqual([changes.isDurable, syncs.length], [false, 1]);
  change('c');
  syncs[0]!.resolve();
  await turn();
  assert.deepEqual([done, syncs.length, changes.isDurable], [['a'], 2, false]);
  syncs[1]!.resolve();
  await turn();
  assert.deepEqual([done.sort(), syncs.length, changes.isDurable], [['a', 'b', 'c'], 2, true]);
});

test('after a sync that failed nothing is durable any more', async (t) => {
  const { changes, syncs } = open(t);
  changes.write(() => {});
  const first = changes.durable();
  syncs[0]!.reject(new Error('EIO'));
  await assert.rejects(first, /EIO/);
  changes.write(() => {});
  await assert.rejects(changes.durable(), /EIO/);
  assert.deepEqual([syncs.length, changes.isDurable], [1, false]);
});

test('a trading timeout holds from the moment it is asked for, and is durable with its sync', async (t) => {
  const { path, database, changes, syncs } = open(t);
  const timeouts = new TradingTimeouts(database, changes);
  timeouts.startTimeout(1, '24h', 24, NOW_MS);
  assert.notEqual(timeouts.activeTimeout(1, NOW_MS), null);
  let isDurable = false;
  const durable = timeouts.durable().then(() => {
    isDurable = true;
  });
  await turn();
  assert.equal(isDurable, false);
  syncs[0]!.resolve();
  await durable;
  changes.close();
  database.close();
  const again = openControlDatabase(path);
  t.after(() => void again.close());
  assert.deepEqual(new TradingTimeouts(again).activeTimeout(1, NOW_MS), timeouts.activeTimeout(1, NOW_MS));
});

test('a write-ahead log that grew by changes alone is copied into the file when nobody waits', (t) => {
  const { database, changes } = open(t);
  const pages = (): { log: number; checkpointed: number } => {
    return (database.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[])[0]!;
  };
  const timeouts = new TradingTimeouts(database, changes);
  const set = (minutes: number) =>
    timeouts.setPreferences(1, { realityCheckMinutes: minutes, sessionTimeoutMinutes: null });
  set(15);
  const { checkpointed } = pages();
  changes.checkpoint();
  assert.equal(pages().checkpointed, checkpointed);
  // The same value again would change no page.
  for (let n = 0; pages().log <= 1000; n++) set(n % 2 === 0 ? 30 : 60);
  assert.equal(pages().checkpointed, checkpointed);
  changes.checkpoint();
  assert.equal(pages().checkpointed, pages().log);
});

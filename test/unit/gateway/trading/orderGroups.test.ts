/** Groups between control.db and shards that come and go (RULES.md 7.9). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { GroupViews } from '../../../../gateway/shardlink/groupViews.ts';
import { GroupCommands } from '../../../../gateway/trading/groupCommands.ts';
import { OrderGroups } from '../../../../gateway/trading/orderGroupsStore.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { ANY_EVENT, EVENT } from '../../../../shared/wire/events.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const SETTINGS = { windowSec: 60, maxAtomic: 5_000_000 };
const OTHER = { windowSec: 30, maxAtomic: 5_000_000 };

/** Two shards; `heard` are the shards that accept the next setting, and `code` is the client's result. */
class Rig {
  readonly views = { groups: new GroupViews() };
  readonly database;
  readonly account: number;
  heard = [0, 1];
  code: number = OK;
  sets = 0;

  constructor(t: TestContext) {
    this.database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
    t.after(() => this.database.close());
    const user = { wallet: null, displayName: null, email: null, role: 'user', referralCode: null };
    this.account = new Accounts(this.database).signUp(user, 0).index;
  }

  /** As after a start: only the content of control.db is known. */
  commands(): GroupCommands {
    return new GroupCommands(new OrderGroups(this.database), this.views, this, 2);
  }

  setGroup(account: number, group: number, windowSec: number, maxAtomic: number): Promise<number> {
    this.sets++;
    for (const shard of this.heard) this.tell(shard, account, group, { windowSec, maxAtomic });
    return Promise.resolve(this.code);
  }

  resetGroup(): Promise<number> {
    return Promise.resolve(OK);
  }

  tell(shard: number, account: number, group: number, { windowSec, maxAtomic }: typeof SETTINGS): void {
    const words = new Uint32Array(EVENT.GROUP.BYTES / 4);
    words[ANY_EVENT.account] = account;
    words[EVENT.GROUP.group] = group;
    words[EVENT.GROUP.windowSec] = windowSec;
    writeSafe(words, EVENT.GROUP.maxAtomic, maxAtomic);
    this.views.groups.apply(shard, 1, words, 0);
  }

  settings(group: number): unknown[] {
    return [0, 1].map((shard) => this.views.groups.settingsIn(shard, group)?.windowSec);
  }
}

test('a refused group does not exist, and its name keeps its index', async (t) => {
  const rig = new Rig(t);
  const commands = rig.commands();
  rig.heard = [];
  rig.code = E.ENGINE_BUSY;
  assert.equal(await commands.set(rig.account, 'a', SETTINGS), E.ENGINE_BUSY);
  assert.equal(commands.indexOf(rig.account, 'a'), null);
  assert.deepEqual(commands.list(rig.account, 1), []);
  rig.heard = [0, 1];
  rig.code = OK;
  assert.equal(await commands.set(rig.account, 'b', SETTINGS), OK);
  assert.equal(await commands.set(rig.account, 'a', SETTINGS), OK);
  assert.deepEqual([commands.indexOf(rig.account, 'a'), commands.indexOf(rig.account, 'b')], [1, 2]);
  assert.deepEqual(commands.named({ id: 'x' }, 2), { id: 'x', order_group: 'b' });
  assert.deepEqual(commands.named({ id: 'x' }, 0), { id: 'x' });
});

test('a shard that missed a setting is brought to it when it is back; one that did not is left alone', async (t) => {
  const rig = new Rig(t);
  const commands = rig.commands();
  await commands.set(rig.account, 'a', SETTINGS);
  rig.heard = [0];
  rig.code = E.OUTCOME_UNKNOWN;
  await commands.set(rig.account, 'a', OTHER);
  assert.deepEqual(rig.settings(1), [30, 60]);
  rig.heard = [0, 1];
  rig.code = OK;
  await commands.reconcile();
  assert.deepEqual(rig.settings(1), [30, 30]);
  const { sets } = rig;
  await commands.reconcile();
  assert.equal(rig.sets, sets);
});

test('after a crash in between all shards have the old setting, or the new one where there was none', async (t) => {
  const rig = new Rig(t);
  await rig.commands().set(rig.account, 'a', SETTINGS);
  rig.tell(0, rig.account, 1, OTHER);
  await rig.commands().reconcile();
  assert.deepEqual(rig.settings(1), [60, 60]);

  new OrderGroups(rig.database).make(rig.account, 'b');
  rig.tell(1, rig.account, 2, OTHER);
  new OrderGroups(rig.database).make(rig.account, 'never told');
  const commands = rig.commands();
  await commands.reconcile();
  assert.deepEqual(rig.settings(2), [30, 30]);
  const { index } = new OrderGroups(rig.database).make(rig.account, 'c');
  rig.tell(0, rig.account, index, OTHER);
  await rig.commands().reconcile();
  assert.deepEqual(rig.settings(index), [30, 30], 'also where only the first shard has it');
  assert.deepEqual(
    commands.list(rig.account, 1).map(({ name }) => name),
    ['a', 'b'],
  );
});

test('a group of which one shard has another maximum is set again; one that all have is not', async (t) => {
  const rig = new Rig(t);
  const commands = rig.commands();
  await commands.set(rig.account, 'a', SETTINGS);
  rig.tell(1, rig.account, 1, { ...SETTINGS, maxAtomic: 1 });
  await commands.reconcile();
  assert.equal(rig.views.groups.settingsIn(1, 1)?.maxAtomic, SETTINGS.maxAtomic);
  assert.equal(rig.sets, 2);
  assert.deepEqual([commands.isKnownTo(1, 1), commands.isKnownTo(1, 2)], [true, false]);
  assert.deepEqual([commands.isNew(rig.account, 'a'), commands.isNew(rig.account, 'b')], [false, true]);
  assert.equal(commands.count(rig.account), 1);
  assert.equal(commands.show(rig.account, 'b', 1), null);
});

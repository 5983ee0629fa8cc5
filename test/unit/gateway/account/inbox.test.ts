/** Accounts read their notifications while more come in (RULES.md 14.63 to 14.65). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { Inbox } from '../../../../gateway/account/inbox.ts';
import { Notices } from '../../../../gateway/account/noticesStore.ts';
import {
  type NotificationPlace,
  NotificationQueries,
  type NotificationsTask,
} from '../../../../gateway/account/notificationQueries.ts';
import { ReadMarks } from '../../../../gateway/account/readMarksStore.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { CLOSE_REASON, ORDER_STATUS } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import { CURSORS } from '../../../../shared/tables/cursors.ts';
import { MARKETS } from '../../../../shared/tables/markets.ts';
import { ORDERS } from '../../../../shared/tables/orders.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';
import { insert, type Table } from '../../../../shared/tables/table.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(53);
const SHARDS = 2;
const ACCOUNT = 1;
const T0 = Date.UTC(2026, 0, 1);
const { FILLED } = CLOSE_REASON;

function writer(db: Database.Database, table: Table, conflict = ''): (row: object) => void {
  const zeros = Object.fromEntries(table.inserted.map((column) => [column, 0]));
  const statement = db.prepare(insert(table, conflict));
  return (row) => void statement.run({ ...zeros, ...row });
}

class Scene {
  readonly clock = new ManualClock(T0);
  readonly notices: Notices;
  readonly readMarks: ReadMarks;
  readonly inbox: Inbox;
  isBusy = false;
  questions = 0;
  /** Where reading the archive ends early, by the start of the page. */
  ends: (after: NotificationPlace | null) => NotificationPlace | null = () => null;
  /** Between a question and its answer. */
  whileAsked: () => void = () => {};
  readonly #sequences: number[] = new Array(SHARDS).fill(0);
  readonly #addOrder;
  readonly #setCursor;

  constructor(t: TestContext) {
    const control = openControlDatabase(join(temporaryDirectory(), 'control.db'));
    t.after(() => control.close());
    control.pragma('synchronous = OFF');
    const user = { displayName: null, email: null, role: 'user', referralCode: null, wallet: null };
    new Accounts(control).signUp(user, 0);
    this.notices = new Notices(control);
    this.readMarks = new ReadMarks(control, SHARDS);
    const db = new Database(':memory:');
    db.exec(READ_DB_SCHEMA);
    writer(db, MARKETS)({ market: 0, uuid: new Uint8Array(16), ticks_per_unit: 100 });
    this.#addOrder = writer(db, ORDERS);
    this.#setCursor = writer(db, CURSORS, 'OR REPLACE');
    const queries = new NotificationQueries(db);
    const ask = async (account: number, name: string, task: never) => {
      this.questions++;
      await null;
      const page = () => ({ ...queries.page(task), end: this.ends((task as NotificationsTask).after) });
      const value = name === 'notifications' ? page() : queries.one(account, (task as { id: never }).id);
      this.whileAsked();
      return this.isBusy ? { ok: false, row: ERRORS.ENGINE_BUSY } : { ok: true, value };
    };
    const pool = { ofAccount: ask, ofAccountByNow: ask } as never;
    const views = { lastAcknowledged: (_: number, shard: number) => this.#sequences[shard]! };
    const { clock, notices, readMarks } = this;
    this.inbox = new Inbox({ shards: SHARDS, queries: pool, notices, readMarks, views, clock });
  }

  /** An order is filled, in a record that was under way for a while. */
  fill(shard: number, agoMs = 0): string {
    const sequence = ++this.#sequences[shard]!;
    const updated_ms = this.clock.nowMs() - agoMs;
    const id = timeOrderedIdBytes(updated_ms, shard, ID_KIND.ORDER, sequence);
    const state = { slot: null, status: ORDER_STATUS.FILLED, reason: FILLED, client_order_id: null };
    this.#addOrder({ id, hash: id, account: ACCOUNT, shard, lots: 1, shard_sequence: sequence, updated_ms, ...state });
    this.#setCursor({ shard, sequence });
    return bytesToUuid(id);
  }

  /** Nothing comes in meanwhile. */
  async unread(): Promise<number> {
    const { whileAsked } = this;
    this.whileAsked = () => {};
    const page = await this.inbox.page(ACCOUNT, null, 100);
    assert.ok(page.ok);
    const count = await this.inbox.unreadCount(ACCOUNT);
    assert.deepEqual(count, { ok: true, value: page.value.unread }, 'both counts are the same');
    this.whileAsked = whileAsked;
    const shown = page.value.items.filter(({ readMs }) => readMs === null).length;
    assert.equal(page.value.unread, shown, 'and that of the list');
    return shown;
  }

  async markAll(): Promise<number> {
    const marked = await this.inbox.markAllRead(ACCOUNT);
    assert.ok(marked.ok);
    return marked.value;
  }
}

test(`RULES.md 14.64: each one is marked once, whatever comes or is read meanwhile (seed ${seed})`, async (t) => {
  const scene = new Scene(t);
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const ids: string[] = [];
  let made = 0;
  const arrive = (): void => {
    if (below(2) === 0 || made >= 90) return;
    made++;
    if (below(6) === 0) scene.notices.add(ACCOUNT, 'security', 'A title', 'A body', scene.clock.nowMs());
    // Records are stamped when they are sent: a new one may be older than the mark before it.
    else ids.push(scene.fill(below(SHARDS), below(3) * 20_000));
  };
  scene.whileAsked = arrive;
  let gone = 0;
  for (let round = 0; round < 60; round++) {
    scene.clock.advance(below(2) * 1000);
    arrive();
    const before = await scene.unread();
    assert.equal(before + gone, made, `round ${round}`);
    const id = ids[below(ids.length)];
    if (id !== undefined && below(2) === 0) {
      const first = await scene.inbox.read(ACCOUNT, id);
      assert.deepEqual(await scene.inbox.read(ACCOUNT, id), first, 'the first time stays');
    }
    gone = made - (await scene.unread());
    if (below(3) > 0) continue;
    const marked = await Promise.all([scene.markAll(), scene.markAll(), scene.markAll()]);
    gone += marked.reduce((sum, count) => sum + count, 0);
    assert.equal((await scene.unread()) + gone, made, `marked ${marked} in round ${round}`);
  }
  assert.ok(made > 50);
});

test('INBOX-2: a page that was found before a mark is found again after it', async (t) => {
  const scene = new Scene(t);
  scene.fill(0);
  let isMarked = false;
  scene.whileAsked = () => {
    if (isMarked) return;
    isMarked = true;
    scene.readMarks.markAll(ACCOUNT, [1, 0, 0], 0, T0 + 5);
  };
  const page = await scene.inbox.page(ACCOUNT, null, 10);
  assert.ok(page.ok);
  assert.deepEqual([page.value.unread, page.value.items.map(({ readMs }) => readMs)], [0, [T0 + 5]]);
});

test('INBOX-3: a count is kept for five seconds, unless something came to the account or was read', async (t) => {
  const scene = new Scene(t);
  const counted = async (): Promise<number> => {
    const before = scene.questions;
    assert.ok((await scene.inbox.unreadCount(ACCOUNT)).ok);
    return scene.questions - before;
  };
  const id = scene.fill(0);
  assert.deepEqual([await counted(), await counted()], [1, 0]);
  scene.clock.advance(4999);
  assert.equal(await counted(), 0);
  scene.clock.advance(1);
  assert.equal(await counted(), 1);
  scene.fill(1);
  assert.deepEqual([await counted(), await counted()], [1, 0]);
  await scene.inbox.read(ACCOUNT, id);
  assert.deepEqual([await counted(), await counted()], [1, 0]);
});

test('RULES.md 14.65: counts end at their bounds', async (t) => {
  const scene = new Scene(t);
  for (let count = 0; count < 1005; count++) scene.fill(count % SHARDS);
  assert.deepEqual(await scene.inbox.unreadCount(ACCOUNT), { ok: true, value: 1000 });
  assert.equal(await scene.markAll(), 1005);
  assert.deepEqual(await scene.inbox.unreadCount(ACCOUNT), { ok: true, value: 0 });
});

test('a read model that is late marks nothing, and the next request has its turn', async (t) => {
  const scene = new Scene(t);
  const id = scene.fill(0);
  scene.isBusy = true;
  const busy = { ok: false, row: ERRORS.ENGINE_BUSY };
  assert.deepEqual(await scene.inbox.markAllRead(ACCOUNT), busy);
  assert.deepEqual(await scene.inbox.read(ACCOUNT, id), busy);
  assert.deepEqual(await scene.inbox.page(ACCOUNT, null, 10), busy);
  assert.deepEqual(await scene.inbox.unreadCount(ACCOUNT), busy);
  scene.isBusy = false;
  assert.equal(await scene.markAll(), 1);
});

test('RULES.md 14.62: a page that ends early has nothing from behind its end, where the next one starts', async (t) => {
  const scene = new Scene(t);
  for (const atMs of [T0 - 20, T0 - 10]) scene.notices.add(ACCOUNT, 'security', 'A title', 'A body', atMs);
  const end = { createdMs: T0 - 15, id: new Uint8Array(16).fill(0xff) };
  scene.ends = (after) => (after === null ? end : null);
  const first = await scene.inbox.page(ACCOUNT, null, 5);
  assert.ok(first.ok);
  assert.deepEqual(
    first.value.items.map(({ item }) => item.createdMs),
    [T0 - 10],
  );
  assert.deepEqual(first.value.next, end);
  const second = await scene.inbox.page(ACCOUNT, first.value.next, 5);
  assert.ok(second.ok);
  assert.deepEqual(
    second.value.items.map(({ item }) => item.createdMs),
    [T0 - 20],
  );
  assert.equal(second.value.next, null);
});

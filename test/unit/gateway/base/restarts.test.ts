/** After a restart these stores of control.db know everything that was written, and nothing that was undone. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ApprovalRequest, Approvals } from '../../../../gateway/access/approvals.ts';
import { Operators } from '../../../../gateway/access/operators.ts';
import { AccountStates } from '../../../../gateway/account/accountStates.ts';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { Grants } from '../../../../gateway/account/grantsStore.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { journalPath, refuseJournals, requireJournals } from '../../../../gateway/base/journalFiles.ts';
import { JournalHeads } from '../../../../gateway/base/journalHeads.ts';
import { openJournalKey } from '../../../../gateway/base/journalKey.ts';
import { Platform } from '../../../../gateway/base/platform.ts';
import { BOOTSTRAP } from '../../../../gateway/base/principal.ts';
import { ArmedSwitches } from '../../../../gateway/trading/armedSwitchesStore.ts';
import { OpenOrderBoundsStore } from '../../../../gateway/trading/openOrderBoundsStore.ts';
import { ACCOUNT_STATE, SIDE, UNKNOWN_GRANT } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const NOW_MS = 1_790_000_000_000;
const MASTER_KEY = Buffer.alloc(32, 5);
const ANN = `0x${'a1'.repeat(20)}`;
const BOB = `0x${'b2'.repeat(20)}`;

function openDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const user = { wallet: null, displayName: null, email: null, role: 'user', referralCode: null };
  for (let account = 1; account <= 3; account++) new Accounts(database).signUp(user, NOW_MS);
  return database;
}

test('a grant has one number for ever; one that was removed is swept once', (t) => {
  const database = openDatabase(t);
  // Wallets are rows of another table.
  database.pragma('foreign_keys = OFF');
  const grants = new Grants(database);
  const isIn = (store: Grants): unknown[] => [
    store.numberOf(ANN, ANN),
    store.numberOf(ANN, BOB),
    store.delegatesOf(ANN),
    store.isLinked(BOB),
    store.unswept().map(({ number, maker, signer }) => [number, maker, signer]),
  ];
  for (const signer of [ANN, BOB]) grants.use(grants.insert(ANN, signer));
  const own = grants.numberOf(ANN, ANN);
  assert.deepEqual(isIn(grants), [own, own + 1, [BOB], false, []]);
  assert.deepEqual(isIn(new Grants(database)), isIn(grants));

  assert.deepEqual(grants.remove(ANN, BOB, NOW_MS), [{ number: own + 1, maker: ANN, signer: BOB }]);
  const removed = [own, UNKNOWN_GRANT, [], false, [[own + 1, ANN, BOB]]];
  assert.deepEqual(isIn(grants), removed);
  assert.deepEqual(isIn(new Grants(database)), removed);
  assert.deepEqual(grants.remove(BOB, null, NOW_MS), []);

  grants.swept(own + 1);
  const swept = [own, UNKNOWN_GRANT, [], false, []];
  assert.deepEqual(isIn(grants), swept);
  const restarted = new Grants(database);
  assert.deepEqual(isIn(restarted), swept);
  restarted.use(restarted.insert(ANN, BOB));
  assert.equal(restarted.numberOf(ANN, BOB), own + 2, 'not the number of the one that was removed');
  assert.equal(restarted.remove(ANN, null, NOW_MS).length, 2);
});

test('grants that were removed and swept leave control.db, however many there were', (t) => {
  const database = openDatabase(t);
  database.pragma('foreign_keys = OFF');
  const count = (): unknown => database.prepare('SELECT count(*) FROM grants').pluck().get();
  let grants = new Grants(database);
  grants.use(grants.insert(ANN, ANN));
  const own = grants.numberOf(ANN, ANN);
  const late: number[] = [];
  for (let cycle = 1; cycle <= 10; cycle++) {
    grants.use(grants.insert(ANN, BOB));
    assert.equal(grants.numberOf(ANN, BOB), own + cycle);
    const [removed] = grants.remove(ANN, BOB, NOW_MS);
    // A shard that is away answers later than the next grant is there.
    if (cycle % 3 === 0) late.push(removed!.number);
    else grants.swept(removed!.number);
    if (cycle % 4 === 0) grants = new Grants(database);
  }
  for (const number of late) grants.swept(number);
  assert.equal(count(), 2, 'the one in force, and the last');
});

test('a restricted account stays restricted, and is swept once (RULES.md 9.15)', (t) => {
  const database = openDatabase(t);
  const states = new AccountStates(database);
  states.set(1, ACCOUNT_STATE.FROZEN, NOW_MS);
  states.set(2, ACCOUNT_STATE.CLOSE_ONLY, NOW_MS);
  states.set(3, ACCOUNT_STATE.FROZEN, NOW_MS);
  states.swept(2);
  states.set(3, ACCOUNT_STATE.ACTIVE, NOW_MS);
  for (const each of [states, new AccountStates(database)]) {
    assert.deepEqual(each.unswept(), [1]);
    assert.deepEqual(
      [1, 2, 3].map((account) => each.of(account)),
      [ACCOUNT_STATE.FROZEN, ACCOUNT_STATE.CLOSE_ONLY, ACCOUNT_STATE.ACTIVE],
    );
    const refusals = [1, 2, 3].map((account) => [
      each.placingRefusal(account, SIDE.BUY),
      each.placingRefusal(account, SIDE.SELL),
      each.addingRefusal(account),
      each.reducingRefusal(account),
    ]);
    const [frozen, closing] = [ERRORS.ACCOUNT_FROZEN, ERRORS.ACCOUNT_CLOSE_ONLY];
    assert.deepEqual(refusals, [
      [frozen, frozen, frozen, frozen],
      [closing, null, closing, null],
      [null, null, null, null],
    ]);
  }
  states.set(2, ACCOUNT_STATE.FROZEN, NOW_MS);
  assert.deepEqual(new AccountStates(database).unswept(), [1, 2], 'another state forbids other orders');
});

test('the remaining sweeps of leaving wallets are the same after a restart (STATES-4)', (t) => {
  const database = openDatabase(t);
  const states = new AccountStates(database);
  // Its wallet stays before anything was swept, and nothing else is forbidden.
  states.setLeaving(1, true, NOW_MS);
  states.setLeaving(1, false, NOW_MS);
  // All of it was cancelled when its wallet began to leave, and another restriction has come and gone since.
  states.setLeaving(2, true, NOW_MS);
  states.swept(2);
  states.set(2, ACCOUNT_STATE.CLOSE_ONLY, NOW_MS);
  states.set(2, ACCOUNT_STATE.ACTIVE, NOW_MS);
  states.setLeaving(3, true, NOW_MS);
  for (const each of [states, new AccountStates(database)]) {
    assert.deepEqual(each.unswept(), [3]);
    assert.deepEqual(
      [1, 2, 3].map((account) => each.of(account)),
      [ACCOUNT_STATE.ACTIVE, ACCOUNT_STATE.FROZEN, ACCOUNT_STATE.FROZEN],
    );
  }
});

test('bounds of an account come before the usual ones, each by itself', (t) => {
  const database = openDatabase(t);
  const usual = { inAll: 100, inMarket: 50 };
  const bounds = new OpenOrderBoundsStore(database, usual);
  bounds.set(1, { inAll: 7, inMarket: null });
  bounds.set(2, { inAll: null, inMarket: 3 });
  bounds.set(3, { inAll: 9, inMarket: 9 });
  bounds.set(3, { inAll: null, inMarket: null });
  for (const each of [bounds, new OpenOrderBoundsStore(database, usual)]) {
    assert.deepEqual(
      [1, 2, 3, 4].map((account) => each.of(account)),
      [{ inAll: 7, inMarket: 50 }, { inAll: 100, inMarket: 3 }, usual, usual],
    );
  }
});

test('operators are listed as they were made; a revoked token opens nothing, now or later (RULES.md 9.13)', (t) => {
  const database = openDatabase(t);
  const operators = new Operators(database);
  const first = operators.create('zoe', ['treasury'], BOOTSTRAP, NOW_MS);
  const second = operators.create('adam', ['superuser'], BOOTSTRAP, NOW_MS + 1);
  const third = operators.create('mia', ['viewer'], second.operator, NOW_MS + 2);
  const revoked: string[] = [];
  operators.revoked.subscribe((id) => revoked.push(id));
  const gone = operators.revoke(first.operator, NOW_MS + 3);
  assert.equal(operators.revoke(gone, NOW_MS + 4).revokedMs, NOW_MS + 3, 'once');
  assert.deepEqual(revoked, [first.operator.operatorId]);
  for (const each of [operators, new Operators(database)]) {
    assert.deepEqual(
      each.all().map(({ name }) => name),
      ['zoe', 'adam', 'mia'],
    );
    assert.equal(each.holderOf(first.token), null);
    assert.equal(each.holderOf(second.token)?.name, 'adam');
    assert.equal(each.holderOf(`${third.token}x`), null);
    assert.equal(each.holderOf('no separator'), null);
    assert.equal(each.holderOf(third.operator.operatorId), null);
    assert.equal(each.find(first.operator.operatorId)?.revokedMs, NOW_MS + 3);
    assert.deepEqual(
      [each.isNameUsed('zoe'), each.isNameUsed('bootstrap'), each.isNameUsed('eve')],
      [true, true, false],
    );
    assert.equal(each.nameOf(third.operator.operatorId), 'mia');
    assert.equal(each.nameOf(BOOTSTRAP.operatorId), BOOTSTRAP.name);
    // Whoever made an operator may be the same person.
    assert.equal(each.branchOf(third.operator.operatorId), each.branchOf(second.operator.operatorId));
    assert.notEqual(each.branchOf(second.operator.operatorId), each.branchOf(first.operator.operatorId));
    assert.equal(each.isInForce(BOOTSTRAP.operatorId), true);
    assert.equal(each.isInForce(second.operator.operatorId), true);
    assert.equal(each.isInForce(first.operator.operatorId), false);
    assert.equal(each.isInForce('unknown'), false);
  }
  // 128 bits are enough to be guessed by no one; these have 256.
  assert.ok(Buffer.from(first.token.split('.')[1], 'base64url').length === 32);
});

test('requests for approval are open until they are decided or too old, and are carried out in order (9.17)', (t) => {
  const approvals = new Approvals(openDatabase(t));
  const request: ApprovalRequest = { kind: 'resolution', market_id: 'm', status: 'resolved', payouts: [1, 0] };
  const add = (subject: string, nowMs: number) => approvals.add(subject, request, 'opr', nowMs, 1000);
  const [a, b, c] = [add('a', NOW_MS), add('b', NOW_MS + 1), add('c', NOW_MS + 2)];
  assert.deepEqual(
    [a.status, a.requestedMs, a.expiresMs, a.decidedBy, a.failure],
    ['pending', NOW_MS, NOW_MS + 1000, null, null],
  );
  assert.deepEqual(approvals.find(a.id.toUpperCase())?.request, request);
  assert.equal(approvals.countOpen(NOW_MS + 999), 3);
  assert.equal(approvals.countOpen(NOW_MS + 1000), 2, 'over at the instant it ends');
  assert.deepEqual(
    approvals.openOf('a', NOW_MS + 999).map(({ id }) => id),
    [a.id],
  );
  assert.deepEqual(approvals.openOf('a', NOW_MS + 1000), []);
  approvals.decide(c, 'approved', 'other', NOW_MS + 5);
  const approved = approvals.decide(b, 'approved', 'other', NOW_MS + 6);
  assert.deepEqual([approved.status, approved.decidedBy, approved.decidedMs], ['approved', 'other', NOW_MS + 6]);
  assert.deepEqual(
    approvals.approved().map(({ id }) => id),
    [b.id, c.id],
  );
  assert.deepEqual(
    approvals.openOf('b', NOW_MS + 9999).map(({ id }) => id),
    [b.id],
    'an approved one stays open',
  );
  assert.equal(approvals.countOpen(NOW_MS + 9999), 2);
  assert.throws(() => approvals.decide(b, 'rejected', 'other', NOW_MS), /APPROVALS-2/);
  assert.equal(approvals.end(b, null).status, 'carried_out');
  const failure = { code: 'CONFLICT', error: 'too late' };
  assert.deepEqual([approvals.end(c, failure).status, approvals.find(c.id)?.failure], ['failed', failure]);
  assert.throws(() => approvals.end(c, null), /APPROVALS-2/);
  assert.equal(approvals.decide(a, 'rejected', 'other', NOW_MS).status, 'rejected');
  assert.equal(approvals.countOpen(NOW_MS), 0);
  assert.deepEqual(
    approvals.page(2).map(({ id }) => id),
    [c.id, b.id],
  );
  assert.deepEqual(
    approvals.page(2, b.sequence).map(({ id }) => id),
    [a.id],
  );
});

test('an answer waits for a switch only while its change is not durable yet', (t) => {
  const database = openDatabase(t);
  let isDurable = false;
  const changes = {
    write: (change: () => void) => change(),
    get isDurable() {
      return isDurable;
    },
    durable: () => Promise.resolve(),
  };
  const switches = new ArmedSwitches(database, changes);
  switches.arm(2, NOW_MS);
  switches.arm(2, NOW_MS + 1);
  assert.ok(switches.durable() instanceof Promise);
  isDurable = true;
  assert.equal(switches.durable(), null);
  const kept = (): number[][] => {
    const again = new ArmedSwitches(database);
    return [again.armed(), again.triggered()];
  };
  assert.deepEqual(kept(), [[2], []]);
  switches.trigger([2], NOW_MS + 2);
  assert.deepEqual(kept(), [[], [2]]);
  switches.arm(2, NOW_MS + 3);
  switches.trigger([2], NOW_MS + 4);
  switches.arm(2, NOW_MS + 5);
  assert.deepEqual(kept(), [[2], [2]]);
  switches.finish(2, true);
  assert.deepEqual(kept(), [[2], []]);
  switches.trigger([2], NOW_MS + 6);
  switches.finish(2, false);
  assert.deepEqual(kept(), [[], []]);
});

test('a journal that is missing is named, and so is one that no control.db belongs to', () => {
  const directory = temporaryDirectory();
  refuseJournals(directory);
  requireJournals(directory, 0);
  for (const shard of [0, 1]) writeFileSync(journalPath(directory, shard), '');
  requireJournals(directory, 2);
  assert.throws(() => requireJournals(directory, 3), /journal-2\.db is missing/);
  assert.throws(() => refuseJournals(directory), /journal-0\.db was written with another control\.db/);
});

test('the key of the journals is made once, for its owner alone, and vouches from the first record on', () => {
  const dataDir = temporaryDirectory();
  const open = (areNew: boolean, masterKey = MASTER_KEY) => openJournalKey({ dataDir, masterKey, shards: 3, areNew });
  assert.throws(() => open(false), /journal\.key is missing/);
  assert.equal(existsSync(join(dataDir, 'journal.key')), false);
  const made = open(true);
  assert.deepEqual(made.keyedFrom, [1, 1, 1]);
  assert.equal(made.secret.length, 32);
  assert.deepEqual(readdirSync(dataDir), ['journal.key']);
  assert.equal(statSync(join(dataDir, 'journal.key')).mode & 0o777, 0o600);
  for (const areNew of [true, false]) {
    const again = open(areNew);
    assert.deepEqual([Buffer.from(again.secret), again.keyedFrom], [Buffer.from(made.secret), [1, 1, 1]]);
  }
  assert.throws(() => open(false, Buffer.alloc(32, 6)), /damaged or of another exchange/);
});

test('the newest rows of the journals are known again, and only from the key that sealed them', (t) => {
  const platform = new Platform(openDatabase(t));
  assert.throws(() => new JournalHeads(platform, MASTER_KEY, 2, false), /put a backup in its place/);
  const heads = new JournalHeads(platform, MASTER_KEY, 2, true);
  const none = heads.of(1);
  assert.equal(none.sequence, 0);
  const restarted = () => new JournalHeads(platform, MASTER_KEY, 2, false);
  assert.deepEqual(restarted().of(0), none, 'saved at once');
  const head = { sequence: 7, chainLow: -5, chainHigh: 9 };
  heads.note(1, head);
  assert.deepEqual(restarted().of(1), none, 'not before it is saved');
  heads.save();
  assert.deepEqual([restarted().of(0), restarted().of(1)], [none, head]);
  let writes = 0;
  t.mock.method(platform, 'write', () => writes++);
  heads.save();
  assert.equal(writes, 0, 'nothing new');
  heads.note(0, head);
  heads.save();
  heads.save();
  assert.equal(writes, 1);
  assert.throws(() => new JournalHeads(platform, Buffer.alloc(32, 6), 2, false), /were altered/);
});

test('what the platform is survives a restart: shards, pause, journals and the head of the audit log', (t) => {
  const database = openDatabase(t);
  const platform = new Platform(database);
  const shown = ({ shards, domain, hasJournals, paused, auditHead }: Platform): unknown[] => [
    shards,
    domain,
    hasJournals,
    paused,
    auditHead,
  ];
  assert.deepEqual(shown(platform), [undefined, undefined, false, false, null]);
  platform.fixShards(4);
  platform.fixDomain('d');
  platform.setPaused(true);
  platform.setHasJournals();
  const head = { sequence: 3, hash: 'ab' } as never;
  platform.setAuditHead(head);
  assert.deepEqual(shown(platform), [4, 'd', true, true, head]);
  assert.deepEqual(shown(new Platform(database)), [4, 'd', true, true, head]);
  platform.setPaused(false);
  assert.equal(new Platform(database).paused, false);
});

/** Funds on their way from one exchange contract to the next (engine/settlement/rotation.ts, RULES.md 17.36, 17.38). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Hex, toHex } from 'viem';
import { DecisionRows } from '../../../../engine/settlement/decisionRows.ts';
import { DeployRows } from '../../../../engine/settlement/deployRows.ts';
import { addMoneyTables } from '../../../../engine/settlement/moneyTables.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { PaymentRows } from '../../../../engine/settlement/paymentRows.ts';
import { Rotation } from '../../../../engine/settlement/rotation.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND, type Work, WorkRows } from '../../../../engine/settlement/work.ts';
import { FEE_ACCOUNT } from '../../../../shared/base/codes.ts';
import { NO_MARKET } from '../../../../shared/wire/commands.ts';

const [FIRST, SECOND, THIRD] = [1, 2, 3].map((number) => toHex(number, { size: 20 })) as [Hex, Hex, Hex];
const ACCOUNTS = 25;
const [DECIDED, OPEN] = [0, 1];
const NO_TRADE = { maker_order: null, taker_order: null, yes_ticks: null, match_type: null, taker_account: null };

/** Accounts with USDC and tokens of two markets, one of which was decided at the first contract. */
function rig(mostPlaces = 1000) {
  const db = openSettlementDb(':memory:');
  addMoneyTables(db);
  const rows = new WorkRows(db, () => 1000);
  const deploys = new DeployRows(db, () => 1000, new News(db, () => 1000));
  const start = (): Rotation => new Rotation(db, rows, deploys, FIRST, mostPlaces);
  const rotation = start();
  for (const market of [DECIDED, OPEN]) rows.setMarket(market, toHex(market + 1, { size: 16 }), 100);
  rows.decideMarket(DECIDED, 1_000_000);
  const resolution = { ...NO_TRADE, kind: KIND.RESOLUTION, shard: 0, sequence: 5, part: 0, account: 0 } as const;
  rows.add({ ...resolution, market: DECIDED, amount: 1_000_000, exchange: 1 });
  for (let account = 1; account <= ACCOUNTS; account++) {
    rows.setEscrow(account, toHex(account, { size: 20 }));
    for (const market of [DECIDED, OPEN]) {
      db.prepare('INSERT INTO ledger_tokens VALUES (?, ?, 5, 0)').run(account, market);
    }
  }
  db.prepare('INSERT INTO ledger_tokens VALUES (?, ?, 5, 0)').run(FEE_ACCOUNT, OPEN);
  // An account that settlement knows no wallet of has nothing on the chain.
  db.prepare('INSERT INTO ledger_tokens VALUES (?, ?, 5, 0)').run(ACCOUNTS + 1, OPEN);
  const work = (kind: number): Work[] => db.prepare<[number], Work>('SELECT * FROM work WHERE kind = ?').all(kind);
  const settle = (): unknown => db.exec(`UPDATE work SET status = 'settled'`);
  const states = () => db.prepare<[], string>('SELECT state FROM exchanges ORDER BY number').pluck().all();
  /** Steps until the active contract is in this state and has no slice left. */
  const reach = (state: string, followed: number, from = rotation): number => {
    const complete = db.prepare<[string], number>('SELECT 1 FROM exchanges WHERE state = ? AND after_account IS NULL');
    for (let steps = 0; steps < 100; steps++) {
      if (complete.get(state) !== undefined) return steps;
      if (work(state === 'moving' ? KIND.CLAIM : KIND.MOVE).every(({ status }) => status === 'pending')) settle();
      from.step([followed], true);
    }
    throw new Error(`${state} was not reached: ${states()}`);
  };
  return { db, rows, rotation, start, work, settle, states, reach };
}

test('nothing moves before every shard has changed and all work of the contract is settled', () => {
  const { rotation, states, settle, work } = rig();
  rotation.step([1, 1], true);
  assert.deepEqual([states(), rotation.health(2000)], [['open'], null]);
  rotation.add(SECOND, 1500);
  rotation.step([1, 2], true);
  rotation.step([2, 2], true);
  assert.deepEqual(states(), ['open', 'open'], 'a resolution waits');
  assert.deepEqual(rotation.health(2000), { exchange: FIRST, state: 'open', ageMs: 500, left: 1 });
  settle();
  rotation.step([1, 2], true);
  assert.equal(states()[0], 'open', 'a shard still trades there');
  rotation.step([2, 2], true);
  assert.equal(states()[0], 'claiming');
  assert.deepEqual(new Set(work(KIND.CLAIM).map(({ market }) => market)), new Set([DECIDED]), 'MOVE-2');
  assert.equal(work(KIND.CLAIM).length, ACCOUNTS);
});

test('a payment that the chain refuses holds up no move: the next contract makes it', () => {
  const { db, rows, rotation, states, settle } = rig();
  const payments = new PaymentRows(db);
  settle();
  const payment = { kind: KIND.WITHDRAWAL, shard: 0, sequence: 77, part: 0, account: 1, market: 0, amount: 5 };
  const none = { maker_order: null, taker_order: null, yes_ticks: null, match_type: null, taker_account: null };
  rows.add({ ...payment, ...none, exchange: 1 });
  const [work] = payments.due(0, 1, 10);
  rows.retry(work!, 0, 'Blacklisted');
  rotation.add(SECOND, 0);
  rotation.step([2], false);
  assert.equal(states()[0], 'open', 'a transaction that a reorganisation may repeat is not final');
  db.prepare(`UPDATE work SET status = 'submitted' WHERE id = ?`).run(work!.id);
  rotation.step([2], true);
  assert.equal(states()[0], 'open', 'it is being paid');
  db.prepare(`UPDATE work SET status = 'pending' WHERE id = ?`).run(work!.id);
  rotation.step([2], true);
  assert.equal(states()[0], 'claiming');
  assert.equal(rows.get(work!.id)!.exchange, 2);
  assert.deepEqual(payments.due(9, 1, 10), [], 'not before the funds have moved');
  assert.equal(payments.due(9, 2, 10).length, 1);
});

test('claims and moves are added a slice at a time, each place once, whatever ends the thread in between', () => {
  const whole = rig();
  const sliced = rig(7);
  for (const each of [whole, sliced]) {
    each.rotation.add(SECOND, 0);
    each.settle();
  }
  whole.reach('moving', 2);
  let steps = 0;
  // Every step is made by a thread of its own.
  for (const state of ['claiming', 'moving']) {
    for (
      let restarts = 0;
      !sliced.states().includes(state) || sliced.rotation.active.after_account !== null;
      restarts++
    ) {
      assert.ok(restarts < 50);
      if (sliced.rotation.active.after_account === null) sliced.settle();
      sliced.start().step([2], true);
      steps++;
    }
  }
  assert.ok(steps > 15, `${steps} slices`);
  const places = ({ work }: typeof whole, kind: number): string[] =>
    work(kind).map(({ account, market, exchange }) => `${account} ${market} ${exchange}`);
  for (const kind of [KIND.CLAIM, KIND.MOVE]) {
    const found = places(sliced, kind);
    assert.equal(new Set(found).size, found.length);
    assert.deepEqual(found.sort(), places(whole, kind).sort());
  }
  assert.equal(places(whole, KIND.MOVE).length, 2 * (ACCOUNTS + 1), 'USDC and undecided tokens, fees as well');
});

test('money that comes late is moved by itself, and neither the move nor the next contract waits for it', () => {
  const { rotation, reach, rows, work, settle, states, db } = rig();
  rotation.add(SECOND, 0);
  settle();
  rotation.bring(FIRST, { account: 1, market: NO_MARKET });
  assert.deepEqual(work(KIND.LATE_MOVE), [], 'the move that comes has it');
  reach('moving', 2);
  rotation.bring(FIRST, { account: 1, market: NO_MARKET });
  rotation.bring(FIRST, { account: 1, market: NO_MARKET });
  rotation.bring(SECOND, { account: 1, market: NO_MARKET });
  const [late, ...more] = work(KIND.LATE_MOVE);
  assert.ok(late !== undefined && more.length === 0, 'one is enough while it waits');
  db.exec(`UPDATE work SET status = 'settled' WHERE kind = ${KIND.MOVE}`);
  rotation.step([2], true);
  assert.deepEqual(states(), ['moved', 'open']);
  assert.deepEqual(
    rows.pending(1, 9, rotation.active.number).map(({ id }) => id),
    [late.id],
    'it is sent beside the rest',
  );
  // Tokens go before their market is decided; those of a decided one are claimed where they are.
  rotation.bring(FIRST, { account: 2, market: OPEN });
  const tokens = work(KIND.LATE_MOVE).find(({ market }) => market === OPEN)!;
  db.exec(`UPDATE deploys SET status = 'final'`);
  const decisions = new DecisionRows(db);
  assert.equal(decisions.isReady(OPEN), false);
  rows.setStatus(tokens.id, 'mined');
  assert.equal(decisions.isReady(OPEN), true);
  assert.equal(rotation.numberOfSets(FIRST, { account: 2, market: OPEN }), 2);
  const claims = work(KIND.CLAIM).length;
  rotation.bring(FIRST, { account: 2, market: DECIDED });
  assert.equal(work(KIND.CLAIM).length, claims + 1);
  assert.equal(rotation.numberOfSets(FIRST, { account: 2, market: DECIDED }), 1);
});

test('money that comes late goes on through every contract that was left', () => {
  const { rotation, reach, work, settle, states, db } = rig();
  rotation.add(SECOND, 0);
  settle();
  reach('moving', 2);
  settle();
  rotation.step([2], true);
  rotation.bring(FIRST, { account: 1, market: NO_MARKET });
  rotation.add(THIRD, 0);
  settle();
  rotation.step([3], true);
  rotation.step([3], true);
  assert.deepEqual(states(), ['moved', 'moving', 'open']);
  const [late] = work(KIND.LATE_MOVE);
  rotation.brought(late!);
  const numbers = work(KIND.LATE_MOVE).map(({ exchange }) => exchange);
  assert.deepEqual(numbers, [1, 2]);
  db.exec(`UPDATE work SET status = 'settled' WHERE kind = ${KIND.MOVE}`);
  rotation.step([3], true);
  rotation.brought(work(KIND.LATE_MOVE)[1]!);
  assert.equal(work(KIND.LATE_MOVE).length, 2, 'the newest keeps it');
});

test('a standby knows no contract before the first record of a leader, and that of its own start once it leads', () => {
  const db = Object.assign(openSettlementDb(':memory:'), { isFollowing: true });
  addMoneyTables(db);
  const rows = new WorkRows(db, () => 1000);
  const rotation = new Rotation(db, rows, new DeployRows(db, () => 1000, new News(db, () => 1000)), FIRST);
  assert.deepEqual([rotation.isKnown, rotation.all], [false, []]);
  db.isFollowing = false;
  rotation.begin();
  assert.deepEqual([rotation.isKnown, rotation.active.exchange], [true, FIRST]);
});

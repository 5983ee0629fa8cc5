/** Work that waits for other work (engine/settlement/work.ts and drafts.ts, RULES.md 17.31, 17.32). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Hex, toHex } from 'viem';
import { DecisionRows } from '../../../../engine/settlement/decisionRows.ts';
import { DeployRows } from '../../../../engine/settlement/deployRows.ts';
import { Drafts, operationId } from '../../../../engine/settlement/drafts.ts';
import { addMoneyTables } from '../../../../engine/settlement/moneyTables.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { PaymentRows } from '../../../../engine/settlement/paymentRows.ts';
import { Rotation } from '../../../../engine/settlement/rotation.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND, type NewWork, WorkRows } from '../../../../engine/settlement/work.ts';
import { MATCH_TYPE, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';

const [EXCHANGE, FACTORY, USDC, TOKENS] = [1, 2, 3, 4].map((number) => toHex(number, { size: 20 })) as [
  ...[Hex, Hex, Hex, Hex],
];
const NO_TRADE = { maker_order: null, taker_order: null, yes_ticks: null, match_type: null, taker_account: null };
const BLOCK_GAS = 30_000_000;

function rig() {
  const db = openSettlementDb(':memory:');
  addMoneyTables(db);
  const rows = new WorkRows(db, () => 1000);
  const deploys = new DeployRows(db, () => 1000, new News(db, () => 1000));
  const rotation = new Rotation(db, rows, deploys, EXCHANGE);
  const contracts = { exchange: EXCHANGE, marketFactory: FACTORY, usdc: USDC, conditionalTokens: TOKENS };
  const drafts = new Drafts(rows, contracts, rotation);
  let sequence = 0;
  for (const market of [0, 1]) rows.setMarket(market, toHex(market + 1, { size: 16 }), 100);
  rows.setEscrow(1, toHex(9, { size: 20 }));
  const add = (kind: NewWork['kind'], market: number, amount = 5): number => {
    rows.add({ ...NO_TRADE, kind, shard: 0, sequence: ++sequence, part: 0, account: 1, market, amount });
    return sequence;
  };
  const pending = () => rows.pending(10, 100, 1);
  const order = (id: number, side: number): void => {
    const signed = { salt: toHex(id, { size: 32 }), maker: toHex(id, { size: 20 }), signer: toHex(id, { size: 20 }) };
    rows.addOrder({
      ...{ ...signed, side, shard: 0, slot: id, outcome: OUTCOME.YES, exchange: null, hash: toHex(id, { size: 32 }) },
      ...{ token_id: toHex(7, { size: 32 }), maker_amount: 1000, taker_amount: 1000, expiration_sec: 0, nonce: 0 },
      ...{ fee_bps: 50, min_taker_net: 0, signature: toHex(id, { size: 65 }) },
    });
  };
  const trade = (): number => {
    const parties = { account: 1, taker_account: 2, maker_order: 1, taker_order: 2 };
    const terms = { market: 0, amount: 1, yes_ticks: 50, match_type: MATCH_TYPE.STANDARD };
    rows.add({ kind: KIND.TRADE, shard: 0, sequence: ++sequence, part: 0, ...parties, ...terms });
    return sequence;
  };
  order(1, SIDE.SELL);
  order(2, SIDE.BUY);
  return { db, rows, deploys, drafts, add, trade, pending, next: () => drafts.next(pending(), BLOCK_GAS) };
}

test('nothing of a market is sent before its deployment is on the chain, and nothing else waits for it', () => {
  const { db, deploys, add, pending } = rig();
  deploys.want(0, toHex(1, { size: 16 }), EXCHANGE, true);
  for (const kind of [KIND.SPLIT, KIND.MERGE]) add(kind, 0);
  const other = add(KIND.SPLIT, 1);
  const isPending = () => pending().map(({ sequence }) => sequence);
  for (const status of ['wanted', 'submitted', 'failed', 'given_up']) {
    db.prepare('UPDATE deploys SET status = ?').run(status);
    assert.deepEqual(isPending(), [other], `the other market, while it is ${status}`);
  }
  for (const status of ['mined', 'final']) {
    db.prepare('UPDATE deploys SET status = ?').run(status);
    assert.deepEqual(isPending(), [1, 2, other]);
  }
});

test('a market is decided once all of it is on the chain, and its claims alone wait for the decision', () => {
  const { db, rows, add, pending } = rig();
  rows.decideMarket(0, 1_000_000);
  const split = add(KIND.SPLIT, 0);
  const resolution = add(KIND.RESOLUTION, 0, 1_000_000);
  const claim = add(KIND.CLAIM, 0);
  // A key of its own decides.
  const decisions = new DecisionRows(db);
  const others = () => pending().map(({ sequence }) => sequence);
  const set = (status: string, sequence: number, notBefore = 0): unknown =>
    db.prepare('UPDATE work SET status = ?, not_before = ? WHERE sequence = ?').run(status, notBefore, sequence);
  set('pending', split, 99);
  assert.equal(decisions.isReady(0), false, 'the split is tried again later');
  for (const status of ['submitted', 'failed']) {
    set(status, split);
    assert.equal(decisions.isReady(0), false, `the split is ${status}`);
  }
  set('mined', split);
  assert.deepEqual([decisions.isReady(0), others()], [true, []]);
  for (const status of ['pending', 'submitted']) {
    set(status, resolution, 99);
    for (let more = 0; more < 3; more++) add(KIND.CLAIM, 0);
    const other = add(KIND.SPLIT, 1);
    assert.equal(rows.pending(10, 1, 1)[0]?.sequence, other, `the decision is ${status}`);
    set('settled', other);
  }
  set('settled', resolution);
  assert.equal(others()[0], claim);
});

test('a trade is sent before the splits of others, and behind those of its own parties', () => {
  const { db, rows, add, trade, next } = rig();
  const chosen = () => next()?.work.map(({ sequence }) => sequence);
  rows.setEscrow(3, toHex(8, { size: 20 }));
  const strangers = [add(KIND.SPLIT, 0), add(KIND.MERGE, 0)];
  db.exec('UPDATE work SET account = 3');
  const mine = trade();
  assert.deepEqual(chosen(), [mine]);
  db.exec(`UPDATE work SET status = 'submitted' WHERE sequence = ${mine}`);
  assert.deepEqual(chosen(), [strangers[0]]);
  const [split, next_] = [add(KIND.SPLIT, 0), trade()];
  for (const sequence of [...strangers, split]) {
    assert.deepEqual(chosen(), [sequence]);
    db.exec(`UPDATE work SET status = 'submitted' WHERE sequence = ${sequence}`);
  }
  assert.deepEqual(chosen(), [next_]);
});

test('sets keep their place among the trades of their account', () => {
  const { db, add, trade, next } = rig();
  const chosen = () => next()?.work.map(({ sequence }) => sequence);
  const [first, second] = [trade(), trade()];
  const split = add(KIND.SPLIT, 0);
  const third = trade();
  assert.deepEqual(chosen(), [first, second]);
  db.exec(`UPDATE work SET status = 'submitted' WHERE sequence <= ${second}`);
  assert.deepEqual(chosen(), [split]);
  db.exec(`UPDATE work SET status = 'submitted' WHERE sequence = ${split}`);
  assert.deepEqual(chosen(), [third]);
});

test('payments are due an account at a time, behind what the account did before, and in nobody else’s way', () => {
  const { db, rows, deploys, add, trade, next } = rig();
  const payments = new PaymentRows(db);
  rows.setEscrow(3, toHex(8, { size: 20 }));
  const first = trade();
  const [mine, later] = [add(KIND.WITHDRAWAL, 0), add(KIND.RELEASE, 0)];
  db.exec(`UPDATE work SET account = 3 WHERE sequence = ${add(KIND.WITHDRAWAL, 0)}`);
  const theirs = later + 1;
  const due = (block = 0) => payments.due(block, 1, 10).map(({ sequence }) => sequence);
  const set = (sequence: number, change: string): unknown =>
    db.prepare(`UPDATE work SET ${change} WHERE sequence = ?`).run(sequence);
  assert.deepEqual(
    next()?.work.map(({ sequence }) => sequence),
    [first],
    'trades are sent without them',
  );
  assert.deepEqual(due(), [mine, theirs]);
  const waits = () => payments.due(0, 1, 10).map((work) => payments.hasOlderWork(work));
  assert.deepEqual(waits(), [true, false], 'the trade is in no block');
  deploys.want(0, toHex(1, { size: 16 }), EXCHANGE, true);
  assert.deepEqual(waits(), [true, false], 'the trade waits for its market');
  db.exec(`UPDATE deploys SET status = 'final'`);
  for (const [status, expected] of [
    ['submitted', true],
    ['mined', false],
  ] as const) {
    set(first, `status = '${status}'`);
    assert.deepEqual(waits(), [expected, false], status);
  }
  set(mine, 'not_before = 5, failures = 1');
  assert.deepEqual([due(4), due(5)], [[theirs], [mine, theirs]], 'the later one of the account waits for it');
  assert.equal(payments.countRefused(), 1);
  set(mine, `status = 'submitted'`);
  assert.deepEqual([due(), payments.countSent()], [[later, theirs], 1]);
});

test('an operation after a restore has another id than the one whose record had its number before', () => {
  const floors = [{ floor: 2 ** 50, records: [9, 3], lastAccount: 1 }];
  const idOf = (shard: number, sequence: number, known = floors): Hex =>
    operationId({ kind: KIND.WITHDRAWAL, shard, sequence, part: 1 }, known);
  assert.equal(idOf(0, 9), idOf(0, 9, []));
  assert.notEqual(idOf(0, 10), idOf(0, 10, []));
  assert.notEqual(idOf(1, 4), idOf(1, 4, []));
  assert.notEqual(idOf(0, 10), idOf(0, 10, [{ ...floors[0]!, floor: 2 ** 51 }]));
});

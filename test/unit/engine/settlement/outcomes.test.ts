/** Reorganisations carry out, revert and repeat the transactions of work (OUTCOMES-1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from 'viem';
import { addMoneyTables } from '../../../../engine/settlement/moneyTables.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { Outcomes } from '../../../../engine/settlement/outcomes.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND, WorkRows } from '../../../../engine/settlement/work.ts';
import { ChainNode, type Receipt } from '../../../../shared/chain/node.ts';

const NO_TRADE = { maker_order: null, taker_order: null, yes_ticks: null, match_type: null, taker_account: null };
const SPLIT = { ...NO_TRADE, kind: KIND.SPLIT, shard: 0, sequence: 1, part: 0, account: 1, market: 0, amount: 5 };
const WORK = 1;

/** A split, and transactions for it, by the numbers of their jobs. */
function rig() {
  const db = openSettlementDb(':memory:');
  addMoneyTables(db);
  const rows = new WorkRows(db, () => 1000);
  rows.add(SPLIT);
  const node = new ChainNode({ call: () => Promise.reject(new Error('a movement asks nothing')) } as never);
  const news = new News(db, () => 1000);
  const outcomes = new Outcomes({ rows, node, news, onMovedLate: () => undefined, payments: null });
  return {
    outcomes,
    rows,
    state: () => {
      const { status, job, failures } = rows.get(WORK)!;
      return { status, job, failures };
    },
    send: (): number => {
      const job = rows.addJob(toHex(1, { size: 20 }), [rows.get(WORK)!], null);
      rows.submit(WORK, job);
      return job;
    },
    mine: async (job: number, blockNumber: number, isSuccess: boolean): Promise<void> => {
      const receipt: Receipt = { hash: toHex(job, { size: 32 }), blockNumber, isSuccess, logs: [] } as never;
      (await outcomes.read(job, receipt))();
    },
  };
}

test('work is done by the transaction that has done it, also by one that was reverted first', async () => {
  const { outcomes, state, send, mine } = rig();
  const first = send();
  await mine(first, 10, false);
  assert.deepEqual(state(), { status: 'pending', job: null, failures: 1 });
  const second = send();
  outcomes.unmined(first);
  assert.deepEqual(state(), { status: 'submitted', job: second, failures: 1 }, 'it waits for the second');
  await mine(first, 11, true);
  assert.deepEqual(state(), { status: 'mined', job: first, failures: 1 });
  // The contract knows the operation, and does nothing.
  await mine(second, 12, true);
  assert.deepEqual(state(), { status: 'mined', job: first, failures: 1 });

  for (const job of [first, second]) outcomes.unmined(job);
  assert.deepEqual(state(), { status: 'submitted', job: first, failures: 1 });
  await mine(first, 13, false);
  assert.deepEqual(state(), { status: 'pending', job: null, failures: 2 });
  await mine(second, 14, true);
  assert.deepEqual(state(), { status: 'mined', job: second, failures: 2 }, 'nothing is sent a third time');
  outcomes.final(first);
  assert.equal(state().status, 'mined', 'the final block of the one that was reverted says nothing');
  outcomes.final(second);
  assert.equal(state().status, 'settled');
  await mine(first, 15, true);
  assert.deepEqual(state(), { status: 'settled', job: second, failures: 2 });
});

test('work follows the first of two transactions that have done it, though the later was mined before', async () => {
  const { outcomes, rows, state, send, mine } = rig();
  const first = send();
  await mine(first, 10, false);
  const second = send();
  await mine(second, 12, true);
  assert.deepEqual(state(), { status: 'mined', job: second, failures: 1 });
  // A reorganisation: of each in its order the block of before is gone, and another one has it.
  outcomes.unmined(first);
  await mine(first, 13, true);
  outcomes.unmined(second);
  await mine(second, 14, true);
  assert.deepEqual(state(), { status: 'mined', job: first, failures: 1 });

  // Another unit of work, whose first transaction fails for good, as a match can: the effect of the second is not
  // undone in the ledger.
  rows.setStatus(WORK, 'failed');
  await mine(second, 15, true);
  assert.deepEqual(state(), { status: 'mined', job: second, failures: 1 });
  outcomes.final(second);
  assert.equal(state().status, 'settled');
});

test('a transaction that is reverted takes no work from the one that was sent after it', async () => {
  const { state, send, mine } = rig();
  const first = send();
  await mine(first, 10, false);
  const second = send();
  await mine(first, 11, false);
  assert.deepEqual(state(), { status: 'submitted', job: second, failures: 1 });
});

/** An administrator has a failed trade tried again, or unwound (gateway/chain/failedTrades.ts, RULES.md 17.41). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailedTrades } from '../../../../gateway/chain/failedTrades.ts';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { E, ERRORS, OK } from '../../../../shared/base/errors.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';

const TRADE = timeOrderedId(1_800_000_000_000, 3, ID_KIND.TRADE, 7);
const PLACE = { shard: 3, tradeSequence: 7 };
const UNWINDING = {
  market: 5,
  maker: 1,
  taker: 2,
  changes: { maker: [1, -1, 0], taker: [-1, 1, 0], fee: [0, 0, 0] },
} as const;

/** @param answers of the thread, by question @param code of the shard's reply */
function rig(answers: Record<string, unknown>, code: number = OK) {
  const asked: unknown[] = [];
  const link = {
    ask: async (question: string, ask: unknown) => {
      asked.push([question, ask]);
      const answer = answers[question];
      if (answer instanceof Error) throw answer;
      return answer as never;
    },
  };
  const engine = {
    unwind: async (...sent: unknown[]) => {
      asked.push(['shard', ...sent.slice(0, 2)]);
      return { code, shard: 3, shardSequence: 1, a: 9, b: 4, c: 1 };
    },
  };
  return { asked, trades: new FailedTrades(link as never, engine as never) };
}

const refusalOf = async (refusal: Promise<unknown>) => (await refusal) as { row: object; message?: string } | null;

test('an unwinding holds the trade, then has the ledger undo it', async () => {
  const { trades, asked } = rig({ unwindTrade: { refusal: null, unwinding: UNWINDING } });
  assert.equal(await trades.unwind(TRADE), null);
  assert.deepEqual(asked, [
    ['unwindTrade', PLACE],
    ['shard', PLACE, UNWINDING],
  ]);
});

test('a trade is released when the ledger refuses, and stays held while the end is not known', async () => {
  const held = { unwindTrade: { refusal: null, unwinding: UNWINDING }, releaseTrade: null };
  const short = rig(held, E.INSUFFICIENT_BALANCE);
  assert.deepEqual(await short.trades.unwind(TRADE), {
    row: ERRORS.INSUFFICIENT_BALANCE,
    details: { required: '9', available: '4', reserved: '1' },
  });
  assert.deepEqual(short.asked.at(-1), ['releaseTrade', PLACE]);
  const paid = rig(held, E.MARKET_NOT_ACTIVE);
  assert.equal((await refusalOf(paid.trades.unwind(TRADE)))!.row, ERRORS.MARKET_NOT_ACTIVE);
  assert.deepEqual(paid.asked.at(-1), ['releaseTrade', PLACE]);
  for (const [code, row] of [
    [E.OUTCOME_UNKNOWN, ERRORS.OUTCOME_UNKNOWN],
    [E.ENGINE_BUSY, ERRORS.ENGINE_BUSY],
  ] as const) {
    const unknown = rig(held, code);
    assert.equal((await refusalOf(unknown.trades.unwind(TRADE)))!.row, row);
    assert.equal(unknown.asked.length, 2);
  }
});

test('a refusal of the thread is answered in words, and an unwound trade is done', async () => {
  const reasons = ['not failed', 'not final', 'orders open', 'being unwound'];
  for (const refusal of reasons) {
    const { trades, asked } = rig({ unwindTrade: { refusal }, retryTrade: { refusal }, mayUnwind: { refusal } });
    for (const act of [trades.unwind(TRADE), trades.retry(TRADE), trades.whyNotUnwound(TRADE)]) {
      assert.equal((await refusalOf(act))!.row, ERRORS.CONFLICT, refusal);
    }
    assert.equal(asked.length, 3);
  }
  const done = rig({ unwindTrade: { refusal: 'unwound' }, retryTrade: { refusal: 'unwound' } });
  assert.equal(await done.trades.unwind(TRADE), null);
  assert.equal((await refusalOf(done.trades.retry(TRADE)))!.row, ERRORS.CONFLICT);
  assert.equal(await rig({ retryTrade: { refusal: null } }).trades.retry(TRADE), null);
});

test('a thread that does not answer is a matter of waiting, and without a chain no trade has failed', async () => {
  const down = new ChainDown('away');
  const { trades } = rig({ unwindTrade: down, retryTrade: down, failedTrades: down, mayUnwind: down });
  const acts = [trades.unwind(TRADE), trades.retry(TRADE), trades.whyNotUnwound(TRADE), trades.list(0, 1)];
  for (const act of acts) assert.equal((await refusalOf(act))!.row, ERRORS.ENGINE_BUSY);
  const ledger = new FailedTrades(LEDGER_SETTLEMENT, {} as never);
  assert.deepEqual(await ledger.list(0, 1), { trades: [], next: null });
  for (const id of [TRADE, 'x']) {
    assert.equal((await refusalOf(ledger.unwind(id)))!.row, ERRORS.RESOURCE_NOT_FOUND);
    assert.equal((await refusalOf(ledger.retry(id)))!.row, ERRORS.RESOURCE_NOT_FOUND);
  }
});

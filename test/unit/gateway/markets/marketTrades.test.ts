/** The end of a market waits for its trades on the chain (gateway/markets/marketTrades.ts, RULES.md 17.43). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarketTrades } from '../../../../gateway/markets/marketTrades.ts';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';

type Found = { failed: number; open: number };

/** @param answers the last one stays. */
function rig(answers: (Found | Error)[], waitMs = 60_000): MarketTrades {
  const ask = async (): Promise<Found> => {
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return new MarketTrades({ ask: ask as never, decidesMarkets: true }, waitMs);
}

test('a market with trades that the contract refuses is neither decided nor paid out', async () => {
  const failed = rig([{ failed: 1, open: 0 }]);
  for (const refusal of [await failed.whyNotDecided(3), await failed.whyNotPaid(3)]) {
    assert.equal(refusal?.row, ERRORS.CONFLICT);
    assert.match(refusal.message!, /^the contract refuses trades of this market/);
  }
  const none = rig([{ failed: 0, open: 0 }]);
  assert.deepEqual([await none.whyNotDecided(3), await none.whyNotPaid(3)], [null, null]);
});

test('trades on their way hold up the payment of holders, and not the decision', async () => {
  const open = { failed: 0, open: 2 };
  assert.equal(await rig([open]).whyNotDecided(3), null);
  assert.equal(await rig([open, { failed: 0, open: 0 }]).whyNotPaid(3), null, 'it waits for them');
  assert.match((await rig([open, { failed: 1, open: 0 }]).whyNotPaid(3))!.message!, /refuses/);
  assert.deepEqual(await rig([open], 0).whyNotPaid(3), {
    row: ERRORS.CONFLICT,
    message: 'trades of this market are not on the chain yet',
  });
});

test('without an answer of settlement nothing is irrevocable', async () => {
  const silent = rig([new ChainDown('mute')]);
  for (const refusal of [await silent.whyNotDecided(3), await silent.whyNotPaid(3)]) {
    assert.equal(refusal?.row, ERRORS.SETTLEMENT_UNHEALTHY);
  }
  await assert.rejects(rig([new Error('a bug')]).whyNotPaid(3), /a bug/);
});

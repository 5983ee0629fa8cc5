/** GET /v1/onchain/market-probabilities (RULES.md 12.39). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextsInTurns } from '../../../../gateway/http/pieces.ts';
import { SharedAnswers } from '../../../../gateway/http/sharedAnswers.ts';
import type { MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { probabilityRoutes } from '../../../../gateway/markets/probabilitiesRoutes.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { MARKET_STATUS, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';
import { ClientRig, START_MS } from '../../../support/clientRig.ts';

test('no market has probabilities that is locked or that no shard has opened', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  for (const market of [0, 1]) {
    await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1, market));
    await rig.run(rig.place(rig.record(SIDE.BUY, 50, OUTCOME.NO), 1, market));
  }
  const markets = ['a', 'b', 'unopened'].map((id, index) => ({ index, id })) as MarketEntry[];
  const shown = async (): Promise<unknown> => {
    const sharedAnswers = new SharedAnswers(rig.clock);
    const [route] = probabilityRoutes({
      settlement: LEDGER_SETTLEMENT,
      catalog: { markets },
      views: rig.views,
      sharedAnswers,
      texts: new TextsInTurns(() => false),
    });
    const asked = new TestCall({ method: 'GET', path: route.path });
    await route.handler(asked.call);
    return asked.json['probabilities'];
  };
  assert.deepEqual(await shown(), { a: [0.45, 0.55], b: [0.45, 0.55] });
  const patch = { status: MARKET_STATUS.LOCKED, startMs: START_MS, endMs: START_MS + 10 ** 9 };
  assert.equal((await rig.run(rig.client.patchMarket(1, 1, patch))).code, OK);
  assert.ok(rig.views.books.of(1)!.bids.highest() > 0, 'the orders of a locked market stay');
  assert.deepEqual(await shown(), { a: [0.45, 0.55] });
});

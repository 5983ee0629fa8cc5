/** GET /v1/orders/book/:market_id: every variant of the question has an answer of its own (RULES.md 7.5). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../../../gateway/http/route.ts';
import { bookRoutes } from '../../../../gateway/markets/booksRoutes.ts';
import type { Catalog, MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { TestCall } from '../../../support/calls.ts';
import { ClientRig } from '../../../support/clientRig.ts';

type Query = { outcome_index: number; levels: number; both: boolean; l3: boolean };

const MARKET_ID = '0190a6f0-7b1c-7abc-8def-0123456789ab';
const MOST_LEVELS = 100;

function variants(): Query[] {
  const flags = [false, true];
  return Array.from({ length: MOST_LEVELS }, (_, at) => at + 1).flatMap((levels) =>
    [OUTCOME.YES, OUTCOME.NO].flatMap((outcome_index) =>
      flags.flatMap((both) => flags.map((l3) => ({ outcome_index, levels, both, l3 }))),
    ),
  );
}

function show(route: Route, query: Query): string {
  const asked = new TestCall({ method: 'GET', path: route.path });
  asked.call.params = { market_id: MARKET_ID };
  asked.call.query = query;
  void route.handler(asked.call);
  assert.equal(asked.status, 200);
  return asked.text;
}

test('no variant of a book is answered with the kept text of another', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  for (const ticks of [40, 40, 39, 38]) await rig.run(rig.place(rig.record(SIDE.BUY, ticks)));
  await rig.run(rig.place(rig.record(SIDE.BUY, 50, OUTCOME.NO)));
  const market = { index: 0, id: MARKET_ID, shard: 0, ticksPerUnit: 100 } as MarketEntry;
  const catalog = { byId: () => market } as unknown as Catalog;
  const newRoute = (): Route => bookRoutes({ views: rig.views, catalog, clock: rig.clock })[0];
  const [kept, answers] = [newRoute(), new Set<string>()];
  for (const pass of ['rendered', 'kept']) {
    for (const query of variants()) {
      const answer = show(kept, query);
      assert.equal(answer, show(newRoute(), query), `${pass}: ${JSON.stringify(query)}`);
      answers.add(answer);
    }
  }
  // Each outcome has 3, 2 and 1 levels to show, both together as well, by level or by order.
  assert.equal(answers.size, 3 * 3 * 2);
});

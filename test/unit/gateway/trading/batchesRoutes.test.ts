/** Batches (RULES.md 7.3) whose shard dies under them: the answer, and what is kept of it for a repeat. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UNRESOLVED } from '../../../../gateway/shardlink/answerDb.ts';
import { IdempotencyStage } from '../../../../gateway/shardlink/idempotencyStage.ts';
import { batchRoutes } from '../../../../gateway/trading/batchesRoutes.ts';
import type { OrderSender } from '../../../../gateway/trading/orderSender.ts';
import { PastOrders } from '../../../../gateway/trading/pastOrders.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { EXT_ROUTE } from '../../../../shared/wire/commands.ts';
import { TestCall } from '../../../support/calls.ts';
import { ClientRig } from '../../../support/clientRig.ts';
import { MemoryAnswers } from '../../../support/memoryAnswers.ts';

const KEY = '0190a6f0-7b1c-7abc-8def-0123456789ab';
const KEY_ID = { account: 1, fingerprint: new Uint8Array(16), key: Buffer.from(KEY.replaceAll('-', ''), 'hex') };

/** Two shards with an order each, and the route that cancels both in one request with a key. */
async function deskOf(t: TestContext) {
  const rig = new ClientRig(t);
  await rig.start();
  const hashes: string[] = [];
  for (const market of [0, 1]) {
    const { slot } = await rig.run(rig.place(rig.record(SIDE.BUY, 40), 1, market));
    hashes.push(toHex(new Uint8Array(rig.hashOf(slot, market).buffer)));
  }
  const answers = new MemoryAnswers();
  const stage = new IdempotencyStage(answers, rig.clock);
  const routes = batchRoutes({
    engine: rig.client,
    sender: {} as OrderSender,
    views: rig.views,
    past: new PastOrders({ historyFromMs: 0, ofAccountByNow: async () => ({ ok: true, value: false as never }) }),
    queries: { cancelledWithKey: async () => ({ ok: true, value: true }) },
    onError: (error) => {
      throw error;
    },
  });
  const { handler } = routes.find(({ method }) => method === 'DELETE')!;
  /** Sends the request; its answer comes with the replies of the shards. */
  const cancelBoth = (): TestCall => {
    const body = { order_hashes: hashes };
    const asked = new TestCall({ method: 'DELETE', path: '/v1/orders/batch', body, idempotencyKey: KEY });
    assert.equal(stage.tryHold(asked.call, EXT_ROUTE.BATCH_CANCEL), 'held');
    asked.call.dispatched = true;
    void handler(asked.call);
    void asked.answered.then(() => stage.release(asked.call));
    return asked;
  };
  return { rig, answers, cancelBoth };
}

const rowsOf = ({ json }: TestCall): string[] =>
  json.results.map((row: { status: string; code?: string }) => row.code ?? row.status);

test('a batch whose rows all have a result is kept as the answer of its key', async (t) => {
  const { rig, answers, cancelBoth } = await deskOf(t);
  const asked = cancelBoth();
  rig.step();
  await asked.answered;
  assert.deepEqual(rowsOf(asked), ['cancelled', 'cancelled']);
  assert.deepEqual([asked.json.cancelled, asked.json.failed, asked.json.total], [2, 0, 2]);
  assert.equal(answers.find(KEY_ID)?.body, asked.text);
});

test('a batch with a row of unknown outcome is not kept: a retry finds out what happened to it', async (t) => {
  const { rig, answers, cancelBoth } = await deskOf(t);
  const asked = cancelBoth();
  rig.shards[0].step();
  // The second shard carries the cancel out and dies before it publishes.
  rig.link.shardLost(1);
  await asked.answered;
  assert.deepEqual(rowsOf(asked), ['cancelled', 'OUTCOME_UNKNOWN']);
  assert.deepEqual([asked.json.cancelled, asked.json.failed], [1, 1]);
  assert.deepEqual(answers.find(KEY_ID)?.status, UNRESOLVED);
});

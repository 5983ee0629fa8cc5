/** The routes that cancel (RULES.md 7.2, 7.7, 7.11), over shards in the test's own thread. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { cancellingRoutes } from '../../../../gateway/trading/cancellingRoutes.ts';
import { ClientOrderIds } from '../../../../gateway/trading/clientOrderIds.ts';
import { PastOrders } from '../../../../gateway/trading/pastOrders.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { E, ERRORS, OK } from '../../../../shared/base/errors.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { COMMAND } from '../../../../shared/wire/commands.ts';
import { TestCall } from '../../../support/calls.ts';
import { ClientRig } from '../../../support/clientRig.ts';
import { catalogOf } from '../../../support/httpRig.ts';

async function rig(t: TestContext, options: ConstructorParameters<typeof ClientRig>[1] = {}) {
  const client = new ClientRig(t, options);
  await client.start();
  const state = { isDiskLow: false };
  const history = { isThere: true, knows: false };
  const clientIds = new ClientOrderIds(client.views, { isReady: (shard) => client.client.isReady(shard) });
  const routes = cancellingRoutes({
    engine: client.client,
    views: client.views,
    catalog: catalogOf(client.views),
    clientIds,
    isDiskLow: () => state.isDiskLow,
    past: new PastOrders({
      historyFromMs: 0,
      ofAccountByNow: async () => (history.isThere ? { ok: true, value: history.knows as never } : BUSY),
    }),
    onError: (error) => {
      throw error;
    },
  });
  /** Calls the handler; `run` lets the shards work until it is answered. */
  const send = (path: string, { params = {}, query = {}, body = {}, account = 1 }: Record<string, unknown> = {}) => {
    const route = routes.find((each) => each.path === path)!;
    const sent = new TestCall({ method: 'DELETE', path, account: account as number });
    Object.assign(sent.call, { params, query, body });
    void route.handler(sent.call);
    return sent;
  };
  const run = async (sent: TestCall) => {
    client.step();
    await sent.answered;
    return { status: sent.status, json: sent.json };
  };
  const place = async (ticks = 40): Promise<Uint32Array> => {
    const { slot } = await client.run(client.place(client.record(SIDE.BUY, ticks)));
    return client.hashOf(slot);
  };
  const open = (): number => client.views.orders[0].countOf(1);
  return { client, clientIds, state, history, send, run, place, open };
}

const BUSY = { ok: false, row: ERRORS.ENGINE_BUSY } as const;

const hex = (hash: Uint32Array): string => toHex(new Uint8Array(hash.buffer, hash.byteOffset, 32));
const ONE = '/v1/orders/:hash';
const CANCELLED = { status: 200, json: { message: 'order cancelled' } };

test('an open order is cancelled, another account’s is not, and one that is not there is not found', async (t) => {
  const { send, run, place, open } = await rig(t);
  const hash = hex(await place());
  const foreign = await run(send(ONE, { params: { hash }, account: 2 }));
  assert.deepEqual([foreign.status, foreign.json.error], [404, 'order not found']);
  assert.equal(open(), 1);
  assert.deepEqual(await run(send(ONE, { params: { hash } })), CANCELLED);
  assert.equal(open(), 0);
  const again = await run(send(ONE, { params: { hash } }));
  assert.deepEqual([again.status, again.json.code], [409, 'ORDER_NOT_CANCELLABLE']);
  const malformed = send(ONE, { params: { hash: '0x12' } });
  assert.deepEqual([malformed.status, malformed.json.code], [400, 'VALIDATION_ERROR']);
});

test('a cancel fills its own record and no word behind it, wherever in the ring that is', async (t) => {
  const { client, send, run, place } = await rig(t, { shards: 1, commandRingBytes: 4096 });
  const { words } = client.link.commands(0);
  // Goes around the ring a few times: anything left behind a cancel's record would reach over the end.
  for (let round = 0; round < 60; round++) {
    const hash = hex(await place());
    const marked = words.slice();
    const sent = [send(ONE, { params: { hash } }), send(ONE, { params: { hash: `0x${'ab'.repeat(32)}` } })];
    const changed = words.reduce((count, word, at) => count + Number(word !== marked[at]), 0);
    assert.ok(changed <= (2 * COMMAND.CANCEL.BYTES) / 4, `${changed} words`);
    const [cancelled, missing] = await Promise.all(sent.map(run));
    assert.deepEqual([cancelled, missing!.status], [CANCELLED, 404], `round ${round}`);
  }
});

test('a tombstone is left where the order has not arrived, unless the disk is nearly full (7.11, 10.8)', async (t) => {
  const { client, send, run, place, state } = await rig(t);
  const known = hex(await place());
  assert.deepEqual(await run(send(ONE, { params: { hash: known }, query: { tombstone: true } })), CANCELLED);
  const hash = `0x${'ab'.repeat(32)}`;
  const left = await run(send(ONE, { params: { hash }, query: { tombstone: true } }));
  assert.deepEqual([left.status, left.json.message], [202, 'order will be refused']);
  assert.ok(Date.parse(left.json.tombstone_until) > client.clock.nowMs());
  state.isDiskLow = true;
  const busy = await run(send(ONE, { params: { hash: `0x${'cd'.repeat(32)}` }, query: { tombstone: true } }));
  assert.deepEqual([busy.status, busy.json.code], [503, 'ENGINE_BUSY']);
  const other = hex(await place(41));
  assert.deepEqual(await run(send(ONE, { params: { hash: other }, query: { tombstone: true } })), CANCELLED);
  const missing = await run(send(ONE, { params: { hash: `0x${'ef'.repeat(32)}` } }));
  assert.equal(missing.json.error, 'order not found');
});

test('all orders, those of a market and those of an outcome are cancelled, and counted', async (t) => {
  const { client, send, run, place } = await rig(t);
  const market_id = client.views.markets.id(0);
  for (const ticks of [40, 41, 42]) await place(ticks);
  const market = '/v1/orders/cancel-market';
  const none = await run(send(market, { body: { market_id, outcome_index: 1 } }));
  assert.deepEqual(none.json, { message: 'open orders cancelled', market_id, cancelled: 0 });
  const yes = await run(send(market, { body: { market_id, outcome_index: 0 } }));
  assert.equal(yes.json.cancelled, 3);
  await place();
  assert.equal((await run(send(market, { body: { market_id } }))).json.cancelled, 1, 'of both outcomes');
  const unknown = send(market, { body: { market_id: '00000000-0000-7000-8000-000000000000' } });
  assert.deepEqual([unknown.status, unknown.json.error], [404, 'market not found']);
  await place();
  const all = await run(send('/v1/orders/cancel-all'));
  assert.deepEqual(all, { status: 200, json: { cancelled: 1, message: 'all open orders cancelled' } });
});

test('a full ring or a shard that is away refuses at once', async (t) => {
  const { client, send } = await rig(t);
  for (const shard of [0, 1]) client.link.shardLost(shard);
  for (const sent of [
    send('/v1/orders/cancel-all'),
    send(ONE, { params: { hash: `0x${'ab'.repeat(32)}` } }),
    send(ONE, { params: { hash: `0x${'ab'.repeat(32)}` }, query: { tombstone: true } }),
    send('/v1/orders/cancel-market', { body: { market_id: client.views.markets.id(0) } }),
  ]) {
    assert.deepEqual([sent.status, sent.json.code], [503, 'ENGINE_BUSY']);
  }
});

test('an order is cancelled by its client id, also one that is still on its way (7.7)', async (t) => {
  const { clientIds, send, run } = await rig(t);
  const byId = (id: string) => send('/v1/orders/by-client-id/:id', { params: { id } });
  const free = byId('mine');
  assert.deepEqual([free.status, free.json.error], [404, 'order not found']);
  for (const id of ['', 'x'.repeat(65), '%C3%A9', '%']) {
    const { status, json } = byId(id);
    assert.deepEqual([status, json.details.field], [400, 'id'], id);
  }
  assert.ok(clientIds.tryClaim(1, 'a b', null));
  const waiting = byId('a%20b');
  assert.equal(waiting.text, '', 'it waits for the order');
  clientIds.release(1, 'a b', E.INVALID_TICK, 0);
  assert.equal((await run(waiting)).status, 404);
  assert.ok(clientIds.tryClaim(1, 'ok', null));
  clientIds.release(1, 'ok', OK, 0);
  assert.equal(byId('ok').status, 404, 'the views have no open order of this id');
});

test('while the shard of an order is lost, its client id is busy', async (t) => {
  const { client, clientIds, send } = await rig(t);
  assert.ok(clientIds.tryClaim(1, 'lost', null));
  client.link.shardLost(0);
  clientIds.release(1, 'lost', E.OUTCOME_UNKNOWN, 0);
  const { status, json } = send('/v1/orders/by-client-id/:id', { params: { id: 'lost' } });
  assert.deepEqual([status, json.code], [503, 'ENGINE_BUSY']);
});

test('2.13 what no shard remembers is called unknown, and its tombstone confirmed, only after history', async (t) => {
  const { history, send, run } = await rig(t);
  const answers: unknown[] = [];
  for (const [isThere, knows] of [
    [true, false],
    [true, true],
    [false, false],
  ] as const) {
    Object.assign(history, { isThere, knows });
    for (const query of [{}, { tombstone: true }]) {
      const { status, json } = await run(send(ONE, { params: { hash: `0x${'5a'.repeat(32)}` }, query }));
      answers.push([status, json.code, json.details?.may_have_been_accepted]);
    }
  }
  assert.deepEqual(answers, [
    [404, 'NOT_FOUND', undefined],
    [202, undefined, undefined],
    [409, 'ORDER_NOT_CANCELLABLE', undefined],
    [409, 'ORDER_NOT_CANCELLABLE', undefined],
    [404, 'NOT_FOUND', true],
    [503, 'ENGINE_BUSY', true],
  ]);
});

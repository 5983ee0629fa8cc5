/**
 * Attack: a key without funds sends orders with wrong signatures as fast as it can, to shards that check them with the
 * slow verifier (RULES.md 5.8).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewApiKey } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader, type TraderOptions } from '../support/traders.ts';
import { measureVictim } from '../support/victim.ts';

const server = await startServer(fileScope, { RATE_LIMITS: 'on', VERIFIER: 'noble', SHARDS: '1' });
const BID = { price: '0.40', size: '10' };
const BATCH = 15;
const BATCHES = timesOf({ suite: 60, soak: 3000 });
const CONNECTIONS = 20;
const SAMPLES = timesOf({ suite: 10, soak: 300 });
/** The orders that an account alone may have waiting, and the refused ones after which it has to stop. */
const SHARE = 32;
const LIMIT = 20;

const WIDE: NewApiKey = {
  scopes: ['read:account', 'trade:orders', 'trade:bulk'],
  rate_limit_override: { requests: 100_000, window_seconds: 1 },
};

test('an account with wrong signatures is refused before it costs the others anything', async (t) => {
  const market = await makeMarket(server);
  const widened = async (options: TraderOptions) => {
    const trader = await makeTrader(server, options);
    const key = await server.admin.createApiKey(trader.userId, WIDE);
    return trader.withKey({ keyId: key.key_id, secret: key.secret, passphrase: key.passphrase });
  };
  const [victim, hostile] = [await widened({}), await widened({ depositMicro: 0 })];
  const good = hostile.body(market, BID);
  let salt = 0;
  // The signature belongs to another order: the shard finds out only by computing its signer.
  const bad = () => ({ ...good, salt: String(++salt) });
  const codes = new Map<string, number>();
  const sendBatch = async (): Promise<void> => {
    const orders = Array.from({ length: BATCH }, bad);
    const { status, body } = await hostile.send('POST', '/v1/orders/batch', { orders });
    assert.equal(status, 200);
    for (const { code } of body.results) codes.set(code, (codes.get(code) ?? 0) + 1);
  };
  const flood = async (): Promise<void> => {
    while (salt < BATCH * BATCHES) await sendBatch();
  };
  const startedMs = performance.now();
  await measureVictim(t, {
    send: async () => {
      const { status, order_hash } = await victim.place(market, BID);
      assert.equal(status, 'open');
      await victim.client.cancelOrder(order_hash);
    },
    attack: () => Promise.all(Array.from({ length: CONNECTIONS }, flood)),
    samples: SAMPLES,
  });
  t.diagnostic(JSON.stringify(Object.fromEntries(codes)));
  const windows = 1 + Math.ceil((performance.now() - startedMs) / 10_000);
  assert.ok(codes.get('INVALID_SIGNATURE')! <= windows * (SHARE + LIMIT), 'only the first few reach the shard');

  // Ten seconds after the flood it may try again. A busy machine takes as long for the lines above, so it floods again.
  const [wrong, right] = await eventually('both are refused', async () => {
    for (let batch = 0; batch * BATCH < LIMIT; batch++) await sendBatch();
    const answers = await Promise.all([hostile.post(bad()), hostile.post(good)]);
    return answers.every((answer) => answer.status === 429) && answers;
  });
  const { headers, body } = wrong!;
  assert.deepEqual([body.code, headers.get('x-ratelimit-decision')], ['RATE_LIMITED', 'quota_denied']);
  assert.deepEqual(body.details, { reason: 'refused order signatures', requests: 20, window_seconds: 10 });
  const waitSec = Number(headers.get('retry-after'));
  assert.ok(waitSec >= 1 && waitSec <= 10, `${waitSec} s`);
  assert.equal(right!.body.code, 'RATE_LIMITED', 'its right orders wait as well');
  assert.equal((await hostile.send('DELETE', '/v1/orders/cancel-all')).status, 200, 'its cancels go on');
});

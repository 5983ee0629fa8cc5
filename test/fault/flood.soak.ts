/** More orders than may wait for a shard. Filling a real queue takes long, so only `npm run soak` does it. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { attachStrace, skipWithoutStrace } from '../support/strace.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';
import { onWire, requestBytes } from '../support/wire.ts';

const BID = { price: '0.40', size: '1' };
const FLOODERS = 64;

test('a shard that cannot keep up refuses placements at once, while cancels find room', {
  skip: skipWithoutStrace,
}, async (t) => {
  const server = await startServer(t, { SHARDS: '1' });
  const [market, trader] = [await makeMarket(server), await makeTrader(server)];
  const { order_hash } = await trader.place(market, BID);
  const stall = await stallJournal(t, server);
  const port = Number(new URL(server.baseUrl).port);
  const placement = trader.body(market, BID);
  // A client that disconnects at once takes nothing back: its order waits in the ring until the account has used its
  // share.
  const fill = async (): Promise<void> => {
    for (;;) {
      const { headers, body } = trader.client.prepareSigned('POST', '/v1/orders', placement);
      const request = requestBytes('POST', '/v1/orders', Object.entries(headers), Buffer.from(body));
      const [answer] = await onWire(port, request, 'all');
      if (answer === undefined) continue;
      assert.equal(answer.status, 503, answer.body);
      return;
    }
  };
  await Promise.all(Array.from({ length: FLOODERS }, fill));
  assertRefused(await trader.post(trader.body(market, BID)), 503, 'ENGINE_BUSY', 'the engine is busy');
  assert.equal((await server.request('GET', '/health')).status, 200);
  const cancelled = trader.client.cancelOrder(order_hash);
  stall.kill();
  await cancelled;
  assert.equal((await trader.place(market, BID)).status, 'open');
  await assertBalanced(server);
});

/** Holds the shard at its next write to the journal for as long as the tracer lives. */
async function stallJournal(t: TestContext, { pid, dataDir }: TestServer): Promise<ChildProcess> {
  const stall = 'inject=pwrite64:delay_enter=600s:when=1';
  const options = ['-o', '/dev/null', '-e', 'trace=pwrite64', '-P', join(dataDir, 'journal-0.db-wal'), '-e', stall];
  const tracer = await attachStrace(pid!, options);
  t.after(() => tracer.kill());
  return tracer;
}

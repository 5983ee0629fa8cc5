/**
 * The disk of idempotency.db alone is full: requests with a key are refused with the cause, before they are carried
 * out; cancels, reads and requests without a key go on, and with space again everything does (RULES.md 6.11).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startServer } from '../support/server.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DISK_MB = 4;
const BATCH = '/v1/orders/batch';
const ATTEMPTS = 10;

test('with no room for answers a key is refused with the cause, and cancels, reads and the rest go on', async (t) => {
  const disk = SmallDisk.mount(t, DISK_MB);
  if (disk === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  const dataDir = join(temporaryDirectory(), 'data');
  mkdirSync(dataDir);
  symlinkSync(join(disk.path, 'idempotency.db'), join(dataDir, 'idempotency.db'));
  const server = await startServer(t, { SHARDS: '1', DATA_DIR: dataDir });
  const market = await makeMarket(server);
  const trader = await makeTrader(server);
  const order = () => trader.body(market, { price: '0.1', size: '10' });
  const keyed = (method: string, payload: object): (() => Promise<Answer>) => {
    const key = randomUUID();
    return () => {
      const { body, headers } = trader.client.prepareSigned(method, BATCH, payload);
      return server.request(method, BATCH, body, { ...headers, 'idempotency-key': key });
    };
  };
  const place = () => keyed('POST', { orders: [order()] })();
  const placed: string[] = [];
  for (let count = 0; count < 2; count++) placed.push((await place()).body.results[0].order_hash);

  const first = keyed('POST', { orders: [order()] });
  disk.fill();
  const unknown = await first();
  assert.deepEqual([unknown.status, unknown.body.code], [503, 'OUTCOME_UNKNOWN'], 'it was carried out already');
  for (let count = 0; count < ATTEMPTS; count++) {
    disk.fill();
    const { status, body } = await place();
    assert.deepEqual([status, body.code, body.details], [503, 'ENGINE_BUSY', { reason: 'disk_low' }]);
  }
  for (const hash of placed) {
    const { status, body } = await keyed('DELETE', { order_hashes: [hash] })();
    assert.deepEqual([status, body.cancelled], [200, 1], JSON.stringify(body));
  }
  const free = await trader.post(order());
  assert.equal(free.status, 200, 'without a key');
  assert.equal((await trader.send('DELETE', `/v1/orders/${free.body.order_hash}`)).status, 200);
  assert.equal((await trader.client.openOrders(market.id)).length, 1, 'that of the unknown outcome');
  const said = () => server.stdout.filter((line) => line.includes('there is no room to keep answers'));
  assert.equal(said().length, 1, 'once a minute, however often it is tried');
  assert.ok(said()[0]!.includes('idempotency.db'));

  disk.clear();
  const again = await eventually('the answer of the unknown outcome', async () => {
    const answer = await first();
    return answer.status !== 503 && answer;
  });
  assert.deepEqual([again.status, again.body.results[0].status], [200, 'success'], JSON.stringify(again.body));
  const open = await trader.client.openOrders(market.id);
  assert.deepEqual([open.length, open[0]!.order_hash], [1, again.body.results[0].order_hash], 'it was placed once');
  assert.equal((await place()).status, 200);
});

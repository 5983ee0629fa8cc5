/** An API key whose row in control.db is damaged ends no thread: its own requests fail, and another secret mends it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const SETTINGS = { SHARDS: '1', GATEWAYS: '2' };
const server = await startServer(fileScope, SETTINGS);

test('a key with a damaged secret is refused, others trade on, and it can be rotated', async () => {
  const market = await makeMarket(server);
  const traders = [await makeTrader(server), await makeTrader(server)];
  await server.stop();
  const db = new Database(join(server.dataDir, 'control.db'));
  // A start opens one key, to see that the master key is the right one.
  const { key_id: opened } = db.prepare<[], { key_id: string }>('SELECT * FROM api_keys LIMIT 1').get()!;
  const isOpened = traders[0]!.credentials.keyId === opened;
  const [damaged, sound] = [traders[isOpened ? 1 : 0]!.credentials, traders[isOpened ? 0 : 1]!.credentials];
  db.prepare("UPDATE api_keys SET sealed_secret = x'0102' WHERE key_id = ?").run(damaged.keyId);
  db.close();
  await server.start(SETTINGS);
  const [own, other] = [traders[isOpened ? 1 : 0]!.reconnected(), traders[isOpened ? 0 : 1]!.reconnected()];
  assert.equal(other.credentials.keyId, sound.keyId);
  for (let count = 0; count < 5; count++) {
    const { status, body } = await own.post(own.body(market, { price: '0.20', size: '1' }));
    assert.deepEqual([status, body.code], [500, 'INTERNAL_ERROR']);
    assert.equal((await own.send('GET', '/v1/user/balances')).status, 500);
    assert.equal((await other.post(other.body(market, { price: '0.20', size: '1' }))).status, 200);
  }
  const { secret, passphrase } = await server.admin.rotateApiKey(damaged.keyId);
  const mended = own.withKey({ keyId: damaged.keyId, secret, passphrase });
  assert.equal((await mended.post(mended.body(market, { price: '0.20', size: '1' }))).status, 200);
});

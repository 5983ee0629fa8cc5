/** A signed request is carried out once, even if the server restarts in between (RULES.md 4.3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PreparedRequest } from '../../shared/client/request.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { startServer, type TestServer } from '../support/server.ts';

async function send(server: TestServer, request: PreparedRequest): Promise<[number, string]> {
  const { status, body } = await server.request(request.method, request.path, undefined, request.headers);
  return [status, body.error];
}

test('neither a used nonce nor one from before a restart is accepted again, whatever the clock says', async (t) => {
  const server = await startServer(t);
  const user = await server.admin.createUser({ wallet_address: `0x${'ab'.repeat(20)}` });
  const key = await server.admin.createApiKey(user.id, { scopes: ['read:account', 'trade:bulk'] });
  const credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  const path = '/v1/orders/cancel-all';
  const used: PreparedRequest[] = [];
  for (const aheadMs of [0, 20_000]) {
    const signer = new RequestSigner(credentials, { nowMs: () => Date.now() + aheadMs });
    const request: PreparedRequest = { method: 'DELETE', path, headers: signer.headers('DELETE', path, ''), body: '' };
    assert.equal((await send(server, request))[0], 200);
    assert.deepEqual(await send(server, request), [401, 'nonce already used']);
    used.push(request);
  }
  await server.kill();
  await server.start();
  for (const request of used) {
    assert.deepEqual(await send(server, request), [401, 'timestamp outside acceptable window']);
  }
});

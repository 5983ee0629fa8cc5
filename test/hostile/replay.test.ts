/**
 * Attack: signed requests of version 1 are recorded and sent again, whole or with the border between query and body
 * moved; and a key is used far beyond its limit, so that its nonces fill the memory (RULES.md 4.2, 4.3, 4.4).
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { SCOPE } from '../../gateway/base/scopes.ts';
import { ok } from '../../gateway/http/respond.ts';
import type { Route } from '../../gateway/http/route.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { apiKey, credentialsOf } from '../support/apiKeys.ts';
import { startEdge } from '../support/edgeRig.ts';
import { timesOf } from '../support/seeds.ts';

const KEY = apiKey(1, { scopes: SCOPE['trade:orders'] });
const PLACE = { method: 'POST', path: '/v1/orders', access: 'trade:orders', limit: 'placeOrder' } as const;
const CANCEL = { method: 'DELETE', path: '/v1/orders/:hash', access: 'trade:orders', limit: 'cancelOrder' } as const;
const TIME = { method: 'GET', path: '/v1/time', access: 'public', limit: 'unlisted' } as const;

async function start(t: TestContext) {
  /** The requests that were carried out. */
  const done: string[] = [];
  const handler: Route['handler'] = (call) => {
    done.push(`${call.method} ${call.target}`);
    ok(call, {});
  };
  const specs = [{ ...PLACE, body: { type: 'object' } }, CANCEL, TIME];
  const edge = await startEdge(
    t,
    specs.map((spec) => ({ ...spec, summary: '', answers: {}, handler })),
    [KEY],
  );
  return { edge, done, signer: new RequestSigner(credentialsOf(KEY), edge.clock) };
}

test('a recorded request of version 1 is carried out once, however its signature is spelled', async (t) => {
  const { edge, done, signer } = await start(t);
  const body = '{"a":1}';
  const headers = signer.headersV1('POST', PLACE.path, body);
  assert.equal((await edge.send('POST', PLACE.path, { headers, body })).status, 200);
  const signature = headers['x-svc-signature']!;
  const spellings = [signature, `${signature}=`, signature.replaceAll('-', '+').replaceAll('_', '/')];
  for (const spelling of spellings) {
    for (let repeat = 0; repeat < 4; repeat++) {
      edge.clock.advance(2000);
      const again = await edge.send('POST', PLACE.path, { headers: { ...headers, 'x-svc-signature': spelling }, body });
      assert.deepEqual([again.status, again.body.error], [401, 'signature already used']);
    }
  }
  edge.clock.advance(31_000);
  const late = await edge.send('POST', PLACE.path, { headers, body });
  assert.deepEqual([late.status, late.body.error], [401, 'timestamp outside acceptable window']);
  assert.deepEqual(done, ['POST /v1/orders']);
});

test('no part of a request of version 1 can be moved between query and body', async (t) => {
  const { edge, done, signer } = await start(t);
  const path = '/v1/orders/0xab?tombstone=1';
  const headers = signer.headersV1('DELETE', path, '');
  for (let border = '/v1/orders/0xab'.length; border < path.length; border++) {
    const { status } = await edge.send('DELETE', path.slice(0, border), { headers, body: path.slice(border) });
    assert.ok(status === 401 || status === 429, `${path.slice(0, border)} was answered ${status}`);
  }
  assert.deepEqual(done, []);
  assert.equal((await edge.send('DELETE', path, { headers })).status, 200, 'as it was signed');
});

test('a body where none is expected is refused in version 2 and without a key, too', async (t) => {
  const { edge, done, signer } = await start(t);
  const path = '/v1/orders/0xab';
  for (const body of ['tombstone=1', '{"a":1}', '[]']) {
    const answer = await edge.send('DELETE', path, { headers: signer.headers('DELETE', path, body), body });
    const { error, code, details } = answer.body;
    assert.deepEqual([answer.status, error, code], [400, 'unexpected body', 'VALIDATION_ERROR']);
    assert.deepEqual(details, { field: 'body', rule: 'absent' });
  }
  for (const body of ['{}', 'a']) assert.equal((await edge.send('GET', TIME.path, { body })).status, 400);
  assert.deepEqual(done, []);
  const empty = await edge.send('DELETE', path, { headers: signer.headers('DELETE', path, '{}'), body: '{}' });
  assert.equal(empty.status, 200, 'clients that always send an object send an empty one');
});

test('a key beyond its limit fills no memory, and what was refused may come again', async (t) => {
  const { edge, signer } = await start(t);
  const path = '/v1/orders/0xab';
  const send = (headers = signer.headers('DELETE', path, '')) => edge.send('DELETE', path, { headers });
  for (let count = 0; count < timesOf({ suite: 100, soak: 20_000 }); count++) await send();
  assert.equal(edge.nonces.known(KEY.keyId), 10);
  const refused = signer.headers('DELETE', path, '');
  assert.equal((await send(refused)).status, 429);
  edge.clock.advance(1000);
  assert.equal((await send(refused)).status, 200);
  assert.equal((await send(refused)).body.error, 'nonce already used');
});

test('the body of a caller whose key is unknown is not awaited', async (t) => {
  const { edge, signer } = await start(t);
  const headers = { ...signer.headers('POST', PLACE.path, '{}'), 'x-svc-api-key': 'key_unknown' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(edge.port, '127.0.0.1');
  t.after(() => void socket.destroy());
  socket.write(`POST /v1/orders HTTP/1.1\r\nHost: a\r\n${lines.join('')}Content-Length: 60000\r\n\r\n{`);
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1.1 401 .*invalid API key/s);
});

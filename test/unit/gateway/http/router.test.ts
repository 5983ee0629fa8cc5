import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Router } from '../../../../gateway/http/router.ts';

const TABLE = [
  'GET /v1/time',
  'POST /v1/orders',
  'POST /v1/orders/batch',
  'DELETE /v1/orders/batch',
  'DELETE /v1/orders/cancel-all',
  'GET /v1/orders/:hash',
  'DELETE /v1/orders/:hash',
  'PUT /v1/orders/:hash/amend',
  'GET /v1/orders/open/:market_id',
  'GET /v1/markets/:id/:part/last',
];

function makeRouter(): Router<string> {
  const router = new Router<string>();
  for (const line of TABLE) {
    const [method, path] = line.split(' ');
    router.add(method, path, line);
  }
  return router;
}

describe('router', () => {
  const router = makeRouter();

  it('finds an exact path without parameters', () => {
    const match = router.find('/v1/time');
    assert.equal(match?.endpoint.methods.get('GET'), 'GET /v1/time');
    assert.deepEqual(match?.params, {});
  });

  it('hands over the parameters of a path', () => {
    assert.deepEqual(router.find('/v1/orders/0xab')?.params, { hash: '0xab' });
    assert.deepEqual(router.find('/v1/orders/0xab/amend')?.params, { hash: '0xab' });
    assert.deepEqual(router.find('/v1/markets/a/b/last')?.params, { id: 'a', part: 'b' });
  });

  it('finds every path again, however many others came in between', () => {
    const paths = Array.from({ length: 3000 }, (_, index) => `/v1/orders/0x${index}`);
    for (const path of [...paths, ...paths]) {
      const match = router.find(path);
      assert.deepEqual(match?.params, { hash: path.slice('/v1/orders/'.length) });
      assert.equal(match?.endpoint.path, '/v1/orders/:hash');
    }
  });

  it('prefers an exact segment to a parameter', () => {
    assert.equal(router.find('/v1/orders/cancel-all')?.endpoint.path, '/v1/orders/cancel-all');
    assert.equal(router.find('/v1/orders/open/m1')?.endpoint.path, '/v1/orders/open/:market_id');
  });

  it('comes back to the parameter where the exact segment leads nowhere', () => {
    const match = router.find('/v1/orders/batch/amend');
    assert.equal(match?.endpoint.path, '/v1/orders/:hash/amend');
    assert.deepEqual(match?.params, { hash: 'batch' });
  });

  it('lists every method of a path, sorted, as Allow does', () => {
    assert.equal(router.find('/v1/orders/batch')?.endpoint.allow, 'DELETE, POST');
    assert.equal(router.find('/v1/orders/0xab')?.endpoint.allow, 'DELETE, GET, HEAD');
  });

  it('matches nothing that is longer, shorter, encoded or oddly written', () => {
    const odd = [
      '',
      '/',
      '/v1',
      '/v1/',
      '/v1/time/',
      '//v1/time',
      '/v1//time',
      '/V1/time',
      '/v1/orders/',
      '/v1/orders/a%2fb',
      '/v1/orders/%61',
      '/v1/orders/a b',
      '/v1/orders/é',
      '/v1/orders/a;b',
      '/v1/orders/0xab/amend/x',
      'v1/time',
      `/v1/orders${'/a'.repeat(10_000)}`,
      '/__proto__/constructor',
    ];
    for (const path of odd) assert.equal(router.find(path), null, path);
  });

  it('keeps a hostile parameter value as plain text', () => {
    assert.deepEqual(router.find('/v1/orders/__proto__')?.params, { hash: '__proto__' });
  });

  it('refuses a table that is ambiguous', () => {
    assert.throws(() => makeRouter().add('GET', '/v1/time', 'again'), /two routes/);
    assert.throws(() => makeRouter().add('GET', '/v1/orders/:id/fills', 'other name'), /renames/);
    for (const path of ['v1', '/v1/', '/v1//x', '/v1/:']) {
      assert.throws(() => makeRouter().add('GET', path, 'malformed'), /malformed/);
    }
  });
});

describe('a row whose parameters may be encoded', () => {
  const router = new Router<string>();
  router.add('DELETE', '/v1/orders/by-client-id/:id', 'by id', true);
  router.add('DELETE', '/v1/orders/:hash', 'by hash');
  const idIn = (segment: string) => router.find(`/v1/orders/by-client-id/${segment}`)?.params['id'];

  it('hands on whatever encodeURIComponent makes, as it is', () => {
    for (const text of ['a b/c', '100%', "it's (fine)!*~", 'é']) {
      assert.equal(idIn(encodeURIComponent(text)), encodeURIComponent(text));
    }
  });

  it('takes nothing else, and no other row takes that', () => {
    for (const segment of ['', '%', '%2', '%zz', 'a b', 'a;b', 'é']) assert.equal(idIn(segment), undefined);
    assert.equal(router.find('/v1/orders/%61'), null);
  });

  it('cannot be a row that has them plain', () => {
    assert.throws(() => router.add('GET', '/v1/orders/by-client-id/:id', 'plain'), /renames a parameter/);
  });
});

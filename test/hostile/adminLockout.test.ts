/**
 * Attack: an address that shares the administrator's guesses tokens, and a network with millions of addresses fills the
 * table in which addresses are counted (RULES.md 4.6, 4.10).
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { MemoryCounterStore } from '../../gateway/access/counterStore.ts';
import { Limiter } from '../../gateway/access/limiter.ts';
import { SCOPE } from '../../gateway/base/scopes.ts';
import { ok } from '../../gateway/http/respond.ts';
import type { Route } from '../../gateway/http/route.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { apiKey, credentialsOf } from '../support/apiKeys.ts';
import { EDGE_START_MS, startEdge } from '../support/edgeRig.ts';
import { timesOf } from '../support/seeds.ts';

const KEY = apiKey(1, { scopes: SCOPE['read:account'] });
const PUBLIC = { method: 'GET', path: '/v1/time', access: 'public', limit: 'unlisted' } as const;
const STREAM = { method: 'GET', path: '/v1/ws', access: 'public', limit: 'unlisted', strictKey: true } as const;
const ADMIN = { method: 'GET', path: '/admin/ledger', access: 'viewer', limit: 'unlisted' } as const;
const ACCOUNT = { method: 'GET', path: '/v1/user/balances', access: 'read:account', limit: 'unlisted' } as const;
const ROUTES: Route[] = [PUBLIC, STREAM, ADMIN, ACCOUNT].map((spec) => ({
  ...spec,
  summary: '',
  answers: {},
  handler: (call) => ok(call, {}),
}));

const GUESSES = timesOf({ suite: 60, soak: 5000 });
const RIGHT = 40;

function startGuarded(t: TestContext) {
  return startEdge(t, ROUTES, [KEY]);
}

describe('an address that guesses', () => {
  test('tokens locks the administrator out of nothing, nor the others at that address', async (t) => {
    const edge = await startGuarded(t);
    const statuses = new Set<number>();
    for (let index = 0; index < GUESSES; index++) {
      statuses.add((await edge.asAdministrator('GET', ADMIN.path, `guess-${index}`)).status);
    }
    assert.deepEqual([...statuses], [401, 429], 'guesses are slowed down');
    for (let index = 0; index < RIGHT; index++) {
      const { status, headers } = await edge.asAdministrator('GET', ADMIN.path);
      assert.deepEqual([status, headers['x-ratelimit-decision']], [200, undefined]);
    }
    const time = await edge.send('GET', PUBLIC.path);
    assert.deepEqual([time.status, time.headers['x-ratelimit-remaining']], [200, '29']);
  });

  test('keys uses up no quota of the keys at that address', async (t) => {
    const edge = await startGuarded(t);
    const signer = new RequestSigner(credentialsOf(KEY), edge.clock);
    for (let index = 0; index < GUESSES; index++) {
      const headers = { ...signer.headers('GET', ACCOUNT.path, ''), 'x-svc-signature': 'A'.repeat(43) };
      const { status } = await edge.send('GET', ACCOUNT.path, { headers });
      assert.equal(status, index < 30 ? 401 : 429);
    }
    const { status, headers } = await edge.send('GET', ACCOUNT.path, {
      headers: signer.headers('GET', ACCOUNT.path, ''),
    });
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, '9']);
  });

  test('keys where none is needed uses up nothing of what the address may do without one', async (t) => {
    const edge = await startGuarded(t);
    const headers = { 'x-svc-api-key': 'key_unknown' };
    for (let index = 0; index < GUESSES; index++) {
      assert.equal((await edge.send('GET', STREAM.path, { headers })).status, index < 30 ? 401 : 429);
    }
    const { status, headers: answered } = await edge.send('GET', STREAM.path);
    assert.deepEqual([status, answered['x-ratelimit-remaining']], [200, '29']);
  });
});

describe('a network that fills the table of addresses', () => {
  const CAPACITY = timesOf({ suite: 2000, soak: 100_000 });
  const limiterOf = () => {
    const tables = [1, 2, 3].map(() => new MemoryCounterStore(CAPACITY));
    return new Limiter(...tables);
  };
  const decision = async (limiter: Limiter, address: string) =>
    (await limiter.countAddress(address, PUBLIC, EDGE_START_MS))!.decision;

  test('as one /48 it has a share of it, not a quota for each of its networks', async () => {
    const limiter = limiterOf();
    let admitted = 0;
    for (let index = 0; index < Math.min(4 * CAPACITY, 65_536); index++) {
      const address = `2001:db8:1:${index.toString(16)}`;
      for (const endpoint of [PUBLIC, ACCOUNT]) {
        const result = await limiter.countAddress(address, endpoint, EDGE_START_MS);
        admitted += Number(result!.decision === 'allowed');
      }
    }
    assert.equal(admitted, 2 * (128 + 30));
    for (const address of ['9.8.7.6', '2001:db8:2:1']) assert.equal(await decision(limiter, address), 'allowed');
  });

  test('with more addresses than fit it makes the counts of others lenient, and locks nobody out', async () => {
    const limiter = limiterOf();
    for (let index = 0; index < 3 * CAPACITY; index++) {
      const address = `${(index >>> 16).toString(16)}:${(index & 0xffff).toString(16)}:0:0`;
      await limiter.countAddress(address, PUBLIC, EDGE_START_MS);
      await limiter.countFailure(address, ADMIN, EDGE_START_MS);
    }
    assert.equal(await decision(limiter, '9.8.7.6'), 'allowed');
    assert.equal((await limiter.countFailure('9.8.7.6', ADMIN, EDGE_START_MS))!.decision, 'allowed');
  });
});

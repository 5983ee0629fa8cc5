/** The identity of a caller step by step, and the limits of keys and addresses, over a real socket (RULES.md 4). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Authenticator } from '../../gateway/access/authenticator.ts';
import type { Counted, CounterStore } from '../../gateway/access/counterStore.ts';
import { Limiter } from '../../gateway/access/limiter.ts';
import { NonceMemory } from '../../gateway/access/nonces.ts';
import { HmacKey } from '../../gateway/base/hmacKey.ts';
import type { ApiKey } from '../../gateway/base/principal.ts';
import { ok } from '../../gateway/http/respond.ts';
import type { Route } from '../../gateway/http/route.ts';
import { ANY_ARRAY, KEY, ROUTES, START_MS, TransportRig, UNDOCUMENTED } from '../support/transportRig.ts';

/** A shared counter store that is out of reach. */
const UNDECIDED: CounterStore = { count: () => 'unavailable', peek: () => 'unavailable' };

describe('transport', () => {
  const rig = new TransportRig();

  describe('identity', () => {
    it('answers 401 at each step in order and names the step', async () => {
      const path = '/v1/orders/0xab';
      const good = () => rig.sign('GET', path);
      const steps: [Record<string, string>, string, string][] = [
        [{}, 'missing required API key headers', 'headers'],
        [{ ...good(), 'x-svc-nonce': '' }, 'missing required API key headers', 'headers'],
        [{ ...good(), 'x-svc-signing-version': '9' }, 'unsupported signing version', 'signing_version'],
        [{ ...good(), 'x-svc-api-key': 'nobody' }, 'invalid API key', 'api_key'],
        [{ ...good(), 'x-svc-timestamp': 'noon' }, 'invalid timestamp', 'timestamp'],
        [{ ...good(), 'x-svc-timestamp': '1' }, 'timestamp outside acceptable window', 'timestamp'],
        [{ ...good(), 'x-svc-passphrase': 'wrong' }, 'invalid passphrase', 'passphrase'],
        [{ ...good(), 'x-svc-signature': 'A'.repeat(43) }, 'invalid signature', 'signature'],
        [rig.sign('GET', path, '', { 'x-svc-nonce': 'short' }), 'invalid nonce', 'nonce'],
      ];
      for (const [headers, message, step] of steps) {
        const { status, json } = await rig.call('GET', path, undefined, headers);
        assert.equal(status, 401, message);
        assert.equal(json.error, message);
        assert.equal(json.details.step, step);
        const isTime = step === 'timestamp';
        assert.equal(json.details.server_time, isTime ? Math.floor(rig.server.clock.nowMs() / 1000) : undefined);
      }
      const once = good();
      assert.deepEqual((await rig.call('GET', path, undefined, once)).json, { hash: '0xab' });
      assert.equal((await rig.call('GET', path, undefined, once)).json.error, 'nonce already used');
    });

    it('signs the query exactly as sent, an empty one included', async () => {
      // A public route takes any query, and shows whether the key was recognised.
      for (const path of ['/v1/time?b=2&a=%31', '/v1/time?']) {
        const target = `GET ${path} HTTP/1.1\r\nHost: a\r\n`;
        const headers = Object.entries(rig.sign('GET', path)).map(([name, value]) => `${name}: ${value}\r\n`);
        const { text } = await rig.raw(`${target}${headers.join('')}\r\n`, (received) => received.includes('}'));
        assert.match(text, /^HTTP\/1.1 200 .*{"account":1}/s, path);
      }
    });

    it('refuses a key without the scope', async () => {
      const { status, json } = await rig.call('GET', '/v1/bulk', undefined, rig.sign('GET', '/v1/bulk'));
      assert.equal(status, 403);
      assert.equal(json.code, 'INSUFFICIENT_SCOPE');
    });

    it('knows a key on public data and never refuses a bad one there', async () => {
      assert.deepEqual((await rig.call('GET', '/v1/time', undefined, rig.sign('GET', '/v1/time'))).json, {
        account: 1,
      });
      const skewed = rig.sign('GET', '/v1/time', '', { 'x-svc-timestamp': '1' });
      assert.deepEqual((await rig.call('GET', '/v1/time', undefined, skewed)).json, { account: null });
    });

    it('lets the administrator in by token only', async () => {
      const wrong = await rig.call('GET', '/admin/ledger', undefined, { authorization: 'Bearer wrong' });
      assert.equal(wrong.status, 401);
      assert.equal(wrong.json.code, 'UNAUTHORIZED');
      assert.equal((await rig.call('GET', '/admin/ledger', undefined, rig.sign('GET', '/admin/ledger'))).status, 401);
      const right = await rig.call('GET', '/admin/ledger', undefined, { authorization: 'Bearer admin-token' });
      assert.deepEqual(right.json, { balanced: true });
    });
  });

  describe('limits', () => {
    it('admits anonymous calls up to the limit of the endpoint and says so in five headers', async () => {
      for (let left = 29; left >= 0; left--) {
        const { status, headers } = await rig.call('GET', '/v1/time');
        assert.equal(status, 200);
        assert.equal(headers.get('x-ratelimit-decision'), 'allowed');
        assert.equal(headers.get('x-ratelimit-limit'), '30');
        assert.equal(headers.get('x-ratelimit-window-seconds'), '60');
        assert.equal(headers.get('x-ratelimit-remaining'), String(left));
        assert.equal(headers.get('x-ratelimit-reset'), String(rig.server.clock.nowMs() / 1000 + 60));
      }
      const refused = await rig.call('GET', '/v1/time');
      assert.equal(refused.status, 429);
      assert.equal(refused.json.code, 'RATE_LIMITED');
      assert.equal(refused.headers.get('x-ratelimit-decision'), 'quota_denied');
      assert.equal(refused.headers.get('x-ratelimit-remaining'), '0');
      assert.equal(refused.headers.get('retry-after'), '60');
      assert.equal(
        (await rig.call('GET', '/v1/time', undefined, rig.sign('GET', '/v1/time'))).status,
        200,
        'a key has its own',
      );
    });

    it('refuses no client for longer than the window lasts', async () => {
      rig.server.clock.advance(400);
      const path = '/v1/orders/0xab';
      const read = () => rig.call('GET', path, undefined, rig.sign('GET', path));
      for (let index = 0; index < 10; index++) assert.equal((await read()).status, 200);
      assert.equal((await read()).headers.get('retry-after'), '1');
      rig.server.clock.advance(1000);
      assert.equal((await read()).status, 200);
    });

    it('counts a key by its tier per endpoint, and forged calls not at all', async () => {
      const path = '/v1/orders/0xab';
      for (let index = 0; index < 5; index++) {
        const forged = { ...rig.sign('GET', path), 'x-svc-signature': 'A'.repeat(43) };
        assert.equal((await rig.call('GET', path, undefined, forged)).status, 401);
      }
      for (let left = 9; left >= 0; left--) {
        const { headers } = await rig.call('GET', path, undefined, rig.sign('GET', path));
        assert.equal(headers.get('x-ratelimit-remaining'), String(left));
      }
      const other = '/v1/orders/0xcd';
      assert.equal((await rig.call('GET', other, undefined, rig.sign('GET', other))).status, 429, 'the same endpoint');
      assert.equal((await rig.call('GET', '/v1/time', undefined, rig.sign('GET', '/v1/time'))).status, 200);
      rig.server.clock.advance(1000);
      assert.equal((await rig.call('GET', path, undefined, rig.sign('GET', path))).status, 200);
    });

    it('counts failed attempts by address like anonymous calls', async () => {
      const statuses = [];
      for (let index = 0; index < 22; index++) statuses.push((await rig.call('GET', '/v1/orders/0xab')).status);
      assert.deepEqual(statuses, [...Array(20).fill(401), 429, 429]);
      assert.equal(
        (await rig.call('GET', '/v1/orders/0xab', undefined, rig.sign('GET', '/v1/orders/0xab'))).status,
        200,
      );
    });

    it('refuses when the counters cannot decide, without numbers they do not know', async () => {
      await rig.withOwnServer({ limiter: new Limiter(undefined, UNDECIDED) }, async () => {
        const { status, headers, json } = await rig.call('GET', '/v1/time');
        assert.equal(status, 429);
        assert.equal(json.code, 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE');
        assert.equal(headers.get('x-ratelimit-decision'), 'dependency_unavailable');
        assert.equal(headers.get('retry-after'), '1');
        assert.equal(headers.get('x-ratelimit-remaining'), null);
        assert.equal(headers.get('x-ratelimit-reset'), null);
      });
    });
  });

  describe('limits that are decided elsewhere', () => {
    const ALLOWED: Counted = { allowed: true, remaining: 1, resetMs: START_MS, retryMs: START_MS };
    const DENIED: Counted = { allowed: false, remaining: 0, resetMs: START_MS + 1000, retryMs: START_MS + 1000 };
    const LIMITED: Route = {
      ...UNDOCUMENTED,
      method: 'POST',
      path: '/v1/limited',
      access: 'public',
      limit: 'unlisted',
      maxBodyBytes: 200_000,
      body: ANY_ARRAY,
      handler: (made) => ok(made, { bytes: made.bodyBytes.length }),
    };
    const head = (bytes: number) => `POST /v1/limited HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`;

    /** A store that waits for the test: `asked` resolves with what answers the next question. */
    function lateStore() {
      const questions: ((counted: Counted) => void)[] = [];
      const store: CounterStore = {
        count: () => new Promise((resolve) => questions.push(resolve)),
        peek: () => 'unavailable',
      };
      const asked = async () => {
        while (questions.length === 0) await nextTurn();
        return questions.shift()!;
      };
      return { limiter: new Limiter(store, store, store), routes: [...ROUTES, LIMITED], asked };
    }

    function withLateStore(run: (asked: () => Promise<(counted: Counted) => void>) => Promise<void>): Promise<void> {
      const { asked, ...changes } = lateStore();
      return rig.withOwnServer(changes, () => run(asked));
    }

    it('keep the body that came meanwhile', async () => {
      await withLateStore(async (asked) => {
        const body = Buffer.from(`["${'body '.repeat(30_000)}"]`);
        const answer = rig.call('POST', '/v1/limited', body);
        const decide = await asked();
        assert.ok(await rig.isHealthy());
        decide(ALLOWED);
        const { status, json, headers } = await answer;
        assert.deepEqual([status, json], [200, { bytes: body.length }]);
        assert.equal(headers.get('x-ratelimit-decision'), 'allowed');
      });
    });

    it('wait for the body when they come first, and refuse without waiting for it', async () => {
      await withLateStore(async (asked) => {
        for (const [counted, expected] of [
          [ALLOWED, /^HTTP\/1.1 200 .*"bytes":5/s],
          [DENIED, /^HTTP\/1.1 429 .*quota_denied.*"code":"RATE_LIMITED"/s],
        ] as const) {
          const socket = await rig.open(`${head(5)}[1`);
          const received = rig.receive(socket, (text) => text.includes('}'));
          (await asked())(counted);
          if (counted === ALLOWED) socket.write('23]');
          assert.match((await received).text, expected);
        }
        assert.ok(await rig.isHealthy());
      });
    });

    it('let a client go away before, with its body half sent or whole', async () => {
      await withLateStore(async (asked) => {
        for (const bytes of ['', '[1', '[123]']) {
          for (const counted of [ALLOWED, DENIED, 'unavailable'] as const) {
            const socket = await rig.open(`${head(5)}${bytes}`);
            const decide = await asked();
            socket.destroy();
            assert.ok(await rig.isHealthy(), 'the server has seen the end of the connection, too');
            decide(counted);
            assert.ok(await rig.isHealthy());
          }
        }
      });
    });

    it('apply to a key after its signature is checked, and to a failed attempt before its answer', async () => {
      await withLateStore(async (asked) => {
        const path = '/v1/orders/0xab';
        for (const [headers, counted, expected] of [
          [rig.sign('GET', path), ALLOWED, 200],
          [rig.sign('GET', path), DENIED, 429],
          [rig.sign('GET', path), 'unavailable', 429],
          [{}, ALLOWED, 401],
          [{}, DENIED, 429],
        ] as const) {
          const answer = rig.call('GET', path, undefined, headers);
          (await asked())(counted);
          assert.equal((await answer).status, expected);
        }
      });
    });

    const changedKeys: [string, () => ApiKey][] = [
      ['is revoked', () => ({ ...KEY, revoked: true })],
      ['gets another secret', () => ({ ...KEY, secret: new HmacKey(Buffer.alloc(32)) })],
    ];
    for (const [what, changed] of changedKeys)
      it(`refuse a key that ${what} while they are asked`, async () => {
        let key = KEY;
        const nonces = new NonceMemory(START_MS / 1000 - 60, { aheadBeforeStart: () => 0, acceptedAhead: () => {} });
        const { asked, ...changes } = lateStore();
        const authenticator = new Authenticator({ find: () => key }, nonces);
        await rig.withOwnServer({ ...changes, authenticator }, async () => {
          const path = '/v1/orders/0xab';
          const answer = rig.call('GET', path, undefined, rig.sign('GET', path));
          const decide = await asked();
          key = changed();
          decide(ALLOWED);
          const { status, json } = await answer;
          assert.deepEqual([status, json.error], [401, 'API key is revoked or expired']);
        });
      });

    it('hold up the end of the server no longer than they take', async () => {
      await withLateStore(async (asked) => {
        const answer = rig.call('GET', '/v1/time');
        const decide = await asked();
        const stopped = rig.server.http.stop(5000);
        decide(ALLOWED);
        assert.equal((await answer).status, 200);
        assert.ok(await stopped);
      });
    });
  });
});

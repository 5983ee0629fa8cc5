/** Keys that may only be used from some addresses (RULES.md 4.9), directly and behind a proxy. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Credentials } from '../../shared/client/credentials.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { type Answer, startServer, type TestServer } from '../support/server.ts';
import { assertRefused, makeTrader, type Trader } from '../support/traders.ts';

const direct = await startServer(fileScope, { SHARDS: '1' });
const proxied = await startServer(fileScope, { SHARDS: '1', TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' });
const BLOCKED = [403, 'FORBIDDEN', 'this address is not allowed for the API key'] as const;

async function traderWith(server: TestServer, allowedIps: string[], scopes: 'read:account'[] = ['read:account']) {
  const trader = await makeTrader(server);
  const key = await server.admin.createApiKey(trader.userId, { scopes, allowed_ips: allowedIps });
  const credentials: Credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  return trader.withKey(credentials);
}

/** Sends one line of X-Forwarded-For per entry; fetch would join them. */
function via(server: TestServer, trader: Trader, lines: string[], path = '/v1/user/balances'): Promise<Answer> {
  const { headers } = trader.client.prepareSigned('GET', path);
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server.baseUrl}${path}`,
      { headers: { ...headers, 'X-Forwarded-For': lines } },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: new Headers(), body: JSON.parse(text) }),
        );
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

test('a key works only from its addresses, and X-Forwarded-For does not count without a trusted proxy', async () => {
  const here = await traderWith(direct, ['192.0.2.1', '127.0.0.0/8']);
  assert.equal((await via(direct, here, ['203.0.113.9'])).status, 200);
  const elsewhere = await traderWith(direct, ['203.0.113.0/24', '::1']);
  assertRefused(await elsewhere.send('GET', '/v1/user/balances'), ...BLOCKED);
  assertRefused(await via(direct, elsewhere, ['203.0.113.9']), ...BLOCKED);
});

test('behind a trusted proxy the address that it adds counts, never one that the client wrote itself', async () => {
  const trader = await traderWith(proxied, ['203.0.113.0/24', '2001:db8::/32']);
  const cases: [lines: string[], isAllowed: boolean][] = [
    [['203.0.113.9'], true],
    [['2001:db8:1::7'], true],
    [['::ffff:203.0.113.9'], true],
    [['198.51.100.1'], false],
    [['2001:db9::1'], false],
    [['203.0.113.9, 198.51.100.1'], false],
    [['198.51.100.1, 203.0.113.9'], true],
    [['203.0.113.9', '198.51.100.1'], false],
    [['198.51.100.1', '203.0.113.9, 10.1.2.3'], true],
    [['203.0.113.9:51234'], true],
    [['[2001:db8:1::7]:51234'], true],
    [['[2001:db8:1::7]'], true],
    [['[::ffff:203.0.113.9]:1'], true],
    [['203.0.113.9:51234, 10.1.2.3:80'], true],
    [['198.51.100.1:443'], false],
    [['203.0.113.9, 198.51.100.1:443'], false],
    [['203.0.113.9:'], false],
    [['203.0.113.9:123456'], false],
    [['[203.0.113.9'], false],
    [['2001:db8:1::7:'], false],
    [['203.0.113.9, nonsense'], false],
    [[], false],
  ];
  for (const [lines, isAllowed] of cases) {
    const answer = await via(proxied, trader, lines);
    if (isAllowed) assert.equal(answer.status, 200, lines.join(' | '));
    else assertRefused(answer, ...BLOCKED);
  }
});

test('text of a proxy in place of an address is logged once, and pmx doctor shows it to clients', async (t) => {
  const server = await startServer(t, { SHARDS: '1', TRUST_PROXY: '127.0.0.1' });
  const trader = await makeTrader(server);
  const limits = async (hop: string) => (await via(server, trader, [hop], '/v1/rate-limits')).body;
  const read = await limits('203.0.113.9:51234');
  assert.deepEqual([read.address, read.unread_forwarded_for], ['203.0.113.9', null]);
  const logged = () => server.stdout.filter((line) => line.includes('X-Forwarded-For of a trusted proxy'));
  assert.deepEqual(logged(), []);
  for (const hop of ['unknown', '_hidden', 'unknown']) {
    const { address, unread_forwarded_for } = await limits(`203.0.113.9, ${hop}`);
    assert.deepEqual([address, unread_forwarded_for], ['127.0.0.1', hop]);
  }
  await eventually('the line', async () => logged().length > 0);
  assert.equal(logged().length, 1);
  assert.match(logged()[0], /"forwarded_for":"unknown"/);

  const proxy = createServer((incoming, response) => {
    const { url, method, headers } = incoming;
    const upstream = request(`${server.baseUrl}${url}`, {
      method,
      headers: { ...headers, 'X-Forwarded-For': 'unknown' },
    });
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    incoming.pipe(upstream);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  const { keyId, secret, passphrase } = trader.credentials as { keyId: string; secret: string; passphrase: string };
  const pmx = new Pmx({
    BASE_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    API_KEY: keyId,
    API_SECRET: secret,
    API_PASSPHRASE: passphrase,
  });
  const { checks } = JSON.parse((await pmx.run(['doctor', '--json'])).out);
  const found = checks.find(({ check }: { check: string }) => check === 'address');
  assert.equal(found.state, 'warn');
  assert.match(found.message, /takes you for its proxy 127\.0\.0\.1, which wrote "unknown"/);
});

test('the list is shown only to holders of the secret, and is checked before the scope', async () => {
  const trader = await traderWith(direct, ['203.0.113.9']);
  const { headers } = trader.client.prepareSigned('GET', '/v1/user/balances');
  headers['x-svc-signature'] = 'A'.repeat(43);
  const forged = await direct.request('GET', '/v1/user/balances', undefined, headers);
  assertRefused(forged, 401, 'UNAUTHORIZED', 'invalid signature');
  assertRefused(await trader.send('DELETE', '/v1/orders/cancel-all'), ...BLOCKED);
});

test('public data is answered as to anyone without a key, and the list outlives a restart', async () => {
  const trader = await traderWith(direct, ['203.0.113.9']);
  assert.equal((await trader.send('GET', '/v1/time')).status, 200);
  await direct.restart();
  assertRefused(await trader.reconnected().send('GET', '/v1/user/balances'), ...BLOCKED);
});

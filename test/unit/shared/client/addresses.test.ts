/**
 * A client finds the leader of a cluster, and repeats there the requests that may be repeated (RULES.md 18.5, 18.7;
 * ADDRESSES-1).
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { AccountRequests } from '../../../../shared/client/accountRequests.ts';
import { Addresses } from '../../../../shared/client/addresses.ts';
import { ApiError } from '../../../../shared/client/http.ts';
import { freePort } from '../../../support/freePort.ts';

type Answer = { readonly status: number; readonly body: object } | 'cut off';

const TIME: Answer = { status: 200, body: { time: 1 } };
const HASH = `0x${'11'.repeat(32)}`;
const credentials = { keyId: 'k', secret: 'c2VjcmV0', passphrase: 'p' };
const retry = { attempts: 3, firstPauseMs: 1, mostPauseMs: 1 };

const standby = (leader: string | null): Answer => {
  return { status: 503, body: { error: 'not the matching leader', code: 'NOT_MATCHING_LEADER', details: { leader } } };
};

async function member(t: TestContext, answer: () => Answer): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const given = answer();
    if (given === 'cut off') request.socket.destroy();
    else response.writeHead(given.status, { 'content-type': 'application/json' }).end(JSON.stringify(given.body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

test('an address that has more than a host is refused: its path would be cut off, and secrets go elsewhere', () => {
  assert.deepEqual(new Addresses(['https://a.example/', 'http://127.0.0.1:8080']).origins, [
    'https://a.example',
    'http://127.0.0.1:8080',
  ]);
  const ends = 'https://a.example: the address of an exchange ends with its host';
  for (const [address, message] of [
    ['https://a.example/exchange', ends],
    ['https://a.example/?venue=1', ends],
    ['https://a.example#x', ends],
    ['https://ann:secret@a.example', ends],
    ['ftp://ann:secret@a.example', '…@a.example is not the address of an exchange'],
    ['ftp://a.example', 'ftp://a.example is not the address of an exchange'],
    ['a.example', 'a.example is not the address of an exchange'],
  ] as const) {
    const refuses = (error: Error): boolean => error.message.startsWith(message) && !error.message.includes('secret');
    assert.throws(() => new Addresses(['https://b.example', address]), refuses, address);
  }
});

test('a standby names the leader, which gets this request and the next ones', async (t) => {
  const leader = await member(t, () => TIME);
  const other = await member(t, () => standby(leader.url));
  const third = await member(t, () => standby(leader.url));
  const client = new AccountRequests({ baseUrl: [other.url, third.url, leader.url], retry });
  for (let count = 0; count < 3; count++) assert.deepEqual(await client.read('/v1/time'), { time: 1 });
  assert.deepEqual([other.asked.length, third.asked.length, leader.asked.length], [1, 0, 3]);
});

test('a member that is gone is passed over, also by what may not be sent twice', async (t) => {
  const leader = await member(t, () => ({ status: 200, body: { status: 'pending' } }));
  const gone = `http://127.0.0.1:${await freePort()}`;
  const client = new AccountRequests({ baseUrl: [gone, leader.url], credentials, retry });
  await client.send('POST', '/v1/user/withdrawals', {});
  assert.deepEqual(leader.asked, ['POST /v1/user/withdrawals']);
});

test('while no member leads it is asked again until one does, and then the refusal is the answer', async (t) => {
  let asked = 0;
  const first = await member(t, () => (++asked < 4 ? standby(null) : TIME));
  const second = await member(t, () => standby(null));
  const client = new AccountRequests({ baseUrl: [first.url, second.url], retry });
  assert.deepEqual(await client.read('/v1/time'), { time: 1 });
});

test('a lost answer is repeated at the next member only where a repeat does no harm (RETRY-1)', async (t) => {
  const broken = await member(t, () => 'cut off');
  const leader = await member(t, () => ({ status: 200, body: {} }));
  const client = () => new AccountRequests({ baseUrl: [broken.url, leader.url], credentials, retry });
  await client().send('DELETE', `/v1/orders/${HASH}`);
  assert.deepEqual(leader.asked, [`DELETE /v1/orders/${HASH}`]);
  await assert.rejects(client().send('POST', '/v1/user/withdrawals', {}), TypeError);
  assert.equal(leader.asked.length, 1);
});

test('no address is used that was not given, and with one alone nothing is looked for (ADDRESSES-1)', async (t) => {
  const stranger = await member(t, () => TIME);
  const leader = await member(t, () => TIME);
  const standbys = await member(t, () => standby(stranger.url));
  await new AccountRequests({ baseUrl: [standbys.url, leader.url], retry }).read('/v1/time');
  assert.deepEqual([stranger.asked.length, leader.asked.length], [0, 1]);
  const alone = new AccountRequests({ baseUrl: standbys.url, retry });
  await assert.rejects(
    alone.read('/v1/time'),
    (error) => error instanceof ApiError && error.code === 'NOT_MATCHING_LEADER',
  );
  assert.equal(standbys.asked.length, 2);
  assert.throws(() => new Addresses([]), /needs the address/);
});

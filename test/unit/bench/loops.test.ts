import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { closedLoop, withConnections } from '../../../bench/closedLoop.ts';
import { sendPaced } from '../../../bench/openLoop.ts';

const CONNECTIONS = 3;
const REQUESTS = 60;
/** One in this many requests is refused. */
const REFUSED_EACH = 5;

function request(index: number): Buffer {
  return Buffer.from(`GET /${index} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
}

describe('the loops of the benches', () => {
  const asked: number[] = [];
  let server: Server;
  let baseUrl = '';

  before(async () => {
    server = createServer(({ url }, response) => {
      const index = Number(url?.slice(1));
      asked.push(index);
      response.statusCode = index % REFUSED_EACH === 0 ? 503 : 200;
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  it('send every request once, as fast as they are answered, and count what is refused', async () => {
    asked.length = 0;
    const requests = Array.from({ length: REQUESTS }, (_, index) => request(index));
    const fired = await withConnections(baseUrl, CONNECTIONS, (open) => closedLoop(open, requests));
    assert.deepEqual(
      asked.toSorted((a, b) => a - b),
      requests.map((_, index) => index),
    );
    assert.equal(fired.latency.count, REQUESTS);
    assert.equal(fired.refused, REQUESTS / REFUSED_EACH);
  });

  it('send what belongs together over one connection, in its order, where requests are in turns', async () => {
    asked.length = 0;
    const requests = Array.from({ length: REQUESTS }, (_, index) => request(index));
    await withConnections(baseUrl, CONNECTIONS, (open) => closedLoop(open, requests, { isInTurns: true }));
    for (let chain = 0; chain < CONNECTIONS; chain++) {
      const own = asked.filter((index) => index % CONNECTIONS === chain);
      assert.deepEqual(
        own,
        own.toSorted((a, b) => a - b),
      );
    }
  });

  it('send every request once at a pace, none before it is due, and count each kind apart', async () => {
    asked.length = 0;
    const requests = Array.from({ length: REQUESTS }, (_, index) => ({ kind: index & 1, bytes: request(index) }));
    const startMs = performance.now();
    const perSecond = 2000;
    const { latencies, late, refused } = await withConnections(baseUrl, CONNECTIONS, (open) =>
      sendPaced(open, requests, 2, perSecond),
    );
    assert.ok(performance.now() - startMs >= ((REQUESTS - 1) * 1000) / perSecond, 'the last one is due at its time');
    assert.deepEqual(
      latencies.map(({ count }) => count),
      [REQUESTS / 2, REQUESTS / 2],
    );
    assert.equal(late.count, REQUESTS);
    assert.equal(refused, REQUESTS / REFUSED_EACH);
    assert.deepEqual(
      asked.toSorted((a, b) => a - b),
      requests.map((_, index) => index),
    );
  });
});

/** The server itself on a small route table: what happens on the wire before any handler of the exchange is reached. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ok } from '../../gateway/http/respond.ts';
import { eventually } from '../support/eventually.ts';
import { nextWaiting, sha256, startTransport, TransportRig } from '../support/transportRig.ts';

describe('transport', () => {
  const rig = new TransportRig();

  describe('paths and methods', () => {
    it('answers JSON that no cache keeps and no browser sniffs', async () => {
      const { status, headers, json } = await rig.call('GET', '/health');
      assert.equal(status, 200);
      assert.deepEqual(json, { status: 'ok' });
      assert.equal(headers.get('content-type'), 'application/json');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    });

    it('says how long a connection stays open, unless it is the last request', async () => {
      const kept = await rig.call('GET', '/health');
      assert.equal(kept.headers.get('keep-alive'), 'timeout=8');
      const last = await rig.raw('GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      assert.doesNotMatch(last.text, /keep-alive/i);
    });

    it('answers an unknown path 404 and a known one with another method 405 with Allow', async () => {
      const missing = await rig.call('GET', '/v1/nothing');
      assert.equal(missing.status, 404);
      assert.deepEqual(missing.json, { error: 'not found', code: 'NOT_FOUND' });
      const wrongMethod = await rig.call('DELETE', '/v1/orders');
      assert.equal(wrongMethod.status, 405);
      assert.equal(wrongMethod.json.code, 'METHOD_NOT_ALLOWED');
      assert.equal(wrongMethod.headers.get('allow'), 'POST');
    });

    it('answers HEAD as GET without the body, so the next response on the connection stays readable', async () => {
      const two = 'HEAD /health HTTP/1.1\r\nHost: a\r\n\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const { text } = await rig.raw(two, (received) => received.endsWith('{"status":"ok"}'));
      assert.match(text, /^HTTP\/1.1 200 OK.*Content-Length: 15\r\n.*\r\n\r\nHTTP\/1.1 200 OK/s);
      assert.equal(text.split('{').length, 2);
    });

    it('matches no encoded, doubled or trailing form of a path', async () => {
      for (const path of ['/health/', '//health', '/%68ealth', '/HEALTH', '/v1/orders/']) {
        assert.equal((await rig.call('GET', path)).status, 404, path);
      }
    });
  });

  describe('bodies', () => {
    it('hands over exactly the bytes that came, in one piece or in many', async () => {
      const body = Buffer.from(`["${'body '.repeat(30_000)}"]`);
      const { json } = await rig.call('POST', '/v1/length', body);
      assert.deepEqual(json, { bytes: body.length, sha256: sha256(body) });
      const head = 'POST /v1/length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const { text } = await rig.raw(`${head}3\r\n[12\r\n2\r\n3]\r\n0\r\n\r\n`, (received) => received.includes('}'));
      assert.ok(text.includes(`{"bytes":5,"sha256":"${sha256('[123]')}"}`));
    });

    it('refuses an announced length over the limit before the body comes, takes it in and serves on', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n';
      const socket = await rig.open(head);
      const refused = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
      assert.match(refused, /^HTTP\/1.1 413 /);
      assert.match(refused, /"code":"PAYLOAD_TOO_LARGE"/);
      const after = rig.receive(socket, (received) => received.endsWith('{"status":"ok"}'));
      socket.write(`${'a'.repeat(65_537)}GET /health HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.match((await after).text, /^HTTP\/1.1 200 OK/);
    });

    it('closes at once when more is announced than anyone should have to take in', async () => {
      const { text, closed } = await rig.raw('POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n');
      assert.match(text, /^HTTP\/1.1 413 /);
      assert.ok(closed);
    });

    it('refuses a body in chunks that grows over the limit when it has come, and reads nothing behind it', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const next = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const many = `10001\r\n${'a'.repeat(65_537)}\r\n`.repeat(20);
      for (const end of ['\r\n', 'XX']) {
        const alone = await rig.raw(`${head}${many}4\r\n[12]${end}0\r\n\r\n`);
        assert.match(alone.text, /^HTTP\/1.1 413 .*"code":"PAYLOAD_TOO_LARGE"/s);
        assert.match(alone.text, /Connection: close/i);
        const followed = await rig.raw(`${head}${many}4\r\n[12]${end}0\r\n\r\n${next}`);
        assert.ok(!followed.text.includes('{"status":"ok"}'), JSON.stringify(end));
        assert.ok(alone.closed && followed.closed);
      }
      assert.ok(await rig.isHealthy());
    });

    it('takes in 16 MiB of such a body at most', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const { text, closed } = await rig.raw(`${head}1000000\r\n${'a'.repeat(16_777_216)}\r\n1\r\na\r\n`);
      assert.match(text, /^HTTP\/1.1 413 /);
      assert.ok(closed);
      assert.ok(await rig.isHealthy());
    });

    it('reads nothing after a chunked body, however the chunks end', async () => {
      const head = 'POST /v1/length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const next = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      for (const end of ['\r\n', 'XX', '\n\n']) {
        const { text, closed } = await rig.raw(`${head}4\r\n[12]${end}0\r\n\r\n${next}`);
        assert.ok(!text.includes('{"status":"ok"}'), JSON.stringify(end));
        assert.ok(closed);
      }
    });

    it('takes a body of exactly the limit', async () => {
      const text = 'a'.repeat(65_536 - '{"text":""}'.length);
      assert.equal((await rig.call('POST', '/v1/echo', `{"text":"${text}"}`)).status, 200);
      assert.equal((await rig.call('POST', '/v1/echo', `{"text":"${text}a"}`)).status, 413);
    });

    it('ignores a body that no schema asks for and keeps the connection usable', async () => {
      const two =
        'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabcdefGET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const { text } = await rig.raw(two, (received) => received.endsWith('{"status":"ok"}'));
      assert.match(text, /^HTTP\/1.1 404 .*HTTP\/1.1 200 OK/s);
    });

    it('refuses JSON that is broken, ambiguous, too deep or reaches for a prototype', async () => {
      const bodies: Record<string, string> = {
        '': 'missing body',
        '{': 'body is not valid JSON',
        '{"side":"BUY","side":"SELL"}': 'body has a duplicate field',
        [`{"a":${'['.repeat(8)}${']'.repeat(8)}}`]: 'body is nested deeper than 8 levels',
        '{"__proto__":{"side":"BUY"}}': 'unknown field: __proto__',
        '{"sied":"BUY"}': 'unknown field: sied',
        '{"side":"HOLD"}': 'invalid side',
        '[]': 'invalid body',
      };
      for (const [body, message] of Object.entries(bodies)) {
        const { status, json } = await rig.call('POST', '/v1/echo', body);
        assert.equal(status, 400, body);
        assert.equal(json.code, 'VALIDATION_ERROR');
        assert.equal(json.error, message);
        assert.ok(json.details.field && json.details.rule);
      }
      assert.equal(
        (await rig.call('POST', '/v1/echo', Uint8Array.of(0x22, 0xff, 0x22))).json.error,
        'body is not valid UTF-8',
      );
    });
  });

  describe('hostile connections', () => {
    const framings: Record<string, string> = {
      'two lengths': 'Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde',
      'the same length twice': 'Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc',
      'a length and a coding': 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'a coding that is not chunked': 'Transfer-Encoding: gzip\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'two codings': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'a length with a sign': 'Content-Length: +3\r\n\r\nabc',
      'a length that is no number': 'Content-Length: 3x\r\n\r\nabc',
      'a length beyond 64 bits': 'Content-Length: 99999999999999999999\r\n\r\nabc',
    };
    for (const [name, rest] of Object.entries(framings)) {
      it(`refuses ${name} and closes`, async () => {
        const { text, closed } = await rig.raw(`POST /v1/length HTTP/1.1\r\nHost: a\r\n${rest}`);
        assert.match(text, /^HTTP\/1.1 4(?:00|13) /);
        assert.ok(closed);
      });

      it(`serves nothing that follows ${name}`, async () => {
        const smuggled = 'GET /admin/ledger HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin-token\r\n\r\n';
        const { text, closed } = await rig.raw(`POST /v1/length HTTP/1.1\r\nHost: a\r\n${rest}${smuggled}`);
        assert.ok(!text.includes(' 200 OK'));
        assert.ok(closed);
      });
    }

    it('refuses two lines of Host, the same or not, and closes', async () => {
      for (const second of ['Host: a', 'Host: b', 'host: a']) {
        const { text, closed } = await rig.raw(`GET /health HTTP/1.1\r\nHost: a\r\n${second}\r\n\r\n`);
        assert.match(text, /^HTTP\/1.1 400 /);
        assert.ok(closed);
      }
    });

    it('refuses headers that are too large or too many', async () => {
      for (const headers of [`cookie: ${'b'.repeat(8192)}\r\n`, 'a: b\r\n'.repeat(96)]) {
        const { text } = await rig.raw(`GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`);
        assert.match(text, /^HTTP\/1.1 200 /, text);
      }
      const tooMany = [97, 98, 99, 100, 101, 150, 200, 1000].map((count) => 'a: b\r\n'.repeat(count));
      const tooLarge = [9000, 20_000, 200_000].map((bytes) => `a: ${'b'.repeat(bytes)}\r\n`);
      for (const headers of [...tooMany, ...tooLarge]) {
        const { text, closed } = await rig.raw(
          `GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`,
        );
        assert.match(text, /^HTTP\/1.1 431 /);
        assert.ok(closed);
      }
    });

    it('answers Expect: 100-continue before the body comes, and the request after it', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n';
      const socket = await rig.open(head);
      let text = '';
      const seen = (wanted: string) =>
        new Promise<void>((resolve) => {
          const look = (part: Buffer | '' = ''): void => {
            text += String(part);
            if (!text.includes(wanted)) return;
            socket.off('data', look);
            resolve();
          };
          socket.on('data', look);
          look();
        });
      await seen('HTTP/1.1 100 Continue\r\n\r\n');
      socket.write('{"side":"BUY"}');
      await seen('{"side":"BUY"}');
      assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
      socket.destroy();
    });

    it('answers other protocols with an error or silence, and others go on undisturbed', async () => {
      const socket = await rig.open('hello\r\n\r\n');
      const { text } = await rig.raw('GET /health HTTP/3.7\r\nHost: a\r\n\r\n');
      assert.match(text, /^HTTP\/1.1 505 /);
      assert.ok(await rig.isHealthy());
      socket.destroy();
    });

    it('lets half-sent bodies come and go without disturbing another client', async () => {
      const head = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{"side":';
      const sockets = await Promise.all(Array.from({ length: 20 }, () => rig.open(head)));
      assert.deepEqual((await rig.call('POST', '/v1/echo', '{"side":"BUY"}')).json, { side: 'BUY' });
      for (const [index, socket] of sockets.entries()) index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
      assert.ok(await rig.isHealthy());
    });

    it('survives a client that leaves before its answer, and sends the late answer to no other client', async () => {
      const arrived = nextWaiting();
      const socket = await rig.open('GET /v1/waits HTTP/1.1\r\nHost: a\r\n\r\n');
      const late = await arrived;
      socket.resetAndDestroy();
      while (!late.aborted) await nextTurn();
      ok(late, { late: true });
      assert.ok(await rig.isHealthy());
    });

    it('answers pipelined requests in order', async () => {
      const post = 'POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n\r\n{"side":"BUY"}';
      const get = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
      const { text } = await rig.raw(get + post + get, (received) => received.split('"status"').length === 3);
      assert.deepEqual(text.match(/\{.*?\}/g), ['{"status":"ok"}', '{"side":"BUY"}', '{"status":"ok"}']);
    });
  });

  describe('failures and the end', () => {
    it('answers 500 when a handler throws, rejects or forgets, and lives on', async () => {
      for (const path of ['/v1/throws', '/v1/rejects', '/v1/forgets']) {
        const { status, json } = await rig.call('GET', path);
        assert.equal(status, 500);
        assert.deepEqual(json, { error: 'internal error', code: 'INTERNAL_ERROR' });
      }
      assert.ok(await rig.isHealthy());
    });

    it('refuses to share a port with another server', async () => {
      const { port } = rig.server;
      const config = { host: '127.0.0.1', port, tls: null, trustProxy: null };
      await assert.rejects(startTransport({ config }), new RegExp(`cannot listen on 127.0.0.1 port ${port}`));
      assert.ok(await rig.isHealthy());
    });

    it('drains: answers requests in flight, accepts no new ones, then closes every connection', async () => {
      await rig.withOwnServer({}, async () => {
        const idle = await rig.open('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
        const idleClosed = new Promise((resolve) => idle.on('close', resolve));
        idle.resume();
        const arrived = nextWaiting();
        const inFlight = rig.call('GET', '/v1/waits');
        const held = await arrived;
        const stopped = rig.server.http.stop(5000);
        // Clients that wait to be let in are let in first.
        await eventually('a refused connection', async () => {
          const error = await rig.open('').then(
            (socket) => socket.destroy() && null,
            (refusal) => refusal,
          );
          return error?.code === 'ECONNREFUSED';
        });
        ok(held, { drained: true });
        assert.deepEqual((await inFlight).json, { drained: true });
        assert.equal(await stopped, true);
        await idleClosed;
      });
    });

    it('answers what still comes over open connections while it stops, as the last of each', async () => {
      await rig.withOwnServer({}, async () => {
        const [probe, other] = [await rig.open(''), await rig.open('')];
        const arrived = nextWaiting();
        const inFlight = rig.call('GET', '/v1/waits');
        const held = await arrived;
        const stopped = rig.server.http.stop(5000);
        probe.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
        other.write('GET /v1/time HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.match((await rig.receive(probe)).text, /^HTTP\/1.1 200 /);
        assert.match((await rig.receive(other)).text, /^HTTP\/1.1 200 OK\r\n.*Connection: close\r\n/is);
        ok(held, {});
        await inFlight;
        assert.equal(await stopped, true);
      });
    });

    it('answers a request that was sent before its client could know of the end', async () => {
      await rig.withOwnServer({}, async () => {
        const kept = await rig.open('GET /v1/time HTTP/1.1\r\nHost: a\r\n\r\n');
        await new Promise((resolve) => kept.once('data', resolve));
        const stopped = rig.server.http.stop(1000);
        kept.write('GET /v1/time HTTP/1.1\r\nHost: a\r\n\r\n');
        const { text } = await rig.receive(kept);
        assert.match(text, /^HTTP\/1.1 200 /);
        assert.match(text, /^Connection: close\r$/im, 'it is the last one there');
        assert.equal(await stopped, true);
      });
    });

    it('gives up draining at its deadline and says so', async () => {
      await rig.withOwnServer({}, async () => {
        const arrived = nextWaiting();
        const refused = assert.rejects(rig.call('GET', '/v1/waits'));
        const held = await arrived;
        assert.equal(await rig.server.http.stop(1), false);
        await refused;
        assert.ok(held.aborted);
        ok(held, { late: true });
      });
    });
  });
});

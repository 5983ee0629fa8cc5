/**
 * One request at a time on a connection (RULES.md 6.4), as bytes on sockets: what a client that does not wait for its
 * answers can rely on, even if front threads have its connections (6.13).
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { PlacementBody } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { sharedServer, startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { onWire, requestBytes } from '../support/wire.ts';

const BURST = 100;

type Exchange = { readonly gateways: number; readonly server: TestServer };
const hasFronts = (process.env['GATEWAYS'] ?? '1') !== '1';
const EXCHANGES: readonly Exchange[] = [
  { gateways: 1, server: hasFronts ? await startServer(fileScope, { GATEWAYS: '1' }) : await sharedServer() },
  { gateways: 2, server: await startServer(fileScope, { GATEWAYS: '2' }) },
];

function bytesOf(trader: Trader, method: string, path: string, payload?: unknown): Buffer {
  const request = trader.client.prepareSigned(method, path, payload);
  return requestBytes(method, path, Object.entries(request.headers), Buffer.from(request.body));
}

function bodies(trader: Trader, market: OrderMarket, count: number): PlacementBody[] {
  return Array.from({ length: count }, () => trader.body(market, { price: '0.50', size: '2' }));
}

function hashOf(trader: Trader, { maker: _maker, signer: _signer, signature: _signature, ...draft }: PlacementBody) {
  return trader.signer.sign(draft, { salt: draft.salt }).orderHash;
}

for (const { gateways, server } of EXCHANGES) {
  const port = Number(new URL(server.baseUrl).port);

  describe(`GATEWAYS=${gateways}`, () => {
    test('of a hundred placements in one write the first is carried out, once, and nothing behind it', async () => {
      const [market, alice] = [await makeMarket(server), await makeTrader(server)];
      const burst = bodies(alice, market, BURST);
      const bytes = Buffer.concat(burst.map((body) => bytesOf(alice, 'POST', '/v1/orders', body)));
      assert.deepEqual(await onWire(port, bytes, 'first'), [], 'the connection is closed instead of an answer');
      // It follows in the same ring, so its reply shows how the first one ended.
      const again = await alice.post(burst[0]);
      assert.deepEqual([again.status, again.body.code], [409, 'ORDER_PLACEMENT_FAILED']);
      const open = await alice.client.openOrders(market.id);
      assert.deepEqual(
        open.map((order) => order.order_hash),
        [hashOf(alice, burst[0])],
      );
      assert.equal((await alice.post(burst[BURST - 1])).status, 200, 'another one was never seen and can be sent');
    });

    test('a cancel in the same write as its placement is not carried out', async () => {
      const [market, alice] = [await makeMarket(server), await makeTrader(server)];
      const [body] = bodies(alice, market, 1);
      const orderHash = hashOf(alice, body!);
      const bytes = [bytesOf(alice, 'POST', '/v1/orders', body), bytesOf(alice, 'DELETE', `/v1/orders/${orderHash}`)];
      assert.deepEqual(await onWire(port, Buffer.concat(bytes), 'first'), []);
      assert.equal((await alice.post(body!)).status, 409);
      assert.equal((await alice.client.getOrder(orderHash)).status, 'open');
      assert.equal((await alice.send('DELETE', `/v1/orders/${orderHash}`)).status, 200);
    });

    test('requests with immediate answers are answered in order, and a placement has to be the last', async () => {
      const [market, alice] = [await makeMarket(server), await makeTrader(server)];
      const [body] = bodies(alice, market, 1);
      const book = requestBytes('GET', `/v1/orders/book/${market.id}`, [], Buffer.alloc(0));
      // A front knows a market some time after it has opened; until then it passes on what asks for its book.
      await eventually(
        'a book at once',
        async () => (await onWire(port, Buffer.concat([book, book]), 'all')).length === 2,
      );
      const socket = connect(port, '127.0.0.1');
      let text = '';
      const answered = new Promise<void>((resolve, reject) => {
        socket.on('data', (chunk) => {
          text += chunk;
          if (text.includes('"order_id"')) resolve();
        });
        socket.on('close', () => reject(new Error('the connection was closed')));
      });
      socket.write(Buffer.concat([book, book, bytesOf(alice, 'POST', '/v1/orders', body)]));
      await answered;
      socket.destroy();
      assert.deepEqual(text.match(/"(?:bids|order_id)"/g), ['"bids"', '"bids"', '"order_id"']);
    });

    test('clients that leave right behind their placements lose answers and nothing else', async () => {
      const [market, alice] = [await makeMarket(server), await makeTrader(server)];
      const sent = bodies(alice, market, 20);
      for (const body of sent) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        await new Promise<void>((resolve) => socket.once('connect', resolve));
        const bytes = bytesOf(alice, 'POST', '/v1/orders', body);
        await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
        socket.resetAndDestroy();
      }
      for (const body of sent) {
        const { status } = await alice.post(body);
        assert.ok(status === 200 || status === 409, 'an order was placed before or it is now, and not twice');
      }
      const open = await alice.client.openOrders(market.id);
      assert.deepEqual(open.map((order) => order.order_hash).sort(), sent.map((body) => hashOf(alice, body)).sort());
      assert.equal((await alice.holdings(market)).reserved, sent.length * 1_000_000);
      assert.ok((await server.admin.ledger()).balanced);
    });

    test('behind an answer that closes the connection nothing is carried out or answered', async () => {
      const [market, alice] = [await makeMarket(server), await makeTrader(server)];
      const [body] = bodies(alice, market, 1);
      const chunked = Buffer.from(
        'POST /nothing HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      );
      const [alone] = await onWire(port, chunked, 'first');
      assert.equal(alone!.status, 404);
      const bytes = Buffer.concat([chunked, bytesOf(alice, 'POST', '/v1/orders', body)]);
      assert.deepEqual(await onWire(port, bytes, 'first'), []);
      assert.equal((await alice.post(body)).status, 200, 'it was never seen and can be sent');
    });
  });
}

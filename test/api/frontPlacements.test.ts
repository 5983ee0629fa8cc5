/**
 * Placements on a server with front threads, which read them (gateway/front/frontReader.ts): every answer equals that
 * of a server with a single gateway thread (RULES.md 6.13), whatever is wrong with the request.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { AUTH_HEADER } from '../../shared/crypto/hmac.ts';
import { fileScope } from '../support/fileScope.ts';
import {
  CONNECTIONS,
  comparable,
  type Got,
  IN_ORDER,
  IN_REQUEST,
  ORDERS_PATH,
  placement,
  Side,
  signedInVersion1,
} from '../support/frontSides.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { makeTrader } from '../support/traders.ts';

const REQUESTS = timesOf({ suite: 250, soak: 5000 });

const single = await Side.start(fileScope, 1);
const fronts = await Side.start(fileScope, 3);

test('placements that are spoiled in any part are answered as by one gateway thread', async (t) => {
  const seed = seedOr(31);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  for (const side of [single, fronts]) side.close(t);
  for (let count = 0; count < REQUESTS; count++) {
    const order = random.pick(IN_ORDER);
    const change = random.pick(IN_REQUEST);
    const isVersion1 = random.chance(20);
    const isAgain = random.chance(10);
    const changeSeed = random.next();
    const answers: unknown[] = [];
    for (const side of [single, fronts]) {
      const sent = placement(side, order);
      if (isVersion1) signedInVersion1(side.trader, sent);
      change(sent, new Random(changeSeed));
      const connection = count % CONNECTIONS;
      const got = [comparable(await side.send(sent, connection))];
      // On another connection, so at another front.
      if (isAgain) got.push(comparable(await side.send(sent, connection + 1)));
      answers.push(got);
    }
    const about = `request ${count}: ${JSON.stringify(order)}, ${change}, ${isVersion1}`;
    assert.deepEqual(answers[1], answers[0], about);
  }
  assert.equal(await single.prepared(), 0);
  assert.ok((await fronts.prepared()) > REQUESTS / 20, 'the fronts have prepared many of them');
});

test('one of several copies of a prepared placement is accepted, whichever fronts they reach', async (t) => {
  fronts.close(t);
  for (let round = 0; round < 8; round++) {
    const sent = placement(fronts, {});
    const before = await fronts.prepared();
    const answers = await Promise.all(fronts.agents.map((_, connection) => fronts.send(sent, connection)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1, JSON.stringify(answers));
    assert.equal(answers.filter(({ status }) => status === 401).length, CONNECTIONS - 1);
    assert.ok(round === 0 || (await fronts.prepared()) > before, 'they were prepared');
  }
});

test('a prepared placement with an idempotency key is carried out once', async (t) => {
  fronts.close(t);
  for (let round = 0; round < 4; round++) {
    const { trader, market } = fronts;
    const body = trader.body(market, { price: '0.30', size: '1' });
    const key = { 'idempotency-key': randomUUID() };
    const send = (connection: number): Promise<Got> => {
      const signed = trader.client.prepareSigned('POST', ORDERS_PATH, body);
      return fronts.send({ ...signed, headers: { ...signed.headers, ...key } }, connection);
    };
    const answers = await Promise.all(fronts.agents.map((_, connection) => send(connection)));
    const answered = answers.filter(({ status }) => status === 200);
    assert.ok(answered.length >= 1, JSON.stringify(answers));
    assert.equal(answers.filter(({ status }) => status === 409).length, CONNECTIONS - answered.length);
    const replayed = await send(round);
    assert.deepEqual([replayed.status, replayed.body], [200, answered[0]!.body]);
    const other = trader.client.prepareSigned('POST', ORDERS_PATH, trader.body(market, { price: '0.31', size: '1' }));
    const mismatch = { ...other, headers: { ...other.headers, ...key } };
    assert.equal((await fronts.send(mismatch, round + 1)).status, 409);
  }
});

test('a key without the scope is refused, even if a front has prepared its placement', async (t) => {
  for (const side of [single, fronts]) side.close(t);
  for (let count = 0; count < 4; count++) {
    const answers = await Promise.all(
      [single, fronts].map(async (side) => {
        const body = side.trader.body(side.market, { price: '0.30', size: '1' });
        const signed = side.narrow.client.prepareSigned('POST', ORDERS_PATH, body);
        return comparable(await side.send({ ...signed }, 0));
      }),
    );
    assert.deepEqual(answers[1], answers[0]);
  }
});

test('a placement with a key that is revoked, or has another secret since, is never accepted', async (t) => {
  fronts.close(t);
  const { server, market } = fronts;
  for (const end of ['revoke', 'rotate'] as const) {
    const trader = await makeTrader(server);
    let isOver = false;
    const before = await fronts.prepared();
    const sender = async (connection: number): Promise<void> => {
      for (let count = 0; count < 40; count++) {
        const wasOver = isOver;
        const signed = trader.client.prepareSigned(
          'POST',
          ORDERS_PATH,
          trader.body(market, { price: '0.20', size: '1' }),
        );
        const { status, body } = await fronts.send({ ...signed }, connection);
        if (wasOver) assert.equal(status, 401, body);
        else assert.ok(status === 200 || status === 401, body);
      }
    };
    const senders = Array.from({ length: CONNECTIONS }, (_, connection) => sender(connection));
    while ((await fronts.prepared()) < before + 10) await new Promise((resolve) => setTimeout(resolve, 5));
    const { keyId } = trader.credentials;
    if (end === 'revoke') await server.admin.revokeApiKey(keyId);
    else {
      const { secret, passphrase } = await server.admin.rotateApiKey(keyId);
      // The right passphrase beside the signature of the former secret.
      const renewed = trader.withKey({ keyId, secret, passphrase });
      isOver = true;
      const former = trader.client.prepareSigned(
        'POST',
        ORDERS_PATH,
        trader.body(market, { price: '0.20', size: '1' }),
      );
      const headers = { ...former.headers, [AUTH_HEADER.PASSPHRASE]: passphrase };
      for (let connection = 0; connection < CONNECTIONS; connection++) {
        const { status, body } = await fronts.send({ ...former, headers }, connection);
        assert.deepEqual([status, JSON.parse(body).details?.step], [401, 'signature'], body);
        const usual = renewed.client.prepareSigned(
          'POST',
          ORDERS_PATH,
          trader.body(market, { price: '0.20', size: '1' }),
        );
        assert.equal((await fronts.send({ ...usual }, connection)).status, 200);
      }
    }
    isOver = true;
    await Promise.all(senders);
  }
});

test('a placement whose body comes after its head, or in parts, is carried out', async (t) => {
  fronts.close(t);
  for (const pauseMs of [0, 5, 30]) {
    for (let count = 0; count < CONNECTIONS; count++) {
      const { headers, body } = placement(fronts, {});
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      const options = { agent: fronts.agents[count]!, method: 'POST', headers: { ...headers, ...length } };
      const sent = request(fronts.server.baseUrl + ORDERS_PATH, options);
      sent.flushHeaders();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      sent.write(body.slice(0, 100));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      sent.end(body.slice(100));
      const [answer]: IncomingMessage[] = await once(sent, 'response');
      answer!.resume();
      assert.equal(answer!.statusCode, 200);
    }
  }
});

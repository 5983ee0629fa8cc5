/**
 * kill -9 while requests with keys are in flight: whatever was answered is answered again byte for byte, and no key
 * has placed two orders.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/idempotency.test.ts
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const CYCLES = timesOf({ suite: 1, soak: 12 });
const SEED = seedOr(20_261_121);
const REQUESTS = 24;

type Asked = { readonly key: string; readonly body: unknown; answer: string | null };

const server = await sharedServer();
const random = seededRandom(SEED);

test(`every key is carried out once over ${CYCLES} kills (SEED=${SEED})`, async () => {
  const market = await makeMarket(server);
  let trader = await makeTrader(server, { depositMicro: 100_000_000_000 });
  const all: Asked[] = [];
  const ask = async ({ key, body }: Asked): Promise<string> => {
    const { headers, body: text } = trader.client.prepareSigned('POST', '/v1/orders', body);
    const all = { ...headers, 'idempotency-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${server.baseUrl}/v1/orders`, { method: 'POST', headers: all, body: text });
    return `${response.status} ${await response.text()}`;
  };
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const asked = Array.from({ length: REQUESTS }, (): Asked => {
      return { key: randomUUID(), body: trader.body(market, { price: '0.2', size: '10' }), answer: null };
    });
    all.push(...asked);
    const killAfter = 1 + Math.floor(random() * (REQUESTS - 2));
    let answered = 0;
    let killing: Promise<void> | undefined;
    await Promise.all(
      asked.map(async (each) => {
        // Requests that the kill interrupted have no answer.
        const answer = await ask(each).catch(() => null);
        each.answer = answer;
        if (answer !== null && ++answered === killAfter) killing = server.kill();
      }),
    );
    await killing;
    await server.start();
    trader = trader.reconnected();
    for (const each of asked) {
      // Until the keys of the last process are found, a key has to come again.
      const again = await eventually('an answer', async () => {
        const answer = await ask(each);
        return !answer.includes('ENGINE_BUSY') && answer;
      });
      assert.match(again, /^200 /);
      assert.equal(again, each.answer ?? again);
      each.answer = again;
    }
  }
  for (const each of all) assert.equal(await ask(each), each.answer);
  assert.equal((await trader.client.openOrders(market.id)).length, all.length);
});

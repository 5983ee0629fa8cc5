/**
 * Batches, cancels, replacements and amends on a server with front threads, which prepare them
 * (gateway/front/frontReader.ts): every answer equals that of a server with a single gateway thread (RULES.md 6.13),
 * whatever is wrong with the request, and both exchanges are equal afterwards.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import {
  CONNECTIONS,
  comparable,
  type Got,
  IN_ORDER,
  IN_REQUEST,
  ORDERS_PATH,
  type Sent,
  Side,
  signedInVersion1,
} from '../support/frontSides.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import type { Intent, Trader } from '../support/traders.ts';

const REQUESTS = timesOf({ suite: 350, soak: 6000 });
const PRICES = ['0.30', '0.35', '0.65', '0.70'];
const HASHES_IN_ANSWER = /"order_hash":"(0x[0-9a-f]{64})"/g;

/** A request before it is signed, by the trader of its side where it names no other. */
type Asked = { readonly method: string; readonly path: string; readonly payload?: unknown; readonly by?: Trader };
/** The same choices for both sides: each gets a generator with the same seed. */
type Ask = (side: Side, hashes: readonly string[], random: Random) => Asked;

const single = await Side.start(fileScope, 1);
const fronts = await Side.start(fileScope, 3);
const sides = [single, fronts];

/** @param chance percent of orders with which something is wrong, or unusual */
function orderOf({ trader, market }: Side, random: Random, chance: number): unknown {
  const intent = { price: random.pick(PRICES), size: random.pick(['1', '2', '7']), outcomeIndex: random.pick([0, 1]) };
  const name = random.chance(15) ? { client_order_id: 'quote 17' } : {};
  const changes = random.chance(chance) ? random.pick(IN_ORDER) : {};
  return trader.body(market, intent as Intent, { ...name, ...changes });
}

function hashOf(hashes: readonly string[], random: Random): string {
  if (hashes.length > 0 && random.chance(85)) return hashes[random.below(Math.min(hashes.length, 12))]!;
  return random.pick([`0x${'ab'.repeat(32)}`, '0xab', 'none', `0X${'AB'.repeat(32)}`]);
}

const place: Ask = (side, _, random) => ({ method: 'POST', path: ORDERS_PATH, payload: orderOf(side, random, 30) });

const placeBatch: Ask = (side, _, random) => {
  const count = random.pick([1, 2, 3, 5, 15, random.pick([0, 16, 51])]);
  const chance = random.pick([0, 0, 20]);
  const orders: unknown[] = Array.from({ length: count }, () => orderOf(side, random, chance));
  // The same order twice, or no order at all.
  if (count > 1 && random.chance(10)) orders[count - 1] = random.pick([orders[0], null, 7, []]);
  const payload = random.chance(95) ? { orders } : random.pick([orders, { orders, more: 1 }, { orders: 'none' }, {}]);
  return { method: 'POST', path: `${ORDERS_PATH}/batch`, payload };
};

const cancel: Ask = (_, hashes, random) => {
  const query = random.pick(['', '', '', '?tombstone=true', '?tombstone=maybe', '?']);
  const payload = random.pick([undefined, undefined, undefined, {}, { more: 1 }, []]);
  return { method: 'DELETE', path: `${ORDERS_PATH}/${hashOf(hashes, random)}${query}`, payload };
};

const cancelByClientId: Ask = (_, __, random) => {
  const id = random.pick(['quote%2017', 'none', '%ff', '%C3%BC', 'x'.repeat(65)]);
  return { method: 'DELETE', path: `${ORDERS_PATH}/by-client-id/${id}` };
};

const cancelBatch: Ask = (_, hashes, random) => {
  const count = random.pick([1, 3, 12, random.pick([0, 200, 201])]);
  const order_hashes: unknown[] = Array.from({ length: count }, () => hashOf(hashes, random));
  if (count > 0 && random.chance(10)) order_hashes[0] = random.pick([null, 7, {}]);
  const payload = random.chance(95) ? { order_hashes } : random.pick([order_hashes, { order_hashes: 1 }, undefined]);
  return { method: 'DELETE', path: `${ORDERS_PATH}/batch`, payload };
};

const cancelMarket: Ask = ({ market }, _, random) => {
  const market_id = random.chance(80) ? market.id : random.pick(['none', '6f6b1a3e-0000-4000-8000-000000000000']);
  const payload = random.pick([{ market_id }, { market_id, outcome_index: random.below(3) }, { market: 1 }]);
  return { method: 'DELETE', path: `${ORDERS_PATH}/cancel-market`, payload };
};

const cancelAll: Ask = (_, __, random) => {
  return { method: 'DELETE', path: `${ORDERS_PATH}/cancel-all`, payload: random.pick([undefined, {}, { more: 1 }]) };
};

const replace: Ask = (side, hashes, random) => {
  const new_order = orderOf(side, random, 20);
  const cancel_hash = hashOf(hashes, random);
  const payload = random.chance(90)
    ? random.pick([
        { cancel_hash, new_order },
        { new_order, cancel_hash },
      ])
    : random.pick([{ new_order }, { cancel_hash }, { cancel_hash, new_order, more: 1 }, { cancel_hash: 7, new_order }]);
  return { method: 'POST', path: `${ORDERS_PATH}/cancel-replace`, payload };
};

const amend: Ask = (side, hashes, random) => {
  const new_order = orderOf(side, random, 20);
  const payload = random.chance(85)
    ? { new_order }
    : random.pick([{}, { maker_amount: '1' }, { new_order, taker_amount: '1' }, { new_order: 7 }]);
  return { method: 'PUT', path: `${ORDERS_PATH}/${hashOf(hashes, random)}/amend`, payload };
};

const other: Ask = ({ trader, idle }, hashes, random) => {
  const path = random.pick(['/heartbeat', '/unknown/path/here', '', `/${hashOf(hashes, random)}/queue`, 'x']);
  // A heartbeat arms a switch over all orders of its account, whose window ends in each exchange at its own time.
  const by = path === '/heartbeat' ? idle : trader;
  return { method: random.pick(['POST', 'PUT', 'DELETE']), path: ORDERS_PATH + path, by };
};

const ASKS: readonly Ask[] = [
  ...[place, place, placeBatch, placeBatch, placeBatch, cancel, cancel, cancelBatch, replace, replace, amend, amend],
  ...[cancelByClientId, cancelMarket, other],
];

function signed({ trader }: Side, { method, path, payload, by = trader }: Asked): Sent {
  const { headers, body } = by.client.prepareSigned(method, path, payload);
  return { method, path, headers: { ...headers }, body };
}

/** The latest first. */
function noteHashes(hashes: string[], { body }: Got): void {
  for (const [, hash] of body.matchAll(HASHES_IN_ANSWER)) hashes.unshift(hash!);
}

/** Open orders and balances, as far as they are the same in two exchanges. */
async function stateOf({ trader, market }: Side): Promise<object> {
  const orders = await trader.client.openOrders(market.id);
  const open = orders.map(({ side, price, remaining, status }) => [side, price, remaining, status]);
  return { open, holdings: await trader.holdings(market) };
}

test('requests that change orders are answered as by one gateway thread, spoiled or not', async (t) => {
  const seed = seedOr(41);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const hashes: [string[], string[]] = [[], []];
  const succeeded = new Set<Ask>();
  for (const side of sides) side.close(t);
  for (let count = 0; count < REQUESTS; count++) {
    const ask = random.chance(2) ? cancelAll : random.pick(ASKS);
    const change = random.chance(75) ? () => {} : random.pick(IN_REQUEST);
    const [isVersion1, isAgain] = [random.chance(10), random.chance(10)];
    const [askSeed, changeSeed] = [random.next(), random.next()];
    const answers: unknown[] = [];
    for (const [index, side] of sides.entries()) {
      const asked = ask(side, hashes[index]!, new Random(askSeed));
      const sent = signed(side, asked);
      if (isVersion1) signedInVersion1(asked.by ?? side.trader, sent);
      change(sent, new Random(changeSeed));
      const got = [await side.send(sent, count)];
      // On another connection, so at another front.
      if (isAgain) got.push(await side.send(sent, count + 1));
      noteHashes(hashes[index]!, got[0]!);
      answers.push(got.map(comparable));
      if (got[0]!.status < 300) succeeded.add(ask);
    }
    assert.deepEqual(answers[1], answers[0], `request ${count}: ${ask.name}, ${change}, ${isVersion1}`);
    if (count % 50 === 0) assert.deepEqual(await stateOf(fronts), await stateOf(single));
  }
  assert.deepEqual(await stateOf(fronts), await stateOf(single));
  for (const ask of ASKS) assert.ok(succeeded.has(ask), `one of ${ask.name} has succeeded`);
  assert.equal(await single.prepared(), 0);
  assert.ok((await fronts.prepared()) > REQUESTS / 3, 'the fronts have prepared many of them');
});

test('a prepared batch with an idempotency key is carried out once, and each repeat has its answer', async (t) => {
  fronts.close(t);
  const { trader, market } = fronts;
  for (let round = 0; round < 4; round++) {
    const orders = Array.from({ length: 15 }, () => trader.body(market, { price: '0.20', size: '1' }));
    const key = { 'idempotency-key': randomUUID() };
    const send = (connection: number): Promise<Got> => {
      const sent = signed(fronts, { method: 'POST', path: `${ORDERS_PATH}/batch`, payload: { orders } });
      return fronts.send({ ...sent, headers: { ...sent.headers, ...key } }, connection);
    };
    const before = await fronts.prepared();
    const answers = await Promise.all(fronts.agents.map((_, connection) => send(connection)));
    const answered = answers.filter(({ status }) => status === 200);
    assert.ok(answered.length >= 1, JSON.stringify(answers));
    assert.equal(answers.filter(({ status }) => status === 409).length, CONNECTIONS - answered.length);
    const replayed = await send(round);
    assert.deepEqual([replayed.status, replayed.body], [200, answered[0]!.body]);
    assert.equal(JSON.parse(replayed.body).succeeded, orders.length);
    assert.ok(round === 0 || (await fronts.prepared()) === before + CONNECTIONS + 1, 'they were prepared');
  }
});

test('many prepared batches at once each place their own orders', async (t) => {
  fronts.close(t);
  const { trader, market } = fronts;
  const batches = Array.from({ length: 24 }, (_, index) =>
    Array.from({ length: 1 + (index % 15) }, (_, row) => {
      const client_order_id = `batch-${index}-row-${row}`;
      return trader.body(market, { price: '0.10', size: String(1 + row) }, { client_order_id });
    }),
  );
  const answers = await Promise.all(
    batches.map((orders, index) => {
      return fronts.send(signed(fronts, { method: 'POST', path: `${ORDERS_PATH}/batch`, payload: { orders } }), index);
    }),
  );
  for (const [index, { status, body }] of answers.entries()) {
    assert.equal(status, 200, body);
    const { results } = JSON.parse(body);
    assert.deepEqual(
      results.map(({ response }: { response: { client_order_id: string } }) => response.client_order_id),
      batches[index]!.map((_, row) => `batch-${index}-row-${row}`),
    );
  }
});

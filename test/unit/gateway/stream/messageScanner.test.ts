/**
 * A scanned message that places an order is exactly the parsed one: the same id and the same order.
 * Messages are random, and some are spoiled (trading/orderScanner.test.ts tests the orders themselves).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toOrderRequest } from '../../../../gateway/stream/entryActions.ts';
import { MessageScanner } from '../../../../gateway/stream/messageScanner.ts';
import { parseRequest } from '../../../../gateway/stream/requests.ts';
import { body, outcomeOf, randomBody, spoil, toOrder } from '../../../support/placementBodies.ts';
import { Random } from '../../../support/random.ts';

const SEED = 20261127;
const RANDOM_MESSAGES = 3000;

const reader = new MessageScanner();

/** Null if the message is refused before a market is looked up, or is another request. */
function parsedWay(json: Buffer): object | null {
  const parsed = parseRequest(json);
  if (!parsed.ok || parsed.request.channel !== 'order') return null;
  const { id, data } = parsed.request;
  const { route, body, idempotencyKey, deadline } = toOrderRequest(data);
  assert.deepEqual([route.path, idempotencyKey, deadline], ['/v1/orders', '', ''], `another request: ${json}`);
  const order = toOrder(body);
  return order === null ? null : { id, order: outcomeOf(order) };
}

/** @returns whether it was scanned. */
function compare(text: string): boolean {
  const json = Buffer.from(text);
  if (!reader.read(json)) return false;
  const expected = parsedWay(json);
  assert.ok(expected, `parsing refuses ${json}`);
  const { orders } = reader.body();
  assert.equal(orders.length, 1);
  assert.deepEqual({ id: reader.id, order: outcomeOf(orders[0]!) }, expected, text);
  return true;
}

function message(id: unknown, order: object = body()): string {
  return JSON.stringify({ channel: 'order', id, data: { action: 'place', ...order } });
}

test('a placement as a program writes it is scanned, with any id of a common form', () => {
  for (const id of [0, 7, 999_999_999_999_999, '', 'quote 17', '~'.repeat(64)]) {
    assert.ok(compare(message(id)), `${id}`);
  }
});

test('what parsing refuses, or is only written in another way, is parsed', () => {
  const common = message(7);
  for (const id of [-1, 1.5, 2 ** 53 - 1, '~'.repeat(65), 'a"b', 'a\\b', 'é', null, [7], true]) {
    assert.equal(reader.read(Buffer.from(message(id))), false, JSON.stringify(id));
  }
  for (const text of [
    '',
    '{',
    common.slice(0, -1),
    `${common}}`,
    common.replace('"id":7', '"id":07'),
    common.replace('"id":7', '"id":'),
    common.replace('"id":7,', ''),
    common.replace('"id":7', '"id":7,"id":8'),
    common.replace('"place"', '"placed"'),
    common.replace('"place"', '"cancel_all"'),
    common.replace('"place",', '"place","action":"cancel_all",'),
    common.replace('"place",', '"place" '),
    common.replace(/}}$/, '},"more":1}'),
    message(7, { ...body(), idempotency_key: '0190a0b0-c0d0-7000-8000-0000000000b0' }),
    message(7, { ...body(), deadline: 1_900_000_000_000 }),
    message(7, { ...body(), more: 1 }),
    message(7, {}),
    JSON.stringify({ channel: 'order', id: 7, data: { action: 'place' } }),
    JSON.stringify({ channel: 'ping', id: 7 }),
  ]) {
    assert.equal(reader.read(Buffer.from(text)), false, text);
  }
});

test(`no random message, spoiled or not, is scanned differently than it is parsed, seed ${SEED}`, () => {
  const random = new Random(SEED);
  let read = 0;
  for (let count = 0; count < RANDOM_MESSAGES; count++) {
    const text = message(random.pick([count, `quote ${count}`, -count]), randomBody(random));
    if (compare(random.chance(40) ? spoil(text, random) : text)) read++;
  }
  assert.ok(read > RANDOM_MESSAGES / 20, `${read} were scanned`);
});

test('an order that waits is kept while other messages are read', () => {
  assert.ok(reader.read(Buffer.from(message(7, body({ salt: '7' })))));
  const waiting = reader.body();
  const kept = waiting.kept();
  const expected = outcomeOf(kept.orders[0]);
  assert.ok(reader.read(Buffer.from(message(8, body({ salt: '8', side: 'SELL', maker_amount: '1' })))));
  assert.deepEqual(outcomeOf(kept.orders[0]), expected);
  assert.throws(() => outcomeOf(waiting.orders[0]), /ORDER-1/);
  assert.notDeepEqual(outcomeOf(reader.body().orders[0]), expected);
});

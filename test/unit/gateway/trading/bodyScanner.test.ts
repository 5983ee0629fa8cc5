/**
 * A scanned batch, replacement or amend is exactly the parsed one: the same orders, in their order,
 * and the same order to cancel. Bodies are random, and some are spoiled (orderScanner.test.ts tests the orders
 * themselves).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStrictJson } from '../../../../gateway/http/body.ts';
import { compileBody } from '../../../../gateway/http/validate.ts';
import {
  type BodyForm,
  BodyScanner,
  MOST_ORDERS,
  type ReadBody,
  type ScannedBody,
} from '../../../../gateway/trading/bodyScanner.ts';
import { AMEND, BATCH_PLACE, CANCEL_REPLACE, PLACEMENT } from '../../../../shared/api/orders.ts';
import { body, outcomeOf, randomBody, spoil, toOrder } from '../../../support/placementBodies.ts';
import { Random } from '../../../support/random.ts';

const SEED = 20261127;
const RANDOM_BODIES = 1500;
const HASH = `0x${'aB'.repeat(32)}`;

const checks = {
  order: compileBody(PLACEMENT),
  batch: compileBody(BATCH_PLACE),
  replacement: compileBody(CANCEL_REPLACE),
  amendment: compileBody(AMEND),
};
type Parsed = { orders: unknown[]; new_order?: unknown; cancel_hash?: string; maker_amount?: 1; taker_amount?: 1 };
type Read = { readonly outcomes: readonly object[]; readonly cancelHash: string };

const reader = new BodyScanner();
/** The gateway thread takes over what another thread has read. */
const taker = new BodyScanner();

/** Null if the body is refused before a market is looked up. */
function parsedWay(form: BodyForm, json: Buffer): Read | null {
  const parsed = parseStrictJson(json);
  if (!parsed.ok || checks[form](parsed.value) !== null) return null;
  const value = parsed.value as Parsed;
  if (form === 'amendment' && ('maker_amount' in value || 'taker_amount' in value)) return null;
  const orders = form === 'order' ? [value] : form === 'batch' ? value.orders : [value.new_order];
  if (orders.length === 0 || orders.length > MOST_ORDERS) return null;
  const outcomes: object[] = [];
  for (const each of orders) {
    const order = toOrder(each);
    if (order === null) return null;
    outcomes.push(outcomeOf(order));
  }
  return { outcomes, cancelHash: value.cancel_hash ?? '' };
}

/** As a front thread hands it over. */
function toRead({ orders, cancelHash }: ScannedBody): ReadBody {
  return { orders: orders.map(({ records: { words }, at, ...names }) => ({ ...names, words, at })), cancelHash };
}

/** @returns whether it was scanned. */
function compare(form: BodyForm, json: Buffer): boolean {
  const read = reader[form](json);
  if (read === null) return false;
  const expected = parsedWay(form, json);
  assert.ok(expected, `parsing refuses ${json}`);
  for (const { orders, cancelHash } of [read, taker.take(toRead(read))]) {
    assert.deepEqual({ outcomes: orders.map(outcomeOf), cancelHash }, expected, String(json));
  }
  return true;
}

function isRead(form: BodyForm, value: unknown): boolean {
  return compare(form, Buffer.from(JSON.stringify(value)));
}

test('a batch of one order up to the most is scanned, and each order has its own record', () => {
  for (const count of [1, 2, MOST_ORDERS]) {
    const orders = Array.from({ length: count }, (_, index) => body({ salt: String(index), maker_amount: `${count}` }));
    assert.ok(isRead('batch', { orders }));
    assert.ok(compare('batch', Buffer.from(JSON.stringify({ orders }, null, 2))));
  }
});

test('the members of a replacement may come in any order, and an amend has one', () => {
  assert.ok(isRead('replacement', { cancel_hash: HASH, new_order: body() }));
  assert.ok(isRead('replacement', { new_order: body(), cancel_hash: HASH }));
  assert.ok(isRead('amendment', { new_order: body() }));
});

test('a body that parsing refuses is not scanned at all', () => {
  const order = JSON.stringify(body());
  for (const [form, text] of [
    ['batch', '{"orders":[]}'],
    ['batch', `{"orders":[${Array(MOST_ORDERS + 1).fill(order)}]}`],
    ['batch', `{"orders":[${order},]}`],
    ['batch', `{"orders":[${order}],"orders":[${order}]}`],
    ['batch', `{"orders":[${order}]}}`],
    ['batch', `{"orders":[${order}`],
    ['batch', `{"orders":[${order},{}]}`],
    ['batch', `{"orders":${order}}`],
    ['batch', `[${order}]`],
    ['replacement', `{"new_order":${order}}`],
    ['replacement', `{"new_order":${order},"new_order":${order}}`],
    ['replacement', `{"cancel_hash":"${HASH}","cancel_hash":"${HASH}"}`],
    ['replacement', `{"cancel_hash":"0xab","new_order":${order}}`],
    ['replacement', `{"cancel_hash":"${HASH}","new_order":${order},"more":1}`],
    ['replacement', `{"cancel_hash":"${HASH}","new_order":${order},}`],
    ['amendment', `{"new_order":${order},"maker_amount":"1"}`],
    ['amendment', '{}'],
    ['order', `${order},${order}`],
    ['order', ''],
  ] as const) {
    assert.equal(reader[form](Buffer.from(text)), null, `${form} ${text}`);
  }
});

test(`no random body, spoiled or not, is scanned differently than it is parsed, seed ${SEED}`, () => {
  const random = new Random(SEED);
  const read = { order: 0, batch: 0, replacement: 0, amendment: 0 };
  for (let count = 0; count < RANDOM_BODIES; count++) {
    const form = random.pick(['batch', 'replacement', 'amendment'] as const);
    const orders = Array.from({ length: random.between(1, 4) }, () => randomBody(random));
    const [new_order] = orders;
    const value = {
      batch: { orders },
      replacement: random.chance(50) ? { cancel_hash: HASH, new_order } : { new_order, cancel_hash: HASH },
      amendment: { new_order },
    }[form];
    const text = JSON.stringify(value);
    if (compare(form, Buffer.from(random.chance(40) ? spoil(text, random) : text))) read[form]++;
  }
  for (const form of ['batch', 'replacement', 'amendment'] as const) {
    assert.ok(read[form] > RANDOM_BODIES / 40, `${read[form]} were scanned: ${form}`);
  }
});

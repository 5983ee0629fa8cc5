/**
 * A scanned body is exactly the parsed one: the same command, the same fields, the same refusals. Bodies
 * are random, in all the ways in which clients write them, and then spoiled.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStrictJson } from '../../../../gateway/http/body.ts';
import { BodyScanner } from '../../../../gateway/trading/bodyScanner.ts';
import type { Order } from '../../../../gateway/trading/order.ts';
import { MAX_ORDER_AMOUNT } from '../../../../shared/base/codes.ts';
import {
  body,
  MAKER,
  MARKET_IDS,
  outcomeOf,
  randomBody,
  spoil,
  TOKENS,
  toOrder,
} from '../../../support/placementBodies.ts';
import { Random } from '../../../support/random.ts';

const SEED = 20261126;
const RANDOM_BODIES = 2000;
const bodies = new BodyScanner();
const scanner = { read: (json: Buffer): Order | null => bodies.order(json)?.orders[0] ?? null };

/** The long way: null where the order is refused before its market is looked for. */
function parsedWay(json: Buffer): Order | null {
  const parsed = parseStrictJson(json);
  return parsed.ok ? toOrder(parsed.value) : null;
}

/** @returns whether it was scanned. */
function compare(json: Buffer): boolean {
  const order = scanner.read(json);
  if (order === null) return false;
  const expected = parsedWay(json);
  assert.ok(expected, `parsing refuses ${json}`);
  assert.deepEqual(outcomeOf(order), outcomeOf(expected), String(json));
  return true;
}

test('a body as programs write it is scanned, with every optional member that it may have', () => {
  assert.ok(compare(Buffer.from(JSON.stringify(body()))));
  assert.ok(compare(Buffer.from(JSON.stringify(body(), null, 2))));
  for (const more of [
    { side: 'SELL', outcome_index: 1, token_id: TOKENS[1] },
    { time_in_force: 'FOK' },
    { time_in_force: 'GTD', expiration: 1_900_000_000 },
    { post_only: true },
    { self_trade_prevention: 'cancel_both' },
    { client_order_id: 'quote 17' },
    { nonce: '17' },
    { market_id: MARKET_IDS[1] },
    { token_id: '23' },
  ]) {
    assert.ok(compare(Buffer.from(JSON.stringify(body(more)))), JSON.stringify(more));
  }
});

test('bodies that parsing refuses, or has rules of its own for, are not scanned', () => {
  for (const more of [
    { time_in_force: 'FOK', post_only: true },
    { time_in_force: 'GTD' },
    { time_in_force: 'GTD', expiration: 0 },
    { time_in_force: 'GTD', expiration: 4_294_967_296 },
    { expiration: 1_900_000_000_000 },
    { min_taker_net: '1', time_in_force: 'FAK' },
    { order_group: 'quotes' },
    { outcome_index: 2 },
    { taker: MAKER },
    { maker_amount: '0' },
    { maker_amount: String(MAX_ORDER_AMOUNT + 1) },
    { signature: '0x1b' },
    { salt: String(2n ** 256n) },
    { client_order_id: '' },
    { unknown: 1 },
    { signer: undefined },
  ]) {
    const json = Buffer.from(JSON.stringify(body(more)));
    assert.equal(scanner.read(json), null, JSON.stringify(more));
  }
  assert.equal(scanner.read(Buffer.alloc(0)), null);
});

test(`no random body, spoiled or not, is scanned differently than it is parsed, seed ${SEED}`, () => {
  const random = new Random(SEED);
  let scanned = 0;
  let accepted = 0;
  for (let count = 0; count < RANDOM_BODIES; count++) {
    const text = JSON.stringify(randomBody(random));
    const json = Buffer.from(random.chance(50) ? spoil(text, random) : text);
    if (compare(json)) scanned++;
    if (parsedWay(json) !== null) accepted++;
  }
  assert.ok(scanned > RANDOM_BODIES / 10, `${scanned} were scanned`);
  assert.ok(accepted > scanned, `${accepted} were accepted, and some of them were not scanned`);
});

test('an order is encoded before the next one is read, or not at all', () => {
  const json = Buffer.from(JSON.stringify(body()));
  const first = scanner.read(json);
  scanner.read(json);
  assert.throws(() => outcomeOf(first!), /ORDER-1/);
});

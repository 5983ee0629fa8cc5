/**
 * The short way reads a body exactly like the normal way: the same command, the same terms, the same refusals. Bodies
 * are random, in all the ways in which clients write them, and then spoiled.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStrictJson } from '../../../../gateway/http/body.ts';
import type { Order } from '../../../../gateway/trading/order.ts';
import { UsualBodies } from '../../../../gateway/trading/usualBodies.ts';
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
const bodies = new UsualBodies();
const usual = { read: (json: Buffer): Order | null => bodies.order(json)?.orders[0] ?? null };

/** The long way: null where the order is refused before its market is looked for. */
function longWay(json: Buffer): Order | null {
  const parsed = parseStrictJson(json);
  return parsed.ok ? toOrder(parsed.value) : null;
}

/** @returns whether the short way has read it. */
function compare(json: Buffer): boolean {
  const terms = usual.read(json);
  if (terms === null) return false;
  const expected = longWay(json);
  assert.ok(expected, `the long way refuses ${json}`);
  assert.deepEqual(outcomeOf(terms), outcomeOf(expected), String(json));
  return true;
}

test('the usual body is read the short way, with every optional member that it may have', () => {
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

test('bodies that the normal way refuses, or has rules of its own for, are left to it', () => {
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
    assert.equal(usual.read(json), null, JSON.stringify(more));
  }
  assert.equal(usual.read(Buffer.alloc(0)), null);
});

test(`no random body, spoiled or not, is read differently from the long way, seed ${SEED}`, () => {
  const random = new Random(SEED);
  let short = 0;
  let accepted = 0;
  for (let count = 0; count < RANDOM_BODIES; count++) {
    const text = JSON.stringify(randomBody(random));
    const json = Buffer.from(random.chance(50) ? spoil(text, random) : text);
    if (compare(json)) short++;
    if (longWay(json) !== null) accepted++;
  }
  assert.ok(short > RANDOM_BODIES / 10, `${short} were read the short way`);
  assert.ok(accepted > short, `${accepted} were accepted, and some of them were not usual`);
});

test('an order is encoded before the next one is read, or not at all', () => {
  const json = Buffer.from(JSON.stringify(body()));
  const first = usual.read(json);
  usual.read(json);
  assert.throws(() => outcomeOf(first!), /ORDER-1/);
});

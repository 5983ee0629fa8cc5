import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBody } from '../../../../gateway/http/validate.ts';
import type { MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { OrderEncoder, type Placer } from '../../../../gateway/trading/encodeOrder.ts';
import { ParsedOrders } from '../../../../gateway/trading/parsedOrders.ts';
import { PLACEMENT, type PlacementBody } from '../../../../shared/api/orders.ts';
import {
  MARKET_STATUS,
  OUTCOME,
  SELF_TRADE,
  SIDE,
  TIME_IN_FORCE,
  UNKNOWN_GRANT,
} from '../../../../shared/base/codes.ts';
import { toHex, uint256ToDecimal } from '../../../../shared/base/hex.ts';
import {
  COMMAND,
  EXTENDED_PLACE,
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
  PLACE_BIT_AUTHORIZED,
  PLACE_BIT_CLIENT_ID_TAKEN,
  PLACE_BIT_EXTENDED,
  PLACE_SELF_TRADE_SHIFT,
} from '../../../../shared/wire/commands.ts';
import { readSafe } from '../../../../shared/wire/record.ts';
import { recordOf } from '../../../support/recordWriter.ts';

const MAKER = `0x${'Ab'.repeat(20)}`;
const SIGNER = `0x${'cD'.repeat(20)}`;
const OTHER = `0x${'ef'.repeat(20)}`;
const ZERO = `0x${'0'.repeat(40)}`;
const MARKET_ID = '0190a0b0-c0d0-7000-8000-0000000000aF';
const MAX_UINT256 = String(2n ** 256n - 1n);

const market: MarketEntry = {
  index: 3,
  id: MARKET_ID.toLowerCase(),
  idBytes: new Uint8Array(16),
  shard: 1,
  ticksPerUnit: 100,
  minOrderAtomic: 1_000_000,
  yesTokenId: MAX_UINT256,
  noTokenId: '22',
  opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: 0, endMs: 1 },
  createdMs: 0,
  eventId: null,
  details: {} as MarketEntry['details'],
  deployment: null,
  updatedMs: 0,
};

/** Account 5 owns MAKER, and SIGNER is its delegate. */
const accounts = {
  grantOf: (account: number, maker: string, signer: string) => {
    if (account !== 5 || maker !== MAKER.toLowerCase()) return UNKNOWN_GRANT;
    return maker === signer ? 70 : signer === SIGNER.toLowerCase() ? 71 : UNKNOWN_GRANT;
  },
};
const placer: Placer = { accountIndex: 5, selfTradePrevention: SELF_TRADE.NONE };
const encoder = new OrderEncoder(accounts);
const orders = new ParsedOrders();
const check = compileBody(PLACEMENT);

function body(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    market_id: MARKET_ID,
    token_id: MAX_UINT256,
    side: 'BUY',
    maker_amount: '65000000',
    taker_amount: '100000000',
    maker: MAKER,
    signer: MAKER,
    taker: ZERO,
    salt: '12345678901234567890123456789',
    nonce: 7,
    fee_rate_bps: 50,
    signature: `0x${'12'.repeat(65)}`,
    outcome_index: 0,
    ...changes,
  };
}

/** Schema, rules and encoder together: the record, or the message of the refusal. */
function encode(changes: Record<string, unknown> = {}, by: Placer = placer): Uint32Array {
  const json = body(changes);
  assert.equal(check(json), null);
  assert.equal(refusalOf(json as PlacementBody), null, 'the placement is encoded');
  return recordOf(encoder.ready(orders.read(json as PlacementBody), by));
}

function refusal(changes: Record<string, unknown>): string {
  const json = body(changes);
  for (const [name, value] of Object.entries(changes)) if (value === undefined) delete json[name];
  const invalid = check(json);
  if (invalid !== null) return invalid.message;
  const result = refusalOf(json as PlacementBody);
  assert.ok(result !== null, `refused: ${JSON.stringify(changes)}`);
  return result.message ?? result.row.message;
}

function refusalOf(body: PlacementBody) {
  const order = orders.read(body);
  return order.contradiction ?? order.refuseToken(market);
}

const bitsOf = (record: Uint32Array): number => kindBits(record[COMMAND.PLACE.kind]);
const selfTradeOf = (record: Uint32Array): number => (bitsOf(record) >>> PLACE_SELF_TRADE_SHIFT) & 3;

test('every field of a placement lands in its words', () => {
  const record = encode({
    side: 'SELL',
    maker_amount: '1000000000000000',
    taker_amount: '1',
    salt: MAX_UINT256,
    token_id: '22',
    outcome_index: 1,
    nonce: Number.MAX_SAFE_INTEGER,
    expiration: 1_900_000_000,
    fee_rate_bps: 10_000,
    signer: SIGNER,
    time_in_force: 'FAK',
    min_taker_net: '1000000000000000',
    self_trade_prevention: 'cancel_both',
  });
  const bytes = new Uint8Array(record.buffer);
  const kind = record[COMMAND.PLACE.kind];
  assert.deepEqual(
    [kindSide(kind), kindOutcome(kind), kindTimeInForce(kind)],
    [SIDE.SELL, OUTCOME.NO, TIME_IN_FORCE.FAK],
  );
  assert.equal(kindBits(kind), PLACE_BIT_AUTHORIZED | (SELF_TRADE.CANCEL_BOTH << PLACE_SELF_TRADE_SHIFT));
  assert.equal(uint256ToDecimal(bytes, COMMAND.PLACE.salt * 4), MAX_UINT256);
  assert.equal(uint256ToDecimal(bytes, COMMAND.PLACE.tokenId * 4), '22');
  assert.equal(toHex(bytes, COMMAND.PLACE.makerAddress * 4, 20), MAKER.toLowerCase());
  assert.equal(toHex(bytes, COMMAND.PLACE.signerAddress * 4, 20), SIGNER.toLowerCase());
  assert.equal(toHex(bytes, COMMAND.PLACE.signature * 4, 65), `0x${'12'.repeat(65)}`);
  assert.equal(readSafe(record, COMMAND.PLACE.makerAmount), 1_000_000_000_000_000);
  assert.equal(readSafe(record, COMMAND.PLACE.takerAmount), 1);
  assert.equal(readSafe(record, COMMAND.PLACE.nonce), Number.MAX_SAFE_INTEGER);
  assert.equal(readSafe(record, COMMAND.PLACE.expirationSec), 1_900_000_000);
  assert.equal(record[COMMAND.PLACE.feeBps], 10_000);
  assert.equal(readSafe(record, COMMAND.PLACE.minTakerNet), 1_000_000_000_000_000);
});

test('optional fields have their documented defaults, and nothing of the order before shines through', () => {
  encode({ expiration: 5, time_in_force: 'FOK', min_taker_net: '9', self_trade_prevention: 'cancel_oldest' });
  const record = encode();
  assert.equal(kindTimeInForce(record[COMMAND.PLACE.kind]), TIME_IN_FORCE.GTC);
  assert.equal(bitsOf(record), PLACE_BIT_AUTHORIZED);
  assert.equal(readSafe(record, COMMAND.PLACE.expirationSec), 0);
  assert.equal(readSafe(record, COMMAND.PLACE.minTakerNet), 0);
});

test('a nonce may come as decimal text', () => {
  assert.equal(readSafe(encode({ nonce: '42' }), COMMAND.PLACE.nonce), 42);
  assert.equal(refusal({ nonce: '9007199254740992' }), 'invalid nonce');
  assert.equal(refusal({ nonce: '042' }), 'invalid nonce');
});

test('only a wallet of the caller signed by itself or its delegate is authorized', () => {
  const isAuthorized = (changes: Record<string, unknown>, by?: Placer): boolean =>
    (bitsOf(encode(changes, by)) & PLACE_BIT_AUTHORIZED) !== 0;
  assert.equal(isAuthorized({}), true);
  assert.equal(isAuthorized({ signer: SIGNER }), true);
  assert.equal(isAuthorized({ signer: OTHER }), false);
  assert.equal(isAuthorized({ maker: OTHER, signer: OTHER }), false);
  assert.equal(isAuthorized({}, { ...placer, accountIndex: 6 }), false);
  assert.deepEqual(
    [{}, { signer: SIGNER }, { signer: OTHER }].map((changes) => encode(changes)[COMMAND.PLACE.grant]),
    [70, 71, UNKNOWN_GRANT],
    'the order carries the number of its grant',
  );
});

test('the key says what happens at a self-trade unless the order does', () => {
  const careful = { ...placer, selfTradePrevention: SELF_TRADE.CANCEL_OLDEST };
  assert.equal(selfTradeOf(encode({}, careful)), SELF_TRADE.CANCEL_OLDEST);
  assert.equal(selfTradeOf(encode({ self_trade_prevention: 'none' }, careful)), SELF_TRADE.NONE);
  assert.equal(selfTradeOf(encode({ self_trade_prevention: 'cancel_newest' })), SELF_TRADE.CANCEL_NEWEST);
});

test('a malformed signature travels as zeros, so that its refusal waits for its turn', () => {
  for (const signature of ['', '0x', `0x${'12'.repeat(64)}`, `0x${'12'.repeat(64)}zz`, `${'12'.repeat(66)}`]) {
    const bytes = new Uint8Array(encode({ signature }).buffer);
    assert.equal(toHex(bytes, COMMAND.PLACE.signature * 4, 65), `0x${'00'.repeat(65)}`, signature);
  }
});

test('a token of the other outcome, or of no market, does not match', () => {
  assert.equal(refusal({ token_id: '22' }), 'token_id does not match outcome_index');
  assert.equal(refusal({ outcome_index: 1 }), 'token_id does not match outcome_index');
  assert.equal(refusal({ token_id: '5' }), 'token_id does not match outcome_index');
});

test('fields that exclude each other are refused together', () => {
  assert.equal(refusal({ time_in_force: 'GTD' }), 'GTD orders require an expiration time');
  assert.equal(refusal({ time_in_force: 'GTD', expiration: 0 }), 'GTD orders require an expiration time');
  for (const time_in_force of ['FOK', 'FAK']) {
    assert.equal(refusal({ time_in_force, post_only: true }), 'post_only cannot be combined with FOK or FAK');
  }
  for (const time_in_force of ['GTC', 'GTD']) {
    const changes = { time_in_force, expiration: 1_900_000_000, min_taker_net: '1' };
    assert.equal(refusal(changes), 'min_taker_net is for FOK and FAK orders');
  }
  assert.equal(refusal({ time_in_force: 'FAK', min_taker_net: '1000000000000001' }), 'invalid min_taker_net');
  encode({ time_in_force: 'GTD', expiration: 1_900_000_000, min_taker_net: '0', post_only: true });
});

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  market_id: ['', 'x', 5, null, MARKET_ID.slice(1), `${MARKET_ID}0`],
  token_id: ['', '-1', '01', '1.0', '0x10', String(2n ** 256n), 5, null],
  side: ['', 'buy', 'Buy', 'HOLD', 0, null, true, ['BUY']],
  maker_amount: ['', '0', '-1', '+1', '01', '1.5', '1e6', ' 1', 'abc', '1000000000000001', 65_000_000, null],
  taker_amount: ['', '0', '-1', '01', '1.5', '1000000000000001', '9'.repeat(40), 1, null, {}],
  maker: ['', '0x', MAKER.slice(2), `${MAKER}00`, `0x${'zz'.repeat(20)}`, 5, null],
  signer: ['', MAKER.slice(0, 41), null],
  taker: ['', MAKER, '0x0', null, 0],
  salt: ['', '-1', '1.5', '01', String(2n ** 256n), 5, null],
  nonce: [-1, 1.5, 2 ** 53, '', '-1', '1.5', null, true],
  expiration: [-1, 1.5, '5', 2 ** 32, 1_900_000_000_000, 2 ** 53],
  fee_rate_bps: [-1, 1.5, '50', null, 2 ** 32],
  signature: [5, null, {}],
  outcome_index: [-1, 2, 0.5, '0', null, true],
  time_in_force: ['', 'gtc', 'IOC', 0],
  post_only: ['true', 1, 0],
  min_taker_net: ['', '-1', '01', '1.5', 0],
  self_trade_prevention: ['', 'CANCEL_NEWEST', 'both', 0],
};

for (const [field, values] of Object.entries(WRONG)) {
  test(`a wrong ${field} is refused by name`, () => {
    for (const value of values) assert.equal(refusal({ [field]: value }), `invalid ${field}`, JSON.stringify(value));
  });
}

test('null in every optional field gives the record of an order without them', () => {
  const names = Object.keys(PLACEMENT.properties).filter((name) => !PLACEMENT.required.includes(name as never));
  assert.ok(names.length >= 7);
  const plain = encode().slice();
  assert.deepEqual(encode(Object.fromEntries(names.map((name) => [name, null]))), plain);
});

test('an order expires in 2106 at the latest, so that milliseconds are refused with the unit', () => {
  assert.equal(readSafe(encode({ expiration: 0xffff_ffff }), COMMAND.PLACE.expirationSec), 0xffff_ffff);
  for (const expiration of [0x1_0000_0000, 1_900_000_000_000, 1_900_000_000_000_000]) {
    const expected = '0 to 4294967295, in Unix seconds';
    const details = { field: 'expiration', rule: 'maximum', expected, value: expiration };
    assert.deepEqual(check(body({ expiration })), { message: 'invalid expiration', details });
  }
});

test('a missing field is refused by name, side and amounts with their documented message', () => {
  const { required } = PLACEMENT;
  assert.equal(required.length, 13);
  for (const field of required) {
    const isDocumented = ['side', 'maker_amount', 'taker_amount'].includes(field);
    assert.equal(refusal({ [field]: undefined }), isDocumented ? `invalid ${field}` : `missing field: ${field}`);
  }
});

test('an unknown field is refused by name', () => {
  assert.equal(refusal({ sied: 'BUY' }), 'unknown field: sied');
  assert.equal(refusal({ minTakerNet: '0' }), 'unknown field: minTakerNet');
});

test('a body that is no object is refused', () => {
  for (const json of [null, [], 'BUY', 5, true, [body()]]) assert.equal(check(json)?.message, 'invalid body');
});

test('of several wrong fields the one that ranks first in the error table is named', () => {
  const wrong: Record<string, unknown> = {
    salt: 'x',
    side: 'x',
    maker_amount: 'x',
    taker_amount: 'x',
    time_in_force: 'x',
  };
  const named: string[] = [];
  for (const field of ['salt', 'side', 'maker_amount', 'taker_amount', 'time_in_force']) {
    named.push(refusal(wrong));
    delete wrong[field];
  }
  assert.deepEqual(named, [
    'invalid salt',
    'invalid side',
    'invalid maker_amount',
    'invalid taker_amount',
    'invalid time_in_force',
  ]);
});

test('a client order id makes the record an extended one, and the next order a plain one again', () => {
  const id = `~${'a b'.repeat(21)}`;
  assert.equal(id.length, 64);
  const record = encode({ client_order_id: id });
  assert.equal(record.length * 4, EXTENDED_PLACE.BYTES);
  assert.equal(kindBits(record[COMMAND.PLACE.kind]) & PLACE_BIT_EXTENDED, PLACE_BIT_EXTENDED);
  assert.equal(record[EXTENDED_PLACE.clientIdBytes], 64);
  assert.equal(Buffer.from(record.buffer, EXTENDED_PLACE.clientId * 4, 64).toString(), id);
  assert.equal(encode({ client_order_id: 'a' })[EXTENDED_PLACE.clientId + 1], 0, 'nothing of the longer one is left');
  const plain = encode();
  assert.equal(plain.length * 4, COMMAND.PLACE.BYTES);
  assert.equal(kindBits(plain[COMMAND.PLACE.kind]) & PLACE_BIT_EXTENDED, 0);
});

test('a client order id is 1 to 64 characters of printable ASCII', () => {
  for (const id of ['', 'x'.repeat(65), 'tab\there', 'é', 7]) refusal({ client_order_id: id });
});

test('fields that a placement has beside its body are in the extension', () => {
  const key = { key: Uint32Array.of(1, 2, 3, 4), fingerprint: Uint32Array.of(5, 6, 7, 8), route: 2, row: 9 };
  const extras = { deadlineMs: 1_800_000_000_123, group: 12, isClientIdTaken: true, key };
  const record = recordOf(encoder.ready(orders.read(body() as PlacementBody), placer, extras));
  assert.equal(kindBits(record[COMMAND.PLACE.kind]) & PLACE_BIT_CLIENT_ID_TAKEN, PLACE_BIT_CLIENT_ID_TAKEN);
  assert.deepEqual([...record.subarray(EXTENDED_PLACE.key, EXTENDED_PLACE.key + 8)], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(readSafe(record, EXTENDED_PLACE.deadlineMs), 1_800_000_000_123);
  assert.deepEqual([record[EXTENDED_PLACE.group], record[EXTENDED_PLACE.keyUse]], [12, 2 | (9 << 8)]);
  const empty = recordOf(encoder.ready(orders.read(body() as PlacementBody), placer, {}));
  assert.equal(empty.length * 4, EXTENDED_PLACE.BYTES);
  assert.ok(empty.subarray(EXTENDED_PLACE.key).every((word) => word === 0));
});

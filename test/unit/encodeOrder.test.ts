import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MarketEntry } from '../../gateway/control/catalog.ts';
import { OrderEncoder, PLACEMENT_SCHEMA, type Placement, type Placer } from '../../gateway/encodeOrder.ts';
import { compileBody } from '../../gateway/validate.ts';
import { MARKET_STATUS, OUTCOME, SELF_TRADE, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import { E } from '../../shared/errors.ts';
import { toHex, uint256ToDecimal } from '../../shared/hex.ts';
import { readSafe } from '../../shared/record.ts';

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
  updatedMs: 0,
};

/** Account 5 owns MAKER, and SIGNER is its delegate. */
const accounts = {
  ownerOf: (address: string) => (address === MAKER.toLowerCase() ? 5 : 0),
  maySign: (maker: string, signer: string) => maker === signer || signer === SIGNER.toLowerCase(),
};
const placer: Placer = { accountIndex: 5, selfTradePrevention: SELF_TRADE.NONE };
const encoder = new OrderEncoder({ byId: (id) => (id === market.id ? market : undefined) }, accounts);
const check = compileBody(PLACEMENT_SCHEMA);

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

/** Schema and encoder together: the record, or the message of the refusal. */
function encode(changes: Record<string, unknown> = {}, by: Placer = placer): Uint32Array {
  const json = body(changes);
  assert.equal(check(json), null);
  const result = encoder.tryEncode(json as Placement, by);
  assert.ok(!('row' in result), 'the placement is encoded');
  assert.equal(result, market);
  return encoder.record;
}

function refusal(changes: Record<string, unknown>): string {
  const json = body(changes);
  for (const [name, value] of Object.entries(changes)) if (value === undefined) delete json[name];
  const invalid = check(json);
  if (invalid !== null) return invalid.message;
  const result = encoder.tryEncode(json as Placement, placer);
  assert.ok('row' in result, `refused: ${JSON.stringify(changes)}`);
  return result.options?.message ?? result.row.message;
}

const bitsOf = (record: Uint32Array): number => cmd.kindBits(record[cmd.PLACE_KIND]!);
const selfTradeOf = (record: Uint32Array): number => (bitsOf(record) >>> cmd.PLACE_SELF_TRADE_SHIFT) & 3;

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
  const kind = record[cmd.PLACE_KIND]!;
  assert.deepEqual(
    [cmd.kindSide(kind), cmd.kindOutcome(kind), cmd.kindTimeInForce(kind)],
    [SIDE.SELL, OUTCOME.NO, TIME_IN_FORCE.FAK],
  );
  assert.equal(cmd.kindBits(kind), cmd.PLACE_BIT_AUTHORIZED | (SELF_TRADE.CANCEL_BOTH << cmd.PLACE_SELF_TRADE_SHIFT));
  assert.equal(uint256ToDecimal(bytes, cmd.PLACE_SALT * 4), MAX_UINT256);
  assert.equal(uint256ToDecimal(bytes, cmd.PLACE_TOKEN_ID * 4), '22');
  assert.equal(toHex(bytes, cmd.PLACE_MAKER * 4, 20), MAKER.toLowerCase());
  assert.equal(toHex(bytes, cmd.PLACE_SIGNER * 4, 20), SIGNER.toLowerCase());
  assert.equal(toHex(bytes, cmd.PLACE_SIGNATURE * 4, 65), `0x${'12'.repeat(65)}`);
  assert.equal(readSafe(record, cmd.PLACE_MAKER_AMOUNT), 1_000_000_000_000_000);
  assert.equal(readSafe(record, cmd.PLACE_TAKER_AMOUNT), 1);
  assert.equal(readSafe(record, cmd.PLACE_NONCE), Number.MAX_SAFE_INTEGER);
  assert.equal(readSafe(record, cmd.PLACE_EXPIRATION_SEC), 1_900_000_000);
  assert.equal(record[cmd.PLACE_FEE_BPS], 10_000);
  assert.equal(readSafe(record, cmd.PLACE_MIN_TAKER_NET), 1_000_000_000_000_000);
});

test('optional fields have their documented defaults, and nothing of the order before shines through', () => {
  encode({ expiration: 5, time_in_force: 'FOK', min_taker_net: '9', self_trade_prevention: 'cancel_oldest' });
  const record = encode();
  assert.equal(cmd.kindTimeInForce(record[cmd.PLACE_KIND]!), TIME_IN_FORCE.GTC);
  assert.equal(bitsOf(record), cmd.PLACE_BIT_AUTHORIZED);
  assert.equal(readSafe(record, cmd.PLACE_EXPIRATION_SEC), 0);
  assert.equal(readSafe(record, cmd.PLACE_MIN_TAKER_NET), 0);
});

test('a nonce may come as decimal text', () => {
  assert.equal(readSafe(encode({ nonce: '42' }), cmd.PLACE_NONCE), 42);
  assert.equal(refusal({ nonce: '9007199254740992' }), 'invalid nonce');
  assert.equal(refusal({ nonce: '042' }), 'invalid nonce');
});

test('only a wallet of the caller signed by itself or its delegate is authorized', () => {
  const isAuthorized = (changes: Record<string, unknown>, by?: Placer): boolean =>
    (bitsOf(encode(changes, by)) & cmd.PLACE_BIT_AUTHORIZED) !== 0;
  assert.equal(isAuthorized({}), true);
  assert.equal(isAuthorized({ signer: SIGNER }), true);
  assert.equal(isAuthorized({ signer: OTHER }), false);
  assert.equal(isAuthorized({ maker: OTHER, signer: OTHER }), false);
  assert.equal(isAuthorized({}, { ...placer, accountIndex: 6 }), false);
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
    assert.equal(toHex(bytes, cmd.PLACE_SIGNATURE * 4, 65), `0x${'00'.repeat(65)}`, signature);
  }
});

test('a token of the other outcome, or of no market, does not match', () => {
  assert.equal(refusal({ token_id: '22' }), 'token_id does not match outcome_index');
  assert.equal(refusal({ outcome_index: 1 }), 'token_id does not match outcome_index');
  assert.equal(refusal({ token_id: '5' }), 'token_id does not match outcome_index');
});

test('a market nobody knows is not found', () => {
  const json = body({ market_id: MARKET_ID.replace('a', 'b') });
  const result = encoder.tryEncode(json as Placement, placer);
  assert.ok('row' in result);
  assert.equal(result.row.number, E.MARKET_NOT_FOUND);
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
  expiration: [-1, 1.5, '5', null, 2 ** 53],
  fee_rate_bps: [-1, 1.5, '50', null, 2 ** 32],
  signature: [5, null, {}],
  outcome_index: [-1, 2, 0.5, '0', null, true],
  time_in_force: ['', 'gtc', 'IOC', 0, null],
  post_only: ['true', 1, 0, null],
  min_taker_net: ['', '-1', '01', '1.5', 0, null],
  self_trade_prevention: ['', 'CANCEL_NEWEST', 'both', 0, null],
};

for (const [field, values] of Object.entries(WRONG)) {
  test(`a wrong ${field} is refused by name`, () => {
    for (const value of values) assert.equal(refusal({ [field]: value }), `invalid ${field}`, JSON.stringify(value));
  });
}

test('a missing field is refused by name, side and amounts with their documented message', () => {
  const required = PLACEMENT_SCHEMA['required'] as string[];
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
  assert.equal(record.length * 4, cmd.EXTENDED_PLACE_BYTES);
  assert.equal(cmd.kindBits(record[cmd.PLACE_KIND]!) & cmd.PLACE_BIT_EXTENDED, cmd.PLACE_BIT_EXTENDED);
  assert.equal(record[cmd.EXT_CLIENT_ID_BYTES], 64);
  assert.equal(Buffer.from(record.buffer, cmd.EXT_CLIENT_ID * 4, 64).toString(), id);
  assert.equal(encode({ client_order_id: 'a' })[cmd.EXT_CLIENT_ID + 1], 0, 'nothing of the longer one is left');
  const plain = encode();
  assert.equal(plain.length * 4, cmd.COMMAND_BYTES[cmd.COMMAND.PLACE]);
  assert.equal(cmd.kindBits(plain[cmd.PLACE_KIND]!) & cmd.PLACE_BIT_EXTENDED, 0);
});

test('a client order id is 1 to 64 characters of printable ASCII', () => {
  for (const id of ['', 'x'.repeat(65), 'tab\there', 'é', 7]) refusal({ client_order_id: id });
});

test('what a placement carries beside its body lands in the extension', () => {
  const key = { words: Uint32Array.of(1, 2, 3, 4), fingerprint: Uint32Array.of(5, 6, 7, 8), route: 2, row: 9 };
  const extras = { deadlineMs: 1_800_000_000_123, group: 12, isClientIdTaken: true, key };
  encoder.tryEncode(body() as Placement, placer, extras);
  const { record } = encoder;
  assert.equal(cmd.kindBits(record[cmd.PLACE_KIND]!) & cmd.PLACE_BIT_CLIENT_ID_TAKEN, cmd.PLACE_BIT_CLIENT_ID_TAKEN);
  assert.deepEqual([...record.subarray(cmd.EXT_KEY, cmd.EXT_KEY + 8)], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(readSafe(record, cmd.EXT_DEADLINE_MS), 1_800_000_000_123);
  assert.deepEqual([record[cmd.EXT_GROUP], record[cmd.EXT_ROUTE_ROW]], [12, 2 | (9 << 8)]);
  encoder.tryEncode(body() as Placement, placer, {});
  assert.equal(encoder.record.length * 4, cmd.EXTENDED_PLACE_BYTES);
  assert.ok(encoder.record.subarray(cmd.EXT_KEY).every((word) => word === 0));
});

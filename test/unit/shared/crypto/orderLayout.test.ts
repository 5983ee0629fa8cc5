/**
 * The order that is signed stands in five places: the type and its hasher (eip712.ts), the kernel (order.as), the
 * contract (Orders.sol), its ABI, and the bodies of requests. All follow the text of the type.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { decodeFunctionData, type Hex, hashTypedData } from 'viem';
import { signedColumnsOf, structOf } from '../../../../engine/settlement/signedColumns.ts';
import { PLACEMENT } from '../../../../shared/api/orders.ts';
import { MATCH_TYPE, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import {
  camelCase,
  ORDER_FIELD_LIST,
  type OrderField,
  PLACEMENT_FIELDS,
  SIGNED_FIELDS,
} from '../../../../shared/base/orderFields.ts';
import { type ChainTrade, encodeBatch } from '../../../../shared/chain/batch.ts';
import { EXCHANGE_ABI } from '../../../../shared/chain/exchangeAbi.ts';
import { hasherFor, ORDER_TYPE, ZERO_ADDRESS } from '../../../../shared/crypto/eip712.ts';
import { COMMAND, PLACE_BIT_POST_ONLY, PLACE_SELF_TRADE_SHIFT } from '../../../../shared/wire/commands.ts';
import { ENTRY, PLACE_BIT_SELF_TRADE } from '../../../../shared/wire/entry.ts';
import { PLACED_FIELDS, writeBody } from '../../../../shared/wire/orderBody.ts';
import { SIGNED_PLACES } from '../../../../shared/wire/signedPlaces.ts';

const WORD_BYTES = 32;
/** In the order of the words, of which the first is the hash of the type. */
const FIELDS = ORDER_TYPE.slice('Order('.length, -1)
  .split(',')
  .map((field) => {
    const [type, name] = field.split(' ') as [string, string];
    return { type, name };
  });
const NAMES = FIELDS.map(({ name }) => name);

function sourceOf(path: string): string {
  return readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
}

/** An order that has another value in every field; the taker is always the zero address. */
const NUMBERS = { makerAmount: 11, takerAmount: 12, nonce: 13, minTakerNet: 14, side: SIDE.SELL };
const ADDRESSES = { maker: `0x${'a1'.repeat(20)}`, signer: `0x${'a2'.repeat(20)}` } as const;
const VALUES: Record<string, bigint | string> = {
  ...{ salt: 21n, ...ADDRESSES, taker: ZERO_ADDRESS, tokenId: 2n, expiration: 15n, feeRateBps: 16n },
  ...Object.fromEntries(Object.entries(NUMBERS).map(([name, value]) => [name, BigInt(value)])),
};

describe('the layout of a signed order', () => {
  test('has a value for every field of the type here, no two alike', () => {
    assert.deepEqual(Object.keys(VALUES).sort(), [...NAMES].sort());
    assert.equal(new Set([...Object.values(VALUES)].map(String)).size, NAMES.length);
  });

  test('is that of the hasher', () => {
    const verifyingContract = `0x${'c0'.repeat(20)}` as Hex;
    const domain = { name: 'an exchange', version: '1', chainId: 137, verifyingContract };
    const order = { ...NUMBERS, ...ADDRESSES, salt: '21', tokenId: '2', expirationSec: 15, feeRateBps: 16 };
    const message = Object.fromEntries(
      FIELDS.map(({ type, name }) => [name, type === 'uint8' ? NUMBERS.side : VALUES[name]]),
    );
    const expected = hashTypedData({ domain, types: { Order: FIELDS }, primaryType: 'Order', message } as never);
    assert.equal(toHex(hasherFor(domain).digestOf(order)), expected);
  });

  test('is that of the kernel, word by word', () => {
    const source = sourceOf('engine/verify/kernel/wasm/order.as');
    const words = new Map<string, number>();
    const nameOf = (constant: string): string => {
      const camel = camelCase(constant.toLowerCase());
      return { fee: 'feeRateBps', kind: 'side' }[camel] ?? camel;
    };
    const add = (constant: string, word: number): void => void words.set(nameOf(constant), word);
    for (const [, count, hasAddress, name] of source.matchAll(
      /memory\.copy\(STRUCT \+ (?:(\d+) \* )?WORD( - ADDRESS)?, RECORD \+ (\w+),/g,
    )) {
      add(name!, Number(count ?? 1) - (hasAddress === undefined ? 0 : 1));
    }
    for (const [, word, name] of source.matchAll(/putNumber\((\d+), load<u\d+>\(RECORD \+ (\w+)\)\)/g)) {
      add(name!, Number(word));
    }
    const expected = NAMES.flatMap((name, index) => (name === 'taker' ? [] : [[name, index + 1]]));
    assert.deepEqual([...words], expected);
    assert.match(source, new RegExp(`keccak\\(STRUCT_HASH, STRUCT, ${NAMES.length + 1} \\* WORD\\)`));
    const [, offsets] = /Offsets in RECORD[^\n]*\n((?:const \w+: usize = \d+;\n)+)/.exec(source)!;
    const read = [...offsets!.matchAll(/const (\w+): usize = (\d+);/g)].map(([, name, at]) => [
      nameOf(name!),
      Number(at),
    ]);
    const first = COMMAND.PLACE.salt;
    const inRecord = SIGNED_PLACES.map(({ name, at }) => [name, 4 * (at - first)] as const);
    assert.deepEqual(new Map(read as [string, number][]), new Map(inRecord));
    const end = Math.max(...SIGNED_PLACES.map(({ at, size }) => 4 * (at - first) + size));
    assert.match(source, new RegExp(`RECORD = memory\\.data\\(${end}, 16\\)`));
  });

  test('is that of the contract: its struct, its type and its length', () => {
    const source = sourceOf('data/contracts/src/Orders.sol');
    const [, struct] = /struct Order \{([^}]*)\}/.exec(source)!;
    const fields = [...struct!.matchAll(/(\w+) (\w+);/g)].map(([, type, name]) => ({ type, name }));
    assert.deepEqual(fields, FIELDS);
    const [, type] = /TYPE_HASH = keccak256\(\s*([^;]*?)\s*\);/.exec(source)!;
    assert.equal(type!.replace(/"\s*"|^"|"$/g, ''), ORDER_TYPE);
    const bytes = NAMES.length * WORD_BYTES;
    assert.ok(source.includes(`calldatacopy(add(words, 0x20), order, 0x${bytes.toString(16)})`));
    assert.ok(source.includes(`keccak256(words, 0x${(bytes + WORD_BYTES).toString(16)})`));
  });

  test('is that of the batches which the contract is sent, with each value in its field', () => {
    const words = new Uint32Array(COMMAND.PLACE.BYTES / 4);
    const body = Object.fromEntries(SIGNED_FIELDS.map(({ json, name }) => [json, String(VALUES[name])]));
    assert.equal(writeBody({ words, bytes: new Uint8Array(words.buffer), at: 0 }, { ...body, side: 'SELL' }), null);
    const order = structOf(signedColumnsOf(words, 0));
    const maker = { order, hash: '0x01', signature: '0x02' } as const;
    const trade: ChainTrade = {
      ...{ shard: 0, tradeSequence: 1, maker, taker: { ...maker, hash: '0x03', order: { ...order, side: SIDE.BUY } } },
      ...{ makerOutcome: OUTCOME.YES, matchType: MATCH_TYPE.STANDARD, lots: 1, yesTicks: 40, ticksPerUnit: 100 },
    };
    const data = encodeBatch(`0x${'00'.repeat(32)}`, [trade]);
    const { args } = decodeFunctionData({ abi: EXCHANGE_ABI, data }) as { args: readonly unknown[] };
    const sent = (args[1] as { order: Record<string, unknown> }[])[1]!.order;
    assert.deepEqual(Object.keys(sent), NAMES, 'the ABI');
    const shown = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, String(value).toLowerCase()]));
    assert.deepEqual(shown, Object.fromEntries(NAMES.map((name) => [name, String(VALUES[name])])));
  });

  test('has its fields in the body of a placement, by their names in snake case', () => {
    for (const name of NAMES) {
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      assert.ok(snake in PLACEMENT.properties, name);
    }
  });
});

describe("the table of an order's fields", () => {
  const fields: readonly OrderField[] = ORDER_FIELD_LIST.map(([, field]) => field);

  test('numbers the signed words and the members of the text without a gap (ORDERFIELDS-2, 3)', () => {
    for (const numbers of [fields.map(({ signed }) => signed), fields.map(({ text }) => text)]) {
      const given = numbers.filter((number) => number !== undefined).sort((a, b) => a - b);
      assert.deepEqual(
        given,
        given.map((_, index) => index + 1),
      );
    }
  });

  test('gives each bit of the kind and each word of the record to one field (ORDERBODY-1)', () => {
    const bits = fields.flatMap(({ bits, givenBit }) => [
      ...Array.from({ length: bits?.[1] ?? 0 }, (_, index) => bits![0] + index),
      ...(givenBit === undefined ? [] : [givenBit]),
    ]);
    assert.equal(new Set(bits).size, bits.length);
    const octetOf = ({
      bits: [first, count],
      givenBit,
    }: {
      bits: readonly [number, number];
      givenBit?: number;
    }): number => (((2 ** count - 1) << first) | (givenBit === undefined ? 0 : 1 << givenBit)) >>> 24;
    const { post_only, self_trade_prevention } = PLACEMENT_FIELDS;
    assert.equal(octetOf(post_only), PLACE_BIT_POST_ONLY);
    assert.equal(octetOf(self_trade_prevention), (3 << PLACE_SELF_TRADE_SHIFT) | PLACE_BIT_SELF_TRADE);
    const words = PLACED_FIELDS.filter(({ at }) => at >= 0).map(({ name, field: { word } }) => word ?? camelCase(name));
    assert.equal(new Set(words).size, words.length);
    const filledByOthers = [
      'hash',
      'kind',
      'grant',
      'length',
      'type',
      'requestId',
      'account',
      'timeMs',
      'market',
      'flags',
    ];
    assert.deepEqual([...words, ...filledByOthers].sort(), Object.keys(ENTRY.PLACE.DECLARATION.fields).sort());
  });

  test('has the text of RULES.md 8.21 in its order', () => {
    const rule = readFileSync(new URL('../../../../shared/rules/08-streams.md', import.meta.url), 'utf8');
    const [, text] = /## 8\.21 [^\n]*\n\nFor[^:]*:([^;]*);/.exec(rule)!;
    const named = [...text!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    const inText = ORDER_FIELD_LIST.filter(([, { text }]) => text !== undefined);
    assert.deepEqual(
      inText.sort(([, a], [, b]) => a.text! - b.text!).map(([name]) => name),
      named,
    );
  });
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { hashTypedData } from 'viem';
import { createVerifier } from '../../../../engine/verify/createVerifier.ts';
import { SIDE, type Side } from '../../../../shared/base/codes.ts';
import { ADDRESS_BYTES, toHex, tryParseHex, uint256ToDecimal } from '../../../../shared/base/hex.ts';
import { OrderSigner } from '../../../../shared/client/orderSigner.ts';
import { addressOf } from '../../../../shared/client/privateKey.ts';
import {
  DOMAIN_NAME,
  DOMAIN_VERSION,
  domainSeparator,
  type Eip712Domain,
  hasherFor,
  ORDER_TYPE,
  OrderHasher,
  orderDigest,
  type SignableOrder,
  ZERO_ADDRESS,
} from '../../../../shared/crypto/eip712.ts';
import { createKeccak } from '../../../../shared/crypto/fastKeccak.ts';
import { keccak256 } from '../../../../shared/crypto/keccak.ts';

type Random = (length: number) => Uint8Array;
type VectorOrder = Record<Exclude<keyof SignableOrder | 'expiration', 'expirationSec' | 'side'>, string> & {
  side: Side;
};
type Vector = {
  privateKey: string;
  domain: Eip712Domain;
  order: VectorOrder;
  domainSeparator: string;
  digest: string;
  signature: string;
};
const file = JSON.parse(readFileSync(new URL('../../../vectors/eip712.json', import.meta.url), 'utf8'));
const vectors: Vector[] = file.vectors;

const VIEM_TYPES = {
  Order: ORDER_TYPE.slice('Order('.length, -1)
    .split(',')
    .map((field) => {
      const [type, name] = field.split(' ');
      return { type, name };
    }),
};

test('the order type equals that of the vectors, and its hash equals the published one', () => {
  assert.equal(ORDER_TYPE, file.encodeType);
  assert.equal(toHex(keccak256(new TextEncoder().encode(ORDER_TYPE))), file.typeHash);
});

test('every vector gives its domain separator and digest with both hash functions', async () => {
  assert.ok(vectors.length > 0);
  const fast = await createKeccak();
  for (const vector of vectors) {
    assert.equal(vector.domain.name, DOMAIN_NAME);
    assert.equal(vector.domain.version, DOMAIN_VERSION);
    const contract = bytesOf(vector.domain.verifyingContract);
    assert.equal(toHex(domainSeparator(vector.domain.chainId, contract)), vector.domainSeparator);
    const order = orderOf(vector.order);
    assert.equal(orderDigest(order, vector.domain), vector.digest);
    assert.equal(toHex(hasherFor(vector.domain, fast).digestOf(order)), vector.digest);
  }
});

test('every vector signature is accepted by both verifiers', () => {
  for (const verifier of [createVerifier('noble', keccak256), createVerifier('kernel', keccak256)]) {
    for (const { digest, signature, order } of vectors) {
      assert.ok(verifier.verify(bytesOf(digest), 0, bytesOf(signature), 0, bytesOf(order.signer), 0), verifier.name);
    }
  }
});

test('the client makes the very signature of every vector', () => {
  for (const { privateKey, domain, order, digest, signature } of vectors) {
    assert.equal(addressOf(privateKey).toLowerCase(), order.signer.toLowerCase());
    const signed = new OrderSigner(privateKey, domain).sign(
      {
        market_id: '',
        token_id: order.tokenId,
        side: order.side === SIDE.BUY ? 'BUY' : 'SELL',
        maker_amount: order.makerAmount,
        taker_amount: order.takerAmount,
        nonce: Number(order.nonce),
        expiration: Number(order.expiration),
        fee_rate_bps: Number(order.feeRateBps),
        min_taker_net: order.minTakerNet,
        outcome_index: 0,
      },
      { salt: order.salt, maker: order.maker },
    );
    assert.equal(signed.orderHash, digest);
    assert.equal(signed.body.signature, signature);
    assert.equal(signed.body.taker, ZERO_ADDRESS);
  }
});

test('setting another domain changes the digest, and setting the first one again gives the first digest', () => {
  const { domain, order, digest } = vectors[0];
  const hasher = hasherFor(domain);
  hasher.setDomain(domain.chainId, new Uint8Array(ADDRESS_BYTES).fill(0xee));
  assert.notEqual(toHex(hasher.digestOf(orderOf(order))), digest);
  hasher.setDomain(domain.chainId, bytesOf(domain.verifyingContract));
  assert.equal(toHex(hasher.digestOf(orderOf(order))), digest);
});

test('a hasher without a domain refuses to hash', () => {
  assert.throws(() => new OrderHasher().digestOf(orderOf(vectors[0].order)), /needs a domain/);
});

test('a plain order with a malformed field is an error, never a digest', () => {
  const { domain, order } = vectors[0];
  const good = orderOf(order);
  const malformed: Partial<SignableOrder>[] = [
    { salt: '' },
    { salt: '-1' },
    { salt: '01' },
    { salt: (1n << 256n).toString() },
    { tokenId: '0x1' },
    { maker: good.maker.slice(2) },
    { signer: `${good.signer}00` },
    { makerAmount: 2 ** 53 },
    { takerAmount: -1 },
    { nonce: 1.5 },
    { minTakerNet: Number.NaN },
  ];
  for (const change of malformed) {
    assert.throws(() => orderDigest({ ...good, ...change }, domain), RangeError, JSON.stringify(change));
  }
});

test('fifty seeded random orders have the digest that viem gives them', async () => {
  const fast = await createKeccak();
  const random = seededBytes('eip712');
  for (let round = 0; round < 50; round++) {
    const domain = {
      name: DOMAIN_NAME,
      version: DOMAIN_VERSION,
      chainId: 1 + below(random, 1e6),
      verifyingContract: address(random),
    };
    const order = randomOrder(random);
    const expected = hashTypedData({
      domain: domain as { verifyingContract: `0x${string}` },
      types: VIEM_TYPES,
      primaryType: 'Order',
      message: {
        salt: BigInt(order.salt),
        maker: order.maker,
        signer: order.signer,
        taker: ZERO_ADDRESS,
        tokenId: BigInt(order.tokenId),
        makerAmount: BigInt(order.makerAmount),
        takerAmount: BigInt(order.takerAmount),
        expiration: BigInt(order.expirationSec),
        nonce: BigInt(order.nonce),
        feeRateBps: BigInt(order.feeRateBps),
        minTakerNet: BigInt(order.minTakerNet),
        side: order.side,
      },
    });
    assert.equal(orderDigest(order, domain), expected, `round ${round}`);
    assert.equal(toHex(hasherFor(domain, fast).digestOf(order)), expected, `round ${round}`);
  }
});

function orderOf(order: VectorOrder): SignableOrder {
  return {
    salt: order.salt,
    maker: order.maker,
    signer: order.signer,
    tokenId: order.tokenId,
    makerAmount: Number(order.makerAmount),
    takerAmount: Number(order.takerAmount),
    expirationSec: Number(order.expiration),
    nonce: Number(order.nonce),
    feeRateBps: Number(order.feeRateBps),
    minTakerNet: Number(order.minTakerNet),
    side: order.side,
  };
}

function randomOrder(random: Random): SignableOrder {
  return {
    salt: uint256ToDecimal(random(32)),
    maker: address(random),
    signer: address(random),
    tokenId: uint256ToDecimal(random(32)),
    makerAmount: below(random, 1e15) + 1,
    takerAmount: below(random, 1e15) + 1,
    expirationSec: below(random, 2 ** 32),
    nonce: below(random, Number.MAX_SAFE_INTEGER),
    feeRateBps: below(random, 10_000),
    minTakerNet: below(random, 1e15),
    side: below(random, 2) === 0 ? SIDE.BUY : SIDE.SELL,
  };
}

function bytesOf(hex: string): Uint8Array {
  const out = new Uint8Array((hex.length - 2) / 2);
  assert.ok(tryParseHex(hex, out.length, out, 0));
  return out;
}

function address(random: Random): string {
  return toHex(random(ADDRESS_BYTES));
}

/** An integer from 0 up to, not including, `limit` (at most 2^53). */
function below(random: Random, limit: number): number {
  return Number(BigInt(toHex(random(16))) % BigInt(limit));
}

/** The same bytes for the same seed, without end: each call returns the next ones. */
function seededBytes(seed: string): Random {
  let calls = 0;
  return (length) => createHash('shake256', { outputLength: length }).update(`${seed}/${calls++}`).digest();
}

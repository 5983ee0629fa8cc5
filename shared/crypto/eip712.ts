/**
 * The EIP-712 digest of an order (RULES.md 5.1): the owner signs it, the engine verifies it, and in hex it is the order
 * hash. `digestOf` reads a plain order; what reads a command record (engine/verify/placeDigest.ts) puts its values into
 * the words, and allocates nothing but the result of the hash function. Which fields are signed, and in which order,
 * follows from the table of an order's fields (shared/base/orderFields.ts). The layout stands once more in the kernel
 * (engine/verify/kernel/wasm/order.as) and in the contract (data/contracts/src/Orders.sol):
 * test/unit/shared/crypto/orderLayout.test.ts compares both with ORDER_TYPE.
 *
 *   struct buffer   words of 32 bytes, each value right-aligned and big-endian
 *     type hash | each signed field in the order of its word; that of the taker is always 0
 *   digest buffer   0x19 0x01 | domain separator (32) | keccak(struct buffer) (32)
 */
import { assert } from '../base/assert.ts';
import { ADDRESS_BYTES, toHex, tryParseHex, tryParseUint256 } from '../base/hex.ts';
import { SIGNED_FIELDS, type SignedValues } from '../base/orderFields.ts';
import { type Keccak256, keccak256 } from './keccak.ts';

export const DOMAIN_NAME = 'Prediction Market Exchange';
export const DOMAIN_VERSION = '1';
/** Order(uint256 salt,address maker,…,uint8 side) */
export const ORDER_TYPE = `Order(${SIGNED_FIELDS.map(({ type, name }) => `${type} ${name}`).join(',')})`;
const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
export const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';

/** The signing domain in the platform config. */
export type Eip712Domain = { name: string; version: string; chainId: number; verifyingContract: string };

/** An order in wire terms: 256-bit values as canonical decimals, addresses as hex, everything else a safe integer. */
export type SignableOrder = SignedValues;

const WORD = 32;
const WORDS = 1 + SIGNED_FIELDS.length;
const TWO_32 = 0x1_0000_0000;
const DOMAIN_OFFSET = 2;
const STRUCT_OFFSET = DOMAIN_OFFSET + WORD;
const encoder = new TextEncoder();
export const ORDER_TYPE_HASH = keccak256(encoder.encode(ORDER_TYPE));

export class OrderHasher {
  private readonly keccak: Keccak256;
  private readonly struct = new Uint8Array(WORDS * WORD);
  private readonly structView = new DataView(this.struct.buffer);
  private readonly final = new Uint8Array(STRUCT_OFFSET + WORD);
  private hasDomain = false;

  constructor(keccak: Keccak256 = keccak256) {
    this.keccak = keccak;
    this.struct.set(ORDER_TYPE_HASH, 0);
    this.final[0] = 0x19;
    this.final[1] = 0x01;
  }

  /** Sets the domain of all later digests; called again when the exchange contract changes. */
  setDomain(chainId: number, verifyingContract: Uint8Array, name = DOMAIN_NAME, version = DOMAIN_VERSION): void {
    this.final.set(domainSeparator(chainId, verifyingContract, name, version), DOMAIN_OFFSET);
    this.hasDomain = true;
  }

  /** The hash of the domain for which digests are computed. */
  get separator(): Uint8Array {
    assert(this.hasDomain, 'eip712: a digest needs a domain');
    return this.final.slice(DOMAIN_OFFSET, STRUCT_OFFSET);
  }

  /** Returns the digest of the values of a plain order; throws if one is malformed. */
  digestOf(order: Readonly<Partial<Record<keyof SignableOrder, unknown>>>): Uint8Array {
    const values: Readonly<Record<string, unknown>> = order;
    for (const { word, type, name, key, form } of SIGNED_FIELDS) {
      if (form === 'noAddress') continue;
      const value = values[key];
      const isNumber = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
      if (form === 'address' || form === 'uint256' || form === 'token') {
        if (typeof value !== 'string' || !this.tryPutText(word, type, value)) throw malformed(name);
      } else if (isNumber) this.putNumber(word, value / TWO_32, value);
      else throw malformed(name);
    }
    const out = new Uint8Array(WORD);
    this.finish(out, 0);
    return out;
  }

  /**
   * Writes the 32 bytes of the digest of all that was put into the words. Word 0 is the type hash, and that of the
   * taker is always the zero address: both stay.
   */
  finish(out: Uint8Array, outOffset: number): void {
    assert(this.hasDomain, 'eip712: a digest needs a domain');
    this.final.set(this.keccak(this.struct), STRUCT_OFFSET);
    out.set(this.keccak(this.final), outOffset);
  }

  private tryPutText(word: number, type: string, text: string): boolean {
    if (type !== 'address') return tryParseUint256(text, this.struct, word * WORD);
    return tryParseHex(text, ADDRESS_BYTES, this.struct, (word + 1) * WORD - ADDRESS_BYTES);
  }

  /** Copies in a loop, because a subarray per field would allocate. */
  putBytes(word: number, from: Uint8Array, fromOffset: number, length: number): void {
    const start = (word + 1) * WORD - length;
    for (let index = 0; index < length; index++) this.struct[start + index] = from[fromOffset + index];
  }

  /** The view keeps the low 32 bits of the integer part of each. */
  putNumber(word: number, high: number, low: number): void {
    const end = (word + 1) * WORD;
    this.structView.setUint32(end - 8, high);
    this.structView.setUint32(end - 4, low);
  }
}

function malformed(name: string): RangeError {
  return new RangeError(`order: ${name} is malformed`);
}

/** keccak of the five domain words: type, name, version, chain, contract. */
export function domainSeparator(
  chainId: number,
  verifyingContract: Uint8Array,
  name = DOMAIN_NAME,
  version = DOMAIN_VERSION,
): Uint8Array {
  assert(verifyingContract.length === ADDRESS_BYTES, 'eip712: a contract address has 20 bytes');
  assert(Number.isSafeInteger(chainId) && chainId > 0, 'eip712: a chain id is a positive safe integer');
  const words = new Uint8Array(5 * WORD);
  const view = new DataView(words.buffer);
  words.set(keccak256(encoder.encode(DOMAIN_TYPE)), 0);
  words.set(keccak256(encoder.encode(name)), WORD);
  words.set(keccak256(encoder.encode(version)), 2 * WORD);
  view.setBigUint64(4 * WORD - 8, BigInt(chainId));
  words.set(verifyingContract, 5 * WORD - ADDRESS_BYTES);
  return keccak256(words);
}

/** Returns a hasher for the domain of a platform config; throws if its contract is not an address. */
export function hasherFor(domain: Eip712Domain, keccak: Keccak256 = keccak256): OrderHasher {
  const contract = new Uint8Array(ADDRESS_BYTES);
  if (!tryParseHex(domain.verifyingContract, ADDRESS_BYTES, contract, 0)) {
    throw new RangeError('domain: verifyingContract is not an address');
  }
  const hasher = new OrderHasher(keccak);
  hasher.setDomain(domain.chainId, contract, domain.name, domain.version);
  return hasher;
}

/** Returns the order hash: the digest in hex. To hash many orders, keep a hasher instead. */
export function orderDigest(order: SignableOrder, domain: Eip712Domain): string {
  return toHex(hasherFor(domain).digestOf(order));
}

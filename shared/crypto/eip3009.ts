/**
 * Transfers that the owner of USDC signs and anybody may send (EIP-3009, as the token implements it): the digest of a
 * transfer, and the document that a wallet shows (RULES.md 16.12). A transfer is valid while validAfter < now <
 * validBefore, both strictly, and its nonce has neither been used nor cancelled.
 */
import { ADDRESS_BYTES, HASH_BYTES, type Hex, toHex, tryParseHex } from '../base/hex.ts';
import { domainSeparator, type Eip712Domain } from './eip712.ts';
import { keccak256 } from './keccak.ts';

export type TransferAuthorization = {
  /** Addresses in lower case. */
  readonly from: string;
  readonly to: string;
  readonly valueMicro: number;
  readonly validAfterSec: number;
  readonly validBeforeSec: number;
  /** 32 bytes in hex, chosen at random. */
  readonly nonce: string;
};

/** The signed fields of what has more than those. */
export function transferIn({ from, to, valueMicro, validAfterSec, validBeforeSec, nonce }: TransferAuthorization) {
  return { from, to, valueMicro, validAfterSec, validBeforeSec, nonce };
}

const WORD = 32;
const encoder = new TextEncoder();
const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const;
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;
const PRIMARY_TYPE = 'TransferWithAuthorization';
const TYPE = `${PRIMARY_TYPE}(${FIELDS.map(({ name, type }) => `${type} ${name}`).join(',')})`;
const TYPE_HASH = keccak256(encoder.encode(TYPE));
const CANCEL_TYPE_HASH = keccak256(encoder.encode('CancelAuthorization(address authorizer,bytes32 nonce)'));

/** Returns 0x and 64 hex digits; throws if a field is malformed. */
export function transferDigest(domain: Eip712Domain, transfer: TransferAuthorization): Hex {
  const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = transfer;
  const struct = new Uint8Array(7 * WORD);
  struct.set(TYPE_HASH, 0);
  put(struct, 1, from, ADDRESS_BYTES);
  put(struct, 2, to, ADDRESS_BYTES);
  putNumber(struct, 3, valueMicro);
  putNumber(struct, 4, validAfterSec);
  putNumber(struct, 5, validBeforeSec);
  put(struct, 6, nonce, HASH_BYTES);
  return typedDigest(domain, struct);
}

/** The digest of the signature by which an owner makes a nonce useless. */
export function cancelDigest(domain: Eip712Domain, authorizer: string, nonce: string): string {
  const struct = new Uint8Array(3 * WORD);
  struct.set(CANCEL_TYPE_HASH, 0);
  put(struct, 1, authorizer, ADDRESS_BYTES);
  put(struct, 2, nonce, HASH_BYTES);
  return typedDigest(domain, struct);
}

/** The document for `eth_signTypedData_v4`. */
export function transferTypedData(domain: Eip712Domain, transfer: TransferAuthorization) {
  const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = transfer;
  return {
    domain,
    types: { EIP712Domain: DOMAIN_FIELDS, [PRIMARY_TYPE]: FIELDS },
    primaryType: PRIMARY_TYPE,
    message: {
      from,
      to,
      value: String(valueMicro),
      validAfter: String(validAfterSec),
      validBefore: String(validBeforeSec),
      nonce,
    },
  };
}

function typedDigest(domain: Eip712Domain, struct: Uint8Array): Hex {
  const contract = new Uint8Array(ADDRESS_BYTES);
  if (!tryParseHex(domain.verifyingContract, ADDRESS_BYTES, contract, 0)) throw new RangeError('domain: no address');
  const separator = domainSeparator(domain.chainId, contract, domain.name, domain.version);
  return toHex(keccak256(Uint8Array.of(0x19, 0x01, ...separator, ...keccak256(struct))));
}

function put(struct: Uint8Array, word: number, hex: string, bytes: number): void {
  const isHex = tryParseHex(hex, bytes, struct, (word + 1) * WORD - bytes);
  if (!isHex) throw new RangeError('transfer: a field is not hex of its length');
}

function putNumber(struct: Uint8Array, word: number, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('transfer: a number is not a safe integer');
  new DataView(struct.buffer).setBigUint64((word + 1) * WORD - 8, BigInt(value));
}

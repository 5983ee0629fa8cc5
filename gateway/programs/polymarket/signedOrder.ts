/**
 * The orders that their clients sign: two structs of EIP-712, each under its own domain, with the contracts of the
 * chain for which clients sign. Nothing is read from that chain.
 *
 * Of a signer this is checked: the key's wallet is `signer` and has signed the order. With signature type 0 it is also
 * `maker`; with 1 and 2 `maker` is a proxy or a Safe, which belongs here to the first signer who shows an order of it.
 */
import { hashTypedData, recoverAddress } from 'viem';
import { hex, isAddress } from './auth.ts';
import { objectOf, Refusal } from './reply.ts';

const NAME = 'Polymarket CTF Exchange';
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const MOST_256 = 2n ** 256n;
/** Largest amount of an order of the exchange. */
const MOST_AMOUNT = 1_000_000_000_000_000n;
/** The addresses for which clients sign, by chain: of the first struct, and of the second. */
const CONTRACTS: Readonly<Record<number, readonly [string, string]>> = {
  137: ['0x4bFb41d5B3570DeFd03C39a9A4D8dE6Bd8B8982E', '0xE111180000d2663C0091e4f400237545B87B996B'],
  80002: ['0xdFE02Eb6733538f8Ea35D585af8DE5958AD99E40', '0xE111180000d2663C0091e4f400237545B87B996B'],
};

const uint = (name: string) => ({ name, type: 'uint256' });
const PARTIES = [uint('salt'), { name: 'maker', type: 'address' }, { name: 'signer', type: 'address' }];
const AMOUNTS = [uint('tokenId'), uint('makerAmount'), uint('takerAmount')];
const KINDS = [
  { name: 'side', type: 'uint8' },
  { name: 'signatureType', type: 'uint8' },
];
type Member = { readonly name: string; readonly type: string };
const STRUCTS: Readonly<Record<1 | 2, readonly Member[]>> = {
  1: [
    ...PARTIES,
    { name: 'taker', type: 'address' },
    ...AMOUNTS,
    uint('expiration'),
    uint('nonce'),
    uint('feeRateBps'),
    ...KINDS,
  ],
  2: [
    ...PARTIES,
    ...AMOUNTS,
    ...KINDS,
    uint('timestamp'),
    { name: 'metadata', type: 'bytes32' },
    { name: 'builder', type: 'bytes32' },
  ],
};

export type SignedOrder = {
  readonly version: 1 | 2;
  readonly maker: string;
  readonly signer: string;
  readonly tokenId: string;
  readonly makerAmount: bigint;
  readonly takerAmount: bigint;
  readonly side: 'BUY' | 'SELL';
  readonly signatureType: 0 | 1 | 2;
  readonly expirationSec: number;
  /** Null in the second struct, which signs none. */
  readonly feeRateBps: number | null;
};
/** `id` is the hash that was signed. */
export type CheckedOrder = SignedOrder & { readonly id: string };

/** @throws Refusal unless the order is one of the two structs, and signed by its signer */
export async function checkedOrder(value: unknown, chainId: number): Promise<CheckedOrder> {
  const fields = objectOf(value);
  const order = orderOf(fields);
  const id = digestOf(fields, order, chainId);
  const { signature } = fields;
  if (typeof signature !== 'string' || !/^0x[0-9a-fA-F]{130}$/.test(signature)) throw invalid('signature');
  const signer = await recoverAddress({ hash: id, signature: hex(signature) }).catch(() => null);
  if (signer?.toLowerCase() !== order.signer) throw new Refusal(400, 'invalid signature');
  return { ...order, id };
}

function orderOf(fields: Readonly<Record<string, unknown>>): SignedOrder {
  const version = 'timestamp' in fields && 'metadata' in fields ? 2 : 1;
  const { side, signatureType } = fields;
  const name = side === 0 ? 'BUY' : side === 1 ? 'SELL' : side;
  if (name !== 'BUY' && name !== 'SELL') throw invalid('side');
  if (signatureType === 3) throw new Refusal(400, 'signature type 3 (a contract that signs) is not taken here');
  if (signatureType !== 0 && signatureType !== 1 && signatureType !== 2) throw invalid('signatureType');
  const amounts = ['makerAmount', 'takerAmount'].map((member) => unsigned(fields, member, MOST_AMOUNT));
  if (amounts.some((amount) => amount === 0n)) throw invalid('makerAmount or takerAmount');
  if (version === 1 && address(fields, 'taker') !== ZERO_ADDRESS) {
    throw new Refusal(400, 'an order for one taker has no counterpart here');
  }
  return {
    ...{ version, side: name, signatureType, makerAmount: amounts[0], takerAmount: amounts[1] },
    maker: address(fields, 'maker'),
    signer: address(fields, 'signer'),
    tokenId: String(unsigned(fields, 'tokenId')),
    expirationSec: Number(unsigned(fields, 'expiration', BigInt(Number.MAX_SAFE_INTEGER))),
    feeRateBps: version === 1 ? Number(unsigned(fields, 'feeRateBps', 10_000n)) : null,
  };
}

function digestOf(fields: Readonly<Record<string, unknown>>, order: SignedOrder, chainId: number): `0x${string}` {
  const struct = STRUCTS[order.version];
  const contract = CONTRACTS[chainId]?.[order.version - 1];
  if (contract === undefined) throw new Refusal(400, `their clients sign for no contract on chain ${chainId}`);
  const message = Object.fromEntries(
    struct.map(({ name, type }): [string, unknown] => {
      if (name === 'side') return [name, order.side === 'BUY' ? 0 : 1];
      if (type === 'uint8') return [name, fields[name]];
      if (type === 'address') return [name, address(fields, name)];
      return [name, type === 'bytes32' ? bytes32(fields, name) : unsigned(fields, name)];
    }),
  );
  const domain = { name: NAME, version: String(order.version), chainId, verifyingContract: hex(contract) };
  return hashTypedData({ domain, types: { Order: struct }, primaryType: 'Order', message });
}

/** Texts of digits; the salt is a number. */
function unsigned(fields: Readonly<Record<string, unknown>>, name: string, most = MOST_256 - 1n): bigint {
  const value = fields[name];
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,78}$/.test(text) || BigInt(text) > most) throw invalid(name);
  return BigInt(text);
}

function address(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || !isAddress(value)) throw invalid(name);
  return value.toLowerCase();
}

function bytes32(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(value)) throw invalid(name);
  return value;
}

function invalid(name: string): Refusal {
  return new Refusal(400, `Invalid order payload: ${name}`);
}

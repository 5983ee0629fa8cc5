/**
 * The ids that the contract of conditional tokens gives a market and its two outcomes. They follow from the market's id
 * and two addresses, so a market has its tokens before any transaction: they are signed into orders. A test compares
 * them with the contract.
 */
import { ADDRESS_BYTES, type Hex, toHex, tryParseHex, uint256ToDecimal } from '../base/hex.ts';
import { keccak256 } from '../crypto/keccak.ts';

/** The factory that asks the questions, and the token that backs the outcomes. */
export type MarketChain = { readonly marketFactory: string; readonly collateral: string };
type MarketIds = { readonly questionId: Hex; readonly conditionId: Hex };

const WORD_BYTES = 32;
const OUTCOMES = 2n;
/** The field of the curve alt_bn128, y^2 = x^3 + 3, on which the contract finds a point for each outcome. */
const P = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
const B = 3n;
/** P is 3 modulo 4, so this power of a square is a root of it. */
const ROOT_DIGITS = [...((P + 1n) / 4n).toString(16)].map((digit) => Number.parseInt(digit, 16));

export function marketIds(marketFactory: string, idBytes: Uint8Array): MarketIds {
  const questionId = keccak256(idBytes);
  const conditionId = keccak256(joined(addressBytes(marketFactory), questionId, toWord(OUTCOMES)));
  return { questionId: toHex(questionId), conditionId: toHex(conditionId) };
}

/** The ids of Yes and No, in decimal. */
export function outcomeTokenIds(chain: MarketChain, idBytes: Uint8Array): readonly [yes: string, no: string] {
  const { conditionId } = marketIds(chain.marketFactory, idBytes);
  const condition = new Uint8Array(WORD_BYTES);
  tryParseHex(conditionId, WORD_BYTES, condition, 0);
  const tokenOf = (indexSet: bigint): string => {
    const collection = toWord(collectionId(condition, indexSet));
    return uint256ToDecimal(keccak256(joined(addressBytes(chain.collateral), collection)));
  };
  return [tokenOf(1n), tokenOf(2n)];
}

/** The first point of the curve after the hash, compressed: its x, and whether its y is odd. */
function collectionId(condition: Uint8Array, indexSet: bigint): bigint {
  const hash = toNumber(keccak256(joined(condition, toWord(indexSet))));
  const isOdd = hash >> 255n !== 0n;
  for (let x = (hash + 1n) % P; ; x = (x + 1n) % P) {
    const square = (((x * x) % P) * x + B) % P;
    const root = rootOf(square);
    if ((root * root) % P !== square) continue;
    // One of the two roots is even and the other odd; zero is its own negative, and the contract negates it to P.
    const hasParity = (root % 2n === 1n) === isOdd;
    const y = hasParity ? root : P - root;
    return y % 2n === 1n ? x ^ (1n << 254n) : x;
  }
}

/** Four bits of the exponent at a time, highest first. */
function rootOf(square: bigint): bigint {
  const powers = [1n];
  for (let at = 1; at < 16; at++) powers.push((powers[at - 1] * square) % P);
  let root = 1n;
  for (const digit of ROOT_DIGITS) {
    for (let bit = 0; bit < 4; bit++) root = (root * root) % P;
    if (digit !== 0) root = (root * powers[digit]) % P;
  }
  return root;
}

function toNumber(word: Uint8Array): bigint {
  return BigInt(toHex(word));
}

function toWord(number: bigint): Uint8Array {
  const word = new Uint8Array(WORD_BYTES);
  tryParseHex(`0x${number.toString(16).padStart(2 * WORD_BYTES, '0')}`, WORD_BYTES, word, 0);
  return word;
}

function addressBytes(address: string): Uint8Array {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  if (!tryParseHex(address, ADDRESS_BYTES, bytes, 0)) throw new Error(`no address: ${address}`);
  return bytes;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

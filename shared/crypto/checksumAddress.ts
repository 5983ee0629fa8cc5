/**
 * Addresses as people and other programs see them: the case of their letters is a check sum (EIP-55). Inside, they are
 * kept and compared in lower case; every answer shows them with it (RULES.md 6.14). Nothing here is Node's alone.
 */
import { toHex } from '../base/hex.ts';
import { keccak256 } from './keccak.ts';

const FORM = /^0x[0-9a-f]{40}$/;
const HALF = 8;
/** A hash costs a hundred times what a look costs, and of all addresses few are shown again and again. */
const MOST_KEPT = 20_000;
const kept = new Map<string, string>();

/** @param address in lower case; a text that is no address stays as it is. */
export function shownAddress(address: string): string {
  const known = kept.get(address);
  if (known !== undefined) return known;
  if (!FORM.test(address)) return address;
  const shown = checksumAddress(address);
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(address, shown);
  return shown;
}

/** @param address 0x and 40 lowercase hex digits. */
export function checksumAddress(address: string): string {
  const digits = address.slice(2);
  const hash = toHex(keccak256(new TextEncoder().encode(digits))).slice(2);
  const cased = [...digits].map((digit, index) => {
    return Number.parseInt(hash[index]!, 16) >= HALF ? digit.toUpperCase() : digit;
  });
  return `0x${cased.join('')}`;
}

/**
 * Addresses as people and other programs see them: the case of their letters is a check sum (EIP-55). Inside the
 * exchange they are kept and compared in lower case; every answer shows them with their check sum (RULES.md 6.14). This
 * file also runs outside of Node.
 */
import { keccak256 } from './keccak.ts';

const FORM = /^0x[0-9a-f]{40}$/;
const HALF = 8;
const encoder = new TextEncoder();
/** Computing a hash costs a hundred times as much as a lookup, and few addresses are shown again and again. */
const MOST_KEPT = 20_000;
const kept = new Map<string, string>();

/** @param address in lower case; a text that is not an address is returned unchanged. */
export function shownAddress(address: string): string {
  const known = kept.get(address);
  if (known !== undefined) return known;
  if (!FORM.test(address)) return address;
  const shown = checksumAddress(address);
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(address, shown);
  return shown;
}

/**
 * @param address 0x and 40 lowercase hex digits. A letter becomes a capital if the corresponding digit of the hash is 8
 * or more.
 */
export function checksumAddress(address: string): string {
  const digits = address.slice(2);
  const hash = keccak256(encoder.encode(digits));
  let shown = '0x';
  for (let i = 0; i < digits.length; i++) {
    const isHigh = ((hash[i >>> 1] >>> (i % 2 === 0 ? 4 : 0)) & HALF) !== 0;
    shown += isHigh ? digits[i].toUpperCase() : digits[i];
  }
  return shown;
}

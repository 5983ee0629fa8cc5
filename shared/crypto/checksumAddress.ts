/** Addresses as people see them: the case of their letters is a check sum (EIP-55). */
import { keccak256 } from './keccak.ts';

const HALF = 8;

/** @param address 0x and 40 lowercase hex digits. */
export function checksumAddress(address: string): string {
  const digits = address.slice(2);
  const hash = Buffer.from(keccak256(Buffer.from(digits))).toString('hex');
  const cased = [...digits].map((digit, index) => {
    return Number.parseInt(hash[index]!, 16) >= HALF ? digit.toUpperCase() : digit;
  });
  return `0x${cased.join('')}`;
}

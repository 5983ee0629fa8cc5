/** The call with which a wallet turns USDC of its own escrow into full sets, as the contract reads it. */
import { toHex } from '../base/hex.ts';
import { keccak256 } from '../crypto/keccak.ts';

export const SPLIT_FUNCTION = 'splitFromEscrow(bytes32,uint256)';
const SELECTOR = toHex(keccak256(new TextEncoder().encode(SPLIT_FUNCTION)), 0, 4);
const WORD_DIGITS = 64;

/** Everything except the amount, which is the last word. */
export function splitCallPrefix(conditionId: string): string {
  return `${SELECTOR}${conditionId.slice(2).toLowerCase()}`;
}

/** @param amount micro-USDC, in decimal */
export function splitCall(conditionId: string, amount: string): string {
  return `${splitCallPrefix(conditionId)}${BigInt(amount).toString(16).padStart(WORD_DIGITS, '0')}`;
}

/**
 * Transactions as bytes that can be stored before they are sent: what is on disk is exactly what a node gets, also when
 * it is sent again after a crash. A replacement with a higher fee is another envelope with the same nonce.
 */
import type { Address, Hex } from 'viem';
import { keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

type Envelope = {
  readonly chainId: number;
  readonly to: Address;
  readonly data: Hex;
  /** Of the sender's account: one stream of them for each key. */
  readonly nonce: number;
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
};

type SignedEnvelope = { readonly from: Address; readonly hash: Hex; readonly raw: Hex };

/** Signing is deterministic (RFC 6979): the same envelope gives the same bytes and the same hash. */
export async function signEnvelope(privateKey: Hex, envelope: Envelope): Promise<SignedEnvelope> {
  const account = privateKeyToAccount(privateKey);
  const raw = await account.signTransaction({ type: 'eip1559', ...envelope });
  return { from: account.address, hash: keccak256(raw), raw };
}

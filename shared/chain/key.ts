/**
 * A key that signs transactions. It is either a secret of this process, which stays inside the object and appears in no
 * error, or the key of an external signer (signer.ts).
 */

import { keccak256 as keccakOf, parseSignature, serializeTransaction } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { KeyOrigin, SignerAt } from '../base/chainFacts.ts';
import { isHex, lowerHex } from '../base/hex.ts';
import type { Hex } from './node.ts';
import { signBy } from './signer.ts';

/** A transaction of EIP-1559. */
type Unsigned = {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
};
type Signed = { readonly bytes: Hex; readonly hash: Hex };

export type ChainKey = {
  readonly address: Hex;
  sign(transaction: Unsigned): Promise<Signed>;
  /** 65 bytes: r, s and v. */
  signHash(hash: Hex): Promise<Hex>;
};

export function chainKey(origin: KeyOrigin): ChainKey {
  const { address, signHash } = typeof origin === 'string' ? ownKey(origin) : keyElsewhere(origin);
  return {
    address,
    signHash,
    sign: async (fields) => {
      const transaction = { type: 'eip1559', value: 0n, ...fields } as const;
      const signature = parseSignature(await signHash(keccakOf(serializeTransaction(transaction))));
      const bytes = serializeTransaction(transaction, signature);
      return { bytes, hash: keccakOf(bytes) };
    },
  };
}

function ownKey(secret: string): Pick<ChainKey, 'address' | 'signHash'> {
  if (!isHex(secret) || secret.length !== 66) throw new Error('a key is 0x and 64 hex digits');
  const account = privateKeyToAccount(secret);
  return { address: lowerHex(account.address), signHash: (hash) => account.sign({ hash }) };
}

function keyElsewhere(at: SignerAt): Pick<ChainKey, 'address' | 'signHash'> {
  return { address: lowerHex(at.address), signHash: (hash) => signBy(at, hash) };
}

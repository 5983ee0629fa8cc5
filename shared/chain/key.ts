/** A key that signs transactions. The secret stays inside the object and is in no error. */
import { keccak256 as keccakOf } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Hex } from './node.ts';

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

export function chainKey(secret: string): ChainKey {
  if (!/^0x[0-9a-fA-F]{64}$/.test(secret)) throw new Error('a key is 0x and 64 hex digits');
  const account = privateKeyToAccount(secret as Hex);
  return {
    address: account.address.toLowerCase() as Hex,
    sign: async (transaction) => {
      const bytes = await account.signTransaction({ type: 'eip1559', value: 0n, ...transaction });
      return { bytes, hash: keccakOf(bytes) };
    },
    signHash: (hash) => account.sign({ hash }),
  };
}

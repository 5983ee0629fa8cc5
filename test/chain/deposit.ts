/** A deposit as users make it: the permit of the exchange, and the wallet's authorization of the payment (EIP-3009). */
import { type Hex, maxUint256 } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { DOMAIN_NAME, DOMAIN_VERSION } from '../../shared/crypto/eip712.ts';
import { abiOf, type ChainClient, type Deployed } from './deploy.ts';

const PERMIT_FIELDS = [
  { name: 'account', type: 'address' },
  { name: 'amount', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
  { name: 'deadline', type: 'uint256' },
];
const AUTHORIZATION_FIELDS = [
  ...['from', 'to'].map((name) => ({ name, type: 'address' })),
  ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
  { name: 'nonce', type: 'bytes32' },
];

type Deposit = {
  readonly client: ChainClient;
  readonly contracts: Deployed;
  /** Pays. */
  readonly wallet: PrivateKeyAccount;
  readonly permit: { readonly account: Hex; readonly amount: bigint; readonly nonce: Hex; readonly deadline: bigint };
  /** The key of permits. */
  readonly signer: PrivateKeyAccount;
  /** In place of the digest of the permit, which the contract wants. */
  readonly authorizationNonce?: Hex | undefined;
};

/** The arguments of `depositWithAuthorization`. */
export async function depositArgs({ client, contracts, wallet, permit, signer, authorizationNonce }: Deposit) {
  const { exchange, usdc } = contracts;
  const chainId = client.chain.id;
  const permitSignature = await signer.signTypedData({
    domain: { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId, verifyingContract: exchange },
    types: { DepositPermit: PERMIT_FIELDS },
    primaryType: 'DepositPermit',
    message: permit,
  });
  const question = { address: exchange, abi: abiOf('Exchange'), functionName: 'depositPermitDigest', args: [permit] };
  const digest = (await client.readContract(question)) as Hex;
  const signature = await wallet.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId, verifyingContract: usdc },
    types: { ReceiveWithAuthorization: AUTHORIZATION_FIELDS },
    primaryType: 'ReceiveWithAuthorization',
    message: {
      from: wallet.address,
      to: exchange,
      value: permit.amount,
      validAfter: 0n,
      validBefore: maxUint256,
      nonce: authorizationNonce ?? digest,
    },
  });
  const authorization = { from: wallet.address, validAfter: 0n, validBefore: maxUint256, signature };
  return [permit, permitSignature, authorization] as const;
}

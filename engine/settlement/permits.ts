/**
 * Permits for deposits: the exchange's consent, which the contract requires together with the paying wallet's
 * authorization (EIP-3009). The key of permits signs nothing else and sends nothing.
 *
 * Invariant:
 *   PERMITS-1  No permit is issued that the contract would refuse now: no wallet signs for a deposit that fails.
 */
import {
  decodeFunctionResult,
  encodeErrorResult,
  encodeFunctionData,
  type Hex,
  hashTypedData,
  keccak256,
  stringToBytes,
} from 'viem';
import { checkedHex } from '../../shared/base/hex.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainKey } from '../../shared/chain/key.ts';
import type { ChainNode } from '../../shared/chain/node.ts';
import type { RelayToken } from '../../shared/chain/relayToken.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from '../../shared/crypto/eip712.ts';
import type { DepositAsk, DepositPermit } from '../../shared/wire/chainQuestions.ts';

const PERMIT_ROLE = keccak256(stringToBytes('PERMIT_ROLE'));
const TYPES = {
  DepositPermit: [
    { name: 'account', type: 'address' },
    { name: 'amount', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;

/** A placeholder for the wallet's own signature. */
const UNSIGNED: Hex = `0x${'5a'.repeat(65)}`;

type PermitsOptions = {
  readonly node: ChainNode;
  readonly key: ChainKey;
  readonly chainId: number;
  readonly token: Pick<RelayToken, 'domain'>;
};

export class Permits {
  readonly #options: PermitsOptions;

  constructor(options: PermitsOptions) {
    this.#options = options;
  }

  /** Rejects with an RpcError that carries the contract's error if the contract would refuse the deposit. */
  async issue(ask: DepositAsk): Promise<DepositPermit> {
    const { key, chainId, token } = this.#options;
    const [exchange, account, nonce] = [ask.exchange, ask.wallet, ask.nonce].map(checkedHex);
    await this.#check(exchange, account);
    const permit = {
      account,
      amount: BigInt(ask.amountMicro),
      nonce,
      deadline: BigInt(ask.deadlineSec),
    };
    const domain = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId, verifyingContract: exchange };
    const digest = hashTypedData({ domain, types: TYPES, primaryType: 'DepositPermit', message: permit });
    const signature = await key.signHash(digest);
    const authorization = { from: permit.account, validAfter: 0n, validBefore: permit.deadline, signature: UNSIGNED };
    const args = [permit, signature, authorization] as const;
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'depositWithAuthorization', args });
    const at = data.lastIndexOf(UNSIGNED.slice(2));
    const parts = { before: data.slice(0, at), after: data.slice(at + UNSIGNED.length - 2) };
    return { digest, signature, token: await token.domain(), data: parts };
  }

  /** Keeps PERMITS-1. */
  async #check(exchange: Hex, wallet: Hex): Promise<void> {
    const abi = EXCHANGE_ABI;
    const [isPaused, exitableAt, mayPermit] = await Promise.all([
      this.#view(exchange, encodeFunctionData({ abi, functionName: 'paused' })),
      this.#view(exchange, encodeFunctionData({ abi, functionName: 'exitableAt', args: [wallet] })),
      this.#view(
        exchange,
        encodeFunctionData({ abi, functionName: 'hasRole', args: [PERMIT_ROLE, this.#options.key.address] }),
      ),
    ]);
    if (isPaused !== 0n) throw refusal(encodeErrorResult({ abi, errorName: 'EnforcedPause' }));
    if (exitableAt !== 0n) throw refusal(encodeErrorResult({ abi, errorName: 'ExitPending', args: [wallet] }));
    const args = [this.#options.key.address] as const;
    if (mayPermit === 0n) throw refusal(encodeErrorResult({ abi, errorName: 'PermitNotSigned', args }));
  }

  async #view(exchange: Hex, data: Hex): Promise<bigint> {
    const answer = await this.#options.node.view(exchange, data, 'latest');
    if (answer.length !== 66) throw new NodeUnreachable('the node does not have the state of the contract');
    return decodeFunctionResult({ abi: EXCHANGE_ABI, functionName: 'exitableAt', data: answer });
  }
}

function refusal(data: Hex): RpcError {
  return new RpcError('the contract would refuse the deposit', data);
}

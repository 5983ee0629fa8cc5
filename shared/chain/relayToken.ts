/**
 * USDC on the chain, as the relay sees it: its views, the calls that carry out a signed transfer, and the transfers in
 * the logs of a transaction. Circle's token and DemoUsdc differ in their errors, so no error is read: views give the
 * reason.
 */

import {
  bytesToHex,
  decodeEventLog,
  decodeFunctionResult,
  encodeFunctionData,
  hexToBytes,
  parseAbi,
  parseSignature,
  recoverAddress,
  toEventSelector,
} from 'viem';
import { checkedHex, isHex } from '../base/hex.ts';
import { domainSeparator } from '../crypto/eip712.ts';
import { NOT_CANONICAL, recoveryBit, SIGNATURE_BYTES } from '../crypto/signature.ts';
import type { RailQuestions, RailTransfer, SignedTransfer } from '../wire/railQuestions.ts';
import type { ChainNode, Hex, Log } from './node.ts';
import { NodeUnreachable, RpcError } from './rpc.ts';

const TRANSFER = 'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce';
const TOKEN_ABI = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address) view returns (uint256)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
  'function authorizationState(address, bytes32) view returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
]);
const BY_KEY = parseAbi([`function transferWithAuthorization(${TRANSFER}, uint8 v, bytes32 r, bytes32 s)`]);
const BY_CONTRACT = parseAbi([`function transferWithAuthorization(${TRANSFER}, bytes signature)`]);
const WALLET_ABI = parseAbi(['function isValidSignature(bytes32, bytes) view returns (bytes4)']);

/** EIP-1271: the answer of a contract that has signed. */
const IS_SIGNED = '0x1626ba7e';
export const TRANSFERRED = toEventSelector('Transfer(address,address,uint256)');
export const AUTHORIZATION_USED = toEventSelector('AuthorizationUsed(address,bytes32)');
export const AUTHORIZATION_CANCELLED = toEventSelector('AuthorizationCanceled(address,bytes32)');
/** Gas of a transfer; a wallet that is a contract may use some for its own checks. */
const GAS_BY_KEY = 160_000;
const GAS_BY_CONTRACT = 500_000;

type Domain = RailQuestions['railDomain']['answer'];
export type RelayCall = { readonly to: Hex; readonly data: Hex; readonly gas: number };

type View = 'name' | 'version' | 'DOMAIN_SEPARATOR' | 'balanceOf' | 'isBlacklisted' | 'paused' | 'authorizationState';

export class RelayToken {
  readonly address: Hex;
  readonly #node: ChainNode;
  readonly #chainId: number;
  #domain: Domain | null = null;
  /** The separator of the domain; an upgrade of the token may change it. */
  #separator: Hex | null = null;

  constructor(node: ChainNode, address: Hex, chainId: number) {
    this.#node = node;
    this.address = address;
    this.#chainId = chainId;
  }

  /** Throws NodeUnreachable if the token's separator does not follow from its name, its version and the chain. */
  async domain(): Promise<Domain> {
    const separator = (await this.#view('DOMAIN_SEPARATOR', [])) as Hex;
    if (this.#domain !== null && this.#separator === separator) return this.#domain;
    const [name, version] = await Promise.all([this.#view('name', []), this.#view('version', [])]);
    const [chainId, verifyingContract] = [this.#chainId, this.address];
    const domain = { name: name as string, version: version as string, chainId, verifyingContract };
    const own = bytesToHex(domainSeparator(chainId, hexToBytes(verifyingContract), domain.name, domain.version));
    if (own !== separator) throw new NodeUnreachable('USDC_ADDRESS has another domain than it says');
    this.#separator = separator;
    this.#domain = domain;
    return domain;
  }

  async balanceMicro(address: string): Promise<number> {
    const micro = (await this.#view('balanceOf', [address])) as bigint;
    return Number(micro > MOST_MICRO ? MOST_MICRO : micro);
  }

  /** @param block the block that the node must know: asking for a block that it does not have is an error. */
  async isUsed(from: string, nonce: string, block: number): Promise<boolean> {
    return (await this.#view('authorizationState', [from, nonce], block)) as boolean;
  }

  isBlacklisted(address: string): Promise<boolean> {
    return this.#flag('isBlacklisted', [address]);
  }

  isPaused(): Promise<boolean> {
    return this.#flag('paused', []);
  }

  async isSignedBy(address: Hex, digest: Hex, signature: string): Promise<boolean> {
    if (!isWholeBytes(signature)) return false;
    if (await isSignedByKey(address, digest, signature)) return true;
    const data = encodeFunctionData({
      abi: WALLET_ABI,
      functionName: 'isValidSignature',
      args: [digest, signature],
    });
    const answer = await this.#unlessReverted(this.#node.view(address, data, 'latest'));
    // An address without code answers nothing.
    return answer !== null && answer.length === 66 && answer.startsWith(IS_SIGNED);
  }

  /** The call that carries out a transfer. Signatures of keys use the function that every version of the token has. */
  async callFor(transfer: SignedTransfer, digest: Hex, signed: string): Promise<RelayCall> {
    const { valueMicro, validAfterSec, validBeforeSec } = transfer;
    const [from, to, nonce, signature] = [transfer.from, transfer.to, transfer.nonce, signed].map(checkedHex);
    const terms = [from, to, BigInt(valueMicro), BigInt(validAfterSec), BigInt(validBeforeSec), nonce] as const;
    const functionName = 'transferWithAuthorization';
    if (!(await isSignedByKey(from, digest, signature))) {
      const data = encodeFunctionData({ abi: BY_CONTRACT, functionName, args: [...terms, signature] });
      return { to: this.address, data, gas: GAS_BY_CONTRACT };
    }
    const { r, s, yParity } = parseSignature(signature);
    const data = encodeFunctionData({ abi: BY_KEY, functionName, args: [...terms, 27 + yParity, r, s] });
    return { to: this.address, data, gas: GAS_BY_KEY };
  }

  /** The transfers of USDC in the logs of one transaction. The token logs a nonce right before its transfer. */
  transfersIn(logs: readonly Log[]): RailTransfer[] {
    const events = logs.filter(({ address }) => address === this.address).map(decode);
    return events.flatMap((event, index): RailTransfer[] => {
      if (event?.eventName !== 'Transfer' || event.args.value > MOST_MICRO) return [];
      const from = event.args.from.toLowerCase();
      const before = events[index - 1];
      const isAuthorized = before?.eventName === 'AuthorizationUsed' && before.args.authorizer.toLowerCase() === from;
      const nonce = isAuthorized ? before.args.nonce : null;
      return [{ from, to: event.args.to.toLowerCase(), valueMicro: Number(event.args.value), nonce }];
    });
  }

  async #view(functionName: View, args: readonly unknown[], block: number | 'latest' = 'latest'): Promise<unknown> {
    const call = { abi: TOKEN_ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0];
    const data = await this.#node.view(this.address, encodeFunctionData(call), block);
    try {
      return decodeFunctionResult({ abi: TOKEN_ABI, functionName, data });
    } catch {
      throw new NodeUnreachable(`USDC_ADDRESS does not answer ${functionName} as USDC does`);
    }
  }

  /** False if the token has no such flag. */
  async #flag(functionName: View, args: readonly unknown[]): Promise<boolean> {
    return (await this.#unlessReverted(this.#view(functionName, args))) === true;
  }

  /** Null: the call was reverted. */
  async #unlessReverted<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      if (isRevert(error)) return null;
      throw error;
    }
  }
}

/** Nodes report a revert in their own words. A refusal for another reason is not an answer. */
export function isRevert(error: unknown): boolean {
  return error instanceof RpcError && (error.data !== null || REVERTED.test(error.message));
}

const REVERTED = /revert|invalid opcode|out of gas/i;
const MOST_MICRO = BigInt(Number.MAX_SAFE_INTEGER);

function isWholeBytes(text: string): text is Hex {
  return isHex(text) && text.length % 2 === 0;
}

async function isSignedByKey(address: Hex, digest: Hex, signature: Hex): Promise<boolean> {
  const bytes = hexToBytes(signature);
  if (bytes.length !== SIGNATURE_BYTES || recoveryBit(bytes, 0) === NOT_CANONICAL) return false;
  try {
    const signer = await recoverAddress({ hash: digest, signature });
    return signer.toLowerCase() === address;
  } catch {
    // r is not the x of a curve point, or the key would be the point at infinity.
    return false;
  }
}

function decode({ topics, data }: Log) {
  try {
    return decodeEventLog({ abi: TOKEN_ABI, topics: [topics[0], ...topics.slice(1)], data });
  } catch {
    // An event that the relay does not read.
    return null;
  }
}

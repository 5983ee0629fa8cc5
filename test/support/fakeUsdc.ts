/** USDC in memory, for a chain in memory: EIP-3009 with signatures of keys, and balances that a test sets. */
import {
  type DecodeFunctionDataReturnType,
  encodeAbiParameters,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  parseSignature,
  serializeSignature,
  toEventSelector,
  toHex,
} from 'viem';
import type { Log } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import { domainSeparator } from '../../shared/crypto/eip712.ts';
import { cancelDigest, type TransferAuthorization, transferDigest } from '../../shared/crypto/eip3009.ts';
import { isDigestSignedBy } from '../../shared/crypto/walletSignature.ts';
import { decodedCall } from './decodedCall.ts';
import type { FakeContract } from './fakeChain.ts';

const TERMS = 'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce';
const ABI = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address) view returns (uint256)',
  'function authorizationState(address, bytes32) view returns (bool)',
  `function transferWithAuthorization(${TERMS}, uint8 v, bytes32 r, bytes32 s)`,
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);
const TRANSFER = toEventSelector('Transfer(address,address,uint256)');
const USED = toEventSelector('AuthorizationUsed(address,bytes32)');
const CANCELLED = toEventSelector('AuthorizationCanceled(address,bytes32)');
const REVERTED = { isSuccess: false, logs: [] };

export const USDC: Hex = '0x00000000000000000000000000000000000005dc';
export const USDC_DOMAIN = { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: USDC };

type Call = DecodeFunctionDataReturnType<typeof ABI>;
type TransferCall = Extract<Call, { functionName: 'transferWithAuthorization' }>;
type CancelCall = Extract<Call, { functionName: 'cancelAuthorization' }>;

export class FakeUsdc implements FakeContract {
  /** By address in lower case. */
  readonly balances: Map<string, number>;
  readonly #gone = new Set<string>();

  constructor(balances: ReadonlyMap<string, number>) {
    this.balances = new Map(balances);
  }

  run(data: Hex, timestampSec: number): { readonly isSuccess: boolean; readonly logs: readonly Log[] } {
    // Another contract's.
    if (data === '0x') return { isSuccess: true, logs: [] };
    const call = decodedCall(ABI, data);
    if (call === null) throw new Error(`USDC has no such function: ${data}`);
    if (call.functionName === 'cancelAuthorization') return this.#cancel(call);
    return call.functionName === 'transferWithAuthorization' ? this.#transfer(call, timestampSec) : REVERTED;
  }

  view(data: Hex, timestampSec: number): Hex {
    const call = decodedCall(ABI, data);
    if (call === null) throw new RpcError('eth_call: execution reverted');
    const { functionName, args } = call;
    const answer = (result: unknown): Hex => encodeFunctionResult({ abi: ABI, functionName, result } as never);
    switch (functionName) {
      case 'name':
        return answer(USDC_DOMAIN.name);
      case 'version':
        return answer(USDC_DOMAIN.version);
      case 'DOMAIN_SEPARATOR':
        return answer(toHex(domainSeparator(USDC_DOMAIN.chainId, Buffer.from(USDC.slice(2), 'hex'), 'USD Coin', '2')));
      case 'balanceOf':
        return answer(BigInt(this.#balance(args[0])));
      case 'authorizationState':
        return answer(this.#gone.has(`${args[0].toLowerCase()}:${args[1]}`));
      case 'transferWithAuthorization':
        if (this.#mayTransfer(termsOf(call), signatureOf(call), timestampSec)) return '0x';
        break;
      default:
    }
    throw new RpcError('eth_call: execution reverted');
  }

  #transfer(call: TransferCall, timestampSec: number) {
    const terms = termsOf(call);
    if (!this.#mayTransfer(terms, signatureOf(call), timestampSec)) return REVERTED;
    const { from, to, valueMicro, nonce } = terms;
    this.#gone.add(`${from}:${nonce}`);
    this.balances.set(from, this.#balance(from) - valueMicro);
    this.balances.set(to, this.#balance(to) + valueMicro);
    const value = encodeAbiParameters([{ type: 'uint256' }], [BigInt(valueMicro)]);
    const used = { address: USDC, topics: [USED, word(from), nonce as Hex], data: '0x' as Hex };
    return { isSuccess: true, logs: [used, { address: USDC, topics: [TRANSFER, word(from), word(to)], data: value }] };
  }

  #cancel(call: CancelCall) {
    const [authorizer, nonce] = call.args;
    const from = authorizer.toLowerCase();
    const digest = Buffer.from(cancelDigest(USDC_DOMAIN, from, nonce).slice(2), 'hex');
    if (this.#gone.has(`${from}:${nonce}`) || !isDigestSignedBy(from, digest, signatureOf(call))) return REVERTED;
    this.#gone.add(`${from}:${nonce}`);
    return { isSuccess: true, logs: [{ address: USDC, topics: [CANCELLED, word(from), nonce], data: '0x' as Hex }] };
  }

  #mayTransfer(terms: TransferAuthorization, signature: Hex, timestampSec: number): boolean {
    const { from, valueMicro, validAfterSec, validBeforeSec, nonce } = terms;
    const digest = Buffer.from(transferDigest(USDC_DOMAIN, terms).slice(2), 'hex');
    const isInTime = timestampSec > validAfterSec && timestampSec < validBeforeSec;
    const isNew = !this.#gone.has(`${from}:${nonce}`);
    return isInTime && isNew && this.#balance(from) >= valueMicro && isDigestSignedBy(from, digest, signature);
  }

  #balance(address: string): number {
    return this.balances.get(address.toLowerCase()) ?? 0;
  }
}

type MovedUsdc = { readonly from: string; readonly to: string; readonly value: number; readonly nonce: string };

/** The transfers of a transaction. */
export function transfersIn(logs: readonly Log[]): MovedUsdc[] {
  return logs.flatMap(({ topics: [event, from, to], data }, index) => {
    if (event !== TRANSFER) return [];
    const nonce = logs[index - 1]!.topics[2]!;
    return [{ from: addressIn(from!), to: addressIn(to!), value: Number(data), nonce }];
  });
}

/** The end that a transaction has made of an authorization; null: none. */
export function authorizationIn(logs: readonly Log[], from: string, nonce: string): 'used' | 'cancelled' | null {
  for (const { topics } of logs) {
    if (topics[1] !== word(from) || topics[2] !== nonce) continue;
    if (topics[0] === USED) return 'used';
    if (topics[0] === CANCELLED) return 'cancelled';
  }
  return null;
}

/** The call by which anyone carries out an authorization that the owner has signed. */
export function usdcCall(kind: 'transfer' | 'cancel', transfer: TransferAuthorization, signature: string): Hex {
  const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = transfer;
  const { r, s, yParity } = parseSignature(signature as Hex);
  const signed = [27 + yParity, r, s] as const;
  if (kind === 'cancel') {
    const args = [from as Hex, nonce as Hex, ...signed] as const;
    return encodeFunctionData({ abi: ABI, functionName: 'cancelAuthorization', args });
  }
  const times = [BigInt(validAfterSec), BigInt(validBeforeSec)] as const;
  const args = [from as Hex, to as Hex, BigInt(valueMicro), ...times, nonce as Hex, ...signed] as const;
  return encodeFunctionData({ abi: ABI, functionName: 'transferWithAuthorization', args });
}

function termsOf({ args }: TransferCall): TransferAuthorization {
  const [from, to, value, validAfter, validBefore, nonce] = args;
  const times = { validAfterSec: Number(validAfter), validBeforeSec: Number(validBefore) };
  return { from: from.toLowerCase(), to: to.toLowerCase(), valueMicro: Number(value), ...times, nonce };
}

function signatureOf({ args }: TransferCall | CancelCall): Hex {
  const [v, r, s] = args.slice(-3) as [number, Hex, Hex];
  return serializeSignature({ r, s, yParity: v - 27 });
}

function addressIn(topic: Hex): string {
  return `0x${topic.slice(-40)}`;
}

function word(address: string): Hex {
  return `0x${address.slice(2).padStart(64, '0')}`;
}

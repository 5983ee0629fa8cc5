/** The escrow of the exchange contract: its balances, and the effects of wallets and of the operator on them. */
import {
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  hexToString,
  parseAbiParameters,
  stringToHex,
  toHex,
} from 'viem';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { Log } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import { decodedCall } from './decodedCall.ts';
import type { FakeContract } from './fakeChain.ts';
import { EXCHANGE, FakeExchange } from './fakeExchange.ts';

/** A wallet does this; amounts are decimal. */
export type WalletCall = {
  readonly does: 'deposit' | 'hold' | 'splitFromEscrow' | 'requestExit' | 'cancelExit' | 'exit' | 'raiseFloor';
  readonly wallet: Hex;
  /** 0 is USDC. */
  readonly asset?: string;
  readonly amount?: string;
  readonly condition?: Hex;
  readonly salt: number;
};
type Set = readonly [yes: string, no: string];

export function walletCall(call: WalletCall): Hex {
  return stringToHex(JSON.stringify(call));
}

const MOVES: readonly string[] = ['withdrawFor', 'release', 'splitFor', 'mergeFor'];
/** balanceOf(address), of a token. */
const USDC_BALANCE = '0x70a08231';
const REVERTED = { isSuccess: false, logs: [] };

export class FakeEscrow implements FakeContract {
  readonly #held = new Map<string, bigint>();
  readonly #unheld = new Map<string, bigint>();
  readonly #done = new Set<string>();
  readonly #sets: (condition: Hex) => Set;
  readonly #frozen: ReadonlySet<Hex>;
  /** Markets and their factory. */
  readonly #rest = new FakeExchange();
  readonly hasPast = true;

  /**
   * @param sets the tokens of a condition
   * @param frozen wallets that USDC pays nothing to
   */
  constructor(sets: (condition: Hex) => Set, frozen: ReadonlySet<Hex> = new Set()) {
    this.#sets = sets;
    this.#frozen = frozen;
  }

  run(data: Hex, timestampSec: number): { isSuccess: boolean; logs: Log[] } {
    if (data.startsWith('0x7b')) {
      const logs = this.#ofWallet(JSON.parse(hexToString(data)) as WalletCall);
      return logs === null ? REVERTED : { isSuccess: true, logs };
    }
    const call = decodedCall(EXCHANGE_ABI, data);
    if (call === null || !MOVES.includes(call.functionName)) return this.#rest.run(data, timestampSec);
    const { functionName, args } = call;
    const [id, account, third, amount] = args as unknown as [Hex, Hex, Hex & bigint, bigint];
    if (this.#done.has(id)) return { isSuccess: true, logs: [] };
    const isCarriedOut = this.#ofOperator(functionName, account, third, amount);
    if (isCarriedOut) this.#done.add(id);
    return { isSuccess: isCarriedOut, logs: [] };
  }

  view(data: Hex): Hex {
    const call = decodedCall(EXCHANGE_ABI, data);
    if (call?.functionName === 'withdrawFor') return this.#tryPayment(call.args as unknown as [Hex, Hex]);
    if (call !== null && call.functionName !== 'balanceOf') return this.#rest.view(data);
    if (call?.functionName === 'balanceOf') {
      const [wallet, asset] = call.args as readonly [Hex, bigint];
      const key = keyOf(wallet, String(asset));
      const both = [this.#held.get(key) ?? 0n, this.#unheld.get(key) ?? 0n] as const;
      return encodeAbiParameters(parseAbiParameters('uint256, uint256'), both);
    }
    if (!data.startsWith(USDC_BALANCE)) return this.#rest.view(data);
    let usdc = 0n;
    for (const balances of [this.#held, this.#unheld]) {
      for (const [key, amount] of balances) if (key.endsWith(' 0')) usdc += amount;
    }
    return toHex(usdc, { size: 32 });
  }

  #tryPayment([, account]: readonly [Hex, Hex]): Hex {
    if (this.#frozen.has(account.toLowerCase() as Hex))
      throw new RpcError('eth_call: execution reverted: Blacklisted', '0x');
    return '0x';
  }

  #ofOperator(name: string, account: Hex, third: Hex & bigint, amount: bigint): boolean {
    if (name === 'withdrawFor' || name === 'release') {
      if (name === 'withdrawFor' && this.#frozen.has(account.toLowerCase() as Hex)) return false;
      if (!this.#take(this.#held, account, '0', amount)) return false;
      if (name === 'release') this.#add(this.#unheld, account, '0', amount);
      return true;
    }
    const sets = this.#sets(third);
    const from = name === 'splitFor' ? ['0'] : sets;
    const to = name === 'splitFor' ? sets : ['0'];
    if (from.some((asset) => (this.#held.get(keyOf(account, asset)) ?? 0n) < amount)) return false;
    for (const asset of from) this.#take(this.#held, account, asset, amount);
    for (const asset of to) this.#add(this.#held, account, asset, amount);
    return true;
  }

  #ofWallet({ does, wallet, asset = '0', amount = '0', condition, salt }: WalletCall): Log[] | null {
    const [assetId, value] = [BigInt(asset), BigInt(amount)];
    const nonce = toHex(salt, { size: 32 });
    switch (does) {
      case 'deposit':
        this.#add(this.#held, wallet, '0', value);
        return [log('Deposited', { account: wallet, from: wallet, permitNonce: nonce }, [value])];
      case 'hold':
        if (!this.#take(this.#unheld, wallet, asset, value)) return null;
        this.#add(this.#held, wallet, asset, value);
        return [log('Held', { account: wallet, assetId }, [value])];
      case 'splitFromEscrow':
        if (!this.#take(this.#unheld, wallet, '0', value)) return null;
        for (const token of this.#sets(condition!)) this.#add(this.#held, wallet, token, value);
        return [log('EscrowSplit', { account: wallet, conditionId: condition }, [value])];
      case 'requestExit':
        return [log('ExitRequested', { account: wallet }, [1n])];
      case 'cancelExit':
        return [log('ExitCancelled', { account: wallet }, [])];
      case 'raiseFloor':
        return [log('NonceFloorRaised', { maker: wallet }, [value, 1n])];
      case 'exit': {
        const held = this.#held.get(keyOf(wallet, asset)) ?? 0n;
        this.#take(this.#held, wallet, asset, held);
        this.#add(this.#unheld, wallet, asset, held);
        return [log('Exited', { account: wallet, assetId }, [held])];
      }
    }
  }

  #add(to: Map<string, bigint>, wallet: Hex, asset: string, amount: bigint): void {
    const key = keyOf(wallet, asset);
    to.set(key, (to.get(key) ?? 0n) + amount);
  }

  #take(from: Map<string, bigint>, wallet: Hex, asset: string, amount: bigint): boolean {
    const key = keyOf(wallet, asset);
    const left = (from.get(key) ?? 0n) - amount;
    if (left >= 0n) from.set(key, left);
    return left >= 0n;
  }
}

function keyOf(wallet: Hex, asset: string): string {
  return `${wallet.toLowerCase()} ${asset}`;
}

function log(eventName: string, args: object, data: readonly bigint[]): Log {
  const topics = encodeEventTopics({ abi: EXCHANGE_ABI, eventName, args } as never) as Hex[];
  const types = data.map(() => ({ type: 'uint256' }));
  return { address: EXCHANGE, topics, data: data.length === 0 ? '0x' : encodeAbiParameters(types, [...data]) };
}

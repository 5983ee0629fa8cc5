/**
 * Compares the chain with the settings: chain id, contracts and their relations, rights of the keys, balances. The
 * check is repeated, because rights can be revoked and balances run out.
 */
import { type Abi, encodeFunctionData, type Hex, keccak256, parseAbi, slice, toBytes } from 'viem';
import { EXCHANGE_ABI, FACTORY_ABI, RESOLUTIONS_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainNode } from '../../shared/chain/node.ts';
import { RpcError } from '../../shared/chain/rpc.ts';
import type { KeyBalance } from '../../shared/wire/threads.ts';

const CHECK_AGAIN_MS = 300_000;
const BALANCES_MS = 30_000;
const WORD_HEX = 66;
/** By this view a contract declares that it takes fees. */
const TAKES_FEES = slice(keccak256(toBytes('takesMovementFees')), 0, 4);

const TOKEN_ABI = parseAbi(['function decimals() view returns (uint8)']);
/** Of USDC and of tokens, in which every amount is counted. */
const DECIMALS = 6n;
const ALWAYS = ['OPERATOR', 'RESOLVER', 'DEPLOYER', 'PERMIT'] as const;
const ADMIN_ROLE: Hex = `0x${'00'.repeat(32)}`;

type ChainSetup = {
  readonly chainId: number;
  readonly marketFactory: Hex;
  readonly usdc: Hex;
  readonly conditionalTokens: Hex;
  readonly resolutions: Hex;
  /** The contract through which the PAYER key pays; null without such a key. */
  readonly payments: Hex | null;
  /** The fee of a withdrawal, split or merge. */
  readonly movementFeeMicro: number;
  /** The address of each key, by job. The PERMIT key sends no transactions. */
  readonly keys: Readonly<Record<(typeof ALWAYS)[number], Hex> & Record<'PAYER' | 'RELAYER', Hex | null>>;
};

export class ChainChecks {
  balances: readonly (KeyBalance & { readonly address: Hex })[];
  readonly #node: ChainNode;
  readonly #setup: ChainSetup;
  readonly #nowMs: () => number;
  #goodUntilMs = 0;
  /** The contracts for which the last check passed. */
  #exchanges = '';
  #balancesUntilMs = 0;

  constructor(node: ChainNode, setup: ChainSetup, nowMs: () => number) {
    this.#node = node;
    this.#setup = setup;
    this.#nowMs = nowMs;
    const { PERMIT: _, ...sending } = setup.keys;
    this.balances = Object.entries(sending).flatMap(([job, address]) =>
      address === null ? [] : [{ job, address, wei: null }],
    );
  }

  /**
   * Runs the checks that are due.
   * @param exchanges the contracts that orders are signed for
   * @returns the reason why nothing may be sent to this chain, or null if the check passed
   */
  async step(exchanges: readonly Hex[]): Promise<string | null> {
    const names = exchanges.join();
    if (this.#nowMs() >= this.#goodUntilMs || names !== this.#exchanges) {
      const problem = await this.#problem(exchanges);
      if (problem !== null) return problem;
      this.#goodUntilMs = this.#nowMs() + CHECK_AGAIN_MS;
      this.#exchanges = names;
    }
    await this.#askBalances();
    return null;
  }

  /**
   * The current contract can be given missing markets only while the factory names it, so missing markets are reported
   * before a wrong factory. They are counted again at the end, because the node's answers take a while.
   *
   * @param missing reports what the current contract still has to know
   * @returns the reason why the funds of an exchange contract cannot move to `next` now, or null if they can
   */
  async successorProblem(exchange: Hex, next: Hex, missing: () => string | null): Promise<string | null> {
    const problem = (await this.#wrongPart(next)) ?? (await this.#missingRight(next));
    if (problem !== null) return problem;
    const view = (at: Hex, abi: Abi, functionName: string) => this.#word(at, encodeFunctionData({ abi, functionName }));
    const names = async (at: Hex, abi: Abi, functionName: string, address: Hex): Promise<boolean> =>
      (await view(at, abi, functionName))?.slice(-40) === address.slice(-40);
    if (!(await names(next, EXCHANGE_ABI, 'predecessor', exchange))) {
      return 'the new contract does not name the one of today as its predecessor';
    }
    if (!(await names(exchange, EXCHANGE_ABI, 'successor', next))) {
      return 'the contract of today has not announced the new one (announceSuccessor)';
    }
    const stillMissing = missing();
    if (stillMissing !== null) return stillMissing;
    if (!(await names(this.#setup.marketFactory, FACTORY_ABI, 'exchange', next))) {
      return 'the market factory does not register its markets with the new contract (setExchange)';
    }
    const [from, head] = [await view(exchange, EXCHANGE_ABI, 'successorFrom'), await this.#node.block('latest')];
    if (from !== null && head !== null && BigInt(head.timestampSec) >= BigInt(from)) return missing();
    return `the funds may move from second ${BigInt(from ?? '0x0')} on`;
  }

  async #askBalances(): Promise<void> {
    if (this.#nowMs() < this.#balancesUntilMs) return;
    const asked = this.balances.map(async ({ job, address }) => {
      return { job, address, wei: await this.#node.balanceWei(address) };
    });
    this.balances = await Promise.all(asked);
    this.#balancesUntilMs = this.#nowMs() + BALANCES_MS;
  }

  async #problem(exchanges: readonly Hex[]): Promise<string | null> {
    const { chainId } = this.#setup;
    const found = await this.#node.chainId();
    if (found !== chainId) return `the node of RPC_URL has chain ${found}, and CHAIN_ID is ${chainId}`;
    for (const exchange of exchanges) {
      const problem = (await this.#wrongPart(exchange)) ?? (await this.#missingRight(exchange));
      if (problem !== null) return problem;
    }
    return null;
  }

  /** Checks that the contracts belong together. */
  async #wrongPart(exchange: Hex): Promise<string | null> {
    const { marketFactory, usdc, conditionalTokens, resolutions } = this.#setup;
    const parts: [setting: string, of: string, at: Hex, read: Name, expected: Hex][] = [
      ['USDC_ADDRESS', 'EXCHANGE_ADDRESS', exchange, 'usdc', usdc],
      ['CTF_ADDRESS', 'EXCHANGE_ADDRESS', exchange, 'conditionalTokens', conditionalTokens],
      ['MARKET_FACTORY_ADDRESS', 'EXCHANGE_ADDRESS', exchange, 'marketFactory', marketFactory],
      ['USDC_ADDRESS', 'MARKET_FACTORY_ADDRESS', marketFactory, 'usdc', usdc],
      ['CTF_ADDRESS', 'MARKET_FACTORY_ADDRESS', marketFactory, 'conditionalTokens', conditionalTokens],
      ['MARKET_FACTORY_ADDRESS', 'RESOLUTIONS_ADDRESS', resolutions, 'factory', marketFactory],
    ];
    for (const [setting, of, at, functionName, expected] of parts) {
      const abi: Abi = functionName === 'factory' ? RESOLUTIONS_ABI : EXCHANGE_ABI;
      const word = await this.#word(at, encodeFunctionData({ abi, functionName }));
      if (word === null) return `${of}: no contract of an exchange is at ${at}`;
      if (word.slice(-40) !== expected.slice(-40)) {
        return `${setting}: the contract at ${of} belongs to 0x${word.slice(-40)}, and not to ${expected}`;
      }
    }
    return (await this.#tokenProblem(usdc)) ?? this.#feeProblem(exchange);
  }

  /** Another unit makes every amount of the ledger another one; its issuer can change the token. */
  async #tokenProblem(usdc: Hex): Promise<string | null> {
    const decimals = await this.#word(usdc, encodeFunctionData({ abi: TOKEN_ABI, functionName: 'decimals' }));
    if (decimals === null) return `USDC_ADDRESS: no token is at ${usdc}`;
    if (BigInt(decimals) === DECIMALS) return null;
    return `USDC_ADDRESS: the token at ${usdc} has ${BigInt(decimals)} decimals, and amounts here have ${DECIMALS}`;
  }

  /** A contract from before fees existed would refuse every movement that has a fee. */
  async #feeProblem(exchange: Hex): Promise<string | null> {
    const { movementFeeMicro } = this.#setup;
    if (movementFeeMicro === 0) return null;
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'supportsInterface', args: [TAKES_FEES] });
    if (BigInt((await this.#word(exchange, data)) ?? 0) === 1n) return null;
    return `CHAIN_MOVEMENT_FEE_MICRO: the contract at ${exchange} takes no fees of movements: set 0`;
  }

  async #missingRight(exchange: Hex): Promise<string | null> {
    const { keys, marketFactory, payments, resolutions } = this.#setup;
    const rights: [job: string, key: Hex, role: string, of: string, at: Hex][] = [
      ['OPERATOR', keys.OPERATOR, 'OPERATOR_ROLE', 'exchange', exchange],
      ['PERMIT', keys.PERMIT, 'PERMIT_ROLE', 'exchange', exchange],
      ['DEPLOYER', keys.DEPLOYER, 'DEPLOYER_ROLE', 'market factory', marketFactory],
    ];
    if (!(await this.#hasRole(marketFactory, 'RESOLVER_ROLE', resolutions))) {
      return `RESOLUTIONS_ADDRESS: ${resolutions} does not have RESOLVER_ROLE of the market factory`;
    }
    if (keys.PAYER !== null && payments !== null) {
      rights.push(['PAYER', keys.PAYER, 'PAYER_ROLE', 'contract of payments', payments]);
      if (!(await this.#hasRole(exchange, 'OPERATOR_ROLE', payments))) {
        return `PAYMENTS_ADDRESS: ${payments} does not have OPERATOR_ROLE of the exchange`;
      }
    }
    for (const [job, key, role, of, at] of rights) {
      if (!(await this.#hasRole(at, role, key))) {
        return `${job}_KEY: ${key} does not have ${role} of the ${of}`;
      }
    }
    return this.#rightTooMuch(exchange);
  }

  /** A stolen key must give no more than its own job: no key but the right one may take money or decide. */
  async #rightTooMuch(exchange: Hex): Promise<string | null> {
    const { keys, marketFactory, payments, resolutions } = this.#setup;
    const rights: [owner: string | null, role: string, of: string, at: Hex | null][] = [
      ['OPERATOR', 'OPERATOR_ROLE', 'exchange', exchange],
      // A veto revokes this right of the PROPOSER key. Decisions wait then; nothing else does.
      ['RESOLVER', 'PROPOSER_ROLE', 'contract of resolutions', resolutions],
      [null, 'RESOLVER_ROLE', 'market factory', marketFactory],
      [null, 'DEFAULT_ADMIN_ROLE', 'contract of resolutions', resolutions],
      [null, 'DEFAULT_ADMIN_ROLE', 'exchange', exchange],
      [null, 'DEFAULT_ADMIN_ROLE', 'market factory', marketFactory],
      [null, 'DEFAULT_ADMIN_ROLE', 'contract of payments', payments],
    ];
    const asked = Object.entries(keys).flatMap(([key, address]) =>
      rights.map(async ([owner, role, of, at]) => {
        if (address === null || at === null || owner === key || !(await this.#hasRole(at, role, address))) return null;
        return `${key}_KEY: ${address} has ${role} of the ${of}, which is not its job: take it from that key`;
      }),
    );
    const vetoing = Object.entries(keys).map(async ([key, address]) => {
      if (address === null || !(await this.#isVetoer(address))) return null;
      return `${key}_KEY: ${address} may veto decisions: the key that does has to be kept away from the exchange`;
    });
    return (await Promise.all([...asked, ...vetoing])).find((problem) => problem !== null) ?? null;
  }

  async #hasRole(at: Hex, role: string, account: Hex): Promise<boolean> {
    const args = [role === 'DEFAULT_ADMIN_ROLE' ? ADMIN_ROLE : keccak256(toBytes(role)), account] as const;
    const word = await this.#word(at, encodeFunctionData({ abi: FACTORY_ABI, functionName: 'hasRole', args }));
    return word !== null && BigInt(word) === 1n;
  }

  async #isVetoer(address: Hex): Promise<boolean> {
    const data = encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName: 'isVetoer', args: [address] });
    const word = await this.#word(this.#setup.resolutions, data);
    return word !== null && BigInt(word) === 1n;
  }

  /** Returns the answer of a view, or null if there is no such contract. */
  async #word(at: Hex, data: Hex): Promise<Hex | null> {
    try {
      const word = await this.#node.view(at, data, 'latest');
      return word.length === WORD_HEX ? word : null;
    } catch (error) {
      if (error instanceof RpcError && error.data !== null) return null;
      throw error;
    }
  }
}

type Name = 'usdc' | 'conditionalTokens' | 'marketFactory' | 'factory';

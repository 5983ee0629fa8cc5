/**
 * A local EVM with the contracts deployed, and keys with the rights for every job of an exchange. While it is being set
 * up, every transaction is a block and gas is free; from `goOn` on it is like a chain: gas costs money, and blocks come
 * by the clock. The keys follow from their names, so that they are the same at every start: they are worth nothing
 * anywhere else.
 */
import {
  type Address,
  type Hex,
  keccak256,
  maxUint256,
  parseEther,
  parseGwei,
  type TransactionReceipt,
  toBytes,
  toHex,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { Anvil } from './anvil.ts';
import {
  type ChainClient,
  chainClient,
  type Delays,
  type Deployed,
  deployAll,
  deployExchange,
  type Roles,
  send,
} from './deploy.ts';
import { depositArgs } from './deposit.ts';

const JOBS = ['ADMIN', 'OPERATOR', 'RESOLVER', 'PAYER', 'DEPLOYER', 'RELAYER', 'PERMIT'] as const;
const HOUR_SECONDS = 3600n;
export const DELAYS = { exitDelay: HOUR_SECONDS, settlementGrace: 7n * 24n * HOUR_SECONDS } as const;
/** Keys of the wallets with play money. */
export const WALLETS = Array.from({ length: 5 }, (_, index) => `wallet ${index + 1}`);

export const BASE_FEE = parseGwei('30');
const GAS_MONEY = parseEther('1000');
/** After this many blocks everything is confirmed and final. */
const FINAL_BLOCKS = 70;

/** The secret of a key of the chain, by its name. */
export function secretOf(name: string): Hex {
  return keccak256(toBytes(`local chain of the open prediction exchange: ${name}`));
}

export class LocalChain {
  readonly client: ChainClient;
  readonly #anvil: Anvil;
  readonly #chainId: number;
  readonly #name: string;
  readonly #delays: Delays;
  #contracts: Deployed;
  #deposits = 0;

  private constructor(anvil: Anvil, chainId: number, name: string, delays: Delays, contracts: Deployed) {
    this.#anvil = anvil;
    this.client = chainClient(anvil.url, chainId);
    this.#chainId = chainId;
    this.#name = name;
    this.#delays = delays;
    this.#contracts = contracts;
  }

  static async start(chainId: number, port: number): Promise<LocalChain> {
    const anvil = await Anvil.start({ chainId, port });
    try {
      return await LocalChain.on(anvil, chainId);
    } catch (error) {
      await anvil.stop();
      throw error;
    }
  }

  /** Contracts and keys of their own, also on a chain where others are: `name` sets its keys apart from theirs. */
  static async on(anvil: Anvil, chainId: number, name = '', delays: Delays = DELAYS): Promise<LocalChain> {
    const client = chainClient(anvil.url, chainId);
    for (const job of JOBS) {
      await client.setBalance({ address: privateKeyToAccount(secretOf(name + job)).address, value: GAS_MONEY });
    }
    return new LocalChain(anvil, chainId, name, delays, await deployAll(client, rolesOf(name), delays));
  }

  /** The present contracts. */
  get contracts(): Deployed {
    return this.#contracts;
  }

  /** Another exchange contract takes the place of this one, as far as the chain is concerned (RULES.md 17.36). */
  async succeed(): Promise<Address> {
    const { exchange: before, ...others } = this.#contracts;
    const { admin } = rolesOf(this.#name);
    const exchange = await deployExchange(this.client, rolesOf(this.#name), this.#delays, others, before);
    await send(this.client, admin, before, 'Exchange', 'announceSuccessor', [exchange]);
    await send(this.client, admin, others.marketFactory, 'MarketFactory', 'setExchange', [exchange]);
    this.#contracts = { ...others, exchange };
    return exchange;
  }

  /** The environment of an exchange on this chain. */
  get settings(): Readonly<Record<string, string>> {
    return {
      RPC_URL: this.#anvil.url,
      CHAIN_ID: String(this.#chainId),
      EXCHANGE_ADDRESS: this.contracts.exchange,
      MARKET_FACTORY_ADDRESS: this.contracts.marketFactory,
      USDC_ADDRESS: this.contracts.usdc,
      CTF_ADDRESS: this.contracts.conditionalTokens,
      RESOLUTIONS_ADDRESS: this.contracts.resolutions,
      PAYMENTS_ADDRESS: this.contracts.payments,
      FEE_SWEEPER_ADDRESS: this.#keyOf('fees').address,
      ...Object.fromEntries(JOBS.map((job) => [`${job}_KEY`, secretOf(this.#name + job)])),
    };
  }

  /** Play money for a wallet, and gas to move it. */
  async fund(wallet: Address, micro: bigint): Promise<void> {
    await this.client.setBalance({ address: wallet, value: GAS_MONEY });
    await send(this.client, this.#keyOf('ADMIN').address, this.contracts.usdc, 'DemoUsdc', 'mint', [wallet, micro]);
  }

  /** The wallet brings USDC into the escrow of an account, mostly its own, with the permit of the exchange. */
  async deposit(wallet: PrivateKeyAccount, micro: bigint, account: Address = wallet.address): Promise<void> {
    const { client, contracts } = this;
    const nonce = toHex(++this.#deposits, { size: 32 });
    const permit = { account, amount: micro, nonce, deadline: maxUint256 };
    const args = await depositArgs({ client, contracts, wallet, permit, signer: this.#keyOf('PERMIT') });
    await send(client, wallet.address, contracts.exchange, 'Exchange', 'depositWithAuthorization', args);
  }

  /** From now on the delegate may sign orders of the wallet. */
  async addDelegate(wallet: Address, delegate: Address): Promise<TransactionReceipt> {
    return send(this.client, wallet, this.contracts.exchange, 'Exchange', 'addDelegate', [delegate]);
  }

  /** Makes everything so far final. */
  async finalize(): Promise<void> {
    await this.client.mine({ blocks: FINAL_BLOCKS });
  }

  /** The chain is set up. */
  async goOn(blockSeconds: number): Promise<void> {
    await this.client.setNextBlockBaseFeePerGas({ baseFeePerGas: BASE_FEE });
    await this.client.setIntervalMining({ interval: blockSeconds });
  }

  stop(): Promise<void> {
    return this.#anvil.stop();
  }

  #keyOf(job: string): PrivateKeyAccount {
    return privateKeyToAccount(secretOf(this.#name + job));
  }
}

export function rolesOf(name: string): Roles {
  const addressOf = (job: string): Address => privateKeyToAccount(secretOf(name + job)).address;
  return {
    admin: addressOf('ADMIN'),
    operator: addressOf('OPERATOR'),
    deployer: addressOf('DEPLOYER'),
    resolver: addressOf('RESOLVER'),
    vetoer: addressOf('vetoer'),
    permitSigner: addressOf('PERMIT'),
    payer: addressOf('PAYER'),
    feeRecipient: addressOf('fees'),
  };
}

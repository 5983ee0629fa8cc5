/**
 * A local EVM with the contracts deployed, and keys with the rights for every job of an exchange. While it is being set
 * up, every transaction is a block and gas is free; from `goOn` on it is like a chain: gas costs money, and blocks come
 * by the clock. The keys follow from their names, so that they are the same at every start: they are worth nothing
 * anywhere else.
 */
import { type Address, type Hex, keccak256, maxUint256, parseEther, parseGwei, toBytes } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { Anvil } from './anvil.ts';
import { type ChainClient, chainClient, type Deployed, deployAll, send } from './deploy.ts';
import { depositArgs } from './deposit.ts';

const JOBS = ['ADMIN', 'OPERATOR', 'DEPLOYER', 'RELAYER', 'PERMIT'] as const;
const HOUR_SECONDS = 3600n;
const DELAYS = { exitDelay: HOUR_SECONDS, settlementGrace: 7n * 24n * HOUR_SECONDS } as const;
const BASE_FEE = parseGwei('30');
const GAS_MONEY = parseEther('1000');
/** Behind so many blocks everything has its confirmations and is final. */
const FINAL_BLOCKS = 70;

const keyOf = (name: string): PrivateKeyAccount => privateKeyToAccount(secretOf(name));

/** The secret of a key of the chain, by its name. */
export function secretOf(name: string): Hex {
  return keccak256(toBytes(`local chain of the open prediction exchange: ${name}`));
}

export class LocalChain {
  readonly client: ChainClient;
  readonly contracts: Deployed;
  readonly #anvil: Anvil;
  readonly #chainId: number;

  private constructor(anvil: Anvil, client: ChainClient, contracts: Deployed, chainId: number) {
    this.#anvil = anvil;
    this.client = client;
    this.contracts = contracts;
    this.#chainId = chainId;
  }

  static async start(chainId: number, port: number): Promise<LocalChain> {
    const anvil = await Anvil.start({ chainId, port });
    try {
      const client = chainClient(anvil.url, chainId);
      for (const job of JOBS) await client.setBalance({ address: keyOf(job).address, value: GAS_MONEY });
      const roles = {
        admin: keyOf('ADMIN').address,
        operator: keyOf('OPERATOR').address,
        deployer: keyOf('DEPLOYER').address,
        resolver: keyOf('OPERATOR').address,
        permitSigner: keyOf('PERMIT').address,
        feeRecipient: keyOf('fees').address,
      };
      return new LocalChain(anvil, client, await deployAll(client, roles, DELAYS), chainId);
    } catch (error) {
      await anvil.stop();
      throw error;
    }
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
      FEE_SWEEPER_ADDRESS: keyOf('fees').address,
      ...Object.fromEntries(JOBS.map((job) => [`${job}_KEY`, secretOf(job)])),
    };
  }

  /** Play money for a wallet, and gas to move it. */
  async fund(wallet: Address, micro: bigint): Promise<void> {
    await this.client.setBalance({ address: wallet, value: GAS_MONEY });
    await send(this.client, keyOf('ADMIN').address, this.contracts.usdc, 'DemoUsdc', 'mint', [wallet, micro]);
  }

  /** The wallet brings USDC into its escrow, with the permit of the exchange. */
  async deposit(wallet: PrivateKeyAccount, micro: bigint): Promise<void> {
    const { client, contracts } = this;
    const permit = { account: wallet.address, amount: micro, nonce: keccak256(wallet.address), deadline: maxUint256 };
    const args = await depositArgs({ client, contracts, wallet, permit, signer: keyOf('PERMIT') });
    await send(client, wallet.address, contracts.exchange, 'Exchange', 'depositWithAuthorization', args);
  }

  /** Everything so far is final. */
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
}

/**
 * One local chain with the contracts deployed, shared by the tests of a file: each begins where the last one began
 * (snapshot and revert). Traders are keys of the test; they deposit the way users do.
 */
import assert from 'node:assert/strict';
import { after, beforeEach } from 'node:test';
import {
  type Address,
  decodeErrorResult,
  type Hex,
  type Log,
  maxUint256,
  parseEventLogs,
  parseSignature,
  serializeSignature,
  type TransactionReceipt,
  toHex,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { DOMAIN_NAME, DOMAIN_VERSION, ZERO_ADDRESS } from '../../shared/crypto/eip712.ts';
import type { ContractName } from '../contracts/compile.ts';
import { Anvil, NO_ANVIL } from './anvil.ts';
import { abiOf, type ChainClient, chainClient, type Deployed, deployAll, type Roles, send } from './deploy.ts';
import { depositArgs } from './deposit.ts';

export const CHAIN_ID = 137;
export const BUY = 0;
export const SELL = 1;
export const USDC = 0n;
export const EXIT_DELAY = 3600n;
export const SETTLEMENT_GRACE = 86_400n;
export const RESOLUTION_DELAY = 60n;

const ORDER_FIELDS = [
  ...[{ name: 'salt', type: 'uint256' }],
  ...['maker', 'signer', 'taker'].map((name) => ({ name, type: 'address' })),
  ...['tokenId', 'makerAmount', 'takerAmount', 'expiration', 'nonce', 'feeRateBps', 'minTakerNet'].map((name) => ({
    name,
    type: 'uint256',
  })),
  { name: 'side', type: 'uint8' },
];

export type ChainOrder = {
  salt: bigint;
  maker: Address;
  signer: Address;
  taker: Address;
  tokenId: bigint;
  makerAmount: bigint;
  takerAmount: bigint;
  expiration: bigint;
  nonce: bigint;
  feeRateBps: bigint;
  minTakerNet: bigint;
  side: number;
};
export type SignedChainOrder = { order: ChainOrder; signature: Hex };
export type ChainMatch = { tradeId: bigint; taker: bigint; maker: bigint; tokens: bigint; makerMicro: bigint };
export type ChainMarket = { marketId: Hex; conditionId: Hex; yes: bigint; no: bigint };
/** The matches of a batch that failed, each with the name of its error. */
type Settled = { failed: { index: number; error: string }[]; receipt: TransactionReceipt };

const address = (number: number): Address => toHex(number, { size: 20 });
export const key = (number: number): PrivateKeyAccount => privateKeyToAccount(toHex(number, { size: 32 }));
const permitKey = key(0xabcdef);

export const ROLES: Roles = {
  admin: address(0xa1),
  operator: address(0xa2),
  deployer: address(0xa3),
  resolver: address(0xa4),
  vetoer: address(0xac),
  permitSigner: permitKey.address,
  payer: address(0xa5),
  feeRecipient: address(0xa6),
};

export class ChainRig {
  readonly client: ChainClient;
  readonly contracts: Deployed;
  readonly #anvil: Anvil;
  #next = 0;

  constructor(anvil: Anvil, client: ChainClient, contracts: Deployed) {
    this.#anvil = anvil;
    this.client = client;
    this.contracts = contracts;
  }

  /** @param resolutionDelay default: as short as in a demonstration */
  static async start(slotsInAnEpoch?: number, resolutionDelay?: bigint): Promise<ChainRig> {
    const anvil = await Anvil.start({ chainId: CHAIN_ID, slotsInAnEpoch });
    const client = chainClient(anvil.url, CHAIN_ID);
    const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
    const contracts = await deployAll(client, ROLES, delays, resolutionDelay);
    return new ChainRig(anvil, client, contracts);
  }

  stop(): Promise<void> {
    return this.#anvil.stop();
  }

  /** A number that was not used before. */
  fresh(): number {
    return ++this.#next;
  }

  freshHash(): Hex {
    return toHex(this.fresh(), { size: 32 });
  }

  exchange(from: Address, functionName: string, args: readonly unknown[]): Promise<TransactionReceipt> {
    return send(this.client, from, this.contracts.exchange, 'Exchange', functionName, args);
  }

  call(contract: keyof Deployed, functionName: string, args: readonly unknown[]): Promise<unknown> {
    const abi = abiOf(CONTRACT_OF[contract]);
    return this.client.readContract({ address: this.contracts[contract], abi, functionName, args });
  }

  operator(functionName: string, args: readonly unknown[]): Promise<TransactionReceipt> {
    return this.exchange(ROLES.operator, functionName, args);
  }

  async createMarket(): Promise<ChainMarket> {
    const marketId = toHex(this.fresh(), { size: 16 });
    const { marketFactory } = this.contracts;
    const receipt = await send(this.client, ROLES.deployer, marketFactory, 'MarketFactory', 'createMarket', [marketId]);
    const [{ args }] = eventsOf(receipt.logs, 'MarketFactory', 'MarketCreated');
    const { conditionId, yesTokenId, noTokenId } = args as { conditionId: Hex; yesTokenId: bigint; noTokenId: bigint };
    return { marketId, conditionId, yes: yesTokenId, no: noTokenId };
  }

  /** Proposed, waited for, and carried out. */
  async resolve({ marketId }: ChainMarket, yesPayout: bigint, noPayout: bigint): Promise<TransactionReceipt> {
    const { logs } = await this.decide(ROLES.resolver, 'propose', [marketId, yesPayout, noPayout]);
    await this.pass(RESOLUTION_DELAY);
    return this.decide(ROLES.resolver, 'carryOut', [eventsOf(logs, 'Resolutions', 'Proposed')[0].args.number]);
  }

  /** A transaction to the contract that decides. */
  decide(from: Address, functionName: string, args: readonly unknown[]): Promise<TransactionReceipt> {
    return send(this.client, from, this.contracts.resolutions, 'Resolutions', functionName, args);
  }

  mint(to: Address, micro: bigint): Promise<TransactionReceipt> {
    return send(this.client, ROLES.admin, this.contracts.usdc, 'DemoUsdc', 'mint', [to, micro]);
  }

  /** The arguments of a deposit, signed by the permit's key and by the wallet that pays. */
  async depositArgs(from: PrivateKeyAccount, micro: bigint, changes: Partial<DepositChanges> = {}) {
    const { account = from.address, nonce = this.freshHash(), deadline = maxUint256 } = changes;
    const { signer = permitKey, authorizationNonce } = changes;
    const permit = { account, amount: micro, nonce, deadline };
    const { client, contracts } = this;
    return depositArgs({ client, contracts, wallet: from, permit, signer, authorizationNonce });
  }

  /** Mints USDC for the wallet and deposits it. */
  async fund(from: PrivateKeyAccount, micro: bigint): Promise<void> {
    await this.mint(from.address, micro);
    await this.exchange(from.address, 'depositWithAuthorization', await this.depositArgs(from, micro));
  }

  /** Gives the account full sets, as a split in the ledger does. */
  async split({ address: account }: PrivateKeyAccount, market: ChainMarket, amount: bigint): Promise<void> {
    await this.operator('splitFor', [this.freshHash(), account, market.conditionId, amount]);
  }

  /** Funds the account and turns that into full sets. */
  async fundSets(account: PrivateKeyAccount, market: ChainMarket, amount: bigint): Promise<void> {
    await this.fund(account, amount);
    await this.split(account, market, amount);
  }

  get domain() {
    const verifyingContract = this.contracts.exchange;
    return { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: CHAIN_ID, verifyingContract };
  }

  /** A limit order: all of its tokens and micro-USDC. */
  async order(
    maker: PrivateKeyAccount,
    side: number,
    tokenId: bigint,
    tokens: bigint,
    micro: bigint,
    changes: Partial<ChainOrder> & { by?: PrivateKeyAccount } = {},
  ): Promise<SignedChainOrder> {
    const { by = maker, ...fields } = changes;
    const [makerAmount, takerAmount] = side === BUY ? [micro, tokens] : [tokens, micro];
    const order: ChainOrder = {
      salt: BigInt(this.fresh()),
      maker: maker.address,
      signer: by.address,
      taker: ZERO_ADDRESS,
      ...{ tokenId, makerAmount, takerAmount, side },
      expiration: 0n,
      nonce: 0n,
      feeRateBps: 50n,
      minTakerNet: 0n,
      ...fields,
    };
    return { order, signature: await this.sign(by, order) };
  }

  async sign(account: PrivateKeyAccount, order: ChainOrder): Promise<Hex> {
    const types = { Order: ORDER_FIELDS };
    return account.signTypedData({ domain: this.domain, types, primaryType: 'Order', message: order });
  }

  /** A match of the first two orders of a batch. */
  match(tokens: bigint, makerMicro: bigint, changes: Partial<ChainMatch> = {}): ChainMatch {
    return { tradeId: BigInt(this.fresh()), taker: 0n, maker: 1n, tokens, makerMicro, ...changes };
  }

  async settle(orders: SignedChainOrder[], matches: ChainMatch[], batchId = this.freshHash()): Promise<Settled> {
    const receipt = await this.operator('settleBatch', [batchId, orders, matches]);
    const failed = eventsOf(receipt.logs, 'Exchange', 'MatchFailed').map(({ args }) => {
      const { index, reason } = args as { index: bigint; reason: Hex };
      return { index: Number(index), error: errorOf(reason) };
    });
    return { failed, receipt };
  }

  /** Every match has to settle. */
  async settleAll(orders: SignedChainOrder[], matches: ChainMatch[]): Promise<TransactionReceipt> {
    const { failed, receipt } = await this.settle(orders, matches);
    assert.deepEqual(failed, []);
    return receipt;
  }

  async held(account: Address | PrivateKeyAccount, assetId: bigint): Promise<bigint> {
    return (await this.balance(account, assetId))[0];
  }

  /** Held and unheld. */
  async balance(account: Address | PrivateKeyAccount, assetId: bigint): Promise<readonly [bigint, bigint]> {
    const owner = typeof account === 'string' ? account : account.address;
    return (await this.call('exchange', 'balanceOf', [owner, assetId])) as [bigint, bigint];
  }

  async walletUsdc(owner: Address): Promise<bigint> {
    return (await this.call('usdc', 'balanceOf', [owner])) as bigint;
  }

  async walletTokens(owner: Address, tokenId: bigint): Promise<bigint> {
    return (await this.call('conditionalTokens', 'balanceOf', [owner, tokenId])) as bigint;
  }

  async pass(seconds: bigint): Promise<void> {
    await this.client.increaseTime({ seconds: Number(seconds) });
    await this.client.mine({ blocks: 1 });
  }
}

type DepositChanges = {
  account: Address;
  nonce: Hex;
  deadline: bigint;
  signer: PrivateKeyAccount;
  authorizationNonce: Hex;
};

export const CONTRACT_OF: Readonly<Record<keyof Deployed, ContractName>> = {
  exchange: 'Exchange',
  marketFactory: 'MarketFactory',
  usdc: 'DemoUsdc',
  conditionalTokens: 'IConditionalTokens',
  payments: 'Payments',
  resolutions: 'Resolutions',
};

type SharedRig = { readonly rig: ChainRig; readonly begin: () => Promise<void> };

/** Rigs by the delay of resolutions. */
const shared = new Map<bigint | undefined, SharedRig>();
/** The rig of the file that has asked last: files of a process run one after the other. */
let current: SharedRig | undefined;
/** The number of files of this process that have requested one. */
let asked = 0;

/**
 * The rig of a test file, and of all files of its process that ask for the same: in the suite these are several
 * (support/together.ts). Each file, and each test, begins with the contracts as they were deployed. Without anvil there
 * is none, and every test of the file is skipped.
 */
export async function chainRig(resolutionDelay?: bigint): Promise<ChainRig> {
  if (NO_ANVIL) return null as unknown as ChainRig;
  asked++;
  current = shared.get(resolutionDelay) ?? (await startShared(resolutionDelay));
  shared.set(resolutionDelay, current);
  await current.begin();
  return current.rig;
}

/** Runs before every test of the file that requested a rig last, and not before tests of later files. */
export function beforeEachOfFile(prepare: () => Promise<void>): void {
  const file = asked;
  beforeEach(() => (file === asked ? prepare() : undefined));
}

async function startShared(resolutionDelay: bigint | undefined): Promise<SharedRig> {
  const rig = await ChainRig.start(undefined, resolutionDelay);
  let snapshot = await rig.client.snapshot();
  const begin = async (): Promise<void> => {
    await rig.client.revert({ id: snapshot });
    snapshot = await rig.client.snapshot();
  };
  beforeEach(() => (current?.rig === rig ? begin() : undefined));
  after(() => rig.stop());
  return { rig, begin };
}

export function eventsOf(logs: Log[], contract: ContractName, eventName: string) {
  return parseEventLogs({ abi: abiOf(contract), logs, eventName }) as unknown as { args: Record<string, unknown> }[];
}

/** The name of the error with which a match failed. */
function errorOf(reason: Hex): string {
  // Errors with arguments are decoded; the selector alone is the short form of errors without arguments.
  return decodeErrorResult({ abi: abiOf('Exchange'), data: reason }).errorName;
}

/** The same signature with the recovery bit as 0 or 1, as some wallets return it. */
export function withLowV(signature: Hex): Hex {
  const { r, s, yParity } = parseSignature(signature);
  return `${serializeSignature({ r, s, yParity }).slice(0, -2)}0${yParity}` as Hex;
}

/** The other signature of the same message, which only a malleable scheme takes. */
export function withHighS(signature: Hex): Hex {
  const { r, s, yParity } = parseSignature(signature);
  return serializeSignature({ r, s: toHex(SECP256K1_ORDER - BigInt(s), { size: 32 }), yParity: 1 - yParity });
}
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Asserts that a transaction is refused with the error of this name. */
export async function refused(transaction: Promise<unknown>, error: string): Promise<void> {
  await assert.rejects(transaction, (thrown: Error) => {
    assert.match(thrown.message, new RegExp(`\\b${error}\\b`));
    return true;
  });
}

/** The code of a wallet that has signed where the signature begins with the digest (EIP-1271). */
export const SIGNS_WITH_THE_DIGEST = '0x60043560643514631626ba7e0260e01b60005260206000f3';

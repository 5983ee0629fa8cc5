/** Deploys the contracts of data/contracts and the unmodified conditional tokens by Gnosis on a local chain. */
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import {
  type Abi,
  type Address,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  publicActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  toBytes,
  walletActions,
  zeroAddress,
} from 'viem';
import { type ContractName, readArtifact } from '../contracts/compile.ts';

export type ChainClient = ReturnType<typeof chainClient>;

/** Calls, transactions of any address, and the switches of a local node. */
export function chainClient(url: string, chainId: number) {
  const chain = {
    id: chainId,
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  } as const;
  return createTestClient({ mode: 'anvil', chain, transport: http(url), pollingInterval: 5, cacheTime: 0 })
    .extend(publicActions)
    .extend(walletActions);
}

export type Roles = {
  readonly admin: Address;
  readonly operator: Address;
  readonly deployer: Address;
  readonly resolver: Address;
  /** May veto the resolver's proposals. */
  readonly vetoer: Address;
  readonly permitSigner: Address;
  readonly payer: Address;
  readonly feeRecipient: Address;
};

export type Deployed = {
  readonly usdc: Address;
  readonly conditionalTokens: Address;
  readonly marketFactory: Address;
  readonly exchange: Address;
  /** The contract by which the resolver decides. */
  readonly resolutions: Address;
  /** The contract by which the payer pays. */
  readonly payments: Address;
};

export type Delays = { readonly exitDelay: bigint; readonly settlementGrace: bigint };
/** A decision waits for this many seconds, a short time for a demonstration. */
const RESOLUTION_DELAY = 2n;

export function abiOf(contract: ContractName): Abi {
  return readArtifact(contract).abi as Abi;
}

export async function deployAll(
  client: ChainClient,
  roles: Roles,
  delays: Delays,
  resolutionDelay = RESOLUTION_DELAY,
): Promise<Deployed> {
  const { abi, bytecode } = createRequire(import.meta.url)(
    '@gnosis.pm/conditional-tokens-contracts/build/contracts/ConditionalTokens.json',
  ) as { abi: Abi; bytecode: Hex };
  const { admin, deployer, resolver, vetoer } = roles;
  const conditionalTokens = await deploy(client, admin, abi, bytecode, []);
  const usdc = await deployOwn(client, admin, 'DemoUsdc', [admin]);
  const terms = { proposer: resolver, vetoer, delay: resolutionDelay, leastDelay: 1n };
  const marketFactory = await deployOwn(client, admin, 'MarketFactory', [
    ...[conditionalTokens, usdc, admin, deployer, terms],
  ]);
  const asked = { address: marketFactory, abi: abiOf('MarketFactory'), functionName: 'resolutions' };
  const resolutions = (await client.readContract(asked)) as Address;
  const payments = await deployOwn(client, admin, 'Payments', [admin, roles.payer]);
  const contracts = { usdc, conditionalTokens, marketFactory, resolutions, payments };
  const exchange = await deployExchange(client, roles, delays, contracts);
  await send(client, admin, marketFactory, 'MarketFactory', 'setExchange', [exchange]);
  return { ...contracts, exchange };
}

/** Deploys, and gives the contract of payments its right. */
export async function deployExchange(
  client: ChainClient,
  { admin, operator, permitSigner, feeRecipient }: Roles,
  delays: Delays,
  contracts: Omit<Deployed, 'exchange'>,
  predecessor: Address = zeroAddress,
): Promise<Address> {
  const settings = { ...contracts, ...delays, admin, operator, permitSigner, feeRecipient, predecessor };
  const exchange = await deployOwn(client, admin, 'Exchange', [settings]);
  const role = keccak256(toBytes('OPERATOR_ROLE'));
  await send(client, admin, exchange, 'Exchange', 'grantRole', [role, contracts.payments]);
  return exchange;
}

/** Sends a transaction of any address, without gas costs; throws the error that the contract names if it reverts. */
export async function send(
  client: ChainClient,
  account: Address,
  address: Address,
  contract: ContractName,
  functionName: string,
  args: readonly unknown[],
): Promise<TransactionReceipt> {
  const abi = abiOf(contract);
  const data = encodeFunctionData({ abi, functionName, args });
  const receipt = await sendData(client, { from: account, to: address, data });
  if (receipt.status === 'success') return receipt;
  // Includes the errors of the token, which the exchange passes on.
  const errors = [...abi, ...abiOf('DemoUsdc').filter(({ type }) => type === 'error')];
  const blockNumber = receipt.blockNumber - 1n;
  await client.simulateContract({ account, address, abi: errors, functionName, args, blockNumber });
  throw new Error(`${functionName} reverted, and does not when it is simulated`);
}

const GAS = 30_000_000n;

export async function sendData(client: ChainClient, call: { from: Address; to?: Address; data: Hex }) {
  const { from: account, to, data } = call;
  const hash = await client.sendTransaction({ account, to, data, gas: GAS, gasPrice: 0n, chain: null });
  return receiptOf(client, hash);
}

/** The node makes a block of each transaction at once. Not viem's way to wait: that misses blocks after a revert. */
export async function receiptOf(client: ChainClient, hash: Hex): Promise<TransactionReceipt> {
  for (;;) {
    const receipt = await client.getTransactionReceipt({ hash }).catch((error: Error) => {
      if (error instanceof TransactionReceiptNotFoundError) return null;
      throw error;
    });
    if (receipt !== null) return receipt;
    await setTimeout(1);
  }
}

export function deployOwn(
  client: ChainClient,
  from: Address,
  contract: ContractName,
  args: unknown[],
): Promise<Address> {
  return deploy(client, from, abiOf(contract), readArtifact(contract).bytecode, args);
}

async function deploy(client: ChainClient, from: Address, abi: Abi, bytecode: Hex, args: unknown[]): Promise<Address> {
  const receipt = await sendData(client, { from, data: encodeDeployData({ abi, bytecode, args }) });
  const { contractAddress, status } = receipt;
  if (status !== 'success' || contractAddress == null) throw new Error('the contract was not deployed');
  return contractAddress;
}

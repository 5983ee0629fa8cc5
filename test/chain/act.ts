/**
 * Does on the chain of `npm run chain` what others do there, for the drills of data/docs/drills.md: those who own the
 * contracts and the token, another program with a right or a key, the wallets, and time. Its settings are the lines
 * that `npm run chain` has printed.
 *
 *     node shared/run.mjs --env-file=chain.env test/chain/act.ts ACTION
 */
import { type Address, type Hex, keccak256, maxUint256, parseEther, parseEventLogs, parseGwei, toBytes } from 'viem';
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { abiOf, chainClient, type Deployed, deployExchange, send } from './deploy.ts';
import { depositArgs } from './deposit.ts';
import { BASE_FEE, DELAYS, rolesOf, secretOf, WALLETS } from './local.ts';
import { UPGRADES, upgradeUsdc } from './upgradedUsdc.ts';

const FUNDS_MICRO = 100_000_000n;
const TAKEN_MICRO = 1_000_000n;
const FINAL_BLOCKS = 80;
const BLOCK_SECONDS = 1;
const ONE_PPM = 1_000_000n;
const OPERATOR_ROLE = keccak256(toBytes('OPERATOR_ROLE'));
const PROPOSER_ROLE = keccak256(toBytes('PROPOSER_ROLE'));
const ROLES = rolesOf('');
/** Another program with the operator's rights. */
const OTHER = privateKeyToAddress(secretOf('another operator'));

const setting = (name: string): Hex => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: give it the lines of npm run chain`);
  return value as Hex;
};
const contracts: Deployed = {
  usdc: setting('USDC_ADDRESS'),
  conditionalTokens: setting('CTF_ADDRESS'),
  marketFactory: setting('MARKET_FACTORY_ADDRESS'),
  exchange: setting('EXCHANGE_ADDRESS'),
  resolutions: setting('RESOLUTIONS_ADDRESS'),
  payments: setting('PAYMENTS_ADDRESS'),
};
const client = chainClient(setting('RPC_URL'), Number(setting('CHAIN_ID')));

const ACTIONS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** Each wallet brings 100 USDC into the contract. */
  fund: async () => {
    for (const name of WALLETS) {
      const wallet = privateKeyToAccount(secretOf(name));
      const nonce = keccak256(toBytes(`${name} ${await client.getBlockNumber()}`));
      const permit = { account: wallet.address, amount: FUNDS_MICRO, nonce, deadline: maxUint256 };
      const signer = privateKeyToAccount(setting('PERMIT_KEY'));
      const args = await depositArgs({ client, contracts, wallet, permit, signer });
      await ofExchange(wallet.address, 'depositWithAuthorization', args);
    }
  },
  /** Makes everything so far final. */
  final: () => client.mine({ blocks: FINAL_BLOCKS }),
  /** No block comes until `go`. */
  stop: () => client.setIntervalMining({ interval: 0 }),
  go: () => client.setIntervalMining({ interval: BLOCK_SECONDS }),
  block: () => client.mine({ blocks: 1 }),
  /** Longer than the contract still takes trades of orders that have expired. */
  'pass-time': () => pass(DELAYS.settlementGrace + 7200n),
  /** Another program sends a transaction with the operator's key, at a price that wins its nonce. */
  'use-key': () => {
    const account = ROLES.operator;
    return client.sendTransaction({ account, to: account, gasPrice: parseGwei('5000'), chain: null });
  },
  /** USDC pays nobody. */
  'pause-usdc': () => send(client, ROLES.admin, contracts.usdc, 'DemoUsdc', 'pause', []),
  'unpause-usdc': () => send(client, ROLES.admin, contracts.usdc, 'DemoUsdc', 'unpause', []),
  /** USDC has the first wallet on its blacklist, or takes it off again. */
  blacklist: () => blacklist(true),
  'take-off-blacklist': () => blacklist(false),
  /** The issuer changes USDC, as the second argument says; `back` takes that back. */
  'upgrade-usdc': async () => {
    const to = process.argv[3];
    const upgrade = UPGRADES.find((name) => name === to) ?? null;
    if (upgrade === null && to !== 'back') throw new Error(`USDC becomes one of ${UPGRADES.join(', ')}, back`);
    await upgradeUsdc(client, contracts.usdc, upgrade);
  },
  /** USDC is sent straight to the contract, so much that it has again what was kept from the deposits of `fund`. */
  'make-up': () => {
    const kept = (BigInt(WALLETS.length) * FUNDS_MICRO) / 100n;
    return send(client, ROLES.admin, contracts.usdc, 'DemoUsdc', 'mint', [contracts.exchange, kept]);
  },
  /** Another program takes 1 USDC of the first wallet for tokens of the newest market, or puts it back. */
  take: () => moveSets('splitFor'),
  'put-back': () => moveSets('mergeFor'),
  /** A thief of the resolver's key decides the newest market; the number of the proposal is printed. */
  propose: async () => {
    const { marketId } = await newestMarket();
    await ofResolutions(ROLES.resolver, 'propose', [marketId, ONE_PPM, 0n]);
    process.stdout.write(`${await proposals()}\n`);
  },
  /** The holder of the vetoer's key ends the newest proposal. */
  veto: async () => ofResolutions(ROLES.vetoer, 'veto', [await proposals()]),
  /** The resolver's key may propose again. */
  'let-propose': () => ofResolutions(ROLES.admin, 'grantRole', [PROPOSER_ROLE, ROLES.resolver]),
  /** The next exchange contract, announced for long enough; its address is printed. */
  succeed: async () => {
    const { exchange: before, ...others } = contracts;
    const next = await deployExchange(client, ROLES, DELAYS, others, before);
    await ofExchange(ROLES.admin, 'announceSuccessor', [next]);
    await pass(3n * DELAYS.exitDelay);
    await send(client, ROLES.admin, contracts.marketFactory, 'MarketFactory', 'setExchange', [next]);
    process.stdout.write(`${next}\n`);
  },
  /** The operator loses its role at the contract of before, or has it again. */
  'take-role': () => ofExchange(ROLES.admin, 'revokeRole', [OPERATOR_ROLE, ROLES.operator]),
  'give-role': () => ofExchange(ROLES.admin, 'grantRole', [OPERATOR_ROLE, ROLES.operator]),
};

function ofExchange(from: Address, functionName: string, args: readonly unknown[]) {
  return send(client, from, contracts.exchange, 'Exchange', functionName, args);
}

async function pass(seconds: bigint): Promise<void> {
  await client.increaseTime({ seconds: Number(seconds) });
  await client.mine({ blocks: 1 });
}

function blacklist(isListed: boolean) {
  const args = [privateKeyToAddress(secretOf(WALLETS[0]!)), isListed];
  return send(client, ROLES.admin, contracts.usdc, 'DemoUsdc', 'setBlacklisted', args);
}

function proposals(): Promise<unknown> {
  return client.readContract({ address: contracts.resolutions, abi: abiOf('Resolutions'), functionName: 'count' });
}

function ofResolutions(from: Address, functionName: string, args: readonly unknown[]) {
  return send(client, from, contracts.resolutions, 'Resolutions', functionName, args);
}

async function newestMarket(): Promise<{ marketId: Hex; conditionId: Hex }> {
  const logs = await client.getLogs({ address: contracts.marketFactory, fromBlock: 0n });
  const created = parseEventLogs({ abi: abiOf('MarketFactory'), logs, eventName: 'MarketCreated' });
  return created.at(-1)!.args as unknown as { marketId: Hex; conditionId: Hex };
}

async function moveSets(functionName: 'splitFor' | 'mergeFor'): Promise<void> {
  const { conditionId } = await newestMarket();
  await client.setBalance({ address: OTHER, value: parseEther('1') });
  await ofExchange(ROLES.admin, 'grantRole', [OPERATOR_ROLE, OTHER]);
  const operationId = keccak256(toBytes(`${functionName} ${await client.getBlockNumber()}`));
  const account = privateKeyToAddress(secretOf(WALLETS[0]!));
  await ofExchange(OTHER, functionName, [operationId, account, conditionId, TAKEN_MICRO]);
}

/** Meanwhile gas has no price: these accounts have nothing to pay with. */
async function run(name: string | undefined): Promise<void> {
  const action = ACTIONS[name ?? ''];
  if (action === undefined) throw new Error(`an action is one of ${Object.keys(ACTIONS).join(', ')}`);
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n });
  try {
    await action();
  } finally {
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: BASE_FEE });
  }
}

try {
  await run(process.argv[2]);
} catch (error) {
  process.stderr.write(`error: ${(error as Error).message}\n`);
  process.exit(1);
}

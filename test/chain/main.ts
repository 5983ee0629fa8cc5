/**
 * `npm run chain`: a local EVM with the contracts deployed, keys for every job of an exchange, and two wallets with
 * play money. Prints the settings of an exchange on it, as lines of an environment, and runs until it is stopped.
 *
 *     --port 8545        where it listens
 *     --chain-id 137     part of every signature; as CHAIN_ID of the exchange
 *     --block-time 1     seconds between blocks
 *
 * The keys follow from their names, so that they are the same at every start: they are worth nothing anywhere else.
 */
import { parseArgs } from 'node:util';
import { type Address, type Hex, keccak256, parseEther, parseGwei, toBytes } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { Anvil, NO_ANVIL } from './anvil.ts';
import { type ChainClient, chainClient, deployAll, send } from './deploy.ts';

const OPTIONS = {
  port: { type: 'string', default: '8545' },
  'chain-id': { type: 'string', default: '137' },
  'block-time': { type: 'string', default: '1' },
} as const;
const LIMITS = { port: [0, 65_535], 'chain-id': [1, Number.MAX_SAFE_INTEGER], 'block-time': [1, 86_400] } as const;

const JOBS = ['ADMIN', 'OPERATOR', 'DEPLOYER', 'RELAYER', 'PERMIT'] as const;
const WALLETS = ['wallet 1', 'wallet 2'];
const WALLET_MICRO = 10_000_000_000n;
const HOUR_SECONDS = 3600n;
const GRACE_SECONDS = 7n * 24n * HOUR_SECONDS;
const BASE_FEE = parseGwei('30');

const keyOf = (name: string): Hex => keccak256(toBytes(`local chain of the open prediction exchange: ${name}`));
const addressOf = (name: string): Address => privateKeyToAddress(keyOf(name));

async function deploy(client: ChainClient): Promise<string[]> {
  const roles = {
    admin: addressOf('ADMIN'),
    operator: addressOf('OPERATOR'),
    deployer: addressOf('DEPLOYER'),
    resolver: addressOf('OPERATOR'),
    permitSigner: addressOf('PERMIT'),
    feeRecipient: addressOf('fees'),
  };
  for (const name of [...JOBS, ...WALLETS]) {
    await client.setBalance({ address: addressOf(name), value: parseEther('1000') });
  }
  const delays = { exitDelay: HOUR_SECONDS, settlementGrace: GRACE_SECONDS };
  const { exchange, marketFactory, usdc, conditionalTokens } = await deployAll(client, roles, delays);
  for (const wallet of WALLETS) {
    await send(client, roles.admin, usdc, 'DemoUsdc', 'mint', [addressOf(wallet), WALLET_MICRO]);
  }
  return [
    `EXCHANGE_ADDRESS=${exchange}`,
    `MARKET_FACTORY_ADDRESS=${marketFactory}`,
    `USDC_ADDRESS=${usdc}`,
    `CTF_ADDRESS=${conditionalTokens}`,
    `FEE_SWEEPER_ADDRESS=${roles.feeRecipient}`,
  ];
}

type Settings = { readonly [name in keyof typeof LIMITS]: number };

function readSettings(): Settings {
  const { values } = parseArgs({ options: OPTIONS });
  for (const [name, [least, most]] of Object.entries(LIMITS)) {
    const text = values[name as keyof Settings];
    if (/^\d{1,16}$/.test(text) && Number(text) >= least && Number(text) <= most) continue;
    throw new Error(`--${name} is a whole number from ${least} to ${most}, and not '${text}'`);
  }
  return {
    port: Number(values.port),
    'chain-id': Number(values['chain-id']),
    'block-time': Number(values['block-time']),
  };
}

async function run(): Promise<void> {
  const { port, 'chain-id': chainId, 'block-time': blockSeconds } = readSettings();
  const anvil = await Anvil.start({ chainId, port });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void anvil.stop());
  const client = chainClient(anvil.url, chainId);
  const settings = await deploy(client);
  // From here on it is like a chain: gas costs money, and blocks come by the clock.
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: BASE_FEE });
  await client.setIntervalMining({ interval: blockSeconds });
  const lines = [
    `RPC_URL=${anvil.url}`,
    `CHAIN_ID=${chainId}`,
    ...settings,
    ...JOBS.map((job) => `${job}_KEY=${keyOf(job)}`),
    ...WALLETS.map((wallet) => `# ${wallet}: ${addressOf(wallet)} key ${keyOf(wallet)}, 10000 USDC of play money`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

try {
  if (NO_ANVIL) throw new Error(NO_ANVIL);
  await run();
} catch (error) {
  process.stderr.write(`There is no local chain: ${(error as Error).message}\n`);
  process.exit(1);
}

/**
 * `npm run chain`: a local EVM with the contracts deployed, keys for every job of an exchange, and five wallets with
 * play money. Prints the settings of an exchange on it, as lines of an environment, and runs until it is stopped.
 *
 *     --port 8545        where it listens
 *     --chain-id 137     part of every signature; as CHAIN_ID of the exchange
 *     --block-time 1     seconds between blocks
 *     --cash             a wallet for the sandbox provider too, and the settings of it and of an exchange that has it
 */
import { parseArgs } from 'node:util';
import { privateKeyToAddress } from 'viem/accounts';
import { NO_ANVIL } from './anvil.ts';
import { LocalChain, secretOf, WALLETS } from './local.ts';

const OPTIONS = {
  port: { type: 'string', default: '8545' },
  'chain-id': { type: 'string', default: '137' },
  'block-time': { type: 'string', default: '1' },
  cash: { type: 'boolean', default: false },
} as const;
const LIMITS = { port: [0, 65_535], 'chain-id': [1, Number.MAX_SAFE_INTEGER], 'block-time': [1, 86_400] } as const;

const WALLET_MICRO = 10_000_000_000n;

const PROVIDER = privateKeyToAddress(secretOf('provider'));
/** Settings of the sandbox provider (gateway/programs/ramp/), and of an exchange that has it. */
const CASH = {
  FIAT_PROVIDERS: 'sandbox',
  FIAT_SANDBOX_API_KEY: secretOf('api key of the provider'),
  FIAT_SANDBOX_WEBHOOK_SECRETS: secretOf('events of the provider'),
  FIAT_SANDBOX_ADDRESS: PROVIDER,
  RAMP_PRIVATE_KEY: secretOf('provider'),
};

type Settings = { readonly [name in keyof typeof LIMITS]: number } & { readonly hasCash: boolean };

function readSettings(): Settings {
  const { values } = parseArgs({ options: OPTIONS });
  for (const [name, [least, most]] of Object.entries(LIMITS)) {
    const text = values[name as keyof typeof LIMITS];
    if (/^\d{1,16}$/.test(text) && Number(text) >= least && Number(text) <= most) continue;
    throw new Error(`--${name} is a whole number from ${least} to ${most}, and not '${text}'`);
  }
  return {
    port: Number(values.port),
    'chain-id': Number(values['chain-id']),
    'block-time': Number(values['block-time']),
    hasCash: values.cash,
  };
}

async function run(): Promise<void> {
  const { port, 'chain-id': chainId, 'block-time': blockSeconds, hasCash } = readSettings();
  const chain = await LocalChain.start(chainId, port);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void chain.stop());
  const wallets = WALLETS.map((name) => ({
    name,
    secret: secretOf(name),
    address: privateKeyToAddress(secretOf(name)),
  }));
  for (const { address } of wallets) await chain.fund(address, WALLET_MICRO);
  if (hasCash) await chain.fund(PROVIDER, WALLET_MICRO);
  await chain.goOn(blockSeconds);
  const lines = [
    ...Object.entries({ ...chain.settings, ...(hasCash ? CASH : {}) }).map(([name, value]) => `${name}=${value}`),
    ...wallets.map(({ name, address, secret }) => `# ${name}: ${address} key ${secret}, 10000 USDC of play money`),
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

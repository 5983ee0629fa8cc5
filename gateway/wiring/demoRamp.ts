/**
 * The provider of the demo, with which a newcomer cashes in and out: the sandbox (gateway/programs/ramp/) as a process
 * of its own, with a wallet whose account holds play money. Its keys are in ramp.json; the first start writes this file
 * before it makes the account.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { StartError } from '../base/startError.ts';
import { isDemo } from './demoFile.ts';
import type { Exchange } from './exchange.ts';

type Keys = { readonly private_key: string; readonly api_key: string; readonly webhook_secret: string };
type DemoRamp = { readonly keys: Keys; readonly url: string };

const PROGRAM = fileURLToPath(new URL('../programs/ramp/main.ts', import.meta.url));
const CONTROL_FILE = 'control.db';
const KEYS_FILE = 'ramp.json';
const FUNDS_MICRO = 10_000_000_000;
const FUNDS_REFERENCE = 'demo-ramp';

/**
 * @returns the provider of the demo; null if the operator has named providers, or wants none for the demo, or the
 * directory is no demo's
 */
export async function openDemoRamp(config: Config): Promise<DemoRamp | null> {
  const { dataDir, demoRamp, fiat } = config;
  const isNew = !existsSync(join(dataDir, CONTROL_FILE));
  if (!demoRamp || fiat.providers.length > 0 || !isDemo(config, isNew)) return null;
  return { keys: keysIn(dataDir), url: `http://127.0.0.1:${await freePort()}` };
}

/** Returns the settings with this provider, as if FIAT_PROVIDERS and FIAT_SANDBOX_… named it. */
export function withDemoRamp(config: Config, { keys, url }: DemoRamp): Config {
  const settings = {
    URL: url,
    API_KEY: keys.api_key,
    WEBHOOK_SECRETS: keys.webhook_secret,
    ADDRESS: addressOf(keys.private_key).toLowerCase(),
  };
  return { ...config, fiat: { ...config.fiat, providers: [{ name: 'sandbox', settings }] } };
}

/** Starts the provider, which ends with this process. If it fails, the demo runs without it. */
export async function startDemoRamp(exchange: Exchange, ramp: DemoRamp, log: Logger): Promise<void> {
  try {
    keep(exchange.config.dataDir, ramp.keys);
    await fund(exchange, addressOf(ramp.keys.private_key).toLowerCase());
    const child = startProgram(exchange, ramp);
    child.on('error', (error) => log.warn({ err: error }, 'the provider of the demo could not be started'));
    child.on('exit', (code) => {
      if (code !== 0) log.warn({ code }, 'the provider of the demo has ended: the demo has none until the next start');
    });
  } catch (error) {
    log.warn({ err: error }, 'the provider of the demo could not be started');
  }
}

function startProgram({ baseUrl, config }: Exchange, { keys, url }: DemoRamp): ChildProcess {
  const child = spawn(process.execPath, [...STRIPPED_BEFORE, PROGRAM], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      FIAT_SANDBOX_URL: url,
      FIAT_SANDBOX_API_KEY: keys.api_key,
      FIAT_SANDBOX_WEBHOOK_SECRETS: keys.webhook_secret,
      RAMP_EXCHANGE_URL: baseUrl,
      RAMP_PRIVATE_KEY: keys.private_key,
      // The exchange sends people back to its public address.
      RAMP_RETURN_ORIGINS: new URL(config.publicUrl ?? baseUrl).origin,
      RAMP_FILE: join(config.dataDir, 'ramp.db'),
    },
  });
  // The exchange does not wait for the provider: it ends when the channel does.
  child.unref();
  child.channel?.unref();
  return child;
}

/** Makes what is missing of the provider's account, so that a start completes what an interrupted one began. */
async function fund({ stores, trading, clock }: Exchange, wallet: string): Promise<void> {
  const { accounts } = stores.control;
  const profile = { displayName: 'sandbox provider', email: null, referralCode: null, wallet } as const;
  const role = 'market_maker';
  const owner = accounts.ownerOf(wallet) || accounts.signUp({ ...profile, role }, clock.nowMs()).index;
  await accounts.durable();
  const { movement } = await trading.funding.move(owner, MOVEMENT.DEPOSIT, FUNDS_MICRO, FUNDS_REFERENCE);
  if (movement === null) throw new Error('its account could not be funded');
}

function keysIn(dataDir: string): Keys {
  const path = join(dataDir, KEYS_FILE);
  if (existsSync(path)) return read(path);
  return {
    private_key: `0x${randomBytes(32).toString('hex')}`,
    api_key: randomBytes(24).toString('hex'),
    webhook_secret: randomBytes(24).toString('hex'),
  };
}

function read(path: string): Keys {
  const keys = tryParse(readFileSync(path, 'utf8'));
  const names = ['private_key', 'api_key', 'webhook_secret'] as const;
  if (names.every((name) => typeof keys?.[name] === 'string')) return keys as Keys;
  const anew = 'move it and ramp.db away: then the provider of the demo begins anew';
  throw new StartError(`${path} is damaged: put its backup in its place, or ${anew}`);
}

function tryParse(text: string): Partial<Keys> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function keep(dataDir: string, keys: Keys): void {
  const path = join(dataDir, KEYS_FILE);
  if (existsSync(path)) return;
  writeFileSync(`${path}.new`, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}

/** Another program may take the port before the provider does; then the demo has none until the next start. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

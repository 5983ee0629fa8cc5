/**
 * The address and the credentials that a command line uses: from its flags, else from the environment, else those of a
 * demo account, which the server wrote to a file at its first start.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Credentials } from '../requestSigner.ts';

/** A mistake in the command line, not a refusal by the exchange. */
export class UsageError extends Error {}

/** Public commands need no credentials, and only placing needs the private key. */
type Access = { baseUrl: string; credentials?: Credentials; privateKey?: string };

type AccessFlags = {
  as?: string;
  'api-key'?: string;
  'api-secret'?: string;
  'api-passphrase'?: string;
  'private-key'?: string;
  'base-url'?: string;
};

type DemoAccount = {
  name: string;
  key_id: string;
  secret: string;
  passphrase: string;
  private_key: string;
  wallet_address: string;
};
type Demo = { base_url: string; accounts: DemoAccount[] };

const DEFAULT_BASE_URL = 'http://127.0.0.1:8080';
const DEFAULT_DATA_DIR = 'data/live';

export function accessFrom(flags: AccessFlags, environment: NodeJS.ProcessEnv): Access {
  const keyId = flags['api-key'] ?? environment['API_KEY'];
  const secret = flags['api-secret'] ?? environment['API_SECRET'];
  const passphrase = flags['api-passphrase'] ?? environment['API_PASSPHRASE'];
  const privateKey = flags['private-key'] ?? environment['PRIVATE_KEY'];
  const baseUrl = checkedUrl(flags['base-url'] ?? environment['BASE_URL']);
  const given = [keyId, secret, passphrase];
  if (flags.as !== undefined || [...given, privateKey].every((value) => value === undefined)) {
    return demoAccess(readDemo(environment['DATA_DIR'] ?? DEFAULT_DATA_DIR), flags.as, baseUrl);
  }
  if (keyId === undefined || secret === undefined || passphrase === undefined) {
    throw new UsageError('an API key needs all of API_KEY, API_SECRET and API_PASSPHRASE');
  }
  return { baseUrl: baseUrl ?? DEFAULT_BASE_URL, credentials: { keyId, secret, passphrase }, privateKey };
}

function demoAccess(demo: Demo | undefined, name: string | undefined, baseUrl: string | undefined): Access {
  const account = name === undefined ? demo?.accounts[0] : demo?.accounts.find((row) => row.name === name);
  if (name !== undefined && account === undefined) {
    const names = demo?.accounts.map((row) => row.name).join(', ') ?? 'none: no demo file';
    throw new UsageError(`there is no demo account ${name} (there is ${names})`);
  }
  return {
    baseUrl: baseUrl ?? checkedUrl(demo?.base_url) ?? DEFAULT_BASE_URL,
    credentials: account && { keyId: account.key_id, secret: account.secret, passphrase: account.passphrase },
    privateKey: account?.private_key,
  };
}

/** Undefined when the file does not exist: the public commands need no account. */
function readDemo(dataDir: string): Demo | undefined {
  const path = join(dataDir, 'demo.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text) as Demo;
  } catch {
    throw new UsageError(`${path} is not JSON`);
  }
}

function checkedUrl(text: string | undefined): string | undefined {
  if (text !== undefined && !URL.canParse(text)) throw new UsageError(`${text} is not a base address`);
  return text;
}

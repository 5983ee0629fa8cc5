/**
 * The address and the credentials that a command line uses: from its flags, else from the environment, else the session
 * of `npm run login`, else those of a demo account, which the server wrote to a file at its first start.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Credentials } from '../credentials.ts';
import { resumeSession, type Session } from '../session.ts';
import { UsageError } from './command.ts';
import { SessionFile, sessionPath } from './sessionFile.ts';

/** Public commands need neither credentials nor a session, and only placing needs the private key. */
type Access = { baseUrl: string; credentials?: Credentials; session?: Session; privateKey?: string };

export const ACCESS_OPTIONS = {
  as: { type: 'string' },
  'api-key': { type: 'string' },
  'api-secret': { type: 'string' },
  'api-passphrase': { type: 'string' },
  'private-key': { type: 'string' },
  'base-url': { type: 'string' },
} as const;
type AccessFlags = { [name in keyof typeof ACCESS_OPTIONS]?: string };

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

export async function accessFrom(flags: AccessFlags, environment: NodeJS.ProcessEnv): Promise<Access> {
  const keyId = flags['api-key'] ?? environment['API_KEY'];
  const secret = flags['api-secret'] ?? environment['API_SECRET'];
  const passphrase = flags['api-passphrase'] ?? environment['API_PASSPHRASE'];
  const privateKey = flags['private-key'] ?? environment['PRIVATE_KEY'];
  const baseUrl = checkedUrl(flags['base-url'] ?? environment['BASE_URL']);
  const demo = (): Demo | undefined => readDemo(environment['DATA_DIR'] ?? DEFAULT_DATA_DIR);
  if (flags.as !== undefined) return demoAccess(demo(), flags.as, baseUrl);
  const given = [keyId, secret, passphrase];
  if (given.every((value) => value === undefined)) {
    const session = await keptSession(environment, baseUrl);
    if (session !== null) return sessionAccess(session, privateKey, demo());
    if (privateKey === undefined) return demoAccess(demo(), undefined, baseUrl);
  }
  if (keyId === undefined || secret === undefined || passphrase === undefined) {
    throw new UsageError('an API key needs all of API_KEY, API_SECRET and API_PASSPHRASE');
  }
  return { baseUrl: baseUrl ?? DEFAULT_BASE_URL, credentials: { keyId, secret, passphrase }, privateKey };
}

/** The wallet that signs in, and where. */
export function signInFrom(flags: AccessFlags, environment: NodeJS.ProcessEnv): { baseUrl: string; wallet: string } {
  const given = flags['private-key'] ?? environment['PRIVATE_KEY'];
  const givenUrl = checkedUrl(flags['base-url'] ?? environment['BASE_URL']);
  if (flags.as === undefined && given !== undefined) return { baseUrl: givenUrl ?? DEFAULT_BASE_URL, wallet: given };
  const demo = readDemo(environment['DATA_DIR'] ?? DEFAULT_DATA_DIR);
  const { baseUrl, privateKey } = demoAccess(demo, flags.as, givenUrl);
  if (privateKey === undefined) throw new UsageError('no private key and no demo account to sign in with');
  return { baseUrl, wallet: privateKey };
}

/** Null without one, or when another exchange is meant. */
async function keptSession(environment: NodeJS.ProcessEnv, baseUrl: string | undefined): Promise<Session | null> {
  const path = sessionPath(environment);
  if (path === null || !existsSync(path)) return null;
  const store = new SessionFile(path);
  if (store.baseUrl === null || (baseUrl !== undefined && new URL(baseUrl).origin !== store.baseUrl)) return null;
  return resumeSession({ baseUrl: store.baseUrl, store });
}

/** The key of a demo account signs orders for the session of its wallet. */
function sessionAccess(session: Session, privateKey: string | undefined, demo: Demo | undefined): Access {
  const { linked_wallets } = session.user;
  const own = demo?.accounts.find(({ wallet_address }) => linked_wallets.includes(wallet_address.toLowerCase()));
  return { baseUrl: session.origin, session, privateKey: privateKey ?? own?.private_key };
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

/** `npm run login`, `whoami` and `logout`: a session of a wallet that the other commands then use. */
import { parseArgs } from 'node:util';
import { ExchangeClient } from '../client.ts';
import { resumeSession, signInWithWallet } from '../session.ts';
import { ACCESS_OPTIONS, accessFrom, signInFrom } from './access.ts';
import { runCommand, UsageError } from './command.ts';
import { SessionFile, sessionPath } from './sessionFile.ts';

const USAGE = `Usage:
  npm run login  [-- --as <demo account>] [--base-url <address>] [--domain <domain of its pages>]
  npm run whoami
  npm run logout [-- --all]                    --all ends all sessions of the account

The wallet is PRIVATE_KEY in the environment (or --private-key), otherwise that of a demo account. The session is kept
in SESSION_FILE, or in open-prediction-exchange/session.json in your folder for settings.`;

const OPTIONS = {
  ...ACCESS_OPTIONS,
  domain: { type: 'string' },
  all: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;
type Values = ReturnType<typeof parse>['values'];

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.help) return console.log(USAGE);
  const [command, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}`);
  if (command === 'login') return login(values);
  if (command === 'whoami') return showAccount(values);
  if (command === 'logout') return logout(values.all);
  throw new UsageError(`unknown command ${command}`);
}

async function login(values: Values): Promise<void> {
  const { baseUrl, wallet } = signInFrom(values, process.env);
  const store = new SessionFile(requiredPath(), new URL(baseUrl).origin);
  const { user } = await signInWithWallet({ baseUrl, wallet, store, domain: values.domain });
  console.log(`signed in to ${store.baseUrl} as ${user.wallet_address}, account ${user.id}`);
}

async function showAccount(values: Values): Promise<void> {
  const access = await accessFrom(values, process.env);
  if (access.session === undefined && access.credentials === undefined) throw new Error('not signed in');
  const profile = await new ExchangeClient(access).account.profile();
  const means = access.session === undefined ? `key ${access.credentials?.keyId}` : 'session';
  console.log(`account   ${profile.id}`);
  for (const wallet of profile.linked_wallets) console.log(`wallet    ${wallet}`);
  console.log(`exchange  ${access.baseUrl}\nby        ${means}`);
}

async function logout(isOfAll: boolean): Promise<void> {
  const store = new SessionFile(requiredPath());
  if (store.baseUrl === null || store.read() === null) throw new Error('not signed in');
  const { baseUrl } = store;
  const session = await resumeSession({ baseUrl, store });
  if (isOfAll) await new ExchangeClient({ baseUrl, session }).sessions.revokeAll();
  await session.signOut();
  console.log(`signed out of ${baseUrl}`);
}

function requiredPath(): string {
  const path = sessionPath(process.env);
  if (path === null) throw new UsageError('SESSION_FILE or HOME is needed to keep the session');
  return path;
}

await runCommand(USAGE, run);

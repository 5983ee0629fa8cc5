/** Signing in and out, and the profiles that store settings. */
import { AdminClient } from '../../admin.ts';
import { ExchangeClient } from '../../client.ts';
import type { Credentials } from '../../credentials.ts';
import { addressOf } from '../../privateKey.ts';
import { resumeSession, signInWithWallet } from '../../session.ts';
import { credentialsFrom, requirePrivateWay } from '../frame/access.ts';
import { command, type Result } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { NeedsError, UsageError } from '../frame/errors.ts';
import type { KeptKey } from '../frame/profiles.ts';
import { isProfileName } from '../frame/profiles.ts';
import { askHidden, readInput } from '../frame/prompt.ts';
import { columns, facts } from '../frame/text.ts';

const STDIN = { description: 'read the secret from standard input instead of asking' } as const;

const login = command({
  name: 'login',
  summary: 'Sign in with a wallet, an API key, or as an operator',
  details:
    'With a wallet a session is opened: PRIVATE_KEY, PRIVATE_KEY_FILE, standard input, or typed unseen. With --key ' +
    'an API key is kept: API_KEY, API_SECRET and API_PASSPHRASE, the JSON of `keys create` on standard input, or ' +
    'typed. All of it is in files that you alone may read; secrets are never arguments.',
  access: 'anyone',
  options: {
    key: { description: 'keep an API key instead of opening a session' },
    operator: { description: 'keep the token of an operator (ADMIN_TOKEN) for the admin commands' },
    'keep-wallet': { description: 'keep the private key too, so that orders are signed without asking' },
    domain: {
      value: 'name',
      description: "the domain that the message may name, where the exchange's pages have another",
    },
    'referral-code': { value: 'code', description: 'of the account that has invited you' },
    stdin: STDIN,
  },
  examples: [
    'login',
    'login --as alice',
    'login --url https://exchange.example --profile main --keep-wallet',
    'login --key --stdin < key.json',
    'login --operator',
  ],
  json: '`{base_url, profile, by, user}`',
  makesProfile: true,
  run: async (context, given) => {
    if (given.key && given.operator) throw new UsageError('--key and --operator exclude each other');
    if (given.operator) return loginOperator(context, given.stdin);
    if (given.key) return loginKey(context, given.stdin);
    return loginWallet(context, given);
  },
});

type WalletLogin = {
  readonly 'keep-wallet': boolean;
  readonly domain: string | undefined;
  readonly 'referral-code': string | undefined;
  readonly stdin: boolean;
};

async function loginWallet(context: Context, given: WalletLogin): Promise<Result> {
  const { access } = context;
  const wallet = given.stdin ? (await readInput(context.terminal)).trim() : await access.privateKey();
  addressOf(wallet);
  const store = access.newSessionFile();
  const session = await signInWithWallet({
    baseUrl: access.baseUrls,
    wallet,
    store,
    domain: given.domain,
    referralCode: given['referral-code'],
    clock: context.terminal.clock,
  });
  const kept = given['keep-wallet'] ? { private_key: wallet } : {};
  if (access.configPath !== null) access.keep({ sign_in: 'session', ...kept });
  const { user } = session;
  return {
    value: { base_url: store.baseUrl, profile: access.profileName, by: 'session', user },
    lines: [`signed in to ${store.baseUrl} as ${user.wallet_address}, account ${user.id}`],
  };
}

async function loginKey(context: Context, isFromInput: boolean): Promise<Result> {
  const { access } = context;
  const credentials = isFromInput ? await keyFromInput(context) : await keyFromPerson(context);
  const { baseUrl } = context;
  const { baseUrls } = access;
  const user = await new ExchangeClient({
    baseUrl: baseUrls,
    credentials,
    clock: context.terminal.clock,
  }).account.profile();
  const { keyId, secret, passphrase } = credentials;
  access.keep({ sign_in: 'api_key', api_key: { key_id: keyId, secret, passphrase } });
  return {
    value: { base_url: baseUrl, profile: access.profileName, by: `key ${keyId}`, user },
    lines: [`key ${keyId} of account ${user.id} is kept in profile ${access.profileName}`],
  };
}

async function loginOperator(context: Context, isFromInput: boolean): Promise<Result> {
  const { access, terminal } = context;
  const given = terminal.env['ADMIN_TOKEN'];
  const token = isFromInput ? await readInput(terminal) : given || (await ask(context, 'Token of the operator: '))[0];
  for (const url of access.baseUrls) requirePrivateWay(url);
  const { paused } = await new AdminClient({ baseUrl: access.baseUrls, token: token.trim() }).platform();
  access.keep({ operator_token: token.trim() });
  const state = paused ? 'paused' : 'trading';
  return {
    value: { base_url: context.baseUrl, profile: access.profileName, by: 'operator', user: null },
    lines: [`the token is kept in profile ${access.profileName}; the exchange is ${state}`],
  };
}

/** Reads the JSON that `keys create` prints, or the three parts on separate lines. */
async function keyFromInput({ terminal }: Context): Promise<Credentials> {
  const text = (await readInput(terminal)).trim();
  const parts = text.startsWith('{') ? partsOf(text) : text.split(/\s+/);
  const [keyId, secret, passphrase] = parts;
  if (!keyId || !secret || !passphrase) {
    throw new UsageError('standard input is to have key_id, secret and passphrase: JSON, or a line each');
  }
  return { keyId, secret, passphrase };
}

function partsOf(text: string): (string | undefined)[] {
  try {
    const { key_id, secret, passphrase }: Partial<KeptKey> = JSON.parse(text);
    return [key_id, secret, passphrase];
  } catch {
    throw new UsageError('standard input is not JSON');
  }
}

async function keyFromPerson(context: Context): Promise<Credentials> {
  const given = credentialsFrom(context.terminal.env);
  if (given !== null) return given;
  const [keyId, secret, passphrase] = await ask(context, 'Key id: ', 'Secret: ', 'Passphrase: ');
  return { keyId: keyId, secret: secret, passphrase: passphrase };
}

async function ask({ terminal }: Context, ...questions: readonly string[]): Promise<string[]> {
  if (terminal.input.isTTY !== true) throw new NeedsError('there is no terminal to ask at', 'use --stdin');
  return askHidden(terminal, ...questions);
}

const whoami = command({
  name: 'whoami',
  summary: 'Show the account, its wallets and how it is signed in',
  examples: ['whoami', 'whoami --json'],
  json: 'the answer of GET /v1/user/profile',
  run: async (context) => {
    const { by } = await context.access.account();
    const profile = await (await context.client()).account.profile();
    const lines = facts([
      ['account', profile.id],
      ['name', profile.display_name ?? undefined],
      ['state', profile.state],
      ...profile.linked_wallets.map((wallet): [string, string] => ['wallet', wallet]),
      ['exchange', context.baseUrl],
      ['profile', context.access.profileName],
      ['by', by],
    ]);
    return { value: profile, lines };
  },
});

const logout = command({
  name: 'logout',
  summary: 'End the session, or forget the API key of the profile',
  details: 'A key that is forgotten here stays valid until an operator revokes it.',
  options: { all: { description: 'end all sessions of the account, on every device' } },
  examples: ['logout', 'logout --all', 'logout --profile main'],
  json: '`{base_url, profile}`',
  run: async (context, { all }) => {
    const { access } = context;
    const value = { base_url: context.baseUrl, profile: access.profileName };
    const { sign_in, api_key } = access.profile;
    if (sign_in === 'api_key' && api_key !== undefined) {
      access.keep({ sign_in: undefined, api_key: undefined, private_key: undefined });
      return { value, lines: [`key ${api_key.key_id} is forgotten`] };
    }
    const store = access.sessionFile();
    if (store.baseUrl === null || store.read() === null) throw new NeedsError('not signed in', 'pmx login');
    const { baseUrl } = store;
    const addresses = access.membersWith(baseUrl);
    const session = await resumeSession({ baseUrl: addresses, store, clock: context.terminal.clock });
    if (all) await new ExchangeClient({ baseUrl: addresses, session }).sessions.revokeAll();
    await session.signOut();
    if (sign_in !== undefined) access.keep({ sign_in: undefined, private_key: undefined });
    return { value, lines: [`signed out of ${baseUrl}`] };
  },
});

export const SIGN_IN = [login, logout, whoami];

export const SESSIONS = [
  command({
    name: 'sessions list',
    summary: 'List the sessions of the account that are in force',
    json: 'the answer of GET /v1/auth/sessions',
    run: async (context) => {
      const answer = await (await context.client()).sessions.list();
      const rows = answer.sessions.map((row) => [row.id, row.created_at, row.is_current ? 'this one' : '']);
      return { value: answer, lines: columns(['session', 'since', ''], rows, 'no sessions') };
    },
  }),
  command({
    name: 'sessions end',
    summary: 'End a session of the account',
    arguments: { id: { description: 'as `sessions list` shows it' } },
    examples: ['sessions end 0190a0b0-…'],
    json: 'the answer of DELETE /v1/auth/sessions/{id}',
    run: async (context, { id }) => {
      const answer = await (await context.client()).sessions.end(id);
      return { value: answer, lines: [answer.message] };
    },
  }),
];

export const PROFILES = [
  command({
    name: 'profile list',
    summary: 'List the profiles: exchanges with what is kept for them',
    access: 'anyone',
    json: '`{current, path, profiles: [{name, base_url, sign_in, api_key, wallet, operator}]}` without secrets',
    run: async ({ access }) => {
      const { current, profiles } = access.profiles;
      const shown = Object.entries(profiles).map(([name, profile]) => ({
        name,
        base_url: profile.base_url ?? null,
        sign_in: profile.sign_in ?? null,
        api_key: profile.api_key?.key_id ?? null,
        wallet: profile.private_key === undefined ? null : addressOf(profile.private_key),
        operator: profile.operator_token !== undefined,
      }));
      const rows = shown.map((row) => [
        row.name === current ? `* ${row.name}` : `  ${row.name}`,
        row.base_url,
        row.sign_in,
        row.api_key,
        row.wallet,
        row.operator ? 'yes' : '',
      ]);
      const lines = columns(
        ['  profile', 'exchange', 'signed in', 'key', 'wallet', 'operator'],
        rows,
        'no profiles yet',
      );
      return { value: { current, path: access.configPath, profiles: shown }, lines };
    },
  }),
  command({
    name: 'profile use',
    summary: 'Use this profile from now on',
    access: 'anyone',
    arguments: { name: { description: 'the name of the profile', profile: true } },
    examples: ['profile use main'],
    json: '`{current}`',
    run: async ({ access }, { name }) => {
      if (access.profiles.profiles[name] === undefined) throw new UsageError(`there is no profile ${name}`);
      access.replaceProfiles({ ...access.profiles, current: name });
      return { value: { current: name }, lines: [`profile ${name} is used from now on`] };
    },
  }),
  command({
    name: 'profile set',
    summary: 'Make a profile for an exchange (--url) without signing in',
    access: 'anyone',
    arguments: { name: { description: 'the name of the profile', profile: true } },
    examples: ['profile set main --url https://exchange.example'],
    json: '`{name, base_url}`',
    makesProfile: true,
    run: async ({ access, baseUrl }, { name }) => {
      if (!isProfileName(name)) throw new UsageError(`${name} is no name for a profile`);
      const { current, profiles } = access.profiles;
      const { origin } = new URL(baseUrl);
      // Secrets of another exchange are not kept with the new address.
      const kept = profiles[name]?.base_url === origin ? profiles[name] : {};
      access.replaceProfiles({ current, profiles: { ...profiles, [name]: { ...kept, base_url: origin } } });
      return { value: { name, base_url: origin }, lines: [`profile ${name} is for ${origin}`] };
    },
  }),
  command({
    name: 'profile remove',
    summary: 'Forget a profile and what is kept in it',
    access: 'anyone',
    arguments: { name: { description: 'the name of the profile', profile: true } },
    examples: ['profile remove main'],
    json: '`{removed}`',
    run: async ({ access }, { name }) => {
      const { [name]: removed, ...profiles } = access.profiles.profiles;
      if (removed === undefined) throw new UsageError(`there is no profile ${name}`);
      const [first = 'default'] = Object.keys(profiles);
      const current = access.profiles.current === name ? first : access.profiles.current;
      access.replaceProfiles({ current, profiles });
      return { value: { removed: name }, lines: [`profile ${name} is forgotten`] };
    },
  }),
];

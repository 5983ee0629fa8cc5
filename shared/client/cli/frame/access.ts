/**
 * The exchange to which a command talks, and the account for which it acts. Options of the command come first, then the
 * environment, then the profile, and last the first account of a demo.
 *
 * Invariants:
 *   ACCESS-1  Secrets of a profile are sent only to the exchange for which they were stored (SETTINGS-2).
 *   ACCESS-2  A named profile exists, or the command creates it, so a mistyped name never acts for another account.
 *   ACCESS-3  The token of an operator is sent over plain http only to this machine.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  adminTokenOf,
  adminUrlOf,
  findServices,
  isLoopbackName,
  onlyService,
  readService,
  SERVICE_VARIABLE,
  type Service,
} from '../../../base/serviceFile.ts';
import { errorMessage } from '../../../base/thrown.ts';
import { originOf } from '../../addresses.ts';
import type { Credentials } from '../../credentials.ts';
import { addressOf } from '../../privateKey.ts';
import { resumeSession, type Session } from '../../session.ts';
import { type Demo, type DemoAccount, dataDirectory, demoAccount, readDemo } from './demo.ts';
import { NeedsError, UsageError } from './errors.ts';
import {
  configPath,
  isProfileName,
  type KeptKey,
  type Profile,
  type Profiles,
  readProfiles,
  sessionPath,
  withProfile,
  writeProfiles,
} from './profiles.ts';
import { askHidden } from './prompt.ts';
import { SessionFile } from './sessionFile.ts';
import type { Terminal } from './terminal.ts';

export type AccessFlags = {
  readonly profile?: string | undefined;
  readonly url?: string | undefined;
  readonly as?: string | undefined;
  readonly service?: string | undefined;
};

/** The exchange to which an operator's command goes. */
type Operated = {
  readonly baseUrls: readonly string[];
  readonly token: string;
  /** The file that names the exchange; null if the address was given. */
  readonly by: string | null;
};

/** `by` says for a person where the account comes from. */
export type Account =
  | { readonly credentials: Credentials; readonly session?: undefined; readonly by: string }
  | { readonly session: Session; readonly credentials?: undefined; readonly by: string };

const DEFAULT_BASE_URL = 'http://127.0.0.1:8080';
const OTHERS = 0o077;
const SIGN_IN = 'pmx login, or API_KEY, API_SECRET and API_PASSPHRASE in the environment';
const WALLET = 'PRIVATE_KEY or PRIVATE_KEY_FILE in the environment, or pmx login --keep-wallet';

export class Access {
  readonly profileName: string;
  /** The addresses; for a cluster those of its members. */
  readonly baseUrls: readonly string[];
  readonly #terminal: Terminal;
  readonly #flags: AccessFlags;
  readonly #configPath: string | null;
  readonly #demo: Demo | null;
  #profiles: Profiles;

  constructor(terminal: Terminal, flags: AccessFlags, makesProfile: boolean) {
    const { env } = terminal;
    this.#terminal = terminal;
    this.#flags = flags;
    this.#configPath = configPath(env);
    this.#profiles = readProfiles(this.#configPath);
    this.#demo = readDemo(env);
    this.profileName = flags.profile ?? env['PMX_PROFILE'] ?? this.#profiles.current;
    if (!isProfileName(this.profileName)) throw new UsageError(`${this.profileName} is no name for a profile`);
    if (!makesProfile) this.#requireKnown(this.profileName);
    this.baseUrls = this.#resolveUrl().split(',').map(checkedUrl);
  }

  /** ACCESS-2 */
  #requireKnown(name: string): void {
    if (name === this.#profiles.current || this.#profiles.profiles[name] !== undefined) return;
    const known = Object.keys(this.#profiles.profiles);
    const others = known.length === 0 ? 'there are none yet' : `there are ${known.join(', ')}`;
    throw new UsageError(`there is no profile ${name}: ${others}; pmx login --profile ${name} makes it`);
  }

  get baseUrl(): string {
    return this.baseUrls[0];
  }

  get profiles(): Profiles {
    return this.#profiles;
  }

  get profile(): Profile {
    return this.#profiles.profiles[this.profileName] ?? {};
  }

  get configPath(): string | null {
    return this.#configPath;
  }

  /** Writes the profile with these fields, for the exchange to which the command talks. */
  keep(change: Partial<Profile>, current: string = this.#profiles.current): void {
    const origin = new URL(this.baseUrl).origin;
    const isSameExchange = this.profile.base_url === undefined || this.profile.base_url === origin;
    // Secrets of another exchange are not kept with the new address.
    const others = isSameExchange ? {} : { api_key: undefined, private_key: undefined, operator_token: undefined };
    const all = withProfile(this.#profiles, this.profileName, { ...others, base_url: origin, ...change });
    this.#write({ ...all, current: Object.keys(all.profiles).length === 1 ? this.profileName : current });
  }

  replaceProfiles(profiles: Profiles): void {
    this.#write(profiles);
  }

  /** The file of the profile's session. Throws if none can be stored. */
  sessionFile(): SessionFile {
    const path = sessionPath(this.#terminal.env, this.profileName);
    if (path === null) throw new UsageError('SESSION_FILE, PMX_CONFIG or HOME is needed to keep a session');
    return new SessionFile(path);
  }

  newSessionFile(): SessionFile {
    return new SessionFile(this.sessionFile().path, new URL(this.baseUrl).origin);
  }

  /** The addresses of this command, if this is one of them. */
  membersWith(baseUrl: string): readonly string[] {
    return this.#isHere(baseUrl) ? this.baseUrls : [baseUrl];
  }

  async account(): Promise<Account> {
    const account = await this.accountOrNone();
    if (account === null) throw new NeedsError('not signed in', SIGN_IN);
    return account;
  }

  async accountOrNone(): Promise<Account | null> {
    if (this.#flags.as !== undefined) return ofDemo(demoAccount(this.#demo, this.#flags.as));
    const given = credentialsFrom(this.#terminal.env);
    if (given !== null) return { credentials: given, by: `key ${given.keyId} of the environment` };
    const kept = await this.#kept();
    if (kept !== null) return kept;
    const first = this.#demo?.accounts[0];
    return first !== undefined && this.#isHere(this.#demo!.base_url) ? ofDemo(first) : null;
  }

  /** @param wallets the wallets of the account, by which the key of a demo account is found. */
  async privateKey(wallets: readonly string[] = []): Promise<string> {
    const found = this.privateKeyOrNone(wallets);
    if (found !== null) return found;
    if (this.#terminal.input.isTTY !== true) throw new NeedsError('no private key to sign with', WALLET);
    const [typed] = await askHidden(this.#terminal, 'Private key of the wallet: ');
    addressOf(typed);
    return typed;
  }

  privateKeyOrNone(wallets: readonly string[] = []): string | null {
    const { env } = this.#terminal;
    if (this.#flags.as !== undefined) return demoAccount(this.#demo, this.#flags.as).private_key;
    if (env['PRIVATE_KEY']) return env['PRIVATE_KEY'];
    if (env['PRIVATE_KEY_FILE']) return secretFile(env['PRIVATE_KEY_FILE']);
    if (this.profile.private_key !== undefined && this.#isOfProfile()) return this.profile.private_key;
    const accounts = this.#demo?.accounts ?? [];
    const { sign_in } = this.profile;
    const linked = wallets.map((wallet) => wallet.toLowerCase());
    const own = accounts.find(({ wallet_address }) => linked.includes(wallet_address.toLowerCase()));
    const isNew = sign_in === undefined && wallets.length === 0 && credentialsFrom(env) === null;
    return (
      (own ?? (isNew && this.#demo !== null && this.#isHere(this.#demo.base_url) ? accounts[0] : undefined))
        ?.private_key ?? null
    );
  }

  /** ACCESS-3. If nothing names an exchange, the unit or compose file found here does (SERVICE-1). */
  operated(): Operated {
    const { env } = this.#terminal;
    const service = this.#service();
    const isFound = service !== null && !this.#flags.url && !env['BASE_URL'];
    const baseUrls = isFound ? [adminUrlOf(service)] : this.baseUrls;
    for (const url of baseUrls) requirePrivateWay(url);
    const token = env['ADMIN_TOKEN'] || (service === null ? this.#keptToken() : adminTokenOf(service));
    if (token) return { baseUrls, token, by: isFound ? service.path : null };
    throw new NeedsError(
      'no token of an operator',
      'ADMIN_TOKEN in the environment, pmx login --operator, or --service with the unit of the exchange',
    );
  }

  #service(): Service | null {
    const { env } = this.#terminal;
    const named = this.#flags.service ?? env[SERVICE_VARIABLE];
    if (named) return readService(named);
    const isElsewhere = this.#flags.url || env['BASE_URL'] || env['DATA_DIR'] || this.profile.base_url !== undefined;
    if (isElsewhere || this.#flags.as !== undefined) return null;
    const isHere = this.#demo !== null || existsSync(this.#tokenPath);
    return onlyService(findServices(), isHere ? [`--url ${this.baseUrl}`] : []);
  }

  get #tokenPath(): string {
    return join(dataDirectory(this.#terminal.env), 'admin.token');
  }

  #keptToken(): string | null {
    if (this.profile.operator_token !== undefined && this.#isOfProfile()) return this.profile.operator_token;
    return existsSync(this.#tokenPath) ? readFileSync(this.#tokenPath, 'utf8').trim() : null;
  }

  async #kept(): Promise<Account | null> {
    const { sign_in, api_key } = this.profile;
    if (sign_in !== 'api_key') {
      const session = await this.#session();
      if (session !== null) return { session, by: 'session' };
    }
    if (api_key === undefined || !this.#isOfProfile()) return null;
    return { credentials: credentialsOf(api_key), by: `key ${api_key.key_id} of profile ${this.profileName}` };
  }

  async #session(): Promise<Session | null> {
    const path = sessionPath(this.#terminal.env, this.profileName);
    if (path === null || !existsSync(path)) return null;
    const store = new SessionFile(path);
    if (store.baseUrl === null || !this.#isHere(store.baseUrl)) return null;
    return resumeSession({ baseUrl: this.baseUrls, store, clock: this.#terminal.clock });
  }

  #resolveUrl(): string {
    const { env } = this.#terminal;
    const given = this.#flags.url ?? env['BASE_URL'];
    if (given) return given;
    if (this.#flags.as !== undefined && this.#demo !== null) return this.#demo.base_url;
    const path = sessionPath(env, this.profileName);
    const ofSession = path !== null && existsSync(path) ? new SessionFile(path).baseUrl : null;
    return this.profile.base_url ?? ofSession ?? this.#demo?.base_url ?? DEFAULT_BASE_URL;
  }

  /** ACCESS-1. */
  #isOfProfile(): boolean {
    return this.profile.base_url !== undefined && this.#isHere(this.profile.base_url);
  }

  #isHere(baseUrl: string): boolean {
    return this.baseUrls.some((url) => new URL(url).origin === new URL(baseUrl).origin);
  }

  #write(profiles: Profiles): void {
    if (this.#configPath === null) throw new UsageError('PMX_CONFIG or HOME is needed to keep settings');
    writeProfiles(this.#configPath, profiles);
    this.#profiles = profiles;
  }
}

function ofDemo(account: DemoAccount): Account {
  return { credentials: credentialsOf(account), by: `demo account ${account.name}` };
}

function credentialsOf({ key_id, secret, passphrase }: KeptKey): Credentials {
  return { keyId: key_id, secret, passphrase };
}

/** Null if the environment has no key at all. */
export function credentialsFrom({ API_KEY, API_SECRET, API_PASSPHRASE }: NodeJS.ProcessEnv): Credentials | null {
  if (!API_KEY && !API_SECRET && !API_PASSPHRASE) return null;
  if (!API_KEY || !API_SECRET || !API_PASSPHRASE) {
    throw new UsageError('an API key needs all of API_KEY, API_SECRET and API_PASSPHRASE');
  }
  return { keyId: API_KEY, secret: API_SECRET, passphrase: API_PASSPHRASE };
}

function secretFile(path: string): string {
  if (process.platform !== 'win32' && (statSync(path).mode & OTHERS) !== 0) {
    throw new Error(`others may read ${path}: chmod 600 it, and use another key`);
  }
  return readFileSync(path, 'utf8').trim();
}

/** ACCESS-3. */
export function requirePrivateWay(url: string): void {
  const { protocol, hostname, origin } = new URL(url);
  if (protocol === 'https:' || isLoopbackName(hostname)) return;
  throw new UsageError(`${origin}: the token of an operator goes over http to this machine alone; use https`);
}

function checkedUrl(text: string): string {
  try {
    return originOf(text);
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

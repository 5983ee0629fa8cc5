/**
 * The settings of a person: for each profile the address of an exchange, and, if the person asked to store it, an API
 * key, a wallet or an operator's token.
 *
 * Invariants:
 *   SETTINGS-1  The file is complete at every moment, and only its owner can ever read it.
 *   SETTINGS-2  Secrets that are stored for one exchange are never sent to another (ACCESS-1).
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeOwnerOnly } from './ownerFile.ts';

export type KeptKey = { readonly key_id: string; readonly secret: string; readonly passphrase: string };

export type Profile = {
  readonly base_url?: string;
  /** The kind that the last login opened; the other kind may be stored as well. */
  readonly sign_in?: 'session' | 'api_key' | undefined;
  readonly api_key?: KeptKey | undefined;
  readonly private_key?: string | undefined;
  readonly operator_token?: string | undefined;
};
export type Profiles = { readonly current: string; readonly profiles: Readonly<Record<string, Profile>> };

const FIRST_PROFILE = 'default';
const NAME_FORM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const FOLDER = 'open-prediction-exchange';
const OTHERS = 0o077;

export function isProfileName(name: string): boolean {
  return NAME_FORM.test(name);
}

/** Null if the environment names no folder for settings. */
function settingsFolder({ PMX_CONFIG, XDG_CONFIG_HOME, HOME, APPDATA }: NodeJS.ProcessEnv): string | null {
  if (PMX_CONFIG) return dirname(PMX_CONFIG);
  const folder = XDG_CONFIG_HOME || (HOME && join(HOME, '.config')) || APPDATA;
  return folder ? join(folder, FOLDER) : null;
}

export function configPath(environment: NodeJS.ProcessEnv): string | null {
  if (environment['PMX_CONFIG']) return environment['PMX_CONFIG'];
  const folder = settingsFolder(environment);
  return folder === null ? null : join(folder, 'config.json');
}

/** Each profile has its own session. */
export function sessionPath(environment: NodeJS.ProcessEnv, profile: string): string | null {
  if (environment['SESSION_FILE']) return environment['SESSION_FILE'];
  const folder = settingsFolder(environment);
  if (folder === null) return null;
  return join(folder, profile === FIRST_PROFILE ? 'session.json' : `session-${profile}.json`);
}

/** SETTINGS-1: a file that others may read is refused, not used. */
export function readProfiles(path: string | null): Profiles {
  const none: Profiles = { current: FIRST_PROFILE, profiles: {} };
  const status = path === null ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === null || status === undefined) return none;
  if (process.platform !== 'win32' && (status.mode & OTHERS) !== 0) {
    throw new Error(`others may read ${path}: chmod 600 it, and replace the secrets in it`);
  }
  try {
    const { current, profiles }: Partial<Profiles> = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof profiles === 'object' && profiles !== null) return { current: current ?? FIRST_PROFILE, profiles };
  } catch {
    // The error is reported below.
  }
  throw new Error(`${path} is damaged: mend or remove it, and sign in again`);
}

export function writeProfiles(path: string, profiles: Profiles): void {
  writeOwnerOnly(path, `${JSON.stringify(profiles, null, 2)}\n`);
}

/** The same profiles with one changed; undefined fields are removed. */
export function withProfile(all: Profiles, name: string, change: Partial<Profile>): Profiles {
  const entries = Object.entries({ ...all.profiles[name], ...change }).filter(([, value]) => value !== undefined);
  return { ...all, profiles: { ...all.profiles, [name]: Object.fromEntries(entries) } };
}

/**
 * Finds the settings of the exchange that a command is about. If the command line and the environment name no
 * directory, the settings are those of its systemd unit, which is given or found: so a command sees what the service
 * sees.
 *
 * Invariants:
 *   ADMINSERVICE-1  If root runs a command that writes to a directory whose settings were read from a unit, the command
 *                   writes as the directory's owner, so that it leaves no file of root's there.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findServices, onlyService, readService, SERVICE_VARIABLE } from '../../shared/base/serviceFile.ts';
import { AdminError } from './directory.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Given = { readonly data?: string; readonly service?: string };

const DEFAULT_DATA_DIR = 'data/live';
/** Each of these variables says which exchange is meant. */
const NAMING = ['DATA_DIR', 'JOURNAL_URL', 'JOURNAL_URL_FILE'] as const;

/** The environment of a command: variables that are set override the unit's. */
export function environmentFor({ data, service }: Given, env: Environment, find = findServices): Environment {
  const named = service ?? env[SERVICE_VARIABLE];
  if (!named && (data !== undefined || NAMING.some((name) => env[name]))) return env;
  const hasOwn = existsSync(join(DEFAULT_DATA_DIR, 'control.db'));
  const found = named ? readService(named) : onlyService(find(), hasOwn ? [`--data ${DEFAULT_DATA_DIR}`] : []);
  if (found === null) return env;
  if (!found.isUnit) {
    const run = `docker compose -f ${found.path} run --rm exchange engine/admin/main.ts`;
    throw new AdminError(`the data of ${found.path} is in its container: run ${run} with the words of the command`);
  }
  return { ...found.settings, ...env };
}

/** ADMINSERVICE-1. Does nothing unless root runs it. */
export function becomeOwner(directory: string): void {
  const path = [join(directory, 'control.db'), directory].find((each) => existsSync(each));
  if (path === undefined || process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(path);
  if (uid === 0) return;
  const name = nameOf(uid);
  if (name === undefined) process.setgroups!([gid]);
  else (process as { initgroups?(user: string, group: number): void }).initgroups!(name, gid);
  process.setgid!(gid);
  process.setuid!(uid);
}

function nameOf(uid: number): string | undefined {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  return users.map((line) => line.split(':')).find((parts) => parts[2] === String(uid))?.[0];
}

/**
 * The file that runs an exchange on this machine, a systemd unit or a compose file: it says the address of the
 * administrators' port, the file of their token, and the settings of the start. Commands find it if there is one.
 *
 * Invariants:
 *   SERVICE-1  If there are two exchanges, none is chosen: the command is refused, and names both.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsOfCompose } from './composeFile.ts';
import { memberOf } from './memberOf.ts';
import { errorCode, errorMessage } from './thrown.ts';
import { settingsOfUnit, UNIT_FOLDERS, unitsIn } from './unitFile.ts';

/** The message is one line for the operator. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
}

export type Service = {
  readonly path: string;
  readonly isUnit: boolean;
  readonly settings: Readonly<Record<string, string>>;
};

/** The option and the variable that name the file. */
const SERVICE_OPTION = 'service';
export const SERVICE_VARIABLE = 'PMX_SERVICE';
/** Seen from the folder of the project, and from the folder of the file. */
const COMPOSE_FILES = ['data/deploy/compose.yaml', 'compose.yaml'] as const;
const EVERY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = '8080';

export function readService(path: string): Service {
  const isUnit = path.endsWith('.service');
  try {
    return { path, isUnit, settings: isUnit ? settingsOfUnit(path) : settingsOfCompose(path) };
  } catch (error) {
    throw new ServiceError(unreadable(path, error));
  }
}

/** The units of this machine, and a compose file of this folder that was filled in (`.env` is beside it). */
export function findServices(folders: readonly string[] = UNIT_FOLDERS, from = '.'): string[] {
  const composes = COMPOSE_FILES.map((name) => join(from, name)).filter((path) => {
    return existsSync(path) && existsSync(join(path, '..', '.env')) && /open-prediction-exchange/.test(textOf(path));
  });
  return [...folders.flatMap(unitsIn), ...composes];
}

/**
 * SERVICE-1.
 * @param others other possible targets, such as a data directory of this folder, each with the words that choose it
 */
export function onlyService(found: readonly string[], others: readonly string[] = []): Service | null {
  if (found.length + others.length > 1) {
    const ways = [...found.map((path) => `--${SERVICE_OPTION} ${path}`), ...others];
    throw new ServiceError(`there is more than one exchange here; choose with ${ways.join(' or ')}`);
  }
  return found.length === 0 ? null : readService(found[0]);
}

/** The administrators' address, for a program on the same machine. */
export function adminUrlOf({ settings }: Service): string {
  const { ADMIN_PORT, ADMIN_HOST = DEFAULT_HOST, HOST = DEFAULT_HOST, PORT, TLS_CERT, PUBLIC_URL } = settings;
  const isPlain = ADMIN_PORT ? isLoopbackName(ADMIN_HOST) : !TLS_CERT;
  const host = ADMIN_PORT ? ADMIN_HOST : HOST;
  const port = ADMIN_PORT || PORT || DEFAULT_PORT;
  if (isPlain) return `http://${EVERY_ADDRESS[host] ?? host}:${port}`;
  // The name in the certificate is that of the address that clients use.
  const name = PUBLIC_URL ? new URL(PUBLIC_URL).hostname : host;
  return `https://${name}:${port}`;
}

/** Null if the service has no token that can be read here. */
export function adminTokenOf({ path, settings }: Service): string | null {
  const { ADMIN_TOKEN, ADMIN_TOKEN_FILE, DATA_DIR = '' } = settings;
  if (ADMIN_TOKEN) return ADMIN_TOKEN;
  const file = ADMIN_TOKEN_FILE ?? join(DATA_DIR, 'admin.token');
  try {
    return existsSync(file) || ADMIN_TOKEN_FILE ? textOf(file).trim() : null;
  } catch (error) {
    throw new ServiceError(`${path}: ${unreadable(file, error)}`);
  }
}

export function isLoopbackName(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(hostname);
}

function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

function unreadable(path: string, error: unknown): string {
  const [code, message] = [errorCode(error), errorMessage(error)];
  if (code === undefined) return message.startsWith(path) ? message : `${path}: ${message}`;
  const hint = code === 'EACCES' ? ': it is for root to read, so run this as root (sudo)' : '';
  return `${memberOf(error, 'path') ?? path} cannot be read (${code})${hint}`;
}

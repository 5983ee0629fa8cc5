/** The file of `ADMIN_TOKEN_FILE`, which is read at the start and whenever the process gets SIGHUP (RULES.md 9.50). */
import { readFileSync } from 'node:fs';
import { errorCode } from '../../shared/base/thrown.ts';
import { type Config, ConfigError } from './config.ts';
import { ADMIN_TOKEN_CHARACTERS, isLoopback } from './exposure.ts';

/** A longer file was named by mistake. */
const MAX_CHARACTERS = 1000;

/** Returns null without that setting. Throws a ConfigError if the file holds no valid token. */
export function readAdminToken(config: Pick<Config, 'adminTokenFile' | 'host' | 'adminDoor'>): string | null {
  const { adminTokenFile: path, host, adminDoor } = config;
  if (path === null) return null;
  const token = textOf(path).trim();
  // The messages never repeat the token, which is a secret.
  if (!/^[!-~]+$/.test(token) || token.length > MAX_CHARACTERS) {
    throw new ConfigError(`ADMIN_TOKEN_FILE: ${path}: expected one line of printable ASCII without spaces`);
  }
  const isExposed = !isLoopback(host) || (adminDoor !== null && !isLoopback(adminDoor.host));
  if (isExposed && token.length < ADMIN_TOKEN_CHARACTERS) {
    throw new ConfigError(
      `ADMIN_TOKEN_FILE: at least ${ADMIN_TOKEN_CHARACTERS} characters are needed where HOST is not a loopback address`,
    );
  }
  return token;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`ADMIN_TOKEN_FILE: cannot read ${path} (${errorCode(error)})`);
  }
}

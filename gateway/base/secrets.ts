/**
 * The secrets of the server: the master key, under which the others are sealed, the administrator's token, and the
 * secrets of pseudonyms and refresh tokens. The master key and the token may come from the environment, the token also
 * from a file that the environment names. A secret that is not given is made at the first start: the master key is kept
 * in a file of the data directory, the others in control.db, sealed under the master key.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import {
  MASTER_KEY_BYTES,
  MASTER_KEY_CHECK,
  readMasterKey,
  SEALED_ADMIN_TOKEN,
  SEALED_PSEUDONYM_SECRET,
  SEALED_SESSION_SECRET,
} from '../../shared/crypto/masterKey.ts';
import { openSecret, sealSecret } from '../../shared/crypto/secretBox.ts';
import { readAdminToken } from './adminTokenFile.ts';
import { type Config, ConfigError } from './config.ts';
import type { Platform } from './platform.ts';
import { StartError } from './startError.ts';

const TOKEN_BYTES = 24;
const SECRET_BYTES = 32;

export function openMasterKey(config: Pick<Config, 'masterKey'>, path: string, platform: Platform): Uint8Array {
  const check = platform.read(MASTER_KEY_CHECK);
  if (check === undefined) {
    const masterKey = config.masterKey ?? (existsSync(path) ? requireMasterKey(path) : makeMasterKey(path));
    platform.write(MASTER_KEY_CHECK, seal(masterKey, MASTER_KEY_CHECK, ''));
    return masterKey;
  }
  if (config.masterKey === null && !existsSync(path)) {
    throw new ConfigError(`MASTER_KEY: this data directory was made with one: set it, or put ${path} back`);
  }
  const masterKey = config.masterKey ?? requireMasterKey(path);
  try {
    open(masterKey, MASTER_KEY_CHECK, check);
  } catch {
    throw new ConfigError(
      `${config.masterKey === null ? path : 'MASTER_KEY'}: not the key this data directory was made with, or ` +
        'control.db belongs to another exchange: put back the right one',
    );
  }
  return masterKey;
}

/** `isNew`: the token was made by this call, and this is the only time to show it. */
export function openAdminToken(
  config: Pick<Config, 'adminToken' | 'adminTokenFile' | 'host' | 'adminDoor'>,
  masterKey: Uint8Array,
  platform: Platform,
): { readonly token: string; readonly isNew: boolean } {
  const given = config.adminToken ?? readAdminToken(config);
  if (given !== null) return { token: given, isNew: false };
  const sealed = platform.read(SEALED_ADMIN_TOKEN);
  if (sealed !== undefined) return { token: open(masterKey, SEALED_ADMIN_TOKEN, sealed), isNew: false };
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  platform.write(SEALED_ADMIN_TOKEN, seal(masterKey, SEALED_ADMIN_TOKEN, token));
  return { token, isNew: true };
}

/** Opens the secret from which pseudonyms are computed. */
export function openPseudonymSecret(masterKey: Uint8Array, platform: Platform): Buffer {
  return openOrMake(SEALED_PSEUDONYM_SECRET, masterKey, platform);
}

/** Opens the secret that marks refresh tokens as issued by this exchange. */
export function openSessionSecret(masterKey: Uint8Array, platform: Platform): Buffer {
  return openOrMake(SEALED_SESSION_SECRET, masterKey, platform);
}

/** Opens a secret that the first start makes and that never changes. */
function openOrMake(name: string, masterKey: Uint8Array, platform: Platform): Buffer {
  const sealed = platform.read(name);
  if (sealed !== undefined) return openSecret(masterKey, name, Buffer.from(sealed, 'base64'));
  const secret = randomBytes(SECRET_BYTES);
  platform.write(name, sealSecret(masterKey, name, secret).toString('base64'));
  return secret;
}

function makeMasterKey(path: string): Buffer {
  const masterKey = randomBytes(MASTER_KEY_BYTES);
  writeFileSync(path, `${masterKey.toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return masterKey;
}

function requireMasterKey(path: string): Buffer {
  const masterKey = readable(path);
  if (masterKey === null)
    throw new ConfigError(`MASTER_KEY: ${path} does not hold a master key: put a copy of it back`);
  return masterKey;
}

function readable(path: string): Buffer | null {
  try {
    return readMasterKey(path);
  } catch (error) {
    throw new StartError(accessProblem(path, error) ?? `${path}: ${errorMessage(error)}`);
  }
}

function seal(masterKey: Uint8Array, name: string, text: string): string {
  return sealSecret(masterKey, name, Buffer.from(text)).toString('base64');
}

function open(masterKey: Uint8Array, name: string, sealed: string): string {
  return openSecret(masterKey, name, Buffer.from(sealed, 'base64')).toString();
}

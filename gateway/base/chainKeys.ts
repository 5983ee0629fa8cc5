/** Opens the keys of a chain's settings: plain keys, encrypted keystores, or keys that an external signer keeps. */
import { readFileSync } from 'node:fs';
import type { KeyOrigin } from '../../shared/base/chainFacts.ts';
import { errorCode, errorMessage } from '../../shared/base/thrown.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import { openKeystore } from '../../shared/crypto/keystore.ts';
import { CHAIN_JOBS, type ChainConfig, type ChainJob, isSecretKey, type KeySource } from './chainSettings.ts';
import { ConfigError } from './config.ts';

export type ChainSecrets = Readonly<Record<ChainJob, KeyOrigin | null>>;

/** Throws a ConfigError, which names the setting but not its contents. */
export function openChainKeys({ keys }: Pick<ChainConfig, 'keys'>): ChainSecrets {
  const secrets: Partial<Record<ChainJob, KeyOrigin | null>> = {};
  const jobs = new Map<string, ChainJob>();
  for (const job of CHAIN_JOBS) {
    const source = keys[job];
    const secret = source === null ? null : originOf(job, source);
    secrets[job] = secret;
    if (secret === null) continue;
    const address = typeof secret === 'string' ? addressOf(secret).toLowerCase() : secret.address;
    const other = jobs.get(address);
    // Two streams of transactions with the same nonces would replace each other's transactions.
    if (other !== undefined) throw new ConfigError(`${other}_KEY and ${job}_KEY: each job needs a key of its own`);
    jobs.set(address, job);
  }
  return secrets as ChainSecrets;
}

function originOf(job: ChainJob, source: KeySource): KeyOrigin {
  if ('signer' in source) return source.signer;
  if ('secret' in source) return source.secret;
  const keystore = readText(`${job}_KEYSTORE`, source.keystore);
  const password = readText(`${job}_KEYSTORE_PASSWORD_FILE`, source.passwordFile).replace(/\r?\n$/, '');
  try {
    const secret = openKeystore(keystore, password);
    if (isSecretKey(secret)) return secret;
  } catch (error) {
    throw new ConfigError(`${job}_KEYSTORE: ${errorMessage(error)}`);
  }
  throw new ConfigError(`${job}_KEYSTORE: the keystore has no secret key of 32 bytes`);
}

function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    throw new ConfigError(`${name}: the file cannot be read (${code})`);
  }
}

/** Opens the keys of a chain's settings: those that are given as they are, and those in encrypted keystores. */
import { readFileSync } from 'node:fs';
import { openKeystore } from '../../shared/crypto/keystore.ts';
import { CHAIN_JOBS, type ChainConfig, type ChainJob, isSecretKey, type KeySource } from './chain.ts';
import { ConfigError } from './config.ts';

export type ChainSecrets = Readonly<Record<ChainJob, string | null>>;

/** Throws ConfigError, which names the setting and nothing that it contains. */
export function openChainKeys({ keys }: Pick<ChainConfig, 'keys'>): ChainSecrets {
  const secrets: Partial<Record<ChainJob, string | null>> = {};
  const jobs = new Map<string, ChainJob>();
  for (const job of CHAIN_JOBS) {
    const source = keys[job];
    const secret = source === null ? null : secretOf(job, source);
    secrets[job] = secret;
    if (secret === null) continue;
    const other = jobs.get(secret.toLowerCase());
    // Two streams of transactions with one nonce would replace each other's.
    if (other !== undefined) throw new ConfigError(`${other}_KEY and ${job}_KEY: each job needs a key of its own`);
    jobs.set(secret.toLowerCase(), job);
  }
  return secrets as ChainSecrets;
}

function secretOf(job: ChainJob, source: KeySource): string {
  if ('secret' in source) return source.secret;
  const keystore = readText(`${job}_KEYSTORE`, source.keystore);
  const password = readText(`${job}_KEYSTORE_PASSWORD_FILE`, source.passwordFile).replace(/\r?\n$/, '');
  try {
    const secret = openKeystore(keystore, password);
    if (isSecretKey(secret)) return secret;
  } catch (error) {
    throw new ConfigError(`${job}_KEYSTORE: ${(error as Error).message}`);
  }
  throw new ConfigError(`${job}_KEYSTORE: the keystore has no secret key of 32 bytes`);
}

function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${name}: the file cannot be read (${code})`);
  }
}

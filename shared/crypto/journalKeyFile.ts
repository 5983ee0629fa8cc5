/**
 * The file of a data directory that holds the key of its journals, sealed under the master key. A program without the
 * master key can neither write a row or snapshot that the exchange accepts as its own, nor check one.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import type { JournalKey } from '../base/journalKey.ts';
import { syncDirectory } from '../base/syncDirectory.ts';
import { openSecret, sealSecret } from './secretBox.ts';

export const JOURNAL_KEY_FILE = 'journal.key';
/** The owner of the sealed key; in a cluster also the row of the table `platform` by which members share the key. */
export const SEALED_JOURNAL_KEY = 'journal_key';
const SECRET_BYTES = 32;

type Content = { readonly secret: string; readonly keyed_from: readonly number[] };

export function hasJournalKey(dataDir: string): boolean {
  return existsSync(join(dataDir, JOURNAL_KEY_FILE));
}

/**
 * Throws if the file is missing or damaged, or was sealed under another master key.
 * @param suffix of the file's name
 */
export function readJournalKey(dataDir: string, masterKey: Uint8Array, suffix = ''): JournalKey {
  const sealed = Buffer.from(readFileSync(join(dataDir, JOURNAL_KEY_FILE + suffix), 'utf8').trim(), 'base64');
  const content: Content = JSON.parse(openSecret(masterKey, SEALED_JOURNAL_KEY, sealed).toString());
  return { secret: Buffer.from(content.secret, 'hex'), keyedFrom: content.keyed_from };
}

/** Makes a new key. @param keyedFrom by shard: the first record that will be written with it. */
export function makeJournalKey(keyedFrom: readonly number[]): JournalKey {
  return { secret: randomBytes(SECRET_BYTES), keyedFrom };
}

/** After a crash at any moment the file is either the old one or the new one. */
export function writeJournalKey(
  dataDir: string,
  masterKey: Uint8Array,
  { secret, keyedFrom }: JournalKey,
  suffix = '',
): void {
  assert(secret.length === SECRET_BYTES, 'journal key: the secret has its length');
  const content: Content = { secret: Buffer.from(secret).toString('hex'), keyed_from: keyedFrom };
  const sealed = sealSecret(masterKey, SEALED_JOURNAL_KEY, Buffer.from(JSON.stringify(content)));
  writeSealedJournalKey(dataDir, sealed.toString('base64'), suffix);
}

/** The content of the file, which only the master key opens. */
export function readSealedJournalKey(dataDir: string): string {
  return readFileSync(join(dataDir, JOURNAL_KEY_FILE), 'utf8').trim();
}

/** After a crash at any moment the file is either the old one or the new one. */
export function writeSealedJournalKey(dataDir: string, sealed: string, suffix = ''): void {
  const path = join(dataDir, JOURNAL_KEY_FILE + suffix);
  const fd = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeSync(fd, `${sealed}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
  syncDirectory(dataDir);
}

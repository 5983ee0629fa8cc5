/**
 * `admin keys rotate`: seals everything under a new master key that is sealed under the old one (RULES.md 10.14). The
 * exchange must be stopped; the caller holds its lock. clusterKeys.ts does what a cluster needs in addition.
 *
 *   next files written ──► control.db, one transaction ──► next files take their names
 *                          └─ from here on the new key is valid
 *
 * Invariants:
 *   ROTATE-1  At every moment one master key opens everything: the old key until the transaction, the new key after it,
 *             then with the files named `.next` where they exist. Running the command again finishes an interrupted
 *             rotation. Until then the exchange does not start, because it would not know which files are valid.
 *   ROTATE-2  Before the transaction ends, everything has been opened under the new key once.
 *   ROTATE-3  Sessions continue. A new key signs their access tokens; the public part of the previous key is kept, so
 *             that tokens signed with it remain valid until they expire (RULES.md 15.2).
 */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { dropRoom } from '../../shared/base/keptRoom.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { JOURNAL_HEADS } from '../../shared/crypto/journalHeads.ts';
import {
  JOURNAL_KEY_FILE,
  readJournalKey,
  SEALED_JOURNAL_KEY,
  writeJournalKey,
} from '../../shared/crypto/journalKeyFile.ts';
import {
  MASTER_KEY_BYTES,
  MASTER_KEY_CHECK,
  MASTER_KEY_FILE,
  NEXT,
  readMasterKey,
  SEALED_ADMIN_TOKEN,
  SEALED_PSEUDONYM_SECRET,
  SEALED_SESSION_SECRET,
} from '../../shared/crypto/masterKey.ts';
import { openSecret, sealSecret } from '../../shared/crypto/secretBox.ts';
import { makeSessionKey, openSessionKey, type SessionKeyRow } from '../../shared/crypto/sessionKeys.ts';
import { AdminError } from './directory.ts';

/** The rows of the table `platform` that are sealed, as base64. The row of the check must exist. */
const SEALED_ROWS = [
  MASTER_KEY_CHECK,
  SEALED_ADMIN_TOKEN,
  SEALED_PSEUDONYM_SECRET,
  SEALED_SESSION_SECRET,
  JOURNAL_HEADS,
  SEALED_JOURNAL_KEY,
];

export type MasterKeys = {
  /** MASTER_KEY; null: the key is in the file of the data directory. */
  readonly given: Uint8Array | null;
  /** NEW_MASTER_KEY; null: a random key is written to the file. */
  readonly next: Uint8Array | null;
};

/** @returns what was done, one line per item. */
export function rotateMasterKey(directory: string, control: Database.Database, keys: MasterKeys): string[] {
  const interrupted = finishInterrupted(directory, control, keys);
  if (interrupted !== null) return interrupted;
  const old = keys.given ?? readMasterKey(join(directory, MASTER_KEY_FILE));
  assert(old !== null && opensCheck(control, old), 'ROTATE-1: a master key opens everything');
  if (keys.next === null && keys.given !== null) {
    throw new AdminError('NEW_MASTER_KEY: set it to the key that MASTER_KEY is to be, such as `openssl rand -hex 32`');
  }
  const fresh = keys.next ?? randomBytes(MASTER_KEY_BYTES);
  if (Buffer.compare(fresh, old) === 0) throw new AdminError('NEW_MASTER_KEY: this is the present key: give another');
  const journalKey = readJournalKey(directory, old);
  if (keys.next === null) {
    const path = join(directory, MASTER_KEY_FILE + NEXT);
    writeFileSync(path, `${Buffer.from(fresh).toString('hex')}\n`, { mode: 0o600, flush: true });
  }
  writeJournalKey(directory, fresh, journalKey, NEXT);
  const count = reseal(control, old, fresh);
  takeNames(directory, fresh);
  return [`sealed anew: journal.key and ${count} secrets of control.db`, nextStep(keys)];
}

/** Returns null if no rotation was under way. Removes leftovers of a rotation that had not yet changed anything. */
function finishInterrupted(directory: string, control: Database.Database, keys: MasterKeys): string[] | null {
  const file = join(directory, MASTER_KEY_FILE);
  const fromFile = existsSync(file) ? readMasterKey(file) : null;
  const fromNext = existsSync(file + NEXT) ? readMasterKey(file + NEXT) : null;
  const candidates = [keys.given ?? fromFile, keys.next, fromNext];
  const valid = candidates.find((key) => key !== null && opensCheck(control, key));
  if (valid == null) throw new AdminError('MASTER_KEY: not the key this data directory was made with');
  const journalKeyPath = join(directory, JOURNAL_KEY_FILE);
  const isCommitted = existsSync(journalKeyPath + NEXT) && !opensJournalKey(directory, valid, '');
  if (!isCommitted && valid === candidates[0]) {
    for (const path of [journalKeyPath, file]) rmSync(path + NEXT, { force: true });
    return null;
  }
  if (isCommitted && !opensJournalKey(directory, valid, NEXT)) throw new AdminError(`${journalKeyPath} is damaged`);
  takeNames(directory, valid);
  return ['a rotation that was interrupted is finished', nextStep(keys)];
}

/** @param key the valid key: its file is never removed; files of other master keys are of no use any more. */
function takeNames(directory: string, key: Uint8Array): void {
  const master = join(directory, MASTER_KEY_FILE);
  const journal = join(directory, JOURNAL_KEY_FILE);
  const holds = (path: string): boolean => {
    const found = existsSync(path) ? readMasterKey(path) : null;
    return found !== null && Buffer.compare(found, key) === 0;
  };
  if (existsSync(journal + NEXT)) renameSync(journal + NEXT, journal);
  if (holds(master + NEXT)) renameSync(master + NEXT, master);
  rmSync(master + NEXT, { force: true });
  if (!holds(master)) rmSync(master, { force: true });
  syncDirectory(directory);
}

/** @returns the number of secrets. */
function reseal(control: Database.Database, old: Uint8Array, fresh: Uint8Array): number {
  // The old ciphertexts are overwritten, not merely released.
  control.pragma('secure_delete = ON');
  const count = control.transaction(() => {
    return resealRows(control, old, fresh) + resealKeys(control, old, fresh) + replaceSessionKey(control, fresh);
  })();
  control.pragma('wal_checkpoint(TRUNCATE)');
  // The log of the last run, which a stop has kept so that its disk space stays reserved.
  dropRoom(control.name);
  return count;
}

function resealRows(control: Database.Database, old: Uint8Array, fresh: Uint8Array): number {
  const write = control.prepare<[string, string]>('UPDATE platform SET value = ? WHERE key = ?');
  const sealed = SEALED_ROWS.flatMap((name) => {
    const text = readRow(control, name);
    return text === undefined ? [] : [{ name, box: Buffer.from(text, 'base64') }];
  });
  for (const { name, box } of sealed) write.run(resealed(box, name, old, fresh).toString('base64'), name);
  return sealed.length;
}

function resealKeys(control: Database.Database, old: Uint8Array, fresh: Uint8Array): number {
  const rows = control
    .prepare<[], { key_id: string; sealed_secret: Buffer }>('SELECT key_id, sealed_secret FROM api_keys')
    .all();
  const write = control.prepare<[Buffer, string]>('UPDATE api_keys SET sealed_secret = ? WHERE key_id = ?');
  for (const { key_id, sealed_secret } of rows) write.run(resealed(sealed_secret, key_id, old, fresh), key_id);
  return rows.length;
}

/** ROTATE-3. A directory that was never opened by a version with sessions has no key to replace. */
function replaceSessionKey(control: Database.Database, fresh: Uint8Array): number {
  const hasTable = control.prepare("SELECT 1 FROM sqlite_master WHERE name = 'session_keys'").get() !== undefined;
  if (!hasTable || control.prepare('SELECT 1 FROM session_keys').get() === undefined) return 0;
  control.prepare('UPDATE session_keys SET sealed_private = NULL').run();
  const key = makeSessionKey(fresh, Date.now());
  openSessionKey(fresh, key.kid, key.sealed_private!);
  control
    .prepare<SessionKeyRow>('INSERT INTO session_keys VALUES ($kid, $public_jwk, $sealed_private, $created_ms)')
    .run(key);
  return 1;
}

/** ROTATE-2. */
function resealed(box: Uint8Array, owner: string, old: Uint8Array, fresh: Uint8Array): Buffer {
  const secret = openSecret(old, owner, box);
  const result = sealSecret(fresh, owner, secret);
  assert(openSecret(fresh, owner, result).equals(secret), 'ROTATE-2: what was sealed opens again');
  return result;
}

function opensCheck(control: Database.Database, key: Uint8Array): boolean {
  const check = readRow(control, MASTER_KEY_CHECK);
  if (check === undefined) throw new AdminError('control.db knows no master key: the exchange was never started on it');
  try {
    openSecret(key, MASTER_KEY_CHECK, Buffer.from(check, 'base64'));
    return true;
  } catch {
    return false;
  }
}

function opensJournalKey(directory: string, key: Uint8Array, suffix: string): boolean {
  try {
    readJournalKey(directory, key, suffix);
    return true;
  } catch {
    return false;
  }
}

function readRow(control: Database.Database, name: string): string | undefined {
  return control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck().get(name);
}

function nextStep({ next }: MasterKeys): string {
  return next === null
    ? `the new key is in ${MASTER_KEY_FILE} of the data directory`
    : 'set MASTER_KEY to the value of NEW_MASTER_KEY before the next start';
}

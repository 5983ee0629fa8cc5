/** Opens the key of the journals; the first start of a data directory makes it. */
import { join } from 'node:path';
import { accessProblem } from '../../shared/base/fileAccess.ts';
import type { JournalKey } from '../../shared/base/journalKey.ts';
import {
  hasJournalKey,
  JOURNAL_KEY_FILE,
  makeJournalKey,
  readJournalKey,
  readSealedJournalKey,
  SEALED_JOURNAL_KEY,
  writeJournalKey,
  writeSealedJournalKey,
} from '../../shared/crypto/journalKeyFile.ts';
import type { Platform } from './platform.ts';
import { StartError } from './startError.ts';

type JournalKeyOptions = {
  readonly dataDir: string;
  readonly masterKey: Uint8Array;
  readonly shards: number;
  /** True if the journals do not exist yet. */
  readonly areNew: boolean;
};

/**
 * The journals of all members of a cluster are byte for byte the same, so their key is too: the first member gives it
 * to the others, sealed as in its own file.
 */
export function giveJournalKey(dataDir: string, platform: Platform): void {
  if (platform.read(SEALED_JOURNAL_KEY) === undefined)
    platform.write(SEALED_JOURNAL_KEY, readSealedJournalKey(dataDir));
}

/** A member that joins with only the records of control.db takes the key from them. */
export function takeJournalKey(dataDir: string, platform: Platform): void {
  const shared = platform.read(SEALED_JOURNAL_KEY);
  if (shared !== undefined && !hasJournalKey(dataDir)) writeSealedJournalKey(dataDir, shared);
}

export function openJournalKey({ dataDir, masterKey, shards, areNew }: JournalKeyOptions): JournalKey {
  if (hasJournalKey(dataDir)) {
    try {
      return readJournalKey(dataDir, masterKey);
    } catch (error) {
      const access = accessProblem(join(dataDir, JOURNAL_KEY_FILE), error);
      if (access !== null) throw new StartError(access);
      throw new StartError(`${dataDir}/journal.key is damaged or of another exchange: put a backup in its place`);
    }
  }
  if (!areNew) {
    throw new StartError(
      `${dataDir}/journal.key is missing: put it back, or vouch for the records there are with ` +
        '`npm run admin -- journal adopt`',
    );
  }
  const key = makeJournalKey(Array.from({ length: shards }, () => 1));
  writeJournalKey(dataDir, masterKey, key);
  return key;
}

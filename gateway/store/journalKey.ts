/** Opens the key of the journals; the first start of a data directory makes it. */
import type { JournalKey } from '../../shared/base/journalKey.ts';
import { hasJournalKey, makeJournalKey, readJournalKey, writeJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { StartError } from '../process/startError.ts';

type JournalKeyOptions = {
  readonly dataDir: string;
  readonly masterKey: Uint8Array;
  readonly shards: number;
  /** The journals do not exist yet. */
  readonly areNew: boolean;
};

export function openJournalKey({ dataDir, masterKey, shards, areNew }: JournalKeyOptions): JournalKey {
  if (hasJournalKey(dataDir)) {
    try {
      return readJournalKey(dataDir, masterKey);
    } catch {
      throw new StartError(`${dataDir}: journal.key is damaged or of another exchange: put a backup in its place`);
    }
  }
  if (!areNew) {
    throw new StartError(
      `${dataDir}: journal.key is missing: put it back, or vouch for the journals of an older version with ` +
        '`npm run admin -- journal adopt`',
    );
  }
  const key = makeJournalKey(Array.from({ length: shards }, () => 1));
  writeJournalKey(dataDir, masterKey, key);
  return key;
}

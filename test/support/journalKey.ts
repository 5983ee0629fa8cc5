/** The key of all journals that tests make in their own thread. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ShardKey } from '../../engine/journal/shardKey.ts';
import type { JournalKey } from '../../shared/base/journalKey.ts';
import { writeJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { MASTER_KEY_FILE } from '../../shared/crypto/masterKey.ts';

/** It seals the key of journals in a directory of a test. */
export const TEST_MASTER_KEY = Buffer.alloc(32, 5);
export const TEST_SECRET: JournalKey = { secret: new Uint8Array(32).fill(7), keyedFrom: [1] };
/** Keys by shard, as the exchange derives them. */
export const TEST_KEYS = await Promise.all([0, 1, 2].map((shard) => ShardKey.create(TEST_SECRET, shard)));
export const TEST_KEY = TEST_KEYS[0]!;

/**
 * Gives a directory the key with which a command of the administrator checks journals that were written with TEST_KEY.
 */
export function writeTestKey(directory: string): void {
  writeFileSync(join(directory, MASTER_KEY_FILE), TEST_MASTER_KEY.toString('hex'));
  writeJournalKey(directory, TEST_MASTER_KEY, TEST_SECRET);
}

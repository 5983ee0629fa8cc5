/** The rehearsal of a shard's thread (SHARD-2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveShard } from '../../../../bench/liveShard.ts';

test('a rehearsal that fails costs the shard nothing, and a late message about its end does not end it', async () => {
  const shard = await LiveShard.start((own) => ({ ...own, journalPath: '/proc/no-such-directory/journal.db' }));
  assert.match(shard.rehearsalFailures.join(''), /directory does not exist/);
  shard.endRehearsal();
  for (let command = 0; command < 3; command++) await shard.cancel(new Uint32Array(8).fill(1));
  await shard.stop();
});

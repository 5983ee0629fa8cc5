/** The rehearsal of a shard's thread (SHARD-2). */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LiveShard } from '../../../../bench/liveShard.ts';
import { createBalances } from '../../../../shared/wire/balances.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { createShardMeters } from '../../../../shared/wire/shardMeters.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';

const RING_BYTES = 1 << 20;
const NO_COMMAND = 999;

test('a rehearsal that fails costs the shard nothing, and a late message about its end does not end it', async () => {
  const shard = await LiveShard.start((own) => ({ ...own, journalPath: '/proc/no-such-directory/journal.db' }));
  // The message goes another way than the shard's READY.
  await eventually('the reason', async () => /directory does not exist/.test(shard.rehearsalFailures.join('')));
  shard.endRehearsal();
  for (let command = 0; command < 3; command++) await shard.cancel(new Uint32Array(8).fill(1));
  await shard.stop();
});

test('a rehearsal that fails while it runs leaves no file open', async () => {
  const directory = temporaryDirectory();
  const commandRing = createRingBuffer(RING_BYTES);
  const producer = new RingProducer(commandRing);
  producer.words[producer.tryClaim(64, 0) + 1] = NO_COMMAND;
  producer.publish();
  const shard = await LiveShard.start((own) => ({
    ...own,
    commandRing,
    eventRing: createRingBuffer(RING_BYTES),
    balances: createBalances(1),
    progress: Progress.create(1),
    meters: createShardMeters(1),
    directory,
    journalPath: join(directory, 'journal-0.db'),
  }));
  await eventually('the reason', async () => shard.rehearsalFailures.length === 1);
  assert.deepEqual(readdirSync(directory).sort(), ['journal-0.db', 'journal-0.mark']);
  await shard.stop();
});

/**
 * Commits one row after the other and says so each time: what durable.test.ts traces. Runs as a process of its own.
 * Every other commit has something to do beside the sync, which another thread makes then.
 */
import { writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Journal } from '../../engine/journal/journal.ts';
import { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { syncerFor } from '../../engine/journal/syncer.ts';
import { TEST_KEY } from '../support/journalKey.ts';

const [, , journalPath, count] = process.argv;
const journal = Journal.open({ journalPath: journalPath!, journalSync: 'full', shard: 0, shards: 1, key: TEST_KEY });
const syncer = syncerFor(journalPath!);
// However fast the disk is here.
journal.syncsBy(syncer.cell, 0);
let calls = 0;
const row = new JournalRecord();
row.command.set(new Uint32Array([8, 8]), 0, 8);
for (let sequence = 1; sequence <= Number(count); sequence++) {
  row.sequence = sequence;
  row.timeMs = sequence;
  journal.append(row);
  journal.commit(sequence % 2 === 0 ? () => ++calls > 0 : undefined);
  // The first request has started the thread: those after it are answered.
  if (sequence === 2) while (syncer.cell.isBusy) await setTimeout(1);
  writeSync(1, `committed ${sequence}\n`);
}
writeSync(1, `beside ${calls}\n`);
await syncer.end();
journal.close();

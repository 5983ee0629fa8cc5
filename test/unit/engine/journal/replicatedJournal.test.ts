/** A shard's journal in a cluster has its rows in two places, and the later one decides (REPLICATEDJOURNAL-1). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { ReplicatedJournal } from '../../../../engine/journal/replicatedJournal.ts';
import { FORMATS, newestOf } from '../../../../shared/base/formats.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { Replication } from '../../../../shared/wire/replication.ts';
import { RECORD_VERSION } from '../../../../shared/wire/version.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const RECORD_BYTES = 16;

function recordOf(sequence: number): JournalRecord {
  const records = new RecordBuffer(64);
  const command = records.append(RECORD_BYTES, sequence | (RECORD_VERSION << 16));
  const events = records.append(RECORD_BYTES, sequence | (RECORD_VERSION << 16));
  const record = new JournalRecord();
  record.sequence = sequence;
  record.timeMs = sequence;
  record.command.set(records.words, command, RECORD_BYTES);
  record.events.set(records.words, events, RECORD_BYTES);
  return record;
}

test('a row is on its way to the log before the file has it, and is held when both have it', () => {
  const journalPath = join(temporaryDirectory(), 'journal.db');
  const journal = Journal.open({ journalPath, journalSync: 'full', shard: 0, shards: 1, key: TEST_KEY });
  const replication = new Replication(Replication.create(1));
  replication.setFormats(newestOf(FORMATS));
  const steps: string[] = [];
  let isLogFast = false;
  const outbox = {
    put: ({ sequence }: { readonly sequence: number }) => {
      if (isLogFast) replication.setHeld(0, sequence);
      steps.push(`${sequence} to the log, the file has ${journal.heldSequence}, held ${replicated.heldSequence}`);
    },
    flush: () => true,
  };
  const replicated = new ReplicatedJournal({ shard: 0, journal, replication, outbox });
  for (const sequence of [1, 2]) {
    isLogFast = sequence === 2;
    replicated.append(recordOf(sequence));
    replicated.commit();
    steps.push(`committed ${journal.heldSequence}, held ${replicated.heldSequence}`);
  }
  replicated.close();
  assert.deepEqual(steps, [
    ...['1 to the log, the file has 0, held 0', 'committed 1, held 0'],
    ...['2 to the log, the file has 1, held 1', 'committed 2, held 2'],
  ]);
});

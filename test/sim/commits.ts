/** Commits one row after the other and says so each time: what durable.test.ts traces. Runs as a process of its own. */
import { writeSync } from 'node:fs';
import { Journal } from '../../engine/journal/journal.ts';
import { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { RECORD_VERSION } from '../../shared/wire/version.ts';
import { TEST_KEY } from '../support/journalKey.ts';

const [, , journalPath, count] = process.argv;
const journal = Journal.open({ journalPath: journalPath!, journalSync: 'full', shard: 0, shards: 1, key: TEST_KEY });
const row = new JournalRecord();
row.command.set(new Uint32Array([8, 8 | (RECORD_VERSION << 16)]), 0, 8);
for (let sequence = 1; sequence <= Number(count); sequence++) {
  row.sequence = sequence;
  row.timeMs = sequence;
  journal.append(row);
  journal.commit();
  writeSync(1, `committed ${sequence}\n`);
}
journal.close();

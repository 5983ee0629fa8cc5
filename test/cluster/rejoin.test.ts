/** The journals of a member that comes back, and the log on a real PostgreSQL (engine/replication/rejoin.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejoinJournals } from '../../engine/replication/journals.ts';
import { TEST_SECRET } from '../support/journalKey.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import { journalWith, rowHistory, rowsIn } from '../support/rowHistory.ts';

const COMMON = rowHistory([1, 3, 2], 1000);
const OWN = rowHistory([2, 1, 4], 5000, COMMON);
const OTHERS = rowHistory([3, 5], 7000, COMMON);

test('rows that the log did not take are set aside where it is proved that no one was answered on them', {
  skip,
}, async (t) => {
  const log = await openLog(t, await (await sharedPostgres()).database(), 'a');
  const file = journalWith(OWN);
  const journals = { journalKey: TEST_SECRET, journalPaths: [file.journalPath] };
  const { epoch } = (await log.take(false))!;
  const rows = OTHERS.map((row) => ({ ...row, stream: 0 }));
  assert.ok(await log.append(epoch, 0, rows));
  await assert.rejects(
    rejoinJournals(log, journals, null, 'now'),
    /up to record 6 only, and records up to 13 may have been held/,
  );
  const [line] = await rejoinJournals(log, journals, 'as the test says', 'now');
  assert.match(line!, /records 7 to 13 were on this machine only .* the journal goes on after record 6$/);
  assert.deepEqual(
    rowsIn(file).map(({ sequence }) => sequence),
    COMMON.map(({ sequence }) => sequence),
  );
});

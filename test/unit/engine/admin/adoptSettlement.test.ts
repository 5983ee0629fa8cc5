/** `chain adopt` is for an exchange on one machine; on a chain it is tried in test/chain/older.test.ts. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { adoptSettlement } from '../../../../engine/admin/adoptSettlement.ts';
import { AdminError } from '../../../../engine/admin/directory.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { SettlementFile } from '../../../../engine/settlement/settlementFile.ts';
import { Replication } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('settlement.db of a member of a cluster is not adopted: the log has its missing records', async () => {
  const directory = temporaryDirectory();
  const db = openSettlementDb(join(directory, 'settlement.db'));
  const memory = new Replication(Replication.create(1));
  const { database } = new SettlementFile({ db, memory, nowMs: () => 0 });
  database.close();
  await assert.rejects(adoptSettlement(directory, 'http://127.0.0.1:1'), (error) => {
    assert.ok(error instanceof AdminError);
    assert.match(error.message, /settlement.db: a member of a cluster gets missing records from the log$/);
    return true;
  });
});

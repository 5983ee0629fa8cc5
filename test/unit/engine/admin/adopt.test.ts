/** `journal adopt`: records and snapshots whose key is lost are taken over. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { adopt } from '../../../../engine/admin/adopt.ts';
import { AdminError, listShards, type ShardFile } from '../../../../engine/admin/directory.ts';
import { saveHeads } from '../../../../engine/admin/heads.ts';
import { inspectShard } from '../../../../engine/admin/inspect.ts';
import { isSound } from '../../../../engine/admin/verify.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { JOURNAL_HEADS, openHeads } from '../../../../shared/crypto/journalHeads.ts';
import { MASTER_KEY_FILE, readMasterKey } from '../../../../shared/crypto/masterKey.ts';
import { engineWith } from '../../../support/engine.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';

/** Journals with a snapshot in the middle, whose key and all copies of it are lost. */
function withoutKey(): JournaledShard {
  const shard = new JournaledShard();
  shard.trade(20);
  shard.snapshot();
  shard.trade(10);
  shard.close();
  rmSync(join(shard.file.directory, 'journal.key'));
  return shard;
}

function recovered(file: ShardFile): { sequence: number; netMicro: number } {
  const journal = Journal.open({ ...file, journalSync: 'normal' });
  try {
    const { engine } = recover(journal, file.directory, 0, () => engineWith(journal));
    return { sequence: engine.sequence, netMicro: engine.state.ledger.netMicro[1] };
  } finally {
    journal.close();
  }
}

test('journals without a key are refused until they are adopted, and then go on with their state', async () => {
  const shard = withoutKey();
  const { directory } = shard.file;
  await assert.rejects(listShards(directory), /journal adopt/);
  const { files, lines } = await adopt(directory);
  assert.deepEqual(lines, [`shard 0: records up to ${shard.last} are taken as they are`]);
  const [file] = await listShards(directory);
  assert.ok(isSound(inspectShard(file!)), inspectShard(file!).problem?.text);
  const state = recovered(file!);
  assert.deepEqual(state, { sequence: shard.last, netMicro: shard.rig.engine.state.ledger.netMicro[1] });
  const journal = Journal.open({ ...files[0]!, journalSync: 'normal' });
  const written = shard.rig.journal.rows.length;
  shard.rig.fund(1, 1_000_000);
  for (const row of shard.rig.journal.rows.slice(written)) journal.append(row);
  journal.commit();
  journal.close();
  assert.equal(recovered(file!).netMicro, state.netMicro + 1_000_000);
});

test('a journal that is not whole is not adopted, and nothing is written', async () => {
  const shard = withoutKey();
  const { directory } = shard.file;
  shard.damageRecord(5);
  await assert.rejects(adopt(directory), AdminError);
  await assert.rejects(listShards(directory), /journal adopt/);
});

test('without the master key nothing is checked and nothing adopted', async () => {
  const { directory } = withoutKey().file;
  rmSync(join(directory, MASTER_KEY_FILE));
  await assert.rejects(listShards(directory), /MASTER_KEY: .*set it/);
  await assert.rejects(adopt(directory), /MASTER_KEY: .*set it/);
});

test('control.db keeps its notes about journals whose ends did not change', async () => {
  const shard = withoutKey();
  const { directory } = shard.file;
  const { files } = await adopt(directory);
  const control = new Database(':memory:');
  control.exec('CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT)');
  const masterKey = readMasterKey(join(directory, MASTER_KEY_FILE))!;
  const saved = () =>
    openHeads(
      masterKey,
      control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck().get(JOURNAL_HEADS)!,
    );
  saveHeads(control, files, files);
  assert.equal(saved()[0]!.sequence, shard.last);
  shard.run(`DELETE FROM journal WHERE sequence > ${shard.last - 1}`);
  saveHeads(control, files, []);
  assert.equal(saved()[0]!.sequence, shard.last);
});

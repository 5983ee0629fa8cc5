/**
 * Attack: a program that can write the files of a stopped exchange, but does not have MASTER_KEY, adds a deposit,
 * changes a balance in a snapshot, or takes the newest records away (RULES.md 10.12). It knows
 * every format and every checksum.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { auditShard } from '../../engine/admin/audit.ts';
import { inspectShard } from '../../engine/admin/inspect.ts';
import { reconcile } from '../../engine/admin/reconcile.ts';
import { SnapshotError } from '../../engine/base/snapshotIo.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { Mark } from '../../engine/journal/mark.ts';
import { JournalReader } from '../../engine/journal/reader.ts';
import { ShardKey } from '../../engine/journal/shardKey.ts';
import { recover } from '../../engine/shard/recovery.ts';
import { loadSnapshot, saveSnapshot } from '../../engine/snapshot/snapshot.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { engineWith, MemoryJournal } from '../support/engine.ts';
import { asOldVersion, JournaledShard } from '../support/journaledShard.ts';
import { TEST_KEY } from '../support/journalKey.ts';

const FORGER = await ShardKey.create({ secret: new Uint8Array(32).fill(9), keyedFrom: [1] }, 0);
const STOLEN_MICRO = 5_000_000;

function stopped(): JournaledShard {
  const shard = new JournaledShard();
  shard.trade(40);
  shard.close();
  return shard;
}

/** Appends a deposit that the engine would take, and moves the mark. */
function forgeDeposit({ file, rig }: JournaledShard, key: ShardKey): void {
  const written = rig.journal.rows.length;
  rig.fund(1, STOLEN_MICRO);
  const journal = Journal.open({ ...file, journalSync: 'normal', key });
  for (const row of rig.journal.rows.slice(written)) journal.append(row);
  journal.commit();
  journal.close();
}

function assertNoticed({ file, last }: { file: JournaledShard['file']; last: number }, reason: RegExp): void {
  const { problem } = inspectShard(file);
  assert.match(problem?.text ?? 'ok', reason);
  assert.match(problem?.text ?? 'ok', new RegExp(`sequence ${last + 1}: `));
  assert.throws(() => auditShard(file), reason);
  assert.throws(() => {
    const journal = Journal.open({ ...file, journalSync: 'normal' });
    recover(journal, file.directory, file.shard, () => engineWith(journal));
  }, reason);
}

test('a deposit that somebody without the key adds is refused by verify, audit and start', () => {
  const shard = stopped();
  const { file, last } = shard;
  forgeDeposit(shard, FORGER.unchecked());
  assertNoticed({ file, last }, /not written by this exchange/);
});

test('a record of the old version that somebody without the key adds is refused too', () => {
  const shard = stopped();
  const { file, last } = shard;
  forgeDeposit(shard, FORGER.unchecked());
  asOldVersion({ ...file, key: FORGER }, last + 1);
  assertNoticed({ file, last }, /not written by this exchange/);
});

test('a snapshot that somebody without the key writes is passed over', () => {
  const shard = new JournaledShard();
  shard.trade(40);
  const honest = shard.snapshot();
  shard.trade(20);
  const { engine } = shard.rig.recovered();
  engine.state.ledger.netMicro[1] += STOLEN_MICRO;
  engine.state.rebuild();
  const content = { state: engine.state, nowMs: engine.nowMs, head: shard.head };
  const forged = saveSnapshot(shard.file.directory, 0, content, FORGER);
  shard.close();
  const { state } = engineWith(new MemoryJournal());
  assert.throws(() => loadSnapshot(forged, 0, state, TEST_KEY), SnapshotError);
  const journal = Journal.open({ ...shard.file, journalSync: 'normal' });
  const recovered = recover(journal, shard.file.directory, 0, () => engineWith(journal));
  journal.close();
  assert.equal(recovered.fromSequence, honest.sequence);
  assert.match(recovered.damaged.join(), /its seal is wrong/);
});

test('a journal whose newest records were taken away is refused, though its mark was moved back', () => {
  const shard = stopped();
  const { file } = shard;
  const { lastSequence: last } = new JournalReader(file.journalPath, file.key).facts();
  const known = headAfter(file, last);
  const earlier = headAfter(file, last - 3);
  shard.run(`DELETE FROM journal WHERE sequence > ${last - 3}`);
  const mark = new Mark(shard.markPath, 0);
  mark.advance(earlier);
  mark.advance(earlier);
  mark.close();
  assert.equal(inspectShard(file).problem, null, 'journal and mark agree');
  assert.throws(
    () => Journal.open({ ...file, journalSync: 'normal', knownHead: known }),
    new RegExp(`sequence ${last - 2}: missing, control.db knows of ${last}`),
  );
});

test('a deposit that somebody with the key adds is one that was not ordered', () => {
  const shard = stopped();
  const control = new Database(':memory:');
  control.exec(
    'CREATE TABLE movements (account_index INTEGER, kind INTEGER, amount_micro INTEGER, reference TEXT, status TEXT)',
  );
  const before = reconcile(control, [auditShard(shard.file).accounting], true).length;
  forgeDeposit(shard, TEST_KEY);
  const differences = reconcile(control, [auditShard(shard.file).accounting], true);
  assert.equal(differences.length, before + 1);
  assert.match(differences.at(-1)!, /a deposit of 5000000 micro-USDC of account 1, which was not ordered/);
  control
    .prepare('INSERT INTO movements VALUES (?, ?, ?, ?, ?)')
    .run(2, MOVEMENT.WITHDRAWAL, STOLEN_MICRO, 'gone', 'completed');
  const missing = reconcile(control, [auditShard(shard.file).accounting], true).at(-1)!;
  assert.match(missing, /a withdrawal of 5000000 micro-USDC of account 2, which no journal has/);
});

function headAfter({ journalPath, key }: JournaledShard['file'], sequence: number) {
  const reader = new JournalReader(journalPath, key);
  const head = reader.headBefore(sequence);
  reader.readFrom(head, 1, () => undefined);
  reader.close();
  return head;
}

/** The operator's tools on journals whose rows hold several records each, and on one that began with older rows. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { auditShard } from '../../../../engine/admin/audit.ts';
import { exportHistory } from '../../../../engine/admin/export.ts';
import { inspectShard } from '../../../../engine/admin/inspect.ts';
import { planRepair } from '../../../../engine/admin/plan.ts';
import { carryOut } from '../../../../engine/admin/repair.ts';
import { currentState } from '../../../../engine/admin/replica.ts';
import { isSound } from '../../../../engine/admin/verify.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { Mark } from '../../../../engine/journal/mark.ts';
import { JOURNAL_ROW, JOURNAL_VERSION, JournalHead, type Row } from '../../../../engine/journal/row.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { crc32c } from '../../../../shared/base/crc32c.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { engineWith, stateOf } from '../../../support/engine.ts';
import { asOldVersion, JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const BATCH = 7;
const TIME = '20270115T080000Z';

/** The records that set the markets and accounts up are a batch as well. */
function shardOf(commands: number, batch = BATCH): JournaledShard {
  const shard = new JournaledShard(11, batch);
  shard.trade(commands);
  return shard;
}

/** Starts like the thread of a shard. @returns the last recovered record. */
function starts({ file }: JournaledShard): number {
  const journal = Journal.open({ ...file, journalSync: 'normal', key: TEST_KEY });
  try {
    return recover(journal, file.directory, file.shard, () => engineWith(journal)).engine.sequence;
  } finally {
    journal.close();
  }
}

test('the same records in rows of any number of them have the same history, state and balances', () => {
  const shards = [1, 2, BATCH, 1000].map((batch) => shardOf(60, batch));
  const facts = shards.map((shard) => {
    shard.close();
    const { accounting, differences } = auditShard(shard.file);
    assert.deepEqual(differences, []);
    return {
      records: shard.records(),
      state: stateOf(currentState(shard.file).engine),
      history: [...exportHistory([shard.file], { market: null, from: 10 })].join(''),
      deposited: accounting.deposited,
      findings: { ...inspectShard(shard.file), file: null, mark: null },
    };
  });
  for (const each of facts) assert.deepEqual(each, facts[0]);
});

test('a damaged row is named with its first record, and a repair keeps what is before it', () => {
  const shard = shardOf(60);
  shard.close();
  const records = shard.records();
  shard.damageRecord(24);
  const findings = inspectShard(shard.file);
  assert.match(findings.problem!.text, /sequence 22: checksum mismatch/);
  assert.equal(findings.checkedTo, 21);
  const plan = planRepair(findings);
  assert.match(plan.effects[0]!, new RegExp(`^${shard.last - 21} acknowledged records .* 22 to ${shard.last}$`));
  assert.ok(isSound(carryOut(plan, TIME)));
  assert.equal(starts(shard), 21);
  assert.deepEqual(shard.records(), records.slice(0, 21));
});

test('a repair behind a snapshot keeps whole rows', () => {
  for (const commandsAfter of [30, 60]) {
    const shard = shardOf(60);
    const { sequence } = shard.snapshot();
    shard.trade(commandsAfter);
    shard.close();
    const records = shard.records();
    shard.damageRecord(24);
    const findings = carryOut(planRepair(inspectShard(shard.file)), TIME);
    assert.ok(isSound(findings), findings.problem?.text);
    assert.equal(findings.last, shard.last);
    assert.equal(findings.first, sequence + 1);
    assert.equal(starts(shard), shard.last);
    assert.deepEqual(shard.records(), records.slice(findings.first - 1));
  }
});

test('a trimmed journal begins with the first record of its oldest row, and goes on from its snapshot', () => {
  const shard = shardOf(30);
  const { sequence } = shard.snapshot();
  shard.trade(30);
  const end = shard.last;
  shard.trim(sequence - 1);
  const inside = inspectShard(shard.file);
  assert.ok(isSound(inside));
  assert.ok(inside.first <= sequence && inside.first > sequence - BATCH);
  shard.trim(sequence);
  shard.close();
  const findings = inspectShard(shard.file);
  assert.ok(isSound(findings));
  assert.deepEqual([findings.first, findings.replayedFrom, findings.last], [sequence + 1, sequence, end]);
  assert.equal(starts(shard), end);
});

test('a mark and a snapshot of another history are noticed, though they name a record in the middle of a row', () => {
  const shard = shardOf(60);
  const other = shardOf(40, 1);
  const foreign = other.snapshot();
  assert.ok(foreign.sequence < shard.last && foreign.sequence % BATCH !== 0, 'in the middle of a row');
  copyFileSync(foreign.path, join(shard.file.directory, `snapshot-0-${foreign.sequence}.bin`));
  for (const each of [shard, other]) each.close();
  assert.match(inspectShard(shard.file).snapshots[0]!.damage!, /of another history/);
  assert.equal(starts(shard), shard.last, 'the snapshot is passed over');
  const mark = new Mark(shard.markPath, 0);
  for (let copy = 0; copy < 2; copy++) mark.advance(new JournalHead(foreign.sequence + 1, 1, 1));
  mark.close();
  assert.equal(inspectShard(shard.file).problem?.kind, 'foreign');
});

test('a record that this program would carry out otherwise is told from its neighbours in the row', () => {
  const shard = new JournaledShard(11, BATCH);
  const amounts = [5, 6, 7];
  for (const amount of amounts) shard.rig.fund(1, amount);
  shard.rig.journal.rows.at(-2)!.command.words[8] = 9;
  shard.commit();
  const { problem, checkedTo } = inspectShard(shard.file);
  assert.deepEqual([problem?.kind, checkedTo], ['replay', shard.last - 2]);
});

test('no repair is offered for the row of a later version, which is not damaged', () => {
  const shard = shardOf(60);
  shard.close();
  const db = new Database(shard.file.journalPath);
  const row = db.prepare<[], Row>('SELECT sequence, bytes FROM journal WHERE sequence > 22 LIMIT 1').get()!;
  const later = new RecordBuffer(row.bytes.length);
  later.claim(row.bytes.length, 0);
  later.bytes.set(row.bytes);
  later.words[JOURNAL_ROW.version] = JOURNAL_VERSION + 1;
  later.words[JOURNAL_ROW.crc] = crc32c(later, JOURNAL_ROW.version * 4, row.bytes.length);
  db.prepare('UPDATE journal SET bytes = ? WHERE sequence = ?').run(
    later.bytes.slice(0, row.bytes.length),
    row.sequence,
  );
  db.close();
  const findings = inspectShard(shard.file);
  assert.match(findings.problem!.text, /layout version 4$/);
  assert.match(planRepair(findings).hopeless ?? '', /use the version of this program that wrote it/);
});

test('rows of an older version and rows of several records are one journal for every tool', () => {
  const shard = shardOf(40, 1);
  const old = shard.last;
  shard.close();
  asOldVersion(shard.file, 1);
  const { rig } = shard;
  const written = rig.journal.rows.length;
  for (let amount = 1; amount <= 10; amount++) rig.fund(1, amount);
  const journal = Journal.open({ ...shard.file, journalSync: 'normal' });
  for (const record of rig.journal.rows.slice(written)) journal.append(record);
  journal.commit();
  journal.close();
  const findings = inspectShard(shard.file);
  assert.ok(isSound(findings), findings.problem?.text);
  assert.equal(findings.checkedTo, old + 10);
  assert.deepEqual(auditShard(shard.file).differences, []);
  assert.equal(starts(shard), old + 10);
  const records = shard.records();
  shard.damageRecord(old + 3);
  assert.ok(isSound(carryOut(planRepair(inspectShard(shard.file)), TIME)));
  assert.equal(starts(shard), old);
  assert.deepEqual(shard.records(), records.slice(0, old));
});

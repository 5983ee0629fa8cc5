/** RULES: the rules in force are part of the journal, and a record is written as their version has it (rules.ts). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CHANGES, NEWEST_RULES, RULES_BEFORE } from '../../../../engine/core/rules.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import type { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { JournalHead, NewerRowError } from '../../../../engine/journal/row.ts';
import { loadSnapshot, saveSnapshot } from '../../../../engine/snapshot/snapshot.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { decodeCommand } from '../../../../shared/wire/commands.ts';
import { FIRST_VERSION, RECORD_VERSION, recordVersionOf } from '../../../../shared/wire/version.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { engineWith, MemoryJournal, stateOf } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { appendRecord, journalOptions, replayed } from '../../../support/journalFiles.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

function trade(rig: EngineRig): void {
  rig.place({ account: 1, side: SIDE.BUY, ticks: 30 });
  const { hash } = rig.place({ account: 2, side: SIDE.BUY, outcome: OUTCOME.NO, ticks: 60 });
  rig.cancel(2, hash);
}

function started(): EngineRig {
  const rig = new EngineRig();
  rig.market(0);
  for (const account of [1, 2]) rig.fund(account, 1_000_000_000_000);
  trade(rig);
  return rig;
}

const nameOf = ({ command }: JournalRecord): string => decodeCommand(command.words, command.word).name;

/** The versions of the records that a journal holds, each once, in their order. */
function versionsIn(journal: MemoryJournal): number[] {
  return [...new Set(journal.rows.map(({ version }) => version))];
}

/** A shard that starts again with the program of today in its middle. */
function switched(): { x: EngineRig; before: number } {
  const rig = started();
  const before = rig.journal.rows.length;
  const x = rig.recovered({ rules: NEWEST_RULES });
  trade(x);
  return { x, before };
}

test('RULES-1: rules come into force right before the next command, once, and never with a start alone', () => {
  const { x, before } = switched();
  const names = x.journal.rows.map(nameOf);
  assert.deepEqual([names[before], names.indexOf('RULES'), names.lastIndexOf('RULES')], ['RULES', before, before]);
  assert.equal(x.engine.state.rules, NEWEST_RULES);
  for (const rules of [RULES_BEFORE, NEWEST_RULES]) {
    const later = x.recovered({ rules });
    trade(later);
    assert.equal(later.engine.state.rules, NEWEST_RULES, 'a member of an older version does not take them back');
    assert.equal(later.journal.rows.map(nameOf).lastIndexOf('RULES'), before);
  }
  const idle = started().recovered({ rules: NEWEST_RULES });
  assert.deepEqual([idle.journal.rows.length, idle.engine.state.rules], [before, RULES_BEFORE]);
});

test('RULES-2: a record is written in the version of its rules, that of the switch in the new one', () => {
  const { x, before } = switched();
  assert.deepEqual(versionsIn(x.journal), [FIRST_VERSION, RECORD_VERSION]);
  assert.equal(x.journal.rows[before]!.version, RECORD_VERSION);
  assert.deepEqual([recordVersionOf(RULES_BEFORE), recordVersionOf(NEWEST_RULES)], [FIRST_VERSION, RECORD_VERSION]);
});

test('a replay, and a snapshot on each side of the switch, have the rules that were in force', () => {
  const { x, before } = switched();
  assert.ok(x.replayed().state.rules === NEWEST_RULES && stateOf(x.replayed()).equals(stateOf(x.engine)));
  const part = new MemoryJournal();
  part.rows.push(...x.journal.rows.slice(0, before));
  for (const journal of [part, x.journal]) {
    const replay = engineWith(new MemoryJournal());
    for (const row of journal.rows) replay.replay(row);
    const head = new JournalHead(journal.rows.length, 1, 2);
    const directory = temporaryDirectory();
    const file = saveSnapshot(directory, 0, { head, nowMs: x.nowMs, state: replay.state }, TEST_KEY);
    const loaded = engineWith(new MemoryJournal());
    loadSnapshot(file, 0, loaded.state, TEST_KEY);
    assert.equal(loaded.state.rules, journal === part ? RULES_BEFORE : NEWEST_RULES);
    loaded.resumeAt(head.sequence, x.nowMs);
    for (const row of x.journal.rows.slice(head.sequence)) loaded.replay(row);
    assert.ok(stateOf(loaded).equals(stateOf(x.engine)));
  }
});

test('a journal file has each record in its own version, and a replay of it finds all of them in that of today', () => {
  const { x } = switched();
  const opened = journalOptions();
  const journal = Journal.open(opened);
  for (const row of x.journal.rows) journal.append(row);
  journal.commit();
  const engine = engineWith(new MemoryJournal());
  const versions: number[] = [];
  journal.replay(new JournalHead(0, 0, 0), (record) => {
    versions.push(record.version);
    engine.replay(record);
  });
  journal.close();
  assert.ok(stateOf(engine).equals(stateOf(x.engine)));
  assert.deepEqual([...new Set(versions)], [FIRST_VERSION, RECORD_VERSION]);
});

test('the table of changes names rules that there are, and versions that this program knows', () => {
  const rules = readFileSync(new URL('../../../../shared/RULES.md', import.meta.url), 'utf8');
  for (const { since, rule, mark } of Object.values(CHANGES)) {
    assert.ok(rules.includes(`- [${rule}](`) && since <= NEWEST_RULES, rule);
    assert.equal(mark === null, since > RULES_BEFORE, `${rule}: the rules in force decide from their first version on`);
  }
});

test('a record of a later version stops the reader in words, and a damage it is not', () => {
  const opened = journalOptions();
  const journal = Journal.open(opened);
  appendRecord(journal, 1);
  const row = new MemoryJournal();
  const { x } = switched();
  row.append(x.journal.rows.at(-1)!);
  const [record] = row.rows;
  record!.sequence = 2;
  record!.command.words[record!.command.word + 1]! += 1 << 16;
  journal.append(record!);
  journal.commit();
  assert.throws(
    () => replayed(journal),
    (error: Error) => {
      const said = `records of version ${RECORD_VERSION + 1}, and this program reads ${RECORD_VERSION} at most`;
      return error instanceof NewerRowError && error.message.includes(`sequence 2: ${said}`);
    },
  );
  journal.close();
});

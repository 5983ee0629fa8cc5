/** Reading a journal beside its writer: whole rows, in portions, from a head that may be remembered. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { appendRecord, journalOf, journalOptions, tamper } from '../../../support/journalFiles.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

describe('a journal reader', () => {
  const start = () => new JournalHead(0, 0, 0);

  it('ends a read with the whole row of the last record it was asked for', () => {
    const reader = new JournalReader(journalOf(8, 3).journalPath, TEST_KEY);
    const head = start();
    const seen: number[] = [];
    const read = (limit: number) => reader.readFrom(head, limit, ({ sequence }) => seen.push(sequence));
    assert.deepEqual([read(1), read(4), read(4)], [3, 5, 0]);
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
    const copied = start();
    assert.deepEqual(
      reader.copiesFrom(copied, 4).map(({ sequence }) => sequence),
      [3, 6],
    );
    reader.close();
  });

  it('finds the row of a record, and the heads before and after it', () => {
    const opened = journalOf(8, 3);
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    const head = start();
    reader.readFrom(head, 6, () => {});
    assert.deepEqual(
      [4, 5, 6, 7].map((sequence) => reader.startOfRow(sequence)),
      [4, 4, 4, 7],
    );
    assert.deepEqual(reader.headAfter(6), head);
    assert.deepEqual(reader.headBefore(7), head);
    assert.equal(reader.continues(head), true);
    assert.throws(() => reader.headAfter(5), /sequence 5: no row ends with it/);
    assert.throws(() => reader.headBefore(5), /sequence 5: no row begins with it/);
    const inside = new JournalHead(5, head.chainLow, head.chainHigh);
    assert.equal(reader.continues(inside), false);
    assert.throws(() => reader.readFrom(inside, 1, () => {}), /sequence 6: in the middle of the row of 4 to 6/);
    reader.close();
    const journal = Journal.open(opened);
    journal.trim(6);
    journal.close();
    const trimmed = new JournalReader(opened.journalPath, TEST_KEY);
    assert.equal(trimmed.facts().firstSequence, 7);
    assert.equal(trimmed.continues(head), true);
    trimmed.close();
  });

  it('reads beside the writer, in portions, what is committed', () => {
    const opened = journalOptions();
    const journal = Journal.open(opened);
    for (const sequence of [1, 2, 3]) {
      appendRecord(journal, sequence);
      journal.commit();
    }
    appendRecord(journal, 4);
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    const head = start();
    const seen: number[] = [];
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      2,
    );
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      1,
    );
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      0,
    );
    journal.commit();
    assert.equal(
      reader.readFrom(head, 2, ({ sequence }) => seen.push(sequence)),
      1,
    );
    assert.deepEqual(seen, [1, 2, 3, 4]);
    reader.close();
    journal.close();
  });

  it('goes on from a remembered head, and knows when the journal is not the one it remembers', () => {
    const opened = journalOf(3);
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    const head = start();
    reader.readFrom(head, 2, () => {});
    assert.equal(reader.continues(start()), true);
    assert.equal(reader.continues(head), true);
    assert.equal(reader.continues(new JournalHead(2, head.chainLow, head.chainHigh ^ 1)), false);
    assert.equal(reader.continues(new JournalHead(4, head.chainLow, head.chainHigh)), false);
    reader.close();
  });

  it('names a gap behind its head', () => {
    const opened = journalOf(3);
    tamper(opened, 'DELETE FROM journal WHERE sequence = 2');
    const reader = new JournalReader(opened.journalPath, TEST_KEY);
    assert.throws(() => reader.readFrom(start(), 10, () => {}), /sequence 2: missing/);
    reader.close();
  });

  it('does not create a journal that is not there', () => {
    assert.throws(() => new JournalReader(join(temporaryDirectory(), 'absent.db'), TEST_KEY), /unable to open/);
  });
});

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CHECKPOINT, CheckpointCell } from '../../../../engine/journal/checkpointCell.ts';
import { Checkpointer, copy, keepCheckpointed } from '../../../../engine/journal/checkpointer.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { RECORD_VERSION } from '../../../../shared/wire/version.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const folder = temporaryDirectory();

const MEBIBYTE = 1 << 20;
const ROW_BYTES = 64 * 1024;
const ROWS_PER_MEBIBYTE = MEBIBYTE / ROW_BYTES;

let files = 0;

/** A journal whose rows are large, so that a few make a checkpoint due. */
class Writer {
  readonly path = join(folder, `journal-${files++}.db`);
  readonly journal = Journal.open({
    journalPath: this.path,
    journalSync: 'normal',
    shard: 0,
    shards: 1,
    key: TEST_KEY,
  });
  readonly #records = new RecordBuffer(ROW_BYTES);

  constructor() {
    for (let i = 0; i < 2; i++) this.#records.append(ROW_BYTES / 2, 7 | (RECORD_VERSION << 16));
  }

  /** A commit a row. */
  write(mebibytes: number): void {
    for (let row = 0; row < mebibytes * ROWS_PER_MEBIBYTE; row++) this.writeRow();
  }

  writeRow(): void {
    const { words } = this.#records;
    const row = new JournalRecord();
    row.sequence = this.journal.lastSequence + 1;
    row.timeMs = 1;
    row.command.set(words, 0, ROW_BYTES / 2);
    row.events.set(words, ROW_BYTES / 8, ROW_BYTES / 2);
    this.journal.append(row);
    this.journal.commit();
  }

  get walBytes(): number {
    return statSync(`${this.path}-wal`).size;
  }

  /** Bytes that are in the file itself. */
  get copiedBytes(): number {
    return statSync(this.path).size;
  }
}

describe('a journal with a checkpointer', () => {
  it('asks for a checkpoint after a few MiB and makes none itself', () => {
    const writer = new Writer();
    const cell = new CheckpointCell();
    writer.journal.checkpointsBy(cell);
    const before = writer.copiedBytes;
    writer.write(3);
    assert.equal(cell.state, CHECKPOINT.IDLE);
    writer.write(30);
    assert.equal(cell.state, CHECKPOINT.DUE);
    assert.equal(writer.copiedBytes, before);
    writer.journal.close();
  });

  it('copies the rest on request, and its next batch begins the WAL anew', () => {
    const writer = new Writer();
    const cell = new CheckpointCell();
    writer.journal.checkpointsBy(cell);
    writer.write(20);
    assert.equal(cell.state, CHECKPOINT.DUE);
    cell.finish(true);
    writer.writeRow();
    const { walBytes } = writer;
    assert.equal(cell.state, CHECKPOINT.IDLE);
    writer.write(19);
    assert.equal(writer.walBytes, walBytes, 'the old room is used again');
    assert.ok(writer.copiedBytes >= 20 * MEBIBYTE);
    writer.journal.close();
  });

  it('has a WAL of bounded size, however much is written without a pause, and keeps every row', async () => {
    const writer = new Writer();
    const checkpointer = new Checkpointer(writer.path);
    writer.journal.checkpointsBy(checkpointer.cell);
    writer.write(150);
    const { walBytes } = writer;
    await checkpointer.end();
    assert.ok(walBytes < 140 * MEBIBYTE, `${walBytes} bytes`);
    let rows = 0;
    writer.journal.replay(new JournalHead(0, 0, 0), () => rows++);
    assert.equal(rows, 150 * ROWS_PER_MEBIBYTE);
    writer.journal.close();
  });

  it('checkpoints itself when nobody answers its requests', () => {
    const writer = new Writer();
    writer.journal.checkpointsBy(new CheckpointCell());
    writer.write(150);
    assert.ok(writer.walBytes < 140 * MEBIBYTE, `${writer.walBytes} bytes`);
    writer.journal.close();
  });

  it('refuses everything once a checkpoint failed', () => {
    const writer = new Writer();
    const cell = new CheckpointCell();
    writer.journal.checkpointsBy(cell);
    writer.write(5);
    cell.fail('disk I/O error');
    assert.throws(() => writer.writeRow(), /its checkpoint failed: disk I\/O error/);
    assert.throws(() => writer.writeRow(), /JOURNAL-3/);
    assert.throws(() => writer.journal.commit(), /JOURNAL-3/);
    writer.journal.close();
  });

  it('notices a failed checkpoint even while nothing is written', () => {
    const writer = new Writer();
    const cell = new CheckpointCell();
    writer.journal.checkpointsBy(cell);
    writer.write(5);
    cell.fail('disk I/O error');
    assert.throws(() => writer.journal.idle(), /its checkpoint failed/);
    writer.journal.close();
  });
});

describe('a journal without a checkpointer', () => {
  it('checkpoints between two batches and keeps its WAL short', () => {
    const writer = new Writer();
    writer.write(100);
    assert.ok(writer.walBytes < 20 * MEBIBYTE, `${writer.walBytes} bytes`);
    writer.journal.close();
  });
});

describe('a checkpointer', () => {
  it('copies what was committed into the file and goes back to sleep', async () => {
    const writer = new Writer();
    const checkpointer = new Checkpointer(writer.path);
    writer.write(5);
    checkpointer.cell.request();
    await eventually('the copy', async () => checkpointer.cell.state === CHECKPOINT.IDLE);
    assert.ok(writer.copiedBytes >= 5 * MEBIBYTE);
    await checkpointer.end();
    writer.journal.close();
  });

  it('leaves the end of a long WAL to the writer', async () => {
    const writer = new Writer();
    const cell = new CheckpointCell();
    writer.journal.checkpointsBy(cell);
    writer.write(40);
    const checkpointer = new Checkpointer(writer.path);
    checkpointer.cell.request();
    await eventually('the copy', async () => checkpointer.cell.state === CHECKPOINT.RESTART_DUE);
    await checkpointer.end();
    writer.journal.close();
  });

  it('has nothing to do while the writer makes a checkpoint itself', () => {
    const prepare = (() => ({ get: () => ({ busy: 1, log: -1, checkpointed: -1 }) })) as never;
    assert.equal(copy({ name: 'journal-0.db', prepare }), false);
  });

  it('ends on request, whether it works or sleeps', async () => {
    const writer = new Writer();
    for (const isBusy of [false, true]) {
      const checkpointer = new Checkpointer(writer.path);
      if (isBusy) checkpointer.cell.request();
      await checkpointer.end();
      assert.equal(checkpointer.cell.state, CHECKPOINT.ENDED);
      await checkpointer.end();
    }
    writer.journal.close();
  });

  it('CHECKPOINT-1: shares its cell with a writer that leaves only its own states', () => {
    const cell = new CheckpointCell();
    cell.request();
    assert.throws(() => cell.request(), /CHECKPOINT-1/, 'DUE is left by the checkpointer');
    assert.throws(() => cell.restarted(), /CHECKPOINT-1/);
    cell.finish(true);
    cell.restarted();
    assert.equal(cell.state, CHECKPOINT.IDLE);
    assert.throws(() => cell.finish(false), /CHECKPOINT-1/, 'IDLE is left by the writer');
    assert.throws(() => cell.failure, /CHECKPOINT-2/, 'there is no failure to read');
    cell.request();
    cell.end();
    cell.finish(false);
    assert.equal(cell.state, CHECKPOINT.ENDED, 'an end stays');
  });

  it('says why it failed and works no more', async () => {
    const journalPath = join(folder, 'no-database.db');
    const cell = new CheckpointCell();
    cell.request();
    await keepCheckpointed({ journalPath, cell: cell.buffer });
    assert.equal(cell.state, CHECKPOINT.FAILED);
    assert.match(cell.failure, /unable to open database file/);
  });
});

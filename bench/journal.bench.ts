/**
 * What does a durable record cost? The real journal on the real file system, rows of a placed order, by how many rows
 * share a commit, and beside it what the disk itself takes for one write and sync.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal } from '../engine/journal.ts';
import { COMMAND, COMMAND_BYTES, COMMAND_VERSION } from '../shared/commands.ts';
import { EVENT, EVENT_BYTES, EVENT_VERSION } from '../shared/events.ts';
import { RecordBuffer } from '../shared/record.ts';
import type { JournalSync } from '../shared/threads.ts';
import { Histogram } from './histogram.ts';
import { type Report, type Row, STOLEN, StealMeter } from './report.ts';

const BATCHES = [1, 10, 100, 1000];
const SYNCS: readonly JournalSync[] = ['full', 'normal'];
const SECONDS_EACH = 1;
const RAW_WRITES = 2000;
const NOW_MS = 1_800_000_000_000;
/** What a resting order writes behind its command. */
const ROW_EVENTS = [EVENT.ORDER, EVENT.REST, EVENT.ACCOUNT];

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  try {
    const rows: Row[] = [];
    for (const sync of SYNCS) for (const batch of BATCHES) rows.push(measure(directory, sync, batch));
    rows.push(measureRaw(directory));
    const settings = `SQLite WAL, ${rowBytes()} B of records a row, ${SECONDS_EACH} s each`;
    return { bench: 'journal', settings, rows, goals: [] };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function measure(directory: string, journalSync: JournalSync, batch: number): Row {
  const journalPath = join(directory, `${journalSync}-${batch}.db`);
  const journal = Journal.open({ journalPath, journalSync, shard: 0, shards: 1 });
  const command = record(COMMAND.PLACE | (COMMAND_VERSION << 16), COMMAND_BYTES[COMMAND.PLACE]);
  const events = new RecordBuffer(1024);
  for (const type of ROW_EVENTS) events.append(EVENT_BYTES[type], type | (EVENT_VERSION << 16));
  const commits = new Histogram();
  const steal = new StealMeter();
  const start = performance.now();
  const end = start + SECONDS_EACH * 1000;
  let sequence = 0;
  let now = start;
  while (now < end) {
    for (let row = 0; row < batch; row++) {
      sequence++;
      journal.append(sequence, NOW_MS, command.words, 0, command.lengthBytes, events.words, 0, events.lengthBytes);
    }
    const before = performance.now();
    journal.commit();
    now = performance.now();
    commits.record((now - before) * 1e6);
  }
  const seconds = (now - start) / 1000;
  journal.close();
  return {
    'rows a commit': `${journalSync}, ${batch}`,
    'rows/s': sequence / seconds,
    'commit p50 us': commits.quantileUs(0.5),
    'commit p99 us': commits.quantileUs(0.99),
    'commit max us': commits.maxNs / 1000,
    [STOLEN]: steal.percent(),
  };
}

/** The floor under a commit of one row: the same bytes appended to a plain file and synced. */
function measureRaw(directory: string): Row {
  const file = openSync(join(directory, 'raw'), 'w');
  const bytes = Buffer.alloc(rowBytes());
  const syncs = new Histogram();
  const steal = new StealMeter();
  const start = performance.now();
  for (let index = 0; index < RAW_WRITES; index++) {
    const before = performance.now();
    writeSync(file, bytes);
    fdatasyncSync(file);
    syncs.record((performance.now() - before) * 1e6);
  }
  const seconds = (performance.now() - start) / 1000;
  closeSync(file);
  return {
    'rows a commit': 'plain file, fdatasync, 1',
    'rows/s': RAW_WRITES / seconds,
    'commit p50 us': syncs.quantileUs(0.5),
    'commit p99 us': syncs.quantileUs(0.99),
    'commit max us': syncs.maxNs / 1000,
    [STOLEN]: steal.percent(),
  };
}

function record(typeAndVersion: number, lengthBytes: number): RecordBuffer {
  const buffer = new RecordBuffer(lengthBytes);
  buffer.append(lengthBytes, typeAndVersion);
  return buffer;
}

function rowBytes(): number {
  return ROW_EVENTS.reduce((sum, type) => sum + EVENT_BYTES[type], COMMAND_BYTES[COMMAND.PLACE]);
}

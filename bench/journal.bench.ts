/**
 * What does a durable record cost? The real journal on the real file system, rows of a placed order, by how many rows
 * share a commit, with the checkpoints of a busy shard going on, and beside it what the disk itself takes for one write
 * and sync. The last two rows measure commits of a shard that makes its own checkpoints.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Checkpointer } from '../engine/journal/checkpointer.ts';
import { Journal } from '../engine/journal/journal.ts';
import { RecordView } from '../engine/journal/recordView.ts';
import { COMMAND, COMMAND_VERSION } from '../shared/wire/commands.ts';
import { EVENT, EVENT_BYTES, EVENT_VERSION } from '../shared/wire/events.ts';
import { RecordBuffer } from '../shared/wire/record.ts';
import type { JournalSync } from '../shared/wire/threads.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { Histogram } from './histogram.ts';
import { atLeast, atMost, type Plot, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const BATCHES = [1, 10, 100, 1000];
const SYNCS: readonly JournalSync[] = ['full', 'normal'];
const SECONDS_EACH = 1.5;
/** Most commits have one row, so their tail is measured longest; a busy shard commits about ten rows at a time. */
const SECONDS_TAIL = 4;
const TAIL_BATCH = 10;
const RAW_WRITES = 2000;
const NOW_MS = 1_800_000_000_000;
/** The events that a resting order writes after its command. */
const ROW_EVENTS = [EVENT.ORDER.TYPE, EVENT.REST.TYPE, EVENT.ACCOUNT.TYPE];

const LEAST_ROWS = 200_000;
const MOST_SLOW_COMMIT_US = 2000;
const LARGE_BATCH = 100;

type Measured = {
  readonly name: string;
  readonly rowsPerSecond: number;
  readonly commits: Histogram;
  readonly walMegabytes: number | string;
  readonly stolen: number | string;
};

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  try {
    const measured: Measured[] = [];
    for (const sync of SYNCS) {
      for (const batch of BATCHES) measured.push(await measure(directory, sync, batch, SECONDS_EACH, true));
    }
    const tail = await measure(directory, 'full', TAIL_BATCH, SECONDS_TAIL, true);
    const alone = await measure(directory, 'full', TAIL_BATCH, SECONDS_TAIL, false);
    const raw = measureRaw(directory);
    return describe(measured, tail, alone, raw);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function describe(measured: readonly Measured[], tail: Measured, alone: Measured, raw: Measured): Report {
  const large = measured.find(({ name }) => name === nameOf('full', LARGE_BATCH))!;
  const plots: Plot[] = [
    { title: 'A durable commit (FULL) by rows that share it', curves: curvesOf([...measured.slice(0, 4), raw]) },
    { title: 'Checkpoints beside the shard and inside it', curves: curvesOf([tail, alone]) },
  ];
  return {
    bench: 'journal',
    settings:
      `SQLite WAL, ${rowBytes()} B of records a row, ${SECONDS_EACH} s each and ${SECONDS_TAIL} s for the tails; ` +
      'the time of a commit includes that of its checkpoint, if it has one',
    rows: [...measured, tail, alone, raw].map(toRow),
    goals: [
      atLeast(`rows/s at ${LARGE_BATCH} rows a durable commit`, large.rowsPerSecond, LEAST_ROWS),
      atMost('durable commit while checkpoints go on: p99.9 us', tail.commits.quantileUs(0.999), MOST_SLOW_COMMIT_US),
    ],
    plots,
  };
}

function toRow({ name, rowsPerSecond, commits, walMegabytes, stolen }: Measured): Row {
  return {
    'rows a commit': name,
    'rows/s': rowsPerSecond,
    'commit p50 us': commits.quantileUs(0.5),
    'p99 us': commits.quantileUs(0.99),
    'p99.9 us': commits.quantileUs(0.999),
    'max us': commits.maxNs / 1000,
    'WAL MB': walMegabytes,
    [STOLEN]: stolen,
  };
}

function curvesOf(measured: readonly Measured[]): Plot['curves'] {
  return measured.map(({ name, commits }) => ({ name, points: commits.curve() }));
}

function nameOf(sync: JournalSync, batch: number): string {
  return `${sync}, ${batch}`;
}

/** @param isHelped checkpoints are made by another thread, as in a shard; otherwise by the writer itself. */
async function measure(
  directory: string,
  journalSync: JournalSync,
  batch: number,
  seconds: number,
  isHelped: boolean,
): Promise<Measured> {
  const journalPath = join(directory, `${performance.now()}.db`);
  const journal = Journal.open({ journalPath, journalSync, shard: 0, shards: 1, key: TEST_KEY });
  const checkpointer = isHelped ? new Checkpointer(journalPath) : null;
  if (checkpointer !== null) journal.checkpointsBy(checkpointer.cell);
  const command = record(COMMAND.PLACE.TYPE | (COMMAND_VERSION << 16), COMMAND.PLACE.BYTES);
  const events = new RecordBuffer(1024);
  for (const type of ROW_EVENTS) events.append(EVENT_BYTES[type], type | (EVENT_VERSION << 16));
  const row = new RecordView();
  row.timeMs = NOW_MS;
  row.command.set(command.words, 0, command.lengthBytes);
  row.events.set(events.words, 0, events.lengthBytes);
  const append = (sequence: number): void => {
    row.sequence = sequence;
    journal.append(row);
  };

  const commits = new Histogram();
  const steal = new StealMeter();
  const start = performance.now();
  const end = start + seconds * 1000;
  let sequence = 0;
  let now = start;
  while (now < end) {
    // The last part of a checkpoint would run in the first row of a batch.
    const beforeFirst = performance.now();
    append(++sequence);
    const first = performance.now();
    for (let row = 1; row < batch; row++) append(++sequence);
    const before = performance.now();
    journal.commit();
    now = performance.now();
    commits.record((first - beforeFirst + now - before) * 1e6);
  }
  const rowsPerSecond = sequence / ((now - start) / 1000);
  const stolen = steal.percent();
  const walMegabytes = Math.round(statSync(`${journalPath}-wal`).size / 1e5) / 10;
  await checkpointer?.end();
  journal.close();
  rmSync(journalPath);
  const isTail = seconds === SECONDS_TAIL;
  const suffix = isTail ? `, ${isHelped ? 'checkpoints beside it' : 'checkpoints inside'}` : '';
  return { name: nameOf(journalSync, batch) + suffix, rowsPerSecond, commits, walMegabytes, stolen };
}

/** The lower bound of a commit of one row: the same bytes appended to a plain file and synced. */
function measureRaw(directory: string): Measured {
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
    name: 'plain file, fdatasync, 1',
    rowsPerSecond: RAW_WRITES / seconds,
    commits: syncs,
    walMegabytes: '',
    stolen: steal.percent(),
  };
}

function record(typeAndVersion: number, lengthBytes: number): RecordBuffer {
  const buffer = new RecordBuffer(lengthBytes);
  buffer.append(lengthBytes, typeAndVersion);
  return buffer;
}

function rowBytes(): number {
  return ROW_EVENTS.reduce((sum, type) => sum + EVENT_BYTES[type], COMMAND.PLACE.BYTES);
}

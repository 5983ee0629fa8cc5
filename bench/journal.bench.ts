/**
 * What does a durable record cost? The real journal on the real file system writes records of placed orders, by the
 * number of records that share a commit, with the checkpoints of a busy shard. Beside it: the time that the disk itself
 * takes for one write and sync. One of the tails measures commits of a shard that makes its own checkpoints.
 *
 * The last rows are the processor time of a record in the batches of a busy shard: in a row per batch and, alternating,
 * in a row per record as in an earlier layout (rowPerRecord.ts).
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Checkpointer } from '../engine/journal/checkpointer.ts';
import { Journal } from '../engine/journal/journal.ts';
import { JournalRecord } from '../engine/journal/journalRecord.ts';
import { COMMAND, COMMAND_VERSION } from '../shared/wire/commands.ts';
import { EVENT, EVENT_BYTES, EVENT_VERSION } from '../shared/wire/events.ts';
import { RecordBuffer } from '../shared/wire/record.ts';
import type { JournalSync } from '../shared/wire/threads.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { Histogram } from './histogram.ts';
import { atLeast, atMost, type Plot, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { RowPerRecord } from './rowPerRecord.ts';

const BATCHES = [1, 10, 100, 1000];
const SYNCS: readonly JournalSync[] = ['full', 'normal'];
const SECONDS_EACH = 1.5;
/** Most commits have one record, so their tail is measured longest; a busy shard commits ten and more at a time. */
const SECONDS_TAIL = 4;
const TAIL_BATCH = 10;
const RAW_WRITES = 2000;
const BUSY_BATCH = 24;
const TURNS = 15;
const BATCHES_OF_TURN = 150;
const NOW_MS = 1_800_000_000_000;
/** The events that a resting order writes after its command. */
const RECORD_EVENTS = [EVENT.ORDER.TYPE, EVENT.REST.TYPE, EVENT.ACCOUNT.TYPE];

const LEAST_RECORDS = 200_000;
const MOST_RECORD_SHARE = 0.7;
const MOST_SLOW_COMMIT_US = 2000;
const LARGE_BATCH = 100;

type Measured = {
  readonly name: string;
  readonly recordsPerSecond: number;
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
    return describe(measured, tail, alone, raw, compareLayouts(directory));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function describe(
  measured: readonly Measured[],
  tail: Measured,
  alone: Measured,
  raw: Measured,
  layouts: Layouts,
): Report {
  const large = measured.find(({ name }) => name === nameOf('full', LARGE_BATCH))!;
  const plots: Plot[] = [
    { title: 'A durable commit (FULL) by records that share it', curves: curvesOf([...measured.slice(0, 4), raw]) },
    { title: 'Checkpoints beside the shard and inside it', curves: curvesOf([tail, alone]) },
  ];
  return {
    bench: 'journal',
    settings:
      `SQLite WAL, ${recordBytes()} B a record, ${SECONDS_EACH} s each and ${SECONDS_TAIL} s for the tails; ` +
      'the time of a commit includes the writing of its row and its checkpoint, if it has one',
    rows: [...[...measured, tail, alone, raw].map(toRow), ...layouts.rows],
    goals: [
      atLeast(`records/s at ${LARGE_BATCH} records a durable commit`, large.recordsPerSecond, LEAST_RECORDS),
      atMost('processor time in a row of the batch / in a row of its own', layouts.ratio, MOST_RECORD_SHARE),
      atMost('durable commit while checkpoints go on: p99.9 us', tail.commits.quantileUs(0.999), MOST_SLOW_COMMIT_US),
    ],
    plots,
  };
}

function toRow({ name, recordsPerSecond, commits, walMegabytes, stolen }: Measured): Row {
  return {
    'records a commit': name,
    'records/s': recordsPerSecond,
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

/** @param isHelped true: another thread makes checkpoints, as in a shard; false: the writer itself does. */
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
  const placed = placedOrder();
  const append = (sequence: number): void => {
    placed.sequence = sequence;
    journal.append(placed);
  };

  const commits = new Histogram();
  const steal = new StealMeter();
  const start = performance.now();
  const end = start + seconds * 1000;
  let sequence = 0;
  let now = start;
  while (now < end) {
    // The last part of a checkpoint would run at the first record of a batch.
    const beforeFirst = performance.now();
    append(++sequence);
    const first = performance.now();
    for (let record = 1; record < batch; record++) append(++sequence);
    const before = performance.now();
    journal.commit();
    now = performance.now();
    commits.record((first - beforeFirst + now - before) * 1e6);
  }
  const recordsPerSecond = sequence / ((now - start) / 1000);
  const stolen = steal.percent();
  const walMegabytes = Math.round(statSync(`${journalPath}-wal`).size / 1e5) / 10;
  await checkpointer?.end();
  journal.close();
  rmSync(journalPath);
  const isTail = seconds === SECONDS_TAIL;
  const suffix = isTail ? `, ${isHelped ? 'checkpoints beside it' : 'checkpoints inside'}` : '';
  return { name: nameOf(journalSync, batch) + suffix, recordsPerSecond, commits, walMegabytes, stolen };
}

/** The lower bound of a commit of one record: the same bytes appended to a plain file and synced. */
function measureRaw(directory: string): Measured {
  const file = openSync(join(directory, 'raw'), 'w');
  const bytes = Buffer.alloc(recordBytes());
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
    recordsPerSecond: RAW_WRITES / seconds,
    commits: syncs,
    walMegabytes: '',
    stolen: steal.percent(),
  };
}

type Layouts = { readonly rows: readonly Row[]; readonly ratio: number };

/** Alternates both layouts, without the syncs, whose processor time belongs to the disk and not to the layout. */
function compareLayouts(directory: string): Layouts {
  const paths = ['batch', 'record'].map((name) => join(directory, `layout-${name}.db`)) as [string, string];
  const journal = Journal.open({ journalPath: paths[0], journalSync: 'normal', shard: 0, shards: 1, key: TEST_KEY });
  const peer = new RowPerRecord(paths[1]);
  const steal = new StealMeter();
  const [ours, peers]: [number[], number[]] = [[], []];
  const placed = placedOrder();
  let sequence = 0;
  const turn = (target: Pick<Journal, 'append' | 'commit'>, from: number): number => {
    const before = process.cpuUsage();
    placed.sequence = from;
    for (let batch = 0; batch < BATCHES_OF_TURN; batch++) {
      for (let record = 0; record < BUSY_BATCH; record++) {
        placed.sequence++;
        target.append(placed);
      }
      target.commit();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (BATCHES_OF_TURN * BUSY_BATCH);
  };
  for (let round = 0; round < TURNS; round++, sequence += BATCHES_OF_TURN * BUSY_BATCH) {
    peers.push(turn(peer, sequence));
    ours.push(turn(journal, sequence));
    peer.checkpoint();
    checkpoint(paths[0]);
  }
  journal.close();
  peer.close();
  const row = (name: string, microseconds: number[]): Row => ({
    'records a commit': `normal, ${BUSY_BATCH}, ${name}`,
    'processor us a record': median(microseconds),
    [STOLEN]: steal.percent(),
  });
  return {
    rows: [row('a row for the batch', ours), row('a row for each record, as it was', peers)],
    ratio: median(ours) / median(peers),
  };
}

/** Both WALs start anew at the same moments. */
function checkpoint(path: string): void {
  const db = new Database(path);
  db.pragma('wal_checkpoint(PASSIVE)');
  db.close();
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >>> 1];
}

/** The record of an order that rests. */
function placedOrder(): JournalRecord {
  const command = new RecordBuffer(COMMAND.PLACE.BYTES);
  command.append(COMMAND.PLACE.BYTES, COMMAND.PLACE.TYPE | (COMMAND_VERSION << 16));
  const events = new RecordBuffer(1024);
  for (const type of RECORD_EVENTS) events.append(EVENT_BYTES[type], type | (EVENT_VERSION << 16));
  const record = new JournalRecord();
  record.timeMs = NOW_MS;
  record.command.set(command.words, 0, command.lengthBytes);
  record.events.set(events.words, 0, events.lengthBytes);
  return record;
}

function recordBytes(): number {
  return RECORD_EVENTS.reduce((sum, type) => sum + EVENT_BYTES[type], COMMAND.PLACE.BYTES);
}

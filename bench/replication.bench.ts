/**
 * What does it cost to have a row in the replicated log? Rows of a busy shard go through a leader's shipper into a
 * PostgreSQL of this machine with two standbys, which all sync: by the length of the rows and the number that wait at a
 * time. Beside each: the time that the disk itself takes for one write and sync. Three servers and their client share
 * the processors and the disk here, so the ratios count.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Shipper } from '../engine/replication/shipper.ts';
import { THREAD_TIMING } from '../engine/replication/timing.ts';
import { NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import { newRow, openLog } from '../test/support/replicatedLog.ts';
import { Histogram } from './histogram.ts';
import { type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ROW_BYTES = [10_000, 50_000, 100_000];
const UNDERWAY = [1, 4, 16];
const SECONDS_EACH = 2;
const RAW_WRITES = 500;

export async function run(): Promise<Report> {
  const report = { bench: 'replication', settings: 'PostgreSQL, ANY 1 of 2 standbys, all three synced', goals: [] };
  if (NO_POSTGRES !== false) return { ...report, rows: [{ what: NO_POSTGRES }] };
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope = { after: (cleanUp: () => void | Promise<void>): void => void cleanUps.unshift(cleanUp) };
  try {
    const cluster = await startPostgres(scope, { isSynced: true });
    const url = await cluster.database();
    const rows: Row[] = [];
    for (const bytes of ROW_BYTES) {
      for (const underway of UNDERWAY) rows.push(await measure(scope, url, bytes, underway));
      rows.push(measureDisk(bytes));
    }
    return { ...report, rows };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

async function measure(scope: Parameters<typeof openLog>[0], url: string, bytes: number, underway: number) {
  const log = await openLog(scope, url, 'bench', { cluster: `${bytes}-${underway}` });
  const { epoch, end } = (await log.take(true))!;
  const waits = new Histogram();
  const steal = new StealMeter();
  const startedMs = new Map<number, number>();
  const startMs = performance.now();
  const endMs = startMs + SECONDS_EACH * 1000;
  let sequence = 0;
  await new Promise<void>((resolve, reject) => {
    const shipper = new Shipper({
      log,
      timing: THREAD_TIMING,
      epoch,
      end,
      onHeld: (held) => {
        const heldMs = performance.now();
        for (const row of held) {
          waits.record((heldMs - startedMs.get(row.sequence)!) * 1e6);
          startedMs.delete(row.sequence);
        }
        if (heldMs < endMs) add(held.length);
        if (startedMs.size === 0) resolve();
      },
      onLost: (reason) => reject(new Error(reason)),
      onProblem: (problem) => problem !== null && reject(new Error(problem)),
    });
    function add(count: number): void {
      const rows = Array.from({ length: count }, () => newRow(0, ++sequence, bytes));
      for (const row of rows) startedMs.set(row.sequence, performance.now());
      shipper.add(rows);
    }
    add(underway);
  });
  return {
    what: `${bytes / 1000} KB, ${underway} underway`,
    'rows/s': Math.round(waits.count / ((performance.now() - startMs) / 1000)),
    'p50 us': waits.quantileUs(0.5),
    'p99 us': waits.quantileUs(0.99),
    [STOLEN]: steal.percent(),
  };
}

function measureDisk(bytes: number): Row {
  const directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  const file = openSync(join(directory, 'raw'), 'w');
  const waits = new Histogram();
  const steal = new StealMeter();
  const chunk = Buffer.alloc(bytes, 7);
  const startMs = performance.now();
  try {
    for (let i = 0; i < RAW_WRITES; i++) {
      const beforeMs = performance.now();
      writeSync(file, chunk);
      fdatasyncSync(file);
      waits.record((performance.now() - beforeMs) * 1e6);
    }
    return {
      what: `${bytes / 1000} KB, one file and fdatasync`,
      'rows/s': Math.round(RAW_WRITES / ((performance.now() - startMs) / 1000)),
      'p50 us': waits.quantileUs(0.5),
      'p99 us': waits.quantileUs(0.99),
      [STOLEN]: steal.percent(),
    };
  } finally {
    closeSync(file);
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * What does the public history cost a trading exchange, and how far is it behind at full load? The thread itself
 * follows the recorded day of the demo, played on several days after each other, at 200 records a second and as fast as
 * a busy exchange commits. Its processor time has checkpoints, state file and published days in it; each placement and
 * each cancel is a record. The days are written beforehand, so the thread has the processors of an exchange that trades
 * to itself: on a busy one it is further behind for the same processor time.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { publishedDays } from '../engine/history/writer.ts';
import type { HistoryOptions } from '../shared/wire/historyThread.ts';
import { Progress } from '../shared/wire/progress.ts';
import { TEST_SECRET } from '../test/support/journalKey.ts';
import { recordedDays } from '../test/support/recordedDay.ts';
import { threadSeconds } from './processStat.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const DAYS = 3;
/** The recorded day is a quiet one. */
const TIMES = 10;
const QUIET_PER_SECOND = 200;
/** Long enough that what the thread compiles counts for little, as in an exchange that runs for years. */
const QUIET_SECONDS = 30;
/** An exchange with several clients takes in about as many, on two cores. */
const FULL_PER_SECOND = 10_000;
const STEP_MS = 50;
/** At the quiet pace. */
const MOST_SHARE_PERCENT = 2;

type Phase = {
  readonly seconds: number;
  readonly records: number;
  readonly mostBehind: number;
  readonly catchUpMs: number;
};

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-history-'));
  const historyDir = join(directory, 'history');
  const shard = recordedDays(DAYS, TIMES);
  const { last } = shard;
  const buffer = Progress.create(1);
  const progress = new Progress(buffer);
  progress.setRecorded(0, 0);
  const before = new Set(readdirSync('/proc/self/task'));
  const { journalPath, directory: dataDir } = shard.file;
  const workerData: HistoryOptions = {
    ...{ journalPaths: [journalPath], journalKey: TEST_SECRET, directory: dataDir, historyDir, progress: buffer },
  };
  const worker = new Worker(new URL('../engine/history/main.ts', import.meta.url), { workerData });
  const rows: Row[] = [];
  try {
    await new Promise((resolve) => worker.once('online', resolve));
    const used = (): number => {
      const own = [...threadSeconds(process.pid)].filter(([id]) => !before.has(String(id)));
      return own.reduce((sum, [, seconds]) => sum + seconds, 0);
    };
    const from = QUIET_PER_SECOND * QUIET_SECONDS;
    const steal = new StealMeter();
    const published = DAYS - 1;
    // The quiet phase comes last: code that has just been loaded costs four times as much.
    const phases = {
      'warm-up': await play(progress, 0, from, FULL_PER_SECOND, used),
      [`${FULL_PER_SECOND} a second, ${published} days published`]: await play(
        progress,
        from,
        last - from,
        FULL_PER_SECOND,
        used,
        () => publishedDays(historyDir).length >= published,
      ),
      [`${QUIET_PER_SECOND} a second`]: await play(progress, last - from, last, QUIET_PER_SECOND, used),
    };
    for (const [phase, { seconds, records, mostBehind, catchUpMs }] of Object.entries(phases)) {
      rows.push({
        phase,
        records,
        'processor us a record': (seconds * 1e6) / records,
        'most records behind': mostBehind,
        'ms until it has all': catchUpMs,
        [STOLEN]: steal.percent(),
      });
    }
    const [, full, quiet] = Object.values(phases);
    return {
      bench: 'public history',
      settings: `${last} records of ${DAYS} days in 4 markets`,
      rows,
      goals: [
        atMost(`share of a core at ${QUIET_PER_SECOND} records a second, %`, share(quiet), MOST_SHARE_PERCENT),
        atMost(`the same with the files of the days, %`, share(full), MOST_SHARE_PERCENT),
      ],
    };
  } finally {
    await worker.terminate();
    shard.close();
    rmSync(directory, { recursive: true });
  }
}

/** Commits the records from one to another at a pace, and waits until the history has all and whatever is awaited. */
async function play(
  progress: Progress,
  from: number,
  to: number,
  perSecond: number,
  used: () => number,
  isDone: () => boolean = () => true,
): Promise<Phase> {
  const secondsBefore = used();
  const startMs = performance.now();
  let mostBehind = 0;
  let committed = from;
  const lag = (): number => progress.historyLag(0, Date.now()).records;
  while (committed < to) {
    committed = Math.min(to, from + Math.floor(((performance.now() - startMs) / 1000) * perSecond));
    progress.setCommitted(0, committed);
    mostBehind = Math.max(mostBehind, lag());
    await sleep(STEP_MS);
  }
  const endMs = performance.now();
  while (lag() > 0 || !isDone()) await sleep(STEP_MS);
  const catchUpMs = Math.round(performance.now() - endMs);
  return { seconds: used() - secondsBefore, records: to - from, mostBehind, catchUpMs };
}

/** Of a core, in per cent, at the quiet pace. */
function share({ seconds, records }: Phase): number {
  return (seconds / records) * QUIET_PER_SECOND * 100;
}

/**
 * What does following a record into read.db cost? Processor time and bytes written, by how many records share a
 * transaction and whether their private frames are told already: 225 is what 50 ms bring at 4,500 orders a second,
 * 1,800 what the projector lets come together while nobody waits for it. The second half of the records counts, when
 * the file is large.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Projector } from '../engine/projector/projector.ts';
import { CLOSE_REASON, OUTCOME } from '../shared/codes.ts';
import { Progress } from '../shared/progress.ts';
import { seededRandom } from '../test/support/flow.ts';
import { JournalScript } from '../test/support/records.ts';
import { threadSeconds } from './processStat.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ORDERS = 60_000;
const SEED = 7;
/** Open at a time where orders are cancelled again. */
const OPEN = 5000;
const T0 = Date.UTC(2026, 0, 1);
const MARKET = '11111111-1111-4111-8111-111111111111';
const FLOWS = [
  { name: 'placed, one account', accounts: 1, areCancelled: false },
  { name: 'placed and cancelled, 300 accounts', accounts: 300, areCancelled: true },
] as const;
const BATCHES = [
  { records: 225, isTold: false },
  { records: 1800, isTold: false },
  { records: 1800, isTold: true },
] as const;
const MOST_US = 18;

type Used = { readonly seconds: number; readonly bytes: number };

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-projector-'));
  const rows: Row[] = [];
  let best = Number.POSITIVE_INFINITY;
  try {
    for (const [index, flow] of FLOWS.entries()) {
      const journalPath = join(directory, `journal-${index}.db`);
      const last = write(journalPath, flow.accounts, flow.areCancelled);
      for (const { records, isTold } of BATCHES) {
        const steal = new StealMeter();
        const { seconds, bytes } = follow(journalPath, join(directory, 'read.db'), last, records, isTold);
        const us = (seconds * 1e6) / (last / 2);
        if (index === 0 && isTold) best = us;
        rows.push({
          records: flow.name,
          'a transaction': records,
          'frames told': isTold ? 'yes' : 'no',
          'processor us a record': us,
          'bytes written a record': bytes / (last / 2),
          [STOLEN]: steal.percent(),
        });
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  return {
    bench: 'projector',
    settings: `${ORDERS} orders, of which ${OPEN} stay open where they are cancelled; seed ${SEED}`,
    rows,
    goals: [atMost('following a placed order while nobody waits: processor us', best, MOST_US)],
  };
}

/** @returns the last record. */
function write(journalPath: string, accounts: number, areCancelled: boolean): number {
  const script = new JournalScript(journalPath);
  const random = seededRandom(SEED);
  const free: number[] = [];
  const open: { slot: number; account: number }[] = [];
  script.record(T0, (events) => events.market(0, MARKET));
  const lots = 10_000;
  for (let order = 0; order < ORDERS; order++) {
    const timeMs = T0 + Math.floor(order / 5);
    const placed = { slot: free.pop() ?? open.length, account: 1 + Math.floor(random() * accounts) };
    const hash = new Uint8Array(createHash('sha256').update(String(order)).digest());
    const outcome = order % 2 === 0 ? OUTCOME.YES : OUTCOME.NO;
    script.record(timeMs, (events) => events.place({ ...placed, market: 0, limitTicks: 40, lots, outcome, hash }));
    open.push(placed);
    if (!areCancelled || open.length <= OPEN) continue;
    const [gone] = open.splice(Math.floor(random() * open.length), 1);
    script.record(timeMs, (events) => events.closed(gone!.slot, gone!.account, 0, CLOSE_REASON.USER, lots));
    free.push(gone!.slot);
  }
  const last = script.journal.lastSequence;
  script.journal.close();
  return last;
}

/** What the second half took. */
function follow(journalPath: string, readDbPath: string, last: number, records: number, isTold: boolean): Used {
  const projector = new Projector({ journalPaths: [journalPath], readDbPath, progress: Progress.create(1) });
  const { progress } = projector;
  let middle: Used | null = null;
  for (let committed = 0; committed < last; ) {
    committed = Math.min(last, committed + records);
    progress.setCommitted(0, committed);
    // As far as the gateway would have come by the next one.
    progress.setTold(0, isTold ? committed : Math.max(0, committed - records));
    while (projector.step(true));
    if (middle === null && committed >= last / 2) middle = used();
  }
  const { seconds, bytes } = used();
  projector.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(readDbPath + suffix, { force: true });
  return { seconds: seconds - middle!.seconds, bytes: bytes - middle!.bytes };
}

function used(): Used {
  const bytes = Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))![1]);
  return { seconds: threadSeconds(process.pid).get(process.pid)!, bytes };
}

/**
 * What does following a record into read.db cost? Processor time and bytes written, by the number of records that share
 * a transaction, and with or without private frames that are published already. 225 is the number of records in 50 ms
 * at 4,500 orders a second; 1,800 is the number that the projector collects while no reader waits; 50,000 is the number
 * that a projector takes that is far behind. Only the second half of the records is measured, when the file is large.
 * In the same run: how many signed orders a shard accepts in the processor time that the projector needs for one.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Projector } from '../engine/projector/projector.ts';
import { CLOSE_REASON, OUTCOME, SIDE } from '../shared/base/codes.ts';
import { Progress } from '../shared/wire/progress.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { seededRandom } from '../test/support/random.ts';
import { JournalScript } from '../test/support/records.ts';
import { shardUsPerOrder } from './hotMarket.bench.ts';
import { threadSeconds } from './processStat.ts';
import { atLeast, atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ORDERS = 60_000;
/** With this many, each account and market is at another place of the file. */
const MANY_ORDERS = 200_000;
const SEED = 7;
/** The number of orders open at a time, if they are cancelled again. */
const OPEN = 5000;
/** Records of a journal row: about as many commands share a commit of a busy shard. A row is followed as a whole. */
const ROW_RECORDS = 24;
const T0 = Date.UTC(2026, 0, 1);
const PLACED = 'placed, one account';
const FILLED = 'filled, 300 accounts in 100 markets';
const SCATTERED = 'filled, 100,000 accounts in 100,000 markets';
/** Every second order fills the one before it, which belongs to a random account, in a random market. */
const FLOWS = [
  { name: PLACED, accounts: 1, markets: 1, orders: ORDERS, end: 'none' },
  { name: 'placed and cancelled, 300 accounts', accounts: 300, markets: 1, orders: ORDERS, end: 'cancelled' },
  { name: FILLED, accounts: 300, markets: 100, orders: ORDERS, end: 'filled' },
  { name: SCATTERED, accounts: 100_000, markets: 100_000, orders: MANY_ORDERS, end: 'filled' },
] as const;
type Flow = (typeof FLOWS)[number];
const BATCHES = [
  { records: 225, arePublished: false },
  { records: 1800, arePublished: false },
  { records: 1800, arePublished: true },
  { records: 50_000, arePublished: true },
] as const;
const MOST_US = 18;

type Used = { readonly seconds: number; readonly bytes: number };
type Measured = Used & { readonly measured: number };

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-projector-'));
  const rows: Row[] = [];
  /** By flow and batch: the processor time per record if its frames are published. Each record places one order. */
  const usOf = new Map<string, number>();
  const shardUs = shardUsPerOrder();
  try {
    for (const [index, flow] of FLOWS.entries()) {
      const journalPath = join(directory, `journal-${index}.db`);
      const last = flow.end === 'filled' ? writeTrades(journalPath, flow) : write(journalPath, flow);
      for (const { records, arePublished } of BATCHES) {
        const steal = new StealMeter();
        const { seconds, bytes, measured } = follow(
          journalPath,
          join(directory, 'read.db'),
          last,
          records,
          arePublished,
        );
        const us = (seconds * 1e6) / measured;
        if (arePublished) usOf.set(`${flow.name}, ${records} a transaction`, us);
        rows.push({
          records: flow.name,
          'a transaction': records,
          'frames published': arePublished ? 'yes' : 'no',
          'processor us a record': us,
          'shard us an order / that': shardUs / us,
          'bytes written a record': bytes / measured,
          [STOLEN]: steal.percent(),
        });
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  return {
    bench: 'projector',
    settings:
      `${ORDERS} orders, ${MANY_ORDERS} of the scattered ones, of which ${OPEN} stay open where they are cancelled; ` +
      `a shard takes in a signed order in ${shardUs.toFixed(0)} us; seed ${SEED}`,
    rows,
    goals: [
      atMost(`following a record, ${PLACED}: processor us`, usOf.get(`${PLACED}, 1800 a transaction`)!, MOST_US),
      ...[PLACED, FILLED, SCATTERED].flatMap((name) =>
        [1800, 50_000].map((records) => {
          const what = `${name}, ${records} a transaction`;
          return atLeast(`orders followed / signed orders taken in by a shard: ${what}`, shardUs / usOf.get(what)!, 1);
        }),
      ),
    ],
  };
}

/** @returns the last record. */
function write(journalPath: string, { accounts, orders, end }: Flow): number {
  const script = new JournalScript(journalPath);
  const random = seededRandom(SEED);
  const free: number[] = [];
  const open: { slot: number; account: number }[] = [];
  add(script, T0, (events) => events.market(0, marketId(0)));
  const lots = 10_000;
  for (let order = 0; order < orders; order++) {
    const timeMs = T0 + Math.floor(order / 5);
    const placed = { slot: free.pop() ?? open.length, account: 1 + Math.floor(random() * accounts) };
    const hash = new Uint8Array(createHash('sha256').update(String(order)).digest());
    const outcome = order % 2 === 0 ? OUTCOME.YES : OUTCOME.NO;
    add(script, timeMs, (events) => events.place({ ...placed, market: 0, limitTicks: 40, lots, outcome, hash }));
    open.push(placed);
    if (end !== 'cancelled' || open.length <= OPEN) continue;
    const [gone] = open.splice(Math.floor(random() * open.length), 1);
    add(script, timeMs, (events) => events.closed(gone.slot, CLOSE_REASON.USER));
    free.push(gone.slot);
  }
  return ended(script);
}

/** Every second order fills the one before it. @returns the last record. */
function writeTrades(journalPath: string, { accounts, markets, orders }: Flow): number {
  const script = new JournalScript(journalPath);
  const random = seededRandom(SEED);
  for (let market = 0; market < markets; market++) {
    add(script, T0, (events) => events.market(market, marketId(market)));
  }
  const lots = 10_000;
  for (let trade = 0; trade < orders / 2; trade++) {
    const timeMs = T0 + Math.floor(trade / 2);
    const [maker, taker] = [1 + Math.floor(random() * accounts), 1 + Math.floor(random() * accounts)];
    const order = { market: Math.floor(random() * markets), lots, limitTicks: 40 + Math.floor(random() * 20) };
    const hash = (side: string): Uint8Array =>
      new Uint8Array(
        createHash('sha256')
          .update(side + trade)
          .digest(),
      );
    const resting = { ...order, slot: 0, account: maker, side: SIDE.BUY, hash: hash('buy') };
    const incoming = { ...order, slot: 1, account: taker, side: SIDE.SELL, hash: hash('sell') };
    add(script, timeMs, (events) => events.place(resting));
    add(script, timeMs, (events) => {
      events.order(incoming);
      events.fill({ maker: 0, taker: 1, yesTicks: order.limitTicks, lots, makerFee: 5000, takerFee: 2000 });
      events.filled(0);
      events.filled(1);
    });
  }
  return ended(script);
}

function add(script: JournalScript, timeMs: number, write: (script: JournalScript) => void): void {
  const sequence = script.add(timeMs, write);
  if (sequence % ROW_RECORDS === 0) script.journal.commit();
}

/** @returns the last record. */
function ended({ journal }: JournalScript): number {
  journal.commit();
  const last = journal.lastSequence;
  journal.close();
  return last;
}

function marketId(market: number): string {
  return `11111111-1111-4111-8111-${String(market).padStart(12, '0')}`;
}

/** The cost of the second half, which begins with a batch: `measured` is the number of its records. */
function follow(
  journalPath: string,
  readDbPath: string,
  last: number,
  records: number,
  arePublished: boolean,
): Measured {
  const projector = new Projector({
    journalPaths: [journalPath],
    keys: [TEST_KEY],
    readDbPath,
    progress: Progress.create(1),
  });
  const { progress } = projector;
  let middle: Measured | null = null;
  for (let committed = 0; committed < last; ) {
    committed = Math.min(last, Math.ceil((committed + records) / ROW_RECORDS) * ROW_RECORDS);
    progress.setCommitted(0, committed);
    // The frames that the gateway would have published by the next transaction.
    progress.setLogged(0, arePublished ? committed : Math.max(0, committed - records));
    while (projector.behind() > 0) projector.step(!arePublished);
    if (middle === null && committed >= last / 2) middle = { ...used(), measured: last - committed };
  }
  const { seconds, bytes } = used();
  projector.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(readDbPath + suffix, { force: true });
  return { seconds: seconds - middle!.seconds, bytes: bytes - middle!.bytes, measured: middle!.measured };
}

function used(): Used {
  const bytes = Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))![1]);
  return { seconds: threadSeconds(process.pid).get(process.pid)!, bytes };
}

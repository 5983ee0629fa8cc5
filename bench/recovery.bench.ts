/**
 * How long does a start take, and how much memory does an open order need? A million resting orders in one shard: their
 * journal replayed from the first row, the same state from a snapshot, and the memory of all structures of the engine.
 * The work is that of a shard (journal, recovery, snapshot) on real files; signatures are not checked in it.
 *
 * How long does it take to make read.db anew, as `projections rebuild` does, with its checks, and as a start does with
 * a trimmed journal, from the snapshot?
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rebuild } from '../engine/admin/projections.ts';
import { Engine } from '../engine/core/engine.ts';
import { Journal } from '../engine/journal/journal.ts';
import { FundMovementProjection } from '../engine/projector/fundMovements.ts';
import { MarketProjection } from '../engine/projector/markets.ts';
import { readOpeningState } from '../engine/projector/openingState.ts';
import { OrderProjection } from '../engine/projector/orders.ts';
import { openReadDb } from '../engine/projector/readDb.ts';
import { Stats } from '../engine/projector/stats.ts';
import { recover } from '../engine/shard/recovery.ts';
import { loadSnapshot, saveSnapshot } from '../engine/snapshot/snapshot.ts';
import { assert } from '../shared/base/assert.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import { Balances, createBalances } from '../shared/wire/balances.ts';
import {
  ANY_COMMAND,
  COMMAND,
  COMMAND_BYTES,
  COMMAND_VERSION,
  type CommandType,
  NO_MARKET,
  PLACE_BIT_AUTHORIZED,
  packKind,
} from '../shared/wire/commands.ts';
import { RecordBuffer, writeSafe } from '../shared/wire/record.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { GIVEN } from './matchingEngine.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

export const ORDERS = 1_000_000;
const BATCH = 256;
const MOST_REPLAY_SECONDS = 10;
const MOST_SNAPSHOT_SECONDS = 3;
const MOST_BYTES_PER_ORDER = 300;
const MOST_REBUILD_RATIO = 12;
const ACCOUNT = 1;
const NOW_MS = 1_800_000_000_000;
const TICKS_PER_UNIT = 100;
const LOTS = 10_000;

export async function run(): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-recovery-'));
  try {
    return measure(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function measure(directory: string): Report {
  const rows: Row[] = [];
  const timed = (what: string, work: () => void): number => {
    globalThis.gc?.();
    const steal = new StealMeter();
    const start = performance.now();
    work();
    const seconds = (performance.now() - start) / 1000;
    rows.push({ what, seconds, [STOLEN]: steal.percent() });
    return seconds;
  };

  const journal = Journal.open({
    journalPath: join(directory, 'journal-0.db'),
    journalSync: 'normal',
    shard: 0,
    shards: 1,
    key: TEST_KEY,
  });
  const live = makeEngine(journal);
  live.goLive();
  globalThis.gc?.();
  const before = memoryBytes();
  fill(live, journal);
  globalThis.gc?.();
  const bytesPerOrder = (memoryBytes() - before) / ORDERS;

  let replayed = live;
  const replaySeconds = timed('replay of the whole journal', () => {
    replayed = recover(journal, directory, 0, () => makeEngine(journal)).engine;
  });
  assert(replayed.state.orders.openCount === ORDERS, 'recovery: every order is back');
  const file = saveSnapshot(
    directory,
    0,
    { state: replayed.state, nowMs: replayed.nowMs, head: journal.head },
    TEST_KEY,
  );
  const loadSeconds = timed('the same out of a snapshot', () => {
    const engine = makeEngine(journal);
    loadSnapshot(file, 0, engine.state, TEST_KEY);
    assert(engine.state.orders.openCount === ORDERS, 'recovery: every order is back');
  });
  const megabytes = (path: string): number => Math.round(statSync(path).size / 1e6);
  rows.push({ what: 'bytes per open order, all structures of the shard', bytes: Math.round(bytesPerOrder) });
  rows.push({ what: 'snapshot, MB', bytes: megabytes(file.path) });
  journal.close();
  const journalPath = join(directory, 'journal-0.db');
  const shard = { shard: 0, shards: 1, directory, journalPath, key: TEST_KEY };
  const rebuildSeconds = timed('read.db made anew and checked', () => {
    const quiet = { from: undefined, acceptLoss: false, time: '', nowMs: Date.now, print: () => undefined };
    assert(rebuild([shard], quiet), 'recovery: read.db is made');
  });
  const recordsPerSecond = Math.round(ORDERS / rebuildSeconds);
  rows.push({ what: 'the same, records a second', records: recordsPerSecond });
  rows.push({ what: 'read.db, MB', bytes: megabytes(join(directory, 'read.db')) });
  timed('read.db begun with the snapshot', () => {
    const db = openReadDb(join(directory, 'begun.db'), false);
    const orders = new OrderProjection(db, 1);
    const markets = new MarketProjection(db);
    const stats = new Stats(db, 1, new FundMovementProjection(db, 1), () => undefined);
    const { apply, head, timeMs } = readOpeningState(directory, 0, TEST_KEY, 2);
    db.transaction(() => {
      apply({ markets, orders, stats }, { shard: 0, shardSequence: head.sequence, timeMs });
      for (const each of [orders, stats]) each.flush();
      markets.flush(() => undefined);
    }).immediate();
    db.close();
  });
  return {
    bench: 'recovery',
    settings: `${ORDERS.toLocaleString('en')} resting orders of one account in one market, one shard`,
    rows,
    goals: [
      atMost('replay of a million journaled orders, seconds', replaySeconds, MOST_REPLAY_SECONDS),
      atMost('snapshot of a million resting orders, seconds', loadSeconds, MOST_SNAPSHOT_SECONDS),
      atMost('bytes per open order', bytesPerOrder, MOST_BYTES_PER_ORDER),
      atMost('read.db made anew / replay of the journal', rebuildSeconds / replaySeconds, MOST_REBUILD_RATIO),
    ],
  };
}

export function makeEngine(journal: Journal): Engine {
  const balances = new Balances(createBalances());
  return new Engine({ balances, collateralCheck: true, checks: GIVEN, journal });
}

export function memoryBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** A million bids over 49 ticks, each under a hash of its own. */
export function fill(engine: Engine, journal: Journal): void {
  const command = new RecordBuffer(1024);
  const submit = (type: CommandType, market: number, flags: number, body: (words: Uint32Array) => void): void => {
    command.clear();
    command.append(COMMAND_BYTES[type], type | (COMMAND_VERSION << 16));
    const { words } = command;
    words.fill(0, 2, COMMAND_BYTES[type] >>> 2);
    words[ANY_COMMAND.account] = ACCOUNT;
    writeSafe(words, ANY_COMMAND.timeMs, NOW_MS);
    words[ANY_COMMAND.market] = market;
    words[ANY_COMMAND.flags] = flags;
    body(words);
    engine.submit(words, command.bytes, 0);
  };
  submit(COMMAND.MARKET_OPEN.TYPE, 0, 0, (words) => {
    words[COMMAND.MARKET_OPEN.ticksPerUnit] = TICKS_PER_UNIT;
    words[COMMAND.MARKET_OPEN.feeBps] = 50;
    writeSafe(words, COMMAND.MARKET_OPEN.minOrderAtomic, 1_000_000);
    writeSafe(words, COMMAND.MARKET_OPEN.startMs, NOW_MS);
    writeSafe(words, COMMAND.MARKET_OPEN.endMs, NOW_MS + 86_400_000);
    words[COMMAND.MARKET_OPEN.status] = MARKET_STATUS.ACTIVE;
  });
  submit(COMMAND.FUNDS.TYPE, NO_MARKET, MOVEMENT.DEPOSIT, (words) => {
    writeSafe(words, COMMAND.FUNDS.amountMicro, 1e12);
    words[COMMAND.FUNDS.reference] = 1;
  });
  endBatch(engine, journal);
  const kind = packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, PLACE_BIT_AUTHORIZED);
  for (let index = 0; index < ORDERS; index++) {
    submit(COMMAND.PLACE.TYPE, 0, 0, (words) => {
      for (let i = 0; i < 4; i++)
        words[COMMAND.PLACE.hash + i] = Math.imul(index + 1, 0x9e3779b1 + 2 * i) ^ (index >>> i);
      words[COMMAND.PLACE.kind] = kind;
      writeSafe(words, COMMAND.PLACE.makerAmount, LOTS * (1 + (index % 49)));
      writeSafe(words, COMMAND.PLACE.takerAmount, LOTS * TICKS_PER_UNIT);
      words[COMMAND.PLACE.feeBps] = 50;
    });
    if (index % BATCH === BATCH - 1) endBatch(engine, journal);
  }
  endBatch(engine, journal);
  assert(engine.state.orders.openCount === ORDERS, 'recovery: every order rests');
}

function endBatch(engine: Engine, journal: Journal): void {
  journal.commit();
  engine.state.ledger.releaseCredits();
  engine.out.clear();
}

/**
 * How long does a start take, and what does an open order weigh? A million resting orders in one shard: their journal
 * replayed from the first row, the same state out of a snapshot, and the memory all of the engine's structures take.
 * The work is the shard's own (journal, recovery, snapshot) on real files; signatures play no part in it.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../engine/engine.ts';
import { Journal } from '../engine/journal.ts';
import { recover } from '../engine/recovery.ts';
import { loadSnapshot, saveSnapshot } from '../engine/snapshot.ts';
import { assert } from '../shared/assert.ts';
import { Balances, createBalances } from '../shared/balances.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/codes.ts';
import * as cmd from '../shared/commands.ts';
import { RecordBuffer, writeSafe } from '../shared/record.ts';
import { GivenHash } from './matchingEngine.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

export const ORDERS = 1_000_000;
const BATCH = 256;
const MOST_REPLAY_SECONDS = 10;
const MOST_SNAPSHOT_SECONDS = 3;
const MOST_BYTES_PER_ORDER = 300;
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
  const file = saveSnapshot(directory, 0, replayed, journal.head);
  const loadSeconds = timed('the same out of a snapshot', () => {
    const engine = makeEngine(journal);
    loadSnapshot(file, 0, engine);
    assert(engine.state.orders.openCount === ORDERS, 'recovery: every order is back');
  });
  const megabytes = (path: string): number => Math.round(statSync(path).size / 1e6);
  rows.push({ what: 'bytes per open order, all structures of the shard', bytes: Math.round(bytesPerOrder) });
  rows.push({ what: 'snapshot, MB', bytes: megabytes(file.path) });
  journal.close();
  return {
    bench: 'recovery',
    settings: `${ORDERS.toLocaleString('en')} resting orders of one account in one market, one shard`,
    rows,
    goals: [
      atMost('replay of a million journaled orders, seconds', replaySeconds, MOST_REPLAY_SECONDS),
      atMost('snapshot of a million resting orders, seconds', loadSeconds, MOST_SNAPSHOT_SECONDS),
      atMost('bytes per open order', bytesPerOrder, MOST_BYTES_PER_ORDER),
    ],
  };
}

export function makeEngine(journal: Journal): Engine {
  const verifier = { name: 'native', verify: () => true } as const;
  const balances = new Balances(createBalances());
  return new Engine({ balances, collateralCheck: true, hasher: new GivenHash(), verifier, journal });
}

export function memoryBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** A million bids over 49 ticks, each under a hash of its own. */
export function fill(engine: Engine, journal: Journal): void {
  const command = new RecordBuffer(1024);
  const submit = (type: cmd.CommandType, market: number, flags: number, body: (words: Uint32Array) => void): void => {
    command.clear();
    command.append(cmd.COMMAND_BYTES[type]!, type | (cmd.COMMAND_VERSION << 16));
    const { words } = command;
    words.fill(0, 2, cmd.COMMAND_BYTES[type]! >>> 2);
    words[cmd.CMD_ACCOUNT] = ACCOUNT;
    writeSafe(words, cmd.CMD_TIME_MS, NOW_MS);
    words[cmd.CMD_MARKET] = market;
    words[cmd.CMD_FLAGS] = flags;
    body(words);
    engine.submit(words, command.bytes, 0);
  };
  submit(cmd.COMMAND.MARKET_OPEN, 0, 0, (words) => {
    words[cmd.OPEN_TICKS_PER_UNIT] = TICKS_PER_UNIT;
    words[cmd.OPEN_FEE_BPS] = 50;
    writeSafe(words, cmd.OPEN_MIN_ORDER, 1_000_000);
    writeSafe(words, cmd.OPEN_START_MS, NOW_MS);
    writeSafe(words, cmd.OPEN_END_MS, NOW_MS + 86_400_000);
    words[cmd.OPEN_STATUS] = MARKET_STATUS.ACTIVE;
  });
  submit(cmd.COMMAND.FUNDS, cmd.NO_MARKET, MOVEMENT.DEPOSIT, (words) => {
    writeSafe(words, cmd.FUNDS_AMOUNT, 1e12);
    words[cmd.FUNDS_REFERENCE] = 1;
  });
  endBatch(engine, journal);
  const kind = cmd.packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, cmd.PLACE_BIT_AUTHORIZED);
  for (let index = 0; index < ORDERS; index++) {
    submit(cmd.COMMAND.PLACE, 0, 0, (words) => {
      for (let i = 0; i < 4; i++) words[cmd.PLACE_HASH + i] = Math.imul(index + 1, 0x9e3779b1 + 2 * i) ^ (index >>> i);
      words[cmd.PLACE_KIND] = kind;
      writeSafe(words, cmd.PLACE_MAKER_AMOUNT, LOTS * (1 + (index % 49)));
      writeSafe(words, cmd.PLACE_TAKER_AMOUNT, LOTS * TICKS_PER_UNIT);
      words[cmd.PLACE_FEE_BPS] = 50;
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

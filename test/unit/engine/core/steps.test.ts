/**
 * The end of a market in records of bounded length (RULES.md 9.5, 9.6, 9.18). After each record the rig checks every
 * invariant of the state, so that all money is accounted for.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkInvariants } from '../../../../engine/core/invariants.ts';
import type { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { loadSnapshot, saveSnapshot } from '../../../../engine/snapshot/snapshot.ts';
import { CLOSE_REASON, FEE_ACCOUNT, MARKET_STATUS, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { PPM } from '../../../../shared/base/payout.ts';
import { ANY_COMMAND, COMMAND } from '../../../../shared/wire/commands.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { MemoryJournal, stateOf } from '../../../support/engine.ts';
import { type CommandResult, closedOf, EngineRig } from '../../../support/engineRig.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { Random } from '../../../support/random.ts';

const ROWS = 4;
const UNIT = 1_000_000;
const { ACTIVE, CANCELLED, DRAFT, LOCKED, RESOLVED, RESOLVING, SETTLED } = MARKET_STATUS;

/** Accounts 1 to `holders`, each with ten sets of market 0 and a bid and an offer that meet none. */
function marketOf(holders: number, rowsOfRecord = ROWS): EngineRig {
  const rig = new EngineRig({ rowsOfRecord });
  rig.market(0);
  for (let account = 1; account <= holders; account++) {
    rig.fund(account, 100 * UNIT);
    rig.convert(account, 0, 10 * UNIT);
    rig.place({ account, ticks: 40 - (account % 5) });
    rig.place({ account, side: SIDE.SELL, ticks: 60 + (account % 5) });
  }
  return rig;
}

const statusOf = (rig: EngineRig, market = 0): number => rig.engine.state.markets.peek(market)!.status;

function stepsOf(rig: EngineRig): CommandResult[] {
  const steps: CommandResult[] = [];
  while (rig.engine.hasSteps) steps.push(rig.step());
  return steps;
}

describe('closing the book (9.6, 9.18)', () => {
  test('goes on record by record, bids from the best on, then asks, and nothing trades from the first one on', () => {
    const rig = marketOf(5);
    const { frames } = rig.place({ account: 1, ticks: 41 });
    const first = frames[0]!.sequence;
    const decided = rig.resolve(0, PPM);
    assert.equal(statusOf(rig), RESOLVING);
    assert.equal(rig.place({ account: 2, ticks: 42 }).reply.code, E.MARKET_NOT_ACTIVE);
    assert.equal(rig.claim(1).reply.code, E.INVALID_TRANSITION, 'no token pays while orders are open');
    assert.equal(rig.convert(1, 0, UNIT).reply.code, E.MARKET_NOT_ACTIVE);

    const records = [decided, ...stepsOf(rig)];
    assert.deepEqual(
      records.map((record) => closedOf(record).length),
      [4, 4, 3],
    );
    const closed = records.flatMap(closedOf);
    assert.ok(closed.every(({ reason }) => reason === CLOSE_REASON.MARKET_CLOSED));
    // Bids at 41, 40 … 36 are orders 11, 9, 1, 3, 5, 7; offers at 60 … 64 are 10, 2, 4, 6, 8.
    assert.deepEqual(
      closed.map(({ order }) => order),
      [11, 9, 1, 3, 5, 7, 10, 2, 4, 6, 8],
    );
    const sequences = records.flatMap((record) => record.frames.map(({ sequence }) => sequence));
    assert.deepEqual(
      sequences,
      closed.map((_, i) => first + 1 + i),
      'public frames are numbered without a gap',
    );
    assert.equal(statusOf(rig), RESOLVED);
    for (let account = 1; account <= 5; account++) {
      assert.deepEqual(rig.usdc(account), { available: 90 * UNIT, reserved: 0 });
      assert.deepEqual(rig.tokens(account, OUTCOME.YES), { available: 10 * UNIT, reserved: 0 });
    }
    assert.equal(rig.claim(1).reply.code, OK);
  });

  test('is done in the first record where it fits', () => {
    const rig = marketOf(2);
    rig.resolve(0, PPM);
    assert.equal(statusOf(rig), RESOLVED);
    assert.equal(rig.engine.hasSteps, false);
  });

  test('closes dormant orders too, last', () => {
    const rig = marketOf(2, 1);
    rig.patch(0, { feeBps: 35 });
    rig.place({ account: 1, ticks: 30, feeBps: 35 });
    const records = [rig.resolve(0, 0), ...stepsOf(rig)];
    assert.deepEqual(
      records.flatMap(closedOf).map(({ order }) => order),
      [5, 1, 2, 3, 4],
    );
    assert.deepEqual(
      records.map((record) => record.frames.length),
      [1, 0, 0, 0, 0],
      'a dormant order is in no public frame',
    );
  });

  test('lets owners cancel meanwhile; the decision takes effect once none is open, whoever closed the last', () => {
    const rig = marketOf(3);
    const last = rig.hashOf(6);
    rig.resolve(0, PPM);
    assert.deepEqual(closedOf(rig.cancel(3, last)), [
      { kind: 'closed', order: 6, reason: CLOSE_REASON.USER, left: 10_000 },
    ]);
    rig.cancelMany(1);
    rig.cancelMany(2);
    rig.cancelMany(3);
    assert.equal(statusOf(rig), RESOLVING);
    assert.equal(closedOf(rig.step()).length, 0);
    assert.equal(statusOf(rig), RESOLVED);
  });

  test('a market is decided once: not again while its orders are closed, and not as something else', () => {
    const rig = marketOf(5);
    rig.resolve(0, PPM);
    assert.equal(rig.resolve(0, 0).reply.code, E.INVALID_TRANSITION);
    assert.equal(rig.resolve(0, PPM / 2, CANCELLED).reply.code, E.INVALID_TRANSITION);
    assert.equal(rig.settle().reply.code, E.INVALID_TRANSITION);
    stepsOf(rig);
    assert.equal(rig.engine.state.markets.peek(0)!.payoutYesPpm, PPM);
  });

  test('a market is cancelled once its orders are closed; one that never traded, at once', () => {
    const rig = marketOf(5);
    rig.resolve(0, PPM / 2, CANCELLED);
    assert.equal(statusOf(rig), RESOLVING);
    stepsOf(rig);
    assert.equal(statusOf(rig), CANCELLED);
    rig.market(1, { status: DRAFT });
    rig.resolve(1, PPM / 2, CANCELLED);
    assert.equal(statusOf(rig, 1), CANCELLED);
  });

  test('by hand, and decided before it is done', () => {
    const rig = marketOf(5);
    rig.patch(0, { status: LOCKED });
    assert.equal(rig.engine.hasSteps, false, 'a market locked by hand keeps its orders');
    rig.patch(0, { status: RESOLVING });
    assert.equal(rig.patch(0, { status: RESOLVING }).reply.code, OK);
    rig.resolve(0, 0);
    const orders = stepsOf(rig).flatMap(closedOf);
    assert.equal(orders.length, 10 - 2 * ROWS);
    assert.equal(statusOf(rig), RESOLVED);
  });

  test('at its end: locked at once, and active again only when its orders are closed', () => {
    const rig = marketOf(5);
    const { endMs } = rig.engine.state.markets.peek(0)!;
    rig.nowMs = endMs;
    assert.equal(closedOf(rig.tick()).length, ROWS - 1, 'the market itself is a row');
    assert.equal(statusOf(rig), LOCKED);
    assert.equal(rig.patch(0, { status: ACTIVE, endMs: endMs + 1000 }).reply.code, E.ENGINE_BUSY);
    stepsOf(rig);
    assert.equal(rig.patch(0, { status: ACTIVE, endMs: endMs + 1000 }).reply.code, OK);
    assert.equal(rig.place({ account: 1 }).reply.code, OK);
  });
});

describe('paying holders (3.4, 9.6, 9.18)', () => {
  test('goes on in the order in which they came, each once; who claims before its turn is paid then', () => {
    const rig = marketOf(10);
    rig.resolve(0, 333_333);
    stepsOf(rig);
    assert.equal(rig.claim(2).reply.code, OK);
    rig.settle();
    const paid = (): number[] => rig.engine.state.ledger.netMicro.slice(1, 11).map((net) => net - 90 * UNIT) as never;
    assert.deepEqual(
      [...paid()],
      [10, 10, 10, 10, 0, 0, 0, 0, 0, 0].map((usdc) => usdc * UNIT),
    );
    assert.equal(statusOf(rig), RESOLVED);
    assert.equal(rig.claim(9).reply.code, OK);
    assert.equal(rig.claim(9).reply.code, E.NOTHING_TO_CLAIM);
    assert.equal(rig.claim(1).reply.code, E.NOTHING_TO_CLAIM);
    assert.equal(rig.settle().reply.code, E.INVALID_TRANSITION, 'a market is settled once');
    rig.step();
    assert.deepEqual(
      [...paid()],
      [10, 10, 10, 10, 10, 10, 10, 10, 10, 0].map((usdc) => usdc * UNIT),
    );
    rig.nowMs += 1000;
    rig.tick();
    rig.step();
    const market = rig.engine.state.markets.peek(0)!;
    assert.equal(market.status, SETTLED);
    assert.equal(market.settledMs, rig.engine.nowMs);
    assert.ok(paid().every((usdc) => usdc === 10 * UNIT));
  });

  test('gives the fee account what rounding kept back, with the last holder', () => {
    const rig = new EngineRig({ rowsOfRecord: 1 });
    rig.market(0, { ticksPerUnit: 10, minOrderAtomic: 10 });
    // Each has a third of a token's worth more of one outcome than of the other, so that each payout is rounded.
    for (const account of [1, 2, 3]) rig.fund(account, UNIT);
    for (const account of [1, 2]) rig.convert(account, 0, 100);
    rig.place({ account: 1, side: SIDE.SELL, makerAmount: 50, takerAmount: 20 });
    rig.place({ account: 3, makerAmount: 20, takerAmount: 50 });
    rig.resolve(0, 333_333);
    const before = rig.usdc(FEE_ACCOUNT).available;
    rig.settle();
    for (let i = 0; rig.engine.hasSteps; i++) {
      assert.equal(rig.usdc(FEE_ACCOUNT).available, before, `nothing before the last holder, step ${i}`);
      rig.step();
    }
    assert.ok(rig.usdc(FEE_ACCOUNT).available > before);
    assert.equal(rig.engine.state.markets.peek(0)!.collateralMicro, 0);
  });

  test('a cancelled market stays cancelled when every holder is paid', () => {
    const rig = marketOf(6);
    rig.resolve(0, PPM / 2, CANCELLED);
    stepsOf(rig);
    rig.settle();
    stepsOf(rig);
    assert.equal(statusOf(rig), CANCELLED);
    for (let account = 1; account <= 6; account++) assert.equal(rig.usdc(account).available, 100 * UNIT);
  });

  test('a market without holders is settled at once', () => {
    const rig = marketOf(0);
    rig.resolve(0, PPM);
    rig.settle();
    assert.equal(statusOf(rig), SETTLED);
  });
});

test('markets that end at the same time take turns, so a small one does not wait for a large one', () => {
  const rig = marketOf(20);
  rig.market(1);
  rig.place({ account: 1, market: 1, ticks: 30 });
  for (let lots = 0; lots < 6; lots++) rig.place({ account: 2, market: 1, ticks: 31 });
  rig.resolve(0, PPM);
  rig.resolve(1, PPM);
  assert.equal(statusOf(rig, 1), RESOLVING);
  rig.step();
  rig.step();
  assert.equal(statusOf(rig, 1), RESOLVED);
  assert.equal(statusOf(rig, 0), RESOLVING);
});

test('what ten thousand markets and three hundred orders do in one second is done in records of few rows', () => {
  const rig = marketOf(0, 128);
  const { engine } = rig;
  const endMs = rig.nowMs + 10_000;
  rig.fund(1, 1000 * UNIT);
  for (let i = 0; i < 300; i++) rig.place({ account: 1, ticks: 30, expirationSec: endMs / 1000 });
  openMany(engine, 1, 10_000, endMs);
  engine.tick(endMs);
  for (let records = 1; engine.isDue(endMs); records++) {
    assert.ok(records < 10_300 / 128, 'each does as much as it may');
    engine.tick(endMs);
  }
  let moved = 0;
  for (const { command, events } of rig.journal.rows) {
    if (typeOf(command) !== COMMAND.TICK.TYPE) continue;
    let changed = 0;
    for (let word = events.word; word < events.end; word += events.words[word] >>> 2) {
      const type = events.words[word + 1] & 0xffff;
      if (type === EVENT.CLOSED.TYPE || type === EVENT.MARKET.TYPE) changed++;
    }
    assert.ok(changed <= 128, `${changed} rows in one record`);
    moved += changed;
  }
  assert.equal(moved, 10_300);
  for (let market = 1; market < 10_000; market += 99) assert.equal(statusOf(rig, market), LOCKED);
  assert.equal(engine.state.orders.openCount, 0);
  engine.out.clear();
  rig.nowMs = endMs;
  rig.tick(); // checks every invariant
});

/** Straight into the engine: the rig would check every invariant after each. */
function openMany(engine: EngineRig['engine'], first: number, count: number, endMs: number): void {
  const words = new Uint32Array(COMMAND.MARKET_OPEN.WORDS);
  for (let market = first; market < first + count; market++) {
    words.fill(0);
    words[0] = COMMAND.MARKET_OPEN.BYTES;
    words[1] = COMMAND.MARKET_OPEN.TYPE | (1 << 16);
    words[ANY_COMMAND.market] = market;
    words[COMMAND.MARKET_OPEN.ticksPerUnit] = 100;
    words[COMMAND.MARKET_OPEN.feeBps] = 50;
    words[COMMAND.MARKET_OPEN.minOrderAtomic] = 100;
    words[COMMAND.MARKET_OPEN.status] = ACTIVE;
    words[COMMAND.MARKET_OPEN.endMs] = endMs >>> 0;
    words[COMMAND.MARKET_OPEN.endMs + 1] = Math.floor(endMs / 2 ** 32);
    engine.submit(words, new Uint8Array(words.buffer), 0);
  }
}

describe('a crash between any two records (9.18)', () => {
  test('the shard that starts from any of them ends where the other did, and everyone is paid once', () => {
    const seed = 20_261_122;
    const random = new Random(seed);
    const rig = marketOf(9, 3);
    for (let account = 1; account <= 9; account += 2) {
      rig.place({ account, ticks: 70, lots: 10_000 * random.between(1, 9) });
    }
    rig.resolve(0, 123_456);
    stepsOf(rig);
    rig.claim(4);
    rig.settle();
    stepsOf(rig);
    const sums = (of: EngineRig): number[] => Array.from({ length: 10 }, (_, account) => of.usdc(account).available);
    const expected = sums(rig);
    const isDecided = rig.journal.rows.findIndex(({ command }) => typeOf(command) === COMMAND.RESOLVE.TYPE);
    for (let length = isDecided + 1; length <= rig.journal.rows.length; length++) {
      const journal = new MemoryJournal();
      journal.rows.push(...rig.journal.rows.slice(0, length));
      const again = rig.recovered({ journal, rowsOfRecord: random.between(1, 5) });
      stepsOf(again);
      again.claim(4);
      again.settle();
      stepsOf(again);
      assert.deepEqual(sums(again), expected, `after record ${length}, seed ${seed}`);
      assert.equal(statusOf(again), SETTLED);
      assert.deepEqual(stateOf(again.replayed()), stateOf(again.engine));
    }
  });
});

test('a snapshot in the middle keeps what is left to do', () => {
  const directory = temporaryDirectory();
  const rig = marketOf(9, 3);
  const check = (): void => {
    const { engine } = rig;
    const content = { head: new JournalHead(engine.sequence, 1, 1), nowMs: engine.nowMs, state: engine.state };
    const file = saveSnapshot(directory, 0, content, TEST_KEY);
    const read = new EngineRig().recovered({ journal: new MemoryJournal() }).engine;
    loadSnapshot(file, 0, read.state, TEST_KEY);
    assert.equal(read.hasSteps, engine.hasSteps);
    checkInvariants(read.state);
  };
  rig.resolve(0, 123_456);
  for (check(); rig.engine.hasSteps; check()) rig.step();
  rig.settle();
  for (check(); rig.engine.hasSteps; check()) rig.step();
});

const typeOf = ({ words, word }: JournalRecord['command']): number => words[word + ANY_COMMAND.type]! & 0xffff;

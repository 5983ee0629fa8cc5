/** RAISE: after a restore numbers go on above a floor, and no number that may have been seen is given out again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { loadSnapshot, saveSnapshot } from '../../../../engine/snapshot/snapshot.ts';
import { type Floors, floorAt, floorOfRecord } from '../../../../shared/base/floors.ts';
import { decodeEvents, type EventOf } from '../../../../shared/wire/events.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { engineWith, errorKey, MemoryJournal, stateOf } from '../../../support/engine.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { ALICE, BOB, Scenario } from '../../../support/scenario.ts';

const FLOOR = floorAt(Date.UTC(2026, 10, 28), 0, []);

type Numbers = { readonly orders: number[]; readonly trades: number[]; readonly frames: string[] };

/** Every number in the events of a journal's records from one on. */
function numbersOf(x: Scenario, from = 0): Numbers {
  const found: Numbers = { orders: [], trades: [], frames: [] };
  for (const { events } of x.journal.rows.slice(from)) {
    for (const event of decodeEvents(events.words, events.word, events.end)) {
      if (event.name === 'ORDER') found.orders.push(event.sequence);
      if (event.name === 'FILL') found.trades.push(event.tradeSequence);
      if (event.marketSequence > 0) found.frames.push(`${event.market}: ${event.marketSequence}`);
    }
  }
  return found;
}

/** As in a restore: nothing reads the events. */
function raise({ engine }: Scenario, floor = FLOOR): void {
  engine.raise(floor);
  engine.out.clear();
}

/** Orders that rest, trade and are cancelled. */
function trade(x: Scenario): void {
  x.order(ALICE, 'BUY Yes 5 @ 30');
  x.order(BOB, 'BUY No 2 @ 70');
  x.order(BOB, 'BUY Yes 1 @ 20');
  x.cancel(BOB, x.lastHash);
}

function markets(x: Scenario, from: number): EventOf<'MARKET'>[] {
  return x.journal.rows.slice(from).flatMap(({ events }) => {
    return decodeEvents(events.words, events.word, events.end).filter((event) => event.name === 'MARKET');
  });
}

describe('RAISE', () => {
  it('lets orders, trades and public frames go on above the floor, those of later markets too', () => {
    const x = new Scenario();
    trade(x);
    const before = numbersOf(x);
    raise(x);
    const rows = x.journal.rows.length;
    trade(x);
    x.market(1);
    assert.equal(errorKey(x.place({ account: ALICE, lots: 50_000, ticks: 30, market: 1 }).reply.code), 'OK');
    const { orders, trades, frames } = numbersOf(x, rows);
    assert.deepEqual(
      orders,
      [1, 2, 3, 4].map((number) => FLOOR + number),
    );
    assert.deepEqual(trades, [FLOOR + 1]);
    assert.ok(before.frames.length > 0);
    assert.equal(frames[0], `0: ${FLOOR + 1}`);
    assert.equal(frames.at(-1), `1: ${FLOOR + 1}`);
    assert.deepEqual(
      markets(x, rows)
        .map(({ market, lastMarketSequence }) => [market, lastMarketSequence])
        .at(-1),
      [1, FLOOR],
    );
  });

  it('is there again after a replay, and in a snapshot', () => {
    const x = new Scenario();
    trade(x);
    raise(x);
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
    const directory = temporaryDirectory();
    const content = { state: x.engine.state, nowMs: 1, head: new JournalHead(9, 1, 2) };
    const fresh = engineWith(new MemoryJournal());
    loadSnapshot(saveSnapshot(directory, 0, content, TEST_KEY), 0, fresh.state, TEST_KEY);
    assert.equal(fresh.state.floor, FLOOR);
  });

  it('goes above every number there is only', () => {
    const x = new Scenario();
    trade(x);
    for (const floor of [0, 1, FLOOR + 1, 2 ** 53 - 2 ** 20]) {
      assert.throws(() => x.engine.raise(floor), /RAISING-1/);
    }
    const other = new Scenario();
    raise(other);
    assert.throws(() => other.engine.raise(FLOOR), /RAISING-1/);
    const again = new Scenario();
    raise(again);
    trade(again);
    raise(again, floorAt(0, 0, [{ floor: FLOOR, records: [1], lastAccount: 1 }]));
    assert.deepEqual(stateOf(again.replayed()), stateOf(again.engine));
  });
});

describe('floors', () => {
  it('grow with the time of the restore, with what the directory knows, and past the one before', () => {
    const at = (nowMs: number, lastMs = 0, floors: Floors = []): number => floorAt(nowMs, lastMs, floors);
    assert.equal(at(1_000_000_000_000), (1_000_000_000 + 1) * 2 ** 20);
    assert.equal(at(5_000, 1_000_000_000_000), at(1_000_000_000_000));
    const floors = [{ floor: at(1_000_000_000_000), records: [7, 9], lastAccount: 3 }];
    assert.equal(at(5_000, 0, floors), (1_000_000_000 + 2) * 2 ** 20);
    assert.deepEqual(
      [7, 8, 9, 10].map((record) => floorOfRecord(floors, 0, record) > 0),
      [false, true, true, true],
    );
    assert.equal(floorOfRecord(floors, 1, 9), 0);
  });

  it('stay exact until the year 2242', () => {
    assert.ok(Number.isSafeInteger(at(Date.UTC(2242, 0, 1)) + 2 ** 20));
    function at(nowMs: number): number {
      return floorAt(nowMs, 0, []);
    }
  });
});

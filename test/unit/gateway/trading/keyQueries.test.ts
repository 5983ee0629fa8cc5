/** The answers to retries, from read.db, when the first answer was lost (RULES.md 6.7). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { KeyQueries } from '../../../../gateway/trading/keyQueries.ts';
import { CLOSE_REASON, ORDER_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';
import { EXT_ROUTE } from '../../../../shared/wire/commands.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { JournalScript } from '../../../support/records.ts';

const [ANN, BOB] = [1, 2];
const MARKET_ID = 'abcdef11-1111-4111-8111-111111111111';
const T0 = Date.UTC(2026, 0, 1);
const bytes = (of: number): Uint8Array => new Uint8Array(16).fill(of);
const keyOf = (number: number, row = 0, route: number = EXT_ROUTE.BATCH) => {
  return { account: BOB, route, row, key: bytes(number), fingerprint: bytes(100 + number) };
};

/** Ann offers 10,000 lots at 50 and 20,000 at 51; Bob's batch takes 10,000 and then 5000 in the same millisecond. */
function batchOfOneMillisecond(t: { after: (end: () => void) => void }): KeyQueries {
  const directory = temporaryDirectory();
  const [journalPath, readDbPath] = [join(directory, 'journal.db'), join(directory, 'read.db')];
  const script = new JournalScript(journalPath);
  script.record(T0, (events) => events.market(0, MARKET_ID));
  script.record(T0 + 1, (events) => events.place(order(0, ANN, 50, 10_000, SIDE.SELL)));
  script.record(T0 + 1, (events) => events.place(order(1, ANN, 51, 20_000, SIDE.SELL)));
  const taken = [
    { maker: 0, taker: 2, yesTicks: 50, lots: 10_000 },
    { maker: 1, taker: 3, yesTicks: 51, lots: 5000 },
  ];
  for (const [row, fill] of taken.entries()) {
    const write = (events: JournalScript): void => {
      events.order(order(fill.taker, BOB, 60, fill.lots, SIDE.BUY));
      events.fill(fill);
      if (fill.maker === 0) events.filled(0);
      events.filled(fill.taker);
    };
    script.record(T0 + 5, write, keyOf(1, row));
  }
  const killed = { ...order(4, BOB, 55, 30_000, SIDE.BUY), timeInForce: TIME_IN_FORCE.FAK };
  const takeAndKill = (events: JournalScript): void => {
    events.order(killed);
    events.fill({ maker: 1, taker: 4, yesTicks: 51, lots: 15_000 });
    events.filled(1);
    events.closed(4, CLOSE_REASON.FAK_REMAINDER);
  };
  script.record(T0 + 5, takeAndKill, keyOf(2, 0, EXT_ROUTE.PLACE));

  const progressBuffer = Progress.create(1);
  new Progress(progressBuffer).setCommitted(0, script.journal.lastSequence);
  const projector = new Projector({
    journalPaths: [journalPath],
    keys: [TEST_KEY],
    readDbPath,
    progress: progressBuffer,
  });
  while (projector.step(true));
  const db = new Sqlite(readDbPath, { readonly: true });
  t.after(() => {
    db.close();
    projector.close();
    script.journal.close();
  });
  return new KeyQueries(db);
}

function order(slot: number, account: number, limitTicks: number, lots: number, side: number) {
  return { slot, account, market: 0, limitTicks, lots, side, outcome: OUTCOME.YES };
}

test('each order of a batch is answered with its own fills, also beside a sibling of the same millisecond', (t) => {
  const queries = batchOfOneMillisecond(t);
  const fillsOf = (row: number): unknown[] => {
    const { fills } = queries.placed(keyOf(1, row))!;
    return fills.map(({ tradeId, lots, ownTicks }) => [tradeId, lots, ownTicks]);
  };
  const tradeId = (sequence: number): string => timeOrderedId(T0 + 5, 0, ID_KIND.TRADE, sequence);
  assert.deepEqual(fillsOf(0), [[tradeId(1), 10_000, 50]]);
  assert.deepEqual(fillsOf(1), [[tradeId(2), 5000, 51]]);
  assert.equal(queries.placed(keyOf(1, 0))!.status, ORDER_STATUS.FILLED);
});

test('a placement whose remainder was killed is answered as it was: partially filled', (t) => {
  const placed = batchOfOneMillisecond(t).placed(keyOf(2, 0, EXT_ROUTE.PLACE))!;
  assert.equal(placed.status, ORDER_STATUS.PARTIALLY_FILLED);
  assert.deepEqual(
    placed.fills.map(({ lots }) => lots),
    [15_000],
  );
});

test('a key finds nothing of another account, route, row or payload', (t) => {
  const queries = batchOfOneMillisecond(t);
  for (const other of [
    { account: ANN },
    { route: EXT_ROUTE.PLACE },
    { row: 2 },
    { key: bytes(9) },
    { fingerprint: bytes(9) },
  ]) {
    assert.equal(queries.placed({ ...keyOf(1), ...other }), null, JSON.stringify(other));
  }
});

test('the keys journaled since a moment come in pages, each once, in order', (t) => {
  const queries = batchOfOneMillisecond(t);
  const { keys, next } = queries.journaled(T0 + 5, 0);
  assert.equal(next, null);
  assert.deepEqual(
    keys.map(({ account, route, createdMs, key }) => [account, route, createdMs - T0, key[0]]),
    [
      [BOB, EXT_ROUTE.BATCH, 5, 1],
      [BOB, EXT_ROUTE.BATCH, 5, 1],
      [BOB, EXT_ROUTE.PLACE, 5, 2],
    ],
  );
  assert.deepEqual(queries.journaled(T0 + 6, 0).keys, []);
});

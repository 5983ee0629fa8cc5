/**
 * Each fill of a market has a microsecond of its own, in the order of the fills, and whoever follows the records finds
 * the same one: the engine, its snapshots, read.db from the beginning or from a snapshot, the views and frames of the
 * gateway, and the export (RULES.md 13.12).
 *
 *     SEED=7 node shared/run.mjs --test test/unit/engine/projector/fillTimes.test.ts
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { History } from '../../../../engine/admin/history.ts';
import { TradeQueries } from '../../../../gateway/account/tradeQueries.ts';
import { FillQueries } from '../../../../gateway/markets/fillQueries.ts';
import { MarketViews } from '../../../../gateway/shardlink/marketViews.ts';
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { fillTime, MICROS_PER_MS } from '../../../../shared/base/fillTimes.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../../../shared/wire/events.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { BEFORE_CANDLES } from '../../../support/olderReadDb.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(20_261_128);
const LOTS = 10_000;
/** More than a millisecond has room for. */
const MANY = 1050;

type Row = { market: number; filled_us: number; filled_ms: number };

/** Bids of one maker, and a seller who takes all of them in one record. */
function sweep(rig: EngineRig, market: number, fills: number): void {
  for (let maker = 0; maker < fills; maker++) {
    rig.place({ account: 1, market, side: SIDE.BUY, outcome: OUTCOME.YES, ticks: 50, lots: LOTS });
  }
  const all = { ticks: 50, lots: fills * LOTS, timeInForce: TIME_IN_FORCE.FAK };
  rig.place({ account: 2, market, side: SIDE.BUY, outcome: OUTCOME.NO, ...all });
}

function fundedRig(): EngineRig {
  const rig = new EngineRig();
  for (const market of [0, 1]) rig.market(market);
  for (const account of [1, 2]) rig.fund(account, 1_000_000_000_000);
  return rig;
}

const lastOf = (rig: EngineRig, market: number): number => rig.engine.state.markets.peek(market)!.lastFillMicros;

describe(`the times of fills (SEED=${seed})`, () => {
  const open: ProjectionRig[] = [];
  afterEach(() => {
    for (const rig of open.splice(0)) rig.close();
  });

  it('of one record are distinct and in order, go on in the next millisecond, and are apart in each market', () => {
    const rig = fundedRig();
    const startUs = rig.nowMs * MICROS_PER_MS;
    sweep(rig, 0, 5);
    assert.equal(lastOf(rig, 0), startUs + 4);
    sweep(rig, 0, MANY);
    assert.equal(lastOf(rig, 0), startUs + 4 + MANY, 'the clock stands, the times go on');
    assert.equal(lastOf(rig, 1), 0);
    sweep(rig, 1, 1);
    assert.equal(lastOf(rig, 1), startUs);
    rig.nowMs += 1;
    sweep(rig, 0, 1);
    assert.equal(lastOf(rig, 0), startUs + 5 + MANY, 'no fill is before an earlier one');
    rig.nowMs += 1000;
    sweep(rig, 0, 1);
    assert.equal(lastOf(rig, 0), rig.nowMs * MICROS_PER_MS);
  });

  it('come out the same of a replay', () => {
    const rig = fundedRig();
    sweep(rig, 0, 40);
    sweep(rig, 1, 7);
    const again = rig.recovered();
    assert.deepEqual([lastOf(again, 0), lastOf(again, 1)], [lastOf(rig, 0), lastOf(rig, 1)]);
  });

  it('are told to a gateway that starts with the state, and go on there as in the shard', () => {
    const rig = fundedRig();
    sweep(rig, 0, 5);
    const views = new MarketViews(1);
    const out = new RecordBuffer(1 << 16);
    rig.engine.describe(() => {
      apply(views, out.words, 0, out.lengthBytes >>> 2, true, 0);
      out.clear();
    }, out);
    const { rows } = rig.journal;
    const next = rows.length;
    sweep(rig, 0, 4);
    sweep(rig, 1, 2);
    for (const { events, timeMs } of rows.slice(next)) {
      apply(views, events.words, events.word, events.end, false, timeMs);
    }
    for (const market of [0, 1]) {
      assert.equal(views.afterMicros(market, rig.nowMs) + rig.nowMs * MICROS_PER_MS, lastOf(rig, market));
    }
  });

  it('are distinct in read.db, with bars and all, and those of the engine, also where history begins later', () => {
    const rig = new ProjectionRig({ seed });
    open.push(rig);
    burst(rig);
    rig.snapshot();
    rig.trade(60);
    rig.snapshot();
    rig.project();
    const whole = fills(rig);
    const byMarket = Map.groupBy(whole, ({ market }) => market);
    for (const rows of byMarket.values()) {
      const times = rows.map(({ filled_us }) => filled_us);
      assert.deepEqual(
        times,
        [...new Set(times)].sort((a, b) => a - b),
      );
    }
    assert.ok(
      whole.some(({ filled_us, filled_ms }) => filled_us >= (filled_ms + 1) * MICROS_PER_MS),
      'one is carried',
    );
    const lasts = lastFills(rig);
    for (const { market, last_fill_us } of lasts) assert.equal(last_fill_us, lastOf(rig.rigs[0]!, market));
    assert.deepEqual(
      exported(rig),
      whole.map(({ filled_us }) => textOf(filled_us)),
    );

    rig.trim();
    for (const suffix of ['', '-wal', '-shm']) rmSync(rig.readDbPath + suffix, { force: true });
    rig.project();
    assert.deepEqual(lastFills(rig), lasts);
    const times = fills(rig).map(({ filled_us }) => filled_us);
    assert.ok(times.length > 0 && times.length < whole.length, 'history begins later');
    assert.deepEqual(
      times,
      whole.slice(-times.length).map(({ filled_us }) => filled_us),
    );
  });

  it('begin a list with the fill that `since` names, also one that went on into the next millisecond', () => {
    const rig = new ProjectionRig({ seed });
    open.push(rig);
    burst(rig);
    rig.project();
    const all = fills(rig);
    const db = new Database(rig.readDbPath, { readonly: true });
    const [tape, lists] = [new FillQueries(db), new TradeQueries(db)];
    const filters = { market: null, takerSides: 0xff, limit: 10_000, offset: 0, after: null };
    for (const at of [0, 1, 29, 30, 999, 1000, 1001, 1050, all.length - 1]) {
      const sinceMicros = all[at]!.filled_us;
      const task = { before: null, sinceMicros, minMicro: 0, limit: 10_000 };
      const expected = all.slice(at).map(({ filled_us }) => textOf(filled_us));
      const shown = tape.recent(task).map((fill) => fillTime(fill.matched_ms, fill.after_us));
      assert.deepEqual(shown.toReversed(), expected);
      assert.equal(tape.recent({ ...task, minMicro: 1 }).length, expected.length);
      const { rows } = lists.list(2, { ...filters, sinceMicros });
      assert.deepEqual(rows.map(({ matched_at }) => matched_at).toReversed(), expected);
    }
    db.close();
  });

  it('are made from the trades that a read.db of version 26 has', () => {
    const rig = new ProjectionRig({ seed });
    open.push(rig);
    rig.trade(60);
    burst(rig);
    rig.snapshot();
    rig.trade(20);
    rig.snapshot();
    rig.project();
    rig.trim();
    const expected = fills(rig);
    const lasts = lastFills(rig);
    const db = new Database(rig.readDbPath);
    db.exec(`${BEFORE_CANDLES} ALTER TABLE trades DROP COLUMN after_us;
      ALTER TABLE market_stats DROP COLUMN last_fill_us;
      PRAGMA user_version = 26`);
    db.close();
    rig.project();
    assert.deepEqual(fills(rig), expected);
    assert.deepEqual(lastFills(rig), lasts);
    assert.equal(
      rig.read((at) => at.prepare('SELECT count(*) FROM history_starts').pluck().get()),
      0,
    );
  });
});

/** Fills of one millisecond in several records, more than the millisecond has microseconds. */
function burst(rig: ProjectionRig): void {
  const engine = rig.rigs[0]!;
  for (const account of [1, 2]) engine.fund(account, 1_000_000_000_000);
  engine.nowMs += 1_000_000 - (engine.nowMs % 60_000) + 59_999;
  sweep(engine, 1, 30);
  sweep(engine, 1, MANY);
  sweep(engine, 1, 3);
  rig.write();
}

function apply(
  views: MarketViews,
  words: Uint32Array,
  start: number,
  end: number,
  isRecovering: boolean,
  timeMs: number,
): void {
  for (let word = start; word < end; word += words[word]! >>> 2) {
    const type = typeOf(words[word + ANY_EVENT.type]!);
    if (type === EVENT.MARKET.TYPE) views.apply(0, isRecovering, words, word);
    if (type === EVENT.LAST_FILL.TYPE) views.recoverFill(words, word);
    if (type === EVENT.FILL.TYPE) views.filled(words[word + ANY_EVENT.market]!, timeMs);
  }
}

function fills(rig: ProjectionRig): Row[] {
  return rig.read((db) =>
    db
      .prepare<[], Row>(
        'SELECT market, matched_ms * 1000 + after_us AS filled_us, matched_ms AS filled_ms FROM trades ORDER BY id',
      )
      .all(),
  );
}

function lastFills(rig: ProjectionRig): { market: number; last_fill_us: number }[] {
  return rig.read((db) =>
    db
      .prepare<[], { market: number; last_fill_us: number }>('SELECT market, last_fill_us FROM market_stats ORDER BY 1')
      .all(),
  );
}

/** The times of the fills in the export of the journal. */
function exported(rig: ProjectionRig): unknown[] {
  const found: unknown[] = [];
  const history = new History(0, (line) => {
    if (line['event'] === 'trade') found.push(line['time']);
  });
  let sequence = 0;
  for (const { timeMs, events, command } of rig.rigs[0]!.journal.rows) {
    history.record({ sequence: ++sequence, timeMs, events, command } as never);
  }
  return found;
}

function textOf(micros: number): string {
  return fillTime(0, micros);
}

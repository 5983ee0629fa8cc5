/** The journal rebuilds the engine byte for byte; a contradicting journal is refused (RULES.md 2.10, 10.5). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkInvariants } from '../../../../engine/core/invariants.ts';
import type { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { MARKET_STATUS, MOVEMENT, SIDE } from '../../../../shared/base/codes.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { Balances, createBalances } from '../../../../shared/wire/balances.ts';
import { errorKey, stateOf } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { ALICE, BOB, CAROL, Scenario } from '../../../support/scenario.ts';

/** Something of everything: fills of all kinds, cancels, expiry, sleep, a closed market, refusals between them. */
function busy(): Scenario {
  const x = new Scenario();
  const second = x.open({ ticksPerUnit: 10, feeBps: 20, endMs: x.nowMs + 50_000 });
  x.endow(second);
  x.order(ALICE, 'BUY Yes 10 @ 60');
  x.order(BOB, 'BUY No 4 @ 40');
  x.order(CAROL, 'SELL Yes 3 @ 55');
  x.order(BOB, 'SELL No 5 @ 39', { expirationSec: x.nowMs / 1000 + 10 });
  x.order(CAROL, 'BUY Yes 9 @ 99 FOK');
  x.order(ALICE, 'SELL Yes 9 @ 60 FAK');
  x.order(ALICE, 'BUY No 2 @ 41 cancel_both');
  x.order(BOB, 'BUY Yes 3 @ 5', { market: second });
  x.order(CAROL, 'BUY Yes 3 @ 4', { market: second });
  const { lastHash } = x;
  x.cancel(CAROL, lastHash);
  x.patch(0, { feeBps: 40 });
  x.order(CAROL, 'BUY Yes 2 @ 30');
  x.patch(0, { feeBps: 50 });
  x.nowMs += 10_000;
  x.cancelMany(ALICE, 0);
  x.fund(BOB, 1234, MOVEMENT.WITHDRAWAL);
  x.convert(BOB, 0, 700, MOVEMENT.MERGE);
  x.nowMs += 45_000;
  x.order(BOB, 'SELL Yes 3 @ 5', { market: second });
  x.order(BOB, 'SELL Yes 3 @ 20');
  return x;
}

/** Replays the rig's journal with one row changed. */
function replayWith(rig: EngineRig, change: (rows: JournalRecord[]) => void): void {
  const { rows } = rig.journal;
  const kept = rows.map((row) => row.copy());
  change(rows);
  try {
    rig.replayed();
  } finally {
    rows.splice(0, rows.length, ...kept);
  }
}

describe('replay', () => {
  it('gives the same state, whatever happened', () => {
    const x = busy();
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
  });

  it('gives the same state after every single row', () => {
    const x = busy();
    const { rows } = x.journal;
    const all = [...rows];
    const states = all.map((_, count) => {
      rows.splice(0, rows.length, ...all.slice(0, count + 1));
      return stateOf(x.replayed());
    });
    assert.deepEqual(states.at(-1), stateOf(x.engine));
    assert.equal(new Set(states.map((state) => state.toString('latin1'))).size, states.length, 'every row counts');
  });

  it('goes on where the journal ends: numbers, priorities, hashes and references', () => {
    const x = busy();
    const before = stateOf(x.engine);
    const y = x.recovered();
    assert.deepEqual(stateOf(y.engine), before);
    for (const rig of [x, y]) {
      assert.equal(rig.fund(ALICE, 5, MOVEMENT.DEPOSIT, 1).reply.sequence, 0, 'a reference is still used');
      const { reply } = rig.place({ account: BOB, side: SIDE.SELL, lots: 1, ticks: 59, salt: 999 });
      assert.equal(reply.code, OK);
      assert.equal(
        errorKey(rig.place({ account: BOB, side: SIDE.SELL, lots: 1, ticks: 59, salt: 999 }).reply.code),
        'DUPLICATE_ORDER',
      );
      rig.patch(0, { status: MARKET_STATUS.LOCKED });
    }
    assert.deepEqual(stateOf(y.engine), stateOf(x.engine));
  });

  it('accepts again what was paid for with money of another shard', () => {
    const cells = createBalances(2);
    const elsewhere = new EngineRig({ balances: new Balances(cells, 0) });
    const here = new EngineRig({ balances: new Balances(cells, 1) });
    elsewhere.fund(1, 500_000);
    here.market(0);
    assert.equal(here.place({}).reply.code, OK);
    assert.deepEqual(stateOf(here.replayed()), stateOf(here.engine));
    assert.equal(here.replayed().state.ledger.netMicro[1], -500_000);
  });

  it('accepts again what was accepted without collateral, whether or not it is checked now', () => {
    const rig = new EngineRig({ collateralCheck: false });
    rig.market(0);
    assert.equal(rig.place({}).reply.code, OK);
    assert.equal(rig.place({ account: 2, side: SIDE.SELL, lots: 20_000, ticks: 51 }).reply.code, OK);
    for (const check of [false, true]) {
      const engine = rig.replayed(check);
      assert.deepEqual(stateOf(engine), stateOf(rig.engine));
      checkInvariants(engine.state);
    }
  });
});

describe('a journal that was tampered with', () => {
  const flip = ({ words, word }: JournalRecord['events'], at: number): void => {
    words[word + at] ^= 1;
  };

  it('is refused at a gap, at a repetition and at a row out of place', () => {
    const x = busy();
    assert.throws(() => replayWith(x, (rows) => rows.splice(5, 1)), /without a gap/);
    assert.throws(() => replayWith(x, (rows) => rows.splice(5, 0, rows[4])), /without a gap/);
    assert.throws(() => replayWith(x, (rows) => rows.reverse()), /without a gap/);
  });

  it('is refused when a stored event says something else than the command does', () => {
    const x = busy();
    x.journal.rows.forEach((_, index) => {
      const isNoticed = (rows: JournalRecord[]): void => flip(rows[index].events, 7);
      assert.throws(() => replayWith(x, isNoticed), /other events than the journal/);
    });
  });

  it('is refused when events are missing', () => {
    const x = busy();
    assert.throws(
      () =>
        replayWith(x, (rows) => {
          rows.at(-1)!.events.bytes -= 80;
        }),
      /other events than the journal/,
    );
  });
});

/** Decisions by the moment of arrival: deadlines (RULES.md 7.12) and the post-only phase (RULES.md 7.13). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIDE, TIME_IN_FORCE } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import { type CommandResult, EngineRig } from '../../support/engineRig.ts';
import { ALICE, Scenario } from '../../support/scenario.ts';

const code = (outcome: CommandResult): string => errorKey(outcome.reply.code);

describe('an order with a deadline', () => {
  it('is taken when its shard reaches it by then, and refused a millisecond later', () => {
    const x = new Scenario();
    x.clockMs = 5000;
    assert.equal(code(x.place({ account: ALICE, deadlineMs: 4999 })), 'DEADLINE_PASSED');
    assert.equal(x.place({ account: ALICE, deadlineMs: 5000 }).reply.code, OK);
    assert.deepEqual(x.journal.rows.length, x.engine.sequence, 'a late one is not journaled');
  });

  it('is held against the clock of the shard, not against the time of its command', () => {
    const x = new Scenario();
    x.clockMs = x.nowMs + 10;
    assert.equal(code(x.place({ account: ALICE, deadlineMs: x.nowMs + 9 })), 'DEADLINE_PASSED');
  });

  it('replays as accepted, however late the replay', () => {
    const x = new Scenario();
    x.clockMs = 5000;
    x.place({ account: ALICE, deadlineMs: 5000 });
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
  });

  it('that replaces another leaves that one when it is late', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30');
    x.clockMs = 5000;
    assert.equal(code(x.amend(x.lastHash, { account: ALICE, lots: 5, ticks: 31, deadlineMs: 1 })), 'DEADLINE_PASSED');
    assert.deepEqual(x.drawn(), ['bid 30  alice 5 Yes']);
  });
});

describe('the post-only phase after a start', () => {
  /** Alice has a bid of 10 at 50, and the shard has restarted: until 9000 orders must not cross. */
  function restarted(): { x: EngineRig; old: Uint32Array } {
    const before = new EngineRig();
    before.market(0, { minOrderAtomic: 100 });
    for (const account of [1, 2]) {
      before.fund(account, 1_000_000);
      before.convert(account, 0, 100_000);
    }
    const { hash } = before.place({ lots: 10, ticks: 50 });
    const x = before.recovered({ postOnlyUntilMs: 9000 });
    x.clockMs = 8999;
    return { x, old: hash };
  }
  const SELL = { account: 2, side: SIDE.SELL, lots: 10 };

  it('refuses every order that would cross, of any time in force, and ends at its millisecond', () => {
    const { x } = restarted();
    for (const timeInForce of [TIME_IN_FORCE.GTC, TIME_IN_FORCE.FOK, TIME_IN_FORCE.FAK]) {
      assert.equal(code(x.place({ ...SELL, ticks: 50, timeInForce })), 'POST_ONLY_PHASE');
    }
    assert.equal(code(x.place({ ...SELL, ticks: 50, postOnly: true })), 'POST_ONLY_PHASE');
    x.clockMs = 9000;
    assert.equal(x.place({ ...SELL, ticks: 50 }).reply.code, OK);
  });

  it('lets orders rest, be cancelled and be replaced', () => {
    const { x, old } = restarted();
    const resting = x.place({ ...SELL, ticks: 51 });
    assert.equal(resting.reply.code, OK);
    assert.equal(code(x.replace(old, { lots: 10, ticks: 51 })), 'POST_ONLY_PHASE');
    assert.equal(x.replace(old, { lots: 10, ticks: 49 }).reply.code, OK);
    assert.equal(x.cancel(2, resting.hash).reply.code, OK);
  });
});

/** Cancels orders that the administrator no longer allows an account (RULES.md 9.15, 9.16). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIDE } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { stateOf } from '../../support/engine.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

describe('a sweep', () => {
  it("cancels every order of the account as the administrator, oldest first, and nobody else's", () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30');
    x.order(BOB, 'BUY Yes 5 @ 31');
    x.order(ALICE, 'SELL No 5 @ 40');
    const swept = x.sweep(ALICE);
    assert.deepEqual(x.tell(swept), ['alice admin 5 left', 'alice admin 5 left']);
    assert.equal(swept.reply.a, 2);
    assert.deepEqual(x.drawn(), ['bid 31  bob 5 Yes']);
    assert.equal(x.moved(ALICE), 'nothing');
  });

  it('of one side leaves orders that only sell tokens of the account', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30');
    x.order(ALICE, 'BUY No 5 @ 30');
    x.order(ALICE, 'SELL Yes 4 @ 60');
    x.order(ALICE, 'SELL No 3 @ 60');
    assert.equal(x.sweep(ALICE, SIDE.BUY).reply.a, 2);
    assert.deepEqual(x.drawn(), ['ask 60  alice 4 Yes', 'bid 40  alice 3 No']);
  });

  it('of one grant leaves those of others, and takes those whose grant is not known', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 30', { grant: 7 });
    x.order(ALICE, 'BUY Yes 2 @ 31', { grant: 8 });
    x.order(ALICE, 'BUY Yes 3 @ 32');
    assert.equal(x.sweep(ALICE, undefined, 7).reply.a, 2);
    assert.deepEqual(x.drawn(), ['bid 31  alice 2 Yes']);
  });

  it('takes an order that replaced one, under the grant of the new signature', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30', { grant: 7 });
    assert.equal(x.amend(x.lastHash, { account: ALICE, lots: 4, ticks: 30, grant: 8 }).reply.code, OK);
    assert.equal(x.sweep(ALICE, undefined, 7).reply.a, 0);
    assert.equal(x.sweep(ALICE, undefined, 8).reply.a, 1);
  });

  it('that concerns nothing is answered and leaves no record', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 30', { grant: 7 });
    const { sequence } = x.engine;
    assert.equal(x.sweep(BOB).reply.code, OK);
    assert.equal(x.sweep(ALICE, undefined, 8).reply.code, OK);
    assert.equal(x.sweep(ALICE, SIDE.SELL).reply.code, OK);
    assert.equal(x.engine.sequence, sequence);
  });

  it('replays to the same state, and the state knows the grants of its orders', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 30', { grant: 7 });
    x.order(ALICE, 'BUY Yes 2 @ 31', { grant: 8 });
    x.sweep(ALICE, undefined, 7);
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
    const other = new Scenario();
    other.order(ALICE, 'BUY Yes 2 @ 31', { grant: 9 });
    const same = new Scenario();
    same.order(ALICE, 'BUY Yes 2 @ 31', { grant: 8 });
    assert.notDeepEqual(digestOf(other), digestOf(same));
  });
});

function digestOf(x: Scenario): number[] {
  const lanes = new Uint32Array(2);
  x.engine.state.writeDigest(lanes, 0);
  return [...lanes];
}

/** The stages through which a market opens again after a halt (RULES.md 9.70). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, STAGE, TIME_IN_FORCE } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { decodeEvents, EVENT } from '../../../shared/wire/events.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import type { CommandResult } from '../../support/engineRig.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

const { OPEN, POST_ONLY, CANCEL_ONLY } = STAGE;
const code = (outcome: CommandResult): string => errorKey(outcome.reply.code);
/** The scenario's market has the index 0. */
const FIRST = 0;

function stageOf(x: Scenario, market = FIRST): number {
  return x.engine.state.markets.peek(market)!.stage;
}

/** Alice bids 5 at 30; Bob has Yes tokens to sell. */
function halted(stage: number): Scenario {
  const x = new Scenario();
  x.order(ALICE, 'BUY Yes 5 @ 30');
  assert.equal(code(x.stage(stage)), 'OK');
  return x;
}

describe('a market in cancel-only', () => {
  it('refuses every order, one that could not trade too, and journals nothing', () => {
    const x = halted(CANCEL_ONLY);
    const rows = x.journal.rows.length;
    for (const timeInForce of [TIME_IN_FORCE.GTC, TIME_IN_FORCE.FOK, TIME_IN_FORCE.FAK]) {
      assert.equal(code(x.place({ account: BOB, ticks: 10, timeInForce })), 'CANCEL_ONLY_PHASE');
    }
    assert.equal(code(x.place({ account: BOB, ticks: 10, postOnly: true })), 'CANCEL_ONLY_PHASE');
    assert.equal(code(x.replace(x.lastHash, { account: ALICE, lots: 1, ticks: 29 })), 'CANCEL_ONLY_PHASE');
    assert.equal(x.journal.rows.length, rows);
    assert.deepEqual(x.drawn(), ['bid 30  alice 5 Yes']);
  });

  it('is said before faults of the form, and after a duplicate and the status', () => {
    const x = halted(CANCEL_ONLY);
    assert.equal(code(x.place({ account: BOB, ticks: 10, expirationSec: 1 })), 'CANCEL_ONLY_PHASE');
    const again = new Scenario();
    const { hash } = again.place({ account: ALICE, lots: 5, ticks: 30, salt: 77 });
    again.stage(CANCEL_ONLY);
    assert.equal(code(again.place({ account: ALICE, lots: 5, ticks: 30, salt: 77 })), 'DUPLICATE_ORDER');
    assert.ok(hash.length > 0);
    again.patch(FIRST, { status: MARKET_STATUS.LOCKED });
    assert.equal(code(again.place({ account: BOB, ticks: 10 })), 'MARKET_NOT_ACTIVE');
  });

  it('lets cancels, splits, merges and withdrawals go on', () => {
    const x = halted(CANCEL_ONLY);
    for (const movement of [MOVEMENT.SPLIT, MOVEMENT.MERGE]) {
      assert.equal(code(x.convert(BOB, FIRST, 1000, movement)), 'OK');
    }
    assert.equal(code(x.fund(BOB, 1000, MOVEMENT.WITHDRAWAL)), 'OK');
    assert.equal(code(x.cancel(ALICE, x.lastHash)), 'OK');
    assert.deepEqual(x.drawn(), []);
  });

  it('takes an amend that keeps its place in the queue, and no other', () => {
    const x = halted(CANCEL_ONLY);
    const old = x.lastHash;
    for (const [what, refused] of [
      ['more', { lots: 6, ticks: 30 }],
      ['a better price', { lots: 5, ticks: 31 }],
      ['a worse price', { lots: 5, ticks: 29 }],
      ['another outcome', { lots: 5, ticks: 30, outcome: OUTCOME.NO }],
      ['no whole lots', { makerAmount: 101, takerAmount: 333 }],
    ] as const) {
      assert.equal(code(x.amend(old, { account: ALICE, ...refused })), 'CANCEL_ONLY_PHASE', what);
    }
    assert.equal(code(x.amend(old, { account: BOB, lots: 4, ticks: 30 })), 'CANCEL_ONLY_PHASE', "another's order");
    const amended = x.amend(old, { account: ALICE, lots: 4, ticks: 30 });
    assert.deepEqual([code(amended), amended.reply.a], ['OK', 1], 'its place is kept');
    assert.deepEqual(x.drawn(), ['bid 30  alice 4 Yes']);
    assert.equal(code(x.amend(old, { account: ALICE, lots: 3, ticks: 30 })), 'CANCEL_ONLY_PHASE', 'it is gone');
  });

  it('an amend that would wake a dormant order is refused', () => {
    const x = halted(CANCEL_ONLY);
    const old = x.lastHash;
    x.patch(FIRST, { feeBps: 20 });
    assert.equal(code(x.amend(old, { account: ALICE, lots: 4, ticks: 30, feeBps: 20 })), 'CANCEL_ONLY_PHASE');
  });

  it('a dormant order wakes when its fee returns', () => {
    const x = halted(CANCEL_ONLY);
    x.patch(FIRST, { feeBps: 20 });
    assert.equal(code(x.patch(FIRST, { feeBps: 50 })), 'OK');
    assert.deepEqual(x.drawn(), ['bid 30  alice 5 Yes']);
  });
});

describe('a market in post-only', () => {
  it('refuses every order that would cross, of any time in force, and lets the others rest', () => {
    const x = halted(POST_ONLY);
    const sell = { account: BOB, side: SIDE.SELL, lots: 5 };
    for (const timeInForce of [TIME_IN_FORCE.GTC, TIME_IN_FORCE.FOK, TIME_IN_FORCE.FAK]) {
      assert.equal(code(x.place({ ...sell, ticks: 30, timeInForce })), 'POST_ONLY_PHASE');
    }
    assert.equal(code(x.place({ ...sell, ticks: 30, postOnly: true })), 'POST_ONLY_PHASE');
    assert.equal(code(x.place({ ...sell, ticks: 31, timeInForce: TIME_IN_FORCE.FAK })), 'FAK_NO_FILL');
    assert.equal(code(x.place({ ...sell, ticks: 31 })), 'OK');
    assert.equal(code(x.replace(x.lastHash, { account: ALICE, lots: 5, ticks: 31 })), 'POST_ONLY_PHASE');
    assert.deepEqual(x.drawn(), ['ask 31  bob 5 Yes', 'bid 30  alice 5 Yes']);
  });

  it('a mint across outcomes is a trade and refused too', () => {
    const x = halted(POST_ONLY);
    assert.equal(code(x.place({ account: BOB, lots: 5, ticks: 70, outcome: OUTCOME.NO })), 'POST_ONLY_PHASE');
  });

  it('trades again once it is open', () => {
    const x = halted(POST_ONLY);
    x.stage(OPEN, POST_ONLY);
    assert.equal(code(x.place({ account: BOB, side: SIDE.SELL, lots: 5, ticks: 30 })), 'OK');
    assert.deepEqual(x.drawn(), []);
  });
});

describe('a step', () => {
  it('to a looser stage names the one it comes from: of two operators one takes it', () => {
    const x = halted(CANCEL_ONLY);
    assert.equal(code(x.stage(POST_ONLY)), 'OTHER_STAGE', 'no stage named');
    assert.equal(code(x.stage(OPEN, POST_ONLY)), 'OTHER_STAGE', 'another stage');
    assert.equal(code(x.stage(POST_ONLY, CANCEL_ONLY)), 'OK');
    assert.equal(code(x.stage(OPEN, CANCEL_ONLY)), 'OTHER_STAGE', 'the second one');
    assert.equal(stageOf(x), POST_ONLY);
  });

  it('that is repeated is answered again and journaled once', () => {
    const x = halted(CANCEL_ONLY);
    const rows = x.journal.rows.length;
    assert.equal(code(x.stage(CANCEL_ONLY)), 'OK');
    assert.equal(code(x.stage(CANCEL_ONLY, OPEN)), 'OK');
    assert.equal(code(x.stage(CANCEL_ONLY, undefined, FIRST)), 'OK');
    assert.equal(x.journal.rows.length, rows);
  });

  it('of all to a stricter stage takes every market, to a looser one those that it comes from', () => {
    const x = new Scenario();
    for (const market of [1, 2, 3]) x.market(market);
    x.stage(POST_ONLY, OPEN, 1);
    assert.equal(x.stage(CANCEL_ONLY, OPEN).reply.a, 4);
    x.stage(OPEN, CANCEL_ONLY, 2);
    const { reply, types } = x.stage(POST_ONLY, CANCEL_ONLY);
    assert.equal(reply.a, 3);
    assert.deepEqual(
      [0, 1, 2, 3].map((market) => stageOf(x, market)),
      [POST_ONLY, POST_ONLY, OPEN, POST_ONLY],
      'one that was opened ahead stays open',
    );
    assert.deepEqual(
      types.filter((type) => type !== EVENT.RECORD.TYPE && type !== EVENT.REPLY.TYPE),
      [EVENT.STAGE.TYPE],
      'one event, however many markets',
    );
  });

  it('of all takes those along that were left behind, when it is repeated', () => {
    const x = halted(CANCEL_ONLY);
    x.market(1);
    x.stage(OPEN, CANCEL_ONLY);
    x.stage(CANCEL_ONLY, OPEN, 1);
    assert.equal(x.stage(OPEN, CANCEL_ONLY).reply.a, 1);
    assert.equal(stageOf(x, 1), OPEN);
  });

  it('is refused for an unknown market, a decided one and an unknown stage', () => {
    const x = new Scenario();
    assert.equal(code(x.stage(CANCEL_ONLY, undefined, 9)), 'MARKET_NOT_FOUND');
    assert.equal(code(x.stage(3)), 'VALIDATION_ERROR');
    assert.equal(code(x.stage(CANCEL_ONLY, 3)), 'VALIDATION_ERROR');
    x.resolve(FIRST, 1_000_000);
    assert.equal(code(x.stage(CANCEL_ONLY, undefined, FIRST)), 'INVALID_TRANSITION');
    assert.equal(code(x.stage(CANCEL_ONLY)), 'OK', 'all others step');
  });

  it('holds whatever the status becomes: a locked market opens in its stage', () => {
    const x = new Scenario();
    x.patch(FIRST, { status: MARKET_STATUS.LOCKED });
    assert.equal(code(x.stage(CANCEL_ONLY, OPEN, FIRST)), 'OK');
    x.patch(FIRST, { status: MARKET_STATUS.ACTIVE });
    assert.equal(code(x.place({ account: ALICE, ticks: 10 })), 'CANCEL_ONLY_PHASE');
  });
});

describe('a new market', () => {
  it('begins in the stage of the shard, or in a stricter one of its own', () => {
    const x = halted(POST_ONLY);
    x.market(1);
    x.market(2, { stage: CANCEL_ONLY });
    assert.deepEqual([stageOf(x, 1), stageOf(x, 2)], [POST_ONLY, CANCEL_ONLY]);
    x.stage(OPEN, POST_ONLY);
    x.market(3);
    x.market(4, { stage: POST_ONLY });
    assert.deepEqual([stageOf(x, 3), stageOf(x, 4)], [OPEN, POST_ONLY]);
  });
});

describe('stages', () => {
  it('are there again after a replay, and a shard that recovers says them', () => {
    const x = halted(CANCEL_ONLY);
    x.market(1);
    x.stage(POST_ONLY, CANCEL_ONLY, 1);
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
    const again = x.recovered();
    assert.equal(code(again.place({ account: BOB, ticks: 10 })), 'CANCEL_ONLY_PHASE');
    const { engine } = again;
    const said: string[] = [];
    engine.describe(() => {
      for (const event of decodeEvents(engine.out.words, 0, engine.out.lengthBytes >>> 2)) {
        if (event.name === 'STAGE') said.push(`all ${event.stage} from ${event.from}`);
        if (event.name === 'MARKET') said.push(`${event.market} ${event.stage}`);
      }
      engine.out.clear();
    });
    assert.deepEqual(said, [`all ${CANCEL_ONLY} from ${CANCEL_ONLY}`, `0 ${CANCEL_ONLY}`, `1 ${POST_ONLY}`]);
  });

  it('are part of the digest, and leave none behind once all is open', () => {
    const digestOf = (x: Scenario): string => {
      const words = new Uint32Array(2);
      x.engine.state.writeDigest(words, 0);
      return words.join();
    };
    const x = new Scenario();
    const open = digestOf(x);
    x.stage(CANCEL_ONLY);
    const halted = digestOf(x);
    x.stage(POST_ONLY, CANCEL_ONLY);
    const stepped = digestOf(x);
    x.stage(CANCEL_ONLY, undefined, FIRST);
    const heldBack = digestOf(x);
    assert.equal(new Set([open, halted, stepped, heldBack]).size, 4);
    for (const market of [undefined, FIRST]) x.stage(OPEN, market === undefined ? POST_ONLY : CANCEL_ONLY, market);
    assert.equal(digestOf(x), open);
  });

  it('a group that trips and an end that comes act as in the stage open', () => {
    const x = new Scenario();
    x.groupSet(ALICE, 1, 60, 1_000_000);
    x.place({ account: ALICE, lots: 5, ticks: 30, group: 1 });
    x.stage(CANCEL_ONLY);
    assert.equal(code(x.groupTrip(ALICE, 1)), 'OK');
    assert.deepEqual(x.drawn(), []);
    x.nowMs = x.engine.state.markets.peek(FIRST)!.endMs;
    x.tick();
    assert.equal(x.engine.state.markets.peek(FIRST)!.status, MARKET_STATUS.LOCKED);
    assert.equal(x.resolve(FIRST, 1_000_000).reply.code, OK);
  });
});

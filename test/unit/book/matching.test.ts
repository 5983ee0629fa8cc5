/** Price, then time; execution at the maker's price; what moves between the parties (RULES.md 2.1, 2.3, 3.1). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIDE, TIME_IN_FORCE } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { EVENT } from '../../../shared/wire/events.ts';
import type { CommandResult } from '../../support/engineRig.ts';
import { ALICE, BOB, CAROL, FEES, Scenario } from '../../support/scenario.ts';

const FREE = { feeBps: 0 };

describe('resting', () => {
  it('a buy reserves lots times limit in USDC, a sell its tokens', () => {
    const x = new Scenario(FREE);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 10 @ 60'), ['alice rests 10']);
    assert.deepEqual(x.order(BOB, 'SELL Yes 7 @ 62'), ['bob rests 7']);
    assert.deepEqual(x.order(CAROL, 'SELL No 4 @ 45'), ['carol rests 4']);
    assert.deepEqual(x.drawn(), ['ask 62  bob 7 Yes', 'bid 60  alice 10 Yes', 'bid 55  carol 4 No']);
    assert.equal(x.moved(ALICE), 'usdc -600 (reserved 600)');
    assert.equal(x.moved(BOB), 'yes -700 (reserved 700)');
    assert.equal(x.moved(CAROL), 'no -400 (reserved 400)');
  });

  it('a cancel releases everything that is still reserved', () => {
    const x = new Scenario(FREE);
    x.order(ALICE, 'BUY Yes 10 @ 60');
    const { lastHash } = x;
    x.order(BOB, 'SELL Yes 3 @ 60');
    assert.equal(x.moved(ALICE), 'usdc -600 (reserved 420), yes +300');
    assert.deepEqual(x.tell(x.cancel(ALICE, lastHash)), ['alice user 7 left']);
    assert.equal(x.moved(ALICE), 'usdc -180, yes +300');
    assert.deepEqual(x.drawn(), []);
  });
});

describe('priority', () => {
  it('the better price goes first, whatever came first', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'SELL Yes 5 @ 62');
    x.order(CAROL, 'SELL Yes 5 @ 61');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 6 @ 62'), [
      'standard 5 @ 61: carol fee 0, alice fee 0',
      'carol filled',
      'standard 1 @ 62: bob fee 0, alice fee 0',
      'alice filled',
    ]);
    assert.deepEqual(x.drawn(), ['ask 62  bob 4 Yes']);
  });

  it('at one price the earlier order goes first, whichever outcome it was written in', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'BUY No 5 @ 40');
    x.order(CAROL, 'SELL Yes 5 @ 60');
    x.order(BOB, 'BUY No 5 @ 40');
    assert.deepEqual(x.drawn(), ['ask 60  bob 5 No, carol 5 Yes, bob 5 No']);
    assert.deepEqual(x.order(ALICE, 'BUY Yes 11 @ 60'), [
      'mint 5 @ 60: bob fee 0, alice fee 0',
      'bob filled',
      'standard 5 @ 60: carol fee 0, alice fee 0',
      'carol filled',
      'mint 1 @ 60: bob fee 0, alice fee 0',
      'alice filled',
    ]);
    assert.deepEqual(x.drawn(), ['ask 60  bob 4 No']);
  });

  it('a partly filled maker keeps its place in the queue', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'SELL Yes 5 @ 60');
    x.order(CAROL, 'SELL Yes 5 @ 60');
    x.order(ALICE, 'BUY Yes 2 @ 60');
    assert.deepEqual(x.drawn(), ['ask 60  bob 3 Yes, carol 5 Yes']);
  });

  it('a cancel in the middle of a queue leaves the order of the others', () => {
    const x = new Scenario(FREE);
    x.order(ALICE, 'SELL Yes 1 @ 60');
    x.order(BOB, 'SELL Yes 2 @ 60');
    const { lastHash } = x;
    x.order(CAROL, 'SELL Yes 3 @ 60');
    x.cancel(BOB, lastHash);
    assert.deepEqual(x.drawn(), ['ask 60  alice 1 Yes, carol 3 Yes']);
  });
});

describe('a standard match', () => {
  it('moves lots x tick in USDC one way and lots x D in tokens the other', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'SELL Yes 10 @ 60');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 10 @ 60'), [
      'standard 10 @ 60: bob fee 0, alice fee 0',
      'bob filled',
      'alice filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -600, yes +1000');
    assert.equal(x.moved(BOB), 'usdc +600, yes -1000');
    assert.equal(x.moved(FEES), 'nothing');
    assert.equal(x.minted(), 0);
  });

  it('happens at the price of the resting order: a buyer gets the difference back', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'SELL Yes 10 @ 60');
    x.order(ALICE, 'BUY Yes 12 @ 65');
    assert.equal(x.moved(ALICE), 'usdc -730 (reserved 130), yes +1000');
    assert.equal(x.moved(BOB), 'usdc +600, yes -1000');
    assert.deepEqual(x.drawn(), ['bid 65  alice 2 Yes']);
  });

  it('happens at the price of the resting order: a seller receives more', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'BUY Yes 10 @ 65');
    x.order(ALICE, 'SELL Yes 12 @ 60');
    assert.equal(x.moved(ALICE), 'usdc +650, yes -1200 (reserved 200)');
    assert.equal(x.moved(BOB), 'usdc -650, yes +1000');
    assert.deepEqual(x.drawn(), ['ask 60  alice 2 Yes']);
  });

  it('of No is the mirror: the two parties deal in No at D less the Yes tick', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'SELL No 10 @ 40');
    assert.deepEqual(x.drawn(), ['bid 60  bob 10 No']);
    assert.deepEqual(x.order(ALICE, 'BUY No 10 @ 45'), [
      'standard 10 @ 60: bob fee 0, alice fee 0',
      'bob filled',
      'alice filled',
    ]);
    assert.equal(x.moved(ALICE), 'usdc -400, no +1000');
    assert.equal(x.moved(BOB), 'usdc +400, no -1000');
  });

  it('walks through as many levels as the limit allows and rests the remainder', () => {
    const x = new Scenario(FREE);
    x.order(BOB, 'SELL Yes 1 @ 1');
    x.order(BOB, 'SELL Yes 2 @ 33');
    x.order(BOB, 'SELL Yes 3 @ 64');
    x.order(CAROL, 'SELL Yes 4 @ 65');
    x.order(ALICE, 'BUY Yes 9 @ 64');
    assert.deepEqual(x.drawn(), ['ask 65  carol 4 Yes', 'bid 64  alice 3 Yes']);
    // 1 x 1 + 2 x 33 + 3 x 64 = 259 paid, 3 x 64 = 192 still reserved.
    assert.equal(x.moved(ALICE), 'usdc -451 (reserved 192), yes +600');
    assert.equal(x.moved(BOB), 'usdc +259, yes -600');
  });
});

describe('what happens in one market', () => {
  it('stays in that market', () => {
    const x = new Scenario(FREE);
    x.open(FREE);
    x.order(BOB, 'SELL Yes 10 @ 60');
    assert.deepEqual(x.order(ALICE, 'BUY Yes 10 @ 60', { market: 1 }), ['alice rests 10']);
    assert.deepEqual(x.drawn(0), ['ask 60  bob 10 Yes']);
    assert.deepEqual(x.drawn(1), ['bid 60  alice 10 Yes']);
    assert.equal(x.tokens(BOB, 0, 1).available, 0);
  });
});

describe('the public sequence of a market', () => {
  const [REST, FILL, CLOSED] = [EVENT.REST.TYPE, EVENT.FILL.TYPE, EVENT.CLOSED.TYPE];
  const [DORMANT, WOKEN] = [EVENT.DORMANT.TYPE, EVENT.WOKEN.TYPE];
  const frames = ({ frames: told }: CommandResult): [number, number][] =>
    told.map(({ type, sequence }) => [type, sequence]);

  it('counts every visible change once, and a fill twice: the trade and the maker’s remainder', () => {
    const x = new Scenario();
    const [sell, buy] = [
      { side: SIDE.SELL, lots: 10 },
      { account: BOB, lots: 15 },
    ];
    assert.deepEqual(frames(x.place(sell)), [[REST, 1]]);
    assert.deepEqual(frames(x.place(sell)), [[REST, 2]]);
    const taken = x.place(buy);
    assert.deepEqual(frames(taken), [
      [FILL, 3],
      [FILL, 5],
    ]);
    assert.equal(taken.types.filter((type) => type === CLOSED).length, 2, 'that they are filled is in the fills');
    const { hash } = x.place({ lots: 3, ticks: 40 });
    assert.deepEqual(frames(x.cancel(ALICE, hash)), [[CLOSED, 8]]);
  });

  it('passes over what nobody could see', () => {
    const x = new Scenario();
    x.place({ side: SIDE.SELL, lots: 5, ticks: 50 });
    const remainder = x.place({ account: BOB, lots: 9, ticks: 50, timeInForce: TIME_IN_FORCE.FAK });
    assert.deepEqual(frames(remainder), [[FILL, 2]]);
    x.place({ lots: 5, ticks: 30 });
    assert.deepEqual(frames(x.patch(0, { feeBps: 40 })), [[DORMANT, 5]]);
    assert.deepEqual(frames(x.patch(0, { feeBps: 50 })), [[WOKEN, 6]]);
    x.patch(0, { feeBps: 40 });
    assert.deepEqual(frames(x.cancelMany(ALICE)), [], 'a dormant order leaves unseen');
    assert.deepEqual(frames(x.place({ lots: 5, ticks: 100 })), []);
    assert.equal(x.engine.state.markets.peek(0)!.sequence, 7);
  });
});

describe('cancelling', () => {
  it('many takes those of the account, and only in the market and outcome asked for', () => {
    const x = new Scenario(FREE);
    const second = x.open(FREE);
    const orders = (): void => {
      x.order(ALICE, 'BUY Yes 1 @ 10');
      x.order(ALICE, 'BUY No 2 @ 10');
      x.order(ALICE, 'BUY Yes 3 @ 10', { market: second });
      x.order(BOB, 'BUY Yes 4 @ 10');
    };
    orders();
    const no = x.cancelMany(ALICE, 0, 1);
    assert.deepEqual([no.reply.a, ...x.tell(no)], [1, 'alice user 2 left']);
    const first = x.cancelMany(ALICE, 0);
    assert.deepEqual([first.reply.a, ...x.tell(first)], [1, 'alice user 1 left']);
    const rest = x.cancelMany(ALICE);
    assert.deepEqual([rest.reply.a, ...x.tell(rest)], [1, 'alice user 3 left']);
    assert.deepEqual([...x.drawn(0), ...x.drawn(second)], ['bid 10  bob 4 Yes']);
    assert.equal(x.moved(ALICE), 'nothing');
  });

  it('many of none is done without a journal row', () => {
    const x = new Scenario(FREE);
    const rows = x.journal.rows.length;
    const { reply, types } = x.cancelMany(ALICE);
    assert.deepEqual(reply, { code: OK, sequence: 0, a: 0, b: 0, c: 0 });
    assert.deepEqual(types, [EVENT.REPLY.TYPE]);
    assert.equal(x.journal.rows.length, rows);
  });

  it('a closed order is refused as not cancellable, a stranger’s as unknown', () => {
    const x = new Scenario(FREE);
    x.order(ALICE, 'BUY Yes 1 @ 60');
    const hash = x.lastHash;
    assert.deepEqual(x.tell(x.cancel(BOB, hash)), ['refused ORDER_NOT_FOUND']);
    x.order(BOB, 'SELL Yes 1 @ 60');
    assert.deepEqual(x.tell(x.cancel(ALICE, hash)), ['refused ORDER_NOT_CANCELLABLE']);
    assert.deepEqual(x.tell(x.cancel(BOB, hash)), ['refused ORDER_NOT_FOUND']);
    assert.deepEqual(x.tell(x.cancel(ALICE, new Uint32Array(8).fill(9))), ['refused ORDER_NOT_FOUND']);
  });
});

/** A market from draft to locked: changes by time alone, and changes by the administrator (RULES.md 9.5). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MARKET_STATUS, MARKET_STATUS_NAMES, MOVEMENT } from '../../../shared/base/codes.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

const NOW = 1_800_000_000_000;
const PENDING = { status: MARKET_STATUS.PENDING, startMs: NOW + 1000, endMs: NOW + 5000, feeBps: 0 };

/** A scenario with a second market of the wanted kind; the first is open and gives everybody USDC. */
function withMarket(options: object): { x: Scenario; market: number; statusNow: () => string } {
  const x = new Scenario();
  const market = x.open(options);
  return { x, market, statusNow: () => MARKET_STATUS_NAMES[x.engine.state.markets.peek(market)!.status] };
}

describe('time', () => {
  it('starts a pending market at its very millisecond and not before', () => {
    const { x, market, statusNow } = withMarket(PENDING);
    x.nowMs = NOW + 999;
    x.tick();
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60', { market }), ['refused MARKET_NOT_ACTIVE']);
    x.nowMs = NOW + 1000;
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60', { market }), ['alice rests 1']);
    assert.equal(statusNow(), 'active');
  });

  it('closes an active market at its very millisecond: orders are cancelled and it is locked', () => {
    const { x, market, statusNow } = withMarket({ endMs: NOW + 5000, feeBps: 0 });
    x.order(ALICE, 'BUY Yes 1 @ 60', { market });
    x.order(BOB, 'BUY No 2 @ 30', { market });
    x.order(ALICE, 'BUY Yes 3 @ 61', { market });
    x.nowMs = NOW + 4999;
    assert.deepEqual(x.tell(x.tick()), []);
    x.nowMs = NOW + 5000;
    // The order that notices it comes too late itself.
    assert.deepEqual(x.order(BOB, 'SELL Yes 1 @ 1', { market, feeBps: 0 }), [
      'alice market_closed 3 left',
      'alice market_closed 1 left',
      'bob market_closed 2 left',
      'refused MARKET_NOT_ACTIVE',
    ]);
    assert.equal(statusNow(), 'locked');
    assert.equal(x.usdc(ALICE).reserved, 0);
  });

  it('closes a pending market that never started, and one whose end was moved into the past', () => {
    const late = withMarket(PENDING);
    late.x.nowMs = NOW + 60_000;
    late.x.tick();
    assert.equal(late.statusNow(), 'locked');

    const moved = withMarket({ feeBps: 0 });
    moved.x.patch(moved.market, { endMs: NOW - 1 });
    moved.x.tick();
    assert.equal(moved.statusNow(), 'locked');
  });

  it('closes a pending market whose end comes before its start', () => {
    const { x, market, statusNow } = withMarket({ ...PENDING, startMs: NOW + 9000 });
    x.nowMs = NOW + 5000;
    assert.deepEqual(x.order(ALICE, 'BUY Yes 1 @ 60', { market }), ['refused MARKET_NOT_ACTIVE']);
    assert.equal(statusNow(), 'locked');
  });

  it('leaves a draft alone', () => {
    const { x, statusNow } = withMarket({ ...PENDING, status: MARKET_STATUS.DRAFT });
    x.nowMs = NOW + 60_000;
    x.tick();
    assert.equal(statusNow(), 'draft');
  });

  it('carries out due changes in order of time, however late it notices them', () => {
    const { x, market, statusNow } = withMarket({ ...PENDING, endMs: NOW + 5000 });
    x.nowMs = NOW + 1000;
    x.order(ALICE, 'BUY Yes 1 @ 60', { market, expirationSec: (NOW + 4000) / 1000 });
    x.order(ALICE, 'BUY Yes 2 @ 60', { market, expirationSec: (NOW + 5000) / 1000 });
    x.order(ALICE, 'BUY Yes 3 @ 60', { market, expirationSec: (NOW + 6000) / 1000 });
    x.order(BOB, 'BUY Yes 4 @ 60', { market: 0, expirationSec: (NOW + 6000) / 1000 });
    x.nowMs = NOW + 60_000;
    assert.deepEqual(x.tell(x.tick()), [
      'alice expired 1 left',
      'alice market_closed 2 left',
      'alice market_closed 3 left',
      'bob expired 4 left',
    ]);
    assert.equal(statusNow(), 'locked');
  });
});

describe('the administrator', () => {
  it('may lock a market, which keeps its orders, and open it again', () => {
    const { x, market, statusNow } = withMarket({ feeBps: 0 });
    x.order(ALICE, 'BUY Yes 1 @ 60', { market });
    const { lastHash } = x;
    x.patch(market, { status: MARKET_STATUS.LOCKED });
    assert.deepEqual(x.drawn(market), ['bid 60  alice 1 Yes']);
    assert.deepEqual(x.order(BOB, 'SELL Yes 1 @ 60', { market }), ['refused MARKET_NOT_ACTIVE']);
    x.patch(market, { status: MARKET_STATUS.ACTIVE });
    assert.equal(statusNow(), 'active');
    x.patch(market, { status: MARKET_STATUS.LOCKED });
    assert.deepEqual(x.tell(x.cancel(ALICE, lastHash)), ['alice user 1 left']);
  });

  it('a locked market still closes at its end', () => {
    const { x, market } = withMarket({ feeBps: 0, endMs: NOW + 5000 });
    x.order(ALICE, 'BUY Yes 1 @ 60', { market });
    x.patch(market, { status: MARKET_STATUS.LOCKED });
    x.nowMs = NOW + 5000;
    assert.deepEqual(x.tell(x.tick()), ['alice market_closed 1 left']);
    assert.deepEqual(x.tell(x.tick()), []);
  });

  it('may open a closed market again only with a later end, at which it closes again', () => {
    const { x, market, statusNow } = withMarket({ feeBps: 0, endMs: NOW + 5000 });
    x.nowMs = NOW + 5000;
    x.tick();
    assert.deepEqual(x.tell(x.patch(market, { status: MARKET_STATUS.ACTIVE })), ['refused INVALID_TRANSITION']);
    assert.equal(statusNow(), 'locked');
    x.patch(market, { status: MARKET_STATUS.ACTIVE, endMs: NOW + 9000 });
    x.order(ALICE, 'BUY Yes 1 @ 60', { market });
    x.nowMs = NOW + 9000;
    assert.deepEqual(x.tell(x.tick()), ['alice market_closed 1 left']);
    assert.equal(statusNow(), 'locked');
  });

  it('may move along the arrows only', () => {
    const { DRAFT, PENDING: pending, ACTIVE, LOCKED, RESOLVING, RESOLVED, SETTLED, CANCELLED } = MARKET_STATUS;
    const allowed = new Set([`${DRAFT}${pending}`, `${pending}${ACTIVE}`, `${pending}${LOCKED}`]);
    for (const move of [`${ACTIVE}${LOCKED}`, `${LOCKED}${ACTIVE}`, `${LOCKED}${RESOLVING}`]) allowed.add(move);
    for (const from of [DRAFT, pending, ACTIVE, LOCKED, RESOLVING]) {
      for (const to of [DRAFT, pending, ACTIVE, LOCKED, RESOLVING, RESOLVED, SETTLED, CANCELLED]) {
        const { x, market } = withMarket({ status: from, startMs: NOW + 1000 });
        const isAllowed = from === to || allowed.has(`${from}${to}`);
        assert.deepEqual(x.tell(x.patch(market, { status: to })), isAllowed ? [] : ['refused INVALID_TRANSITION']);
      }
    }
  });

  it('opening a market a second time changes nothing', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 1 @ 60');
    const rows = x.journal.rows.length;
    assert.deepEqual(x.tell(x.market(0, { feeBps: 77, ticksPerUnit: 10 })), []);
    assert.equal(x.journal.rows.length, rows);
    assert.deepEqual(x.drawn(), ['bid 60  alice 1 Yes']);
  });

  it('learns if a market is unknown', () => {
    const x = new Scenario();
    assert.deepEqual(x.tell(x.patch(9, { feeBps: 1 })), ['refused MARKET_NOT_FOUND']);
    assert.deepEqual(x.tell(x.convert(ALICE, 9, 100)), ['refused MARKET_NOT_FOUND']);
  });
});

it('splitting needs an active market, merging an active or a locked one', () => {
  const { x, market } = withMarket({ feeBps: 0 });
  assert.deepEqual(x.tell(x.convert(ALICE, market, 200)), []);
  x.patch(market, { status: MARKET_STATUS.LOCKED });
  assert.deepEqual(x.tell(x.convert(ALICE, market, 100)), ['refused MARKET_NOT_ACTIVE']);
  assert.deepEqual(x.tell(x.convert(ALICE, market, 200, MOVEMENT.MERGE)), []);

  const pending = withMarket(PENDING);
  assert.deepEqual(pending.x.tell(pending.x.convert(ALICE, pending.market, 100)), ['refused MARKET_NOT_ACTIVE']);
  const merge = pending.x.convert(ALICE, pending.market, 100, MOVEMENT.MERGE);
  assert.deepEqual(pending.x.tell(merge), ['refused MARKET_NOT_ACTIVE']);
});

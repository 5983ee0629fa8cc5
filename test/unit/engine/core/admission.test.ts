/** The precedence of refusals, and that none of them leaves a trace (RULES.md 6.5). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { E, ERRORS, OK } from '../../../../shared/base/errors.ts';
import { CANCEL_TOMBSTONE } from '../../../../shared/wire/commands.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import { errorKey, stateOf } from '../../../support/engine.ts';
import { type CommandResult, EngineRig, type PlaceOptions } from '../../../support/engineRig.ts';

const ROWS = Object.keys(ERRORS);

/** Runs a command that has to be refused with this code; state, journal and money stay the same byte for byte. */
function refused(rig: EngineRig, expected: string, run: () => CommandResult): void {
  const before = stateOf(rig.engine);
  const rows = rig.journal.rows.length;
  const { reply, types } = run();
  assert.equal(errorKey(reply.code), expected);
  assert.equal(reply.sequence, 0);
  assert.deepEqual(types, [EVENT.REPLY.TYPE]);
  assert.equal(rig.journal.rows.length, rows, 'a refused command has no journal row');
  assert.deepEqual(stateOf(rig.engine), before, 'a refused command changes nothing');
}

describe('an order that is wrong in every way', () => {
  it('is refused for one fault after the other, in the order of the error table', () => {
    const signature = { holds: true };
    const verifier: Verifier = { name: 'noble', verify: () => signature.holds };
    const rig = new EngineRig({ verifier });

    // The only resting order it meets: half of its two million tokens.
    rig.market(0);
    rig.fund(8, 1_000_000);
    rig.convert(8, 0, 1_000_000);
    rig.place({ account: 8, side: SIDE.SELL, lots: 10_000, ticks: 50 });
    rig.patch(0, { status: MARKET_STATUS.LOCKED });

    // The same signed order was accepted once, in a market where it was valid.
    rig.market(1, { ticksPerUnit: 10_000, minOrderAtomic: 10_000, feeBps: 77 });
    rig.fund(9, 111);
    const wrong: PlaceOptions = { salt: 1, makerAmount: 111, takerAmount: 10_000, feeBps: 77, minTakerNet: 995_001 };
    wrong.expirationSec = rig.nowMs / 1000 + 100;
    assert.equal(rig.place({ ...wrong, account: 9, market: 1 }).reply.code, OK);

    rig.nowMs += 100_000;
    rig.tick();
    signature.holds = false;
    Object.assign(wrong, {
      authorized: false,
      postOnly: true,
      deadlineMs: rig.nowMs - 1,
      clientIdTaken: true,
      tooManyOpen: true,
    });
    const bury = (order: PlaceOptions): void => {
      const { hash } = rig.place(order);
      rig.cancel(1, hash, CLOSE_REASON.USER | CANCEL_TOMBSTONE);
    };
    const healed: [expected: string, heal: () => void][] = [
      ['DUPLICATE_ORDER', () => bury(Object.assign(wrong, { salt: 2, takerAmount: 10_001 }))],
      ['ORDER_TOMBSTONED', () => (rig.nowMs += 60_000)],
      ['DEADLINE_PASSED', () => Object.assign(wrong, { deadlineMs: rig.nowMs })],
      ['DUPLICATE_CLIENT_ORDER_ID', () => Object.assign(wrong, { clientIdTaken: false })],
      ['MARKET_NOT_ACTIVE', () => rig.patch(0, { status: MARKET_STATUS.ACTIVE })],
      ['ORDER_EXPIRED', () => Object.assign(wrong, { expirationSec: rig.nowMs / 1000 + 1 })],
      ['INVALID_TICK', () => Object.assign(wrong, { makerAmount: 75, takerAmount: 150 })],
      ['INVALID_LOT', () => Object.assign(wrong, { makerAmount: 999_900 / 2, takerAmount: 999_900 })],
      ['BELOW_MIN_SIZE', () => Object.assign(wrong, { makerAmount: 2_000_000 / 2, takerAmount: 2_000_000 })],
      ['INVALID_SIGNATURE', () => Object.assign(signature, { holds: true })],
      ['FORBIDDEN', () => Object.assign(wrong, { authorized: true })],
      ['FEE_RATE_MISMATCH', () => Object.assign(wrong, { feeBps: 50 })],
      ['TOO_MANY_OPEN_ORDERS', () => Object.assign(wrong, { tooManyOpen: false })],
      ['INSUFFICIENT_BALANCE', () => rig.fund(1, 1_000_000)],
      ['POST_ONLY_WOULD_CROSS', () => Object.assign(wrong, { postOnly: false, timeInForce: TIME_IN_FORCE.FOK })],
      ['FOK_NOT_FILLED', () => Object.assign(wrong, { timeInForce: TIME_IN_FORCE.FAK })],
      ['MIN_NET_NOT_MET', () => Object.assign(wrong, { minTakerNet: 995_000 })],
    ];
    let row = -1;
    for (const [expected, heal] of healed) {
      refused(rig, expected, () => rig.place(wrong));
      assert.ok(ROWS.indexOf(expected) > row, `${expected} stands after the refusal before it`);
      row = ROWS.indexOf(expected);
      heal();
    }
    assert.equal(rig.place(wrong).reply.code, OK);
  });

  it('and finds nothing to take is refused for that before its minimum net', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 1_000_000);
    const order = { timeInForce: TIME_IN_FORCE.FAK, minTakerNet: 2 ** 40 };
    refused(rig, 'FAK_NO_FILL', () => rig.place(order));
    assert.ok(ROWS.indexOf('FAK_NO_FILL') < ROWS.indexOf('MIN_NET_NOT_MET'));
  });
});

describe('a duplicate', () => {
  it('is recognised whatever became of the first', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 1_000_000);
    const order = { salt: 7, expirationSec: rig.nowMs / 1000 + 5 };
    const { hash } = rig.place(order);
    const again = (): void => refused(rig, 'DUPLICATE_ORDER', () => rig.place(order));
    again();
    rig.cancel(1, hash);
    again();
    rig.nowMs += 10_000;
    again();
    rig.patch(0, { status: MARKET_STATUS.LOCKED });
    again();
  });

  it('is not what was refused: the same order may come again once it is right', () => {
    const rig = new EngineRig();
    rig.market(0);
    const order = { salt: 7 };
    refused(rig, 'INSUFFICIENT_BALANCE', () => rig.place(order));
    rig.fund(1, 500_000);
    assert.equal(rig.place(order).reply.code, OK);
  });
});

describe('the details of a refusal', () => {
  it('a fee mismatch tells the fee of the market', () => {
    const rig = new EngineRig();
    rig.market(0, { feeBps: 35 });
    const { reply } = rig.place({ feeBps: 50 });
    assert.deepEqual([reply.code, reply.a, reply.b, reply.c], [E.FEE_RATE_MISMATCH, 35, 0, 0]);
  });

  it('are not left over for the next command', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.place({});
    const { reply } = rig.cancelMany(1);
    assert.deepEqual([reply.code, reply.a, reply.b, reply.c], [OK, 0, 0, 0]);
  });
});

it('every refused command leaves no trace', () => {
  const rig = new EngineRig();
  rig.market(0);
  rig.fund(1, 2_000_000);
  rig.convert(1, 0, 1_000_000);
  const { hash } = rig.place({});
  const closed = rig.place({ ticks: 10 });
  rig.cancel(1, closed.hash);
  const commands: [string, () => CommandResult][] = [
    ['MARKET_NOT_FOUND', () => rig.place({ market: 5 })],
    ['INSUFFICIENT_BALANCE', () => rig.place({ ticks: 51 })],
    ['INSUFFICIENT_BALANCE', () => rig.place({ account: 100_000 })],
    ['INSUFFICIENT_BALANCE', () => rig.place({ side: SIDE.SELL, lots: 10_001 })],
    ['INVALID_TICK', () => rig.place({ ticks: 100 })],
    ['INVALID_TICK', () => rig.place({ ticks: 0 })],
    ['ORDER_NOT_FOUND', () => rig.cancel(2, hash)],
    ['ORDER_NOT_FOUND', () => rig.cancel(2, hash, CLOSE_REASON.HEARTBEAT)],
    ['ORDER_NOT_CANCELLABLE', () => rig.cancel(1, closed.hash)],
    ['MARKET_NOT_FOUND', () => rig.convert(1, 5, 100)],
    ['INVALID_LOT', () => rig.convert(1, 0, 101)],
    ['INSUFFICIENT_BALANCE', () => rig.convert(1, 0, 500_100)],
    ['INSUFFICIENT_BALANCE', () => rig.convert(2, 0, 100, MOVEMENT.MERGE)],
    ['INSUFFICIENT_BALANCE', () => rig.fund(1, 500_001, MOVEMENT.WITHDRAWAL)],
    ['MARKET_NOT_FOUND', () => rig.patch(5, { feeBps: 1 })],
    ['INVALID_TRANSITION', () => rig.patch(0, { status: MARKET_STATUS.PENDING, feeBps: 1 })],
  ];
  for (const [expected, run] of commands) refused(rig, expected, run);
});

it('the administrator may cancel the order of anyone', () => {
  const rig = new EngineRig();
  rig.market(0);
  rig.fund(1, 500_000);
  const { hash } = rig.place({});
  assert.equal(rig.cancel(0, hash, CLOSE_REASON.ADMIN).reply.code, OK);
  assert.deepEqual(rig.usdc(1), { available: 500_000, reserved: 0 });
});

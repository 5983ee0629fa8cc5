/** Approved changes as they are carried out, also once more after a crash (RULES.md 9.17). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { approvedChanges } from '../../../../gateway/wiring/approvedChanges.ts';
import { MARKET_STATUS, MOVEMENT } from '../../../../shared/base/codes.ts';
import { E, ERRORS, OK } from '../../../../shared/base/errors.ts';

/** Parts that answer as `state` says, and record their calls. */
function rig() {
  const state = {
    moved: { movement: {}, code: OK } as object,
    decided: null as object | null,
    status: MARKET_STATUS.RESOLVED as number,
    payout: 1_000_000,
    rotated: OK as number,
    /** The contracts are changed already. */
    isKnown: false,
    problem: null as string | null | ChainDown,
  };
  const asked: unknown[] = [];
  const carryOut = approvedChanges({
    accounts: { byId: (id: string) => (id === 'u' ? { index: 7 } : undefined) },
    catalog: { byId: (id: string) => (id === 'm' ? { index: 3 } : undefined) },
    views: { markets: { status: () => state.status, payoutYesPpm: () => state.payout } },
    funding: {
      move: async (...call: unknown[]) => {
        asked.push(call);
        return state.moved;
      },
    },
    marketCommands: {
      decide: async (...call: unknown[]) => {
        asked.push(call);
        return state.decided;
      },
      change: async (...call: unknown[]) => {
        asked.push(call);
        return state.decided;
      },
    },
    rotation: {
      rotate: async (...call: unknown[]) => {
        asked.push(call);
        return state.rotated;
      },
      isKnown: () => state.isKnown,
    },
    settlementFacts: {
      successorProblem: async () => {
        if (state.problem instanceof ChainDown) throw state.problem;
        return state.problem;
      },
    },
  } as never);
  return { state, asked, carryOut };
}

const WITHDRAWAL = { kind: 'withdrawal', user_id: 'u', amount_usdc_micro: '250', reference: 'r' } as const;
const RESOLUTION = { kind: 'resolution', market_id: 'm', status: 'resolved', payouts: [1_000_000, 0] } as const;

test('an approved withdrawal keeps its reference, and is refused with the error of the movement', async () => {
  const { state, asked, carryOut } = rig();
  assert.equal(await carryOut(WITHDRAWAL), null);
  assert.deepEqual(asked, [[7, MOVEMENT.WITHDRAWAL, 250, 'r']]);
  state.moved = { movement: null, code: E.INSUFFICIENT_BALANCE, message: 'too little' };
  assert.deepEqual(await carryOut(WITHDRAWAL), { row: ERRORS.INSUFFICIENT_BALANCE, message: 'too little' });
  assert.equal((await carryOut({ ...WITHDRAWAL, user_id: 'gone' }))?.row, ERRORS.RESOURCE_NOT_FOUND);
});

test('a market that its shard has decided in just this way is decided; in any other way it is not', async () => {
  const { state, asked, carryOut } = rig();
  assert.equal(await carryOut(RESOLUTION), null);
  assert.equal(await carryOut({ ...RESOLUTION, status: 'cancelled', payouts: [500_000, 500_000] }), null);
  assert.deepEqual(asked, [
    [{ index: 3 }, MARKET_STATUS.RESOLVED, 1_000_000],
    [{ index: 3 }, MARKET_STATUS.CANCELLED, 500_000],
  ]);
  const refused = { row: ERRORS.INVALID_TRANSITION };
  state.decided = refused;
  assert.equal(await carryOut(RESOLUTION), null, 'before the crash');
  state.payout = 0;
  assert.equal(await carryOut(RESOLUTION), refused);
  Object.assign(state, { payout: 1_000_000, status: MARKET_STATUS.CANCELLED });
  assert.equal(await carryOut(RESOLUTION), refused);
  Object.assign(state, { status: MARKET_STATUS.SETTLED });
  assert.equal(await carryOut(RESOLUTION), null, 'and settled since');
  state.payout = 0;
  assert.equal(await carryOut(RESOLUTION), refused);
  Object.assign(state, { status: MARKET_STATUS.RESOLVED, decided: { row: ERRORS.ENGINE_BUSY } });
  assert.equal((await carryOut(RESOLUTION))?.row, ERRORS.ENGINE_BUSY, 'it is not known yet');
  assert.equal((await carryOut({ ...RESOLUTION, market_id: 'gone' }))?.row, ERRORS.MARKET_NOT_FOUND);
});

test('while the orders of a decided market are being cancelled it is not known how it was decided (9.18)', async () => {
  const { state, carryOut } = rig();
  // The process died between the first record and the last: the change is approved, and carried out once more.
  Object.assign(state, { decided: { row: ERRORS.INVALID_TRANSITION }, status: MARKET_STATUS.RESOLVING, payout: 0 });
  assert.equal((await carryOut(RESOLUTION))?.row, ERRORS.ENGINE_BUSY, 'the four-eyes rule tries it again');
  Object.assign(state, { status: MARKET_STATUS.RESOLVED, payout: 1_000_000 });
  assert.equal(await carryOut(RESOLUTION), null);
});

test('terms are set again after a crash, but for a status that the market has already', async () => {
  const { state, asked, carryOut } = rig();
  const change = { title: 'Snow?', status: 'locked' } as const;
  const request = { kind: 'market_terms', market_id: 'm', change, replaces: { title: 'Rain?' } } as const;
  state.status = MARKET_STATUS.ACTIVE;
  assert.equal(await carryOut(request), null);
  state.status = MARKET_STATUS.LOCKED;
  assert.equal(await carryOut(request), null);
  assert.partialDeepStrictEqual(asked, [
    [{ index: 3 }, { status: MARKET_STATUS.LOCKED, details: { title: 'Snow?' } }],
    [{ index: 3 }, { status: undefined, details: { title: 'Snow?' } }],
  ]);
  const elsewhere = { ...request, market_id: 'gone' };
  assert.equal((await carryOut(elsewhere))?.row, ERRORS.MARKET_NOT_FOUND);
});

test('contracts are changed with all of their addresses', async () => {
  const { state, asked, carryOut } = rig();
  const request = {
    kind: 'contracts',
    chain_id: 5,
    exchange_address: 'e',
    market_factory_address: 'f',
    usdc_address: 'u',
    ctf_address: 'c',
    fee_sweeper_address: 's',
  } as const;
  assert.equal(await carryOut(request), null);
  assert.deepEqual(asked, [[{ chainId: 5, exchange: 'e', marketFactory: 'f', usdc: 'u', ctf: 'c', feeSweeper: 's' }]]);
  state.rotated = E.CONFLICT;
  assert.equal((await carryOut(request))?.row, ERRORS.CONFLICT);
  state.rotated = OK;
  // RULES.md 17.36: the conditions on the chain have to hold when the change is approved.
  state.problem = 'the contract of today has not announced the new one';
  assert.deepEqual(await carryOut(request), { row: ERRORS.CONFLICT, message: state.problem });
  state.problem = new ChainDown('no answer');
  assert.equal((await carryOut(request))?.row, ERRORS.ENGINE_BUSY, 'it is tried again');
  assert.equal(asked.length, 2);
  state.isKnown = true;
  assert.equal(await carryOut(request), null, 'a change that has begun is finished');
});

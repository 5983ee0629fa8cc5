/** The administrator's routes for trades that the contract refuses (RULES.md 17.41, 17.42). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedTradeRoutes } from '../../../../gateway/chain/adminFailedTradesRoutes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { ID_KIND, timeOrderedId } from '../../../../shared/base/ids.ts';
import { TestCall } from '../../../support/calls.ts';

const T0 = Date.UTC(2026, 0, 1);
const TRADE = timeOrderedId(T0, 2, ID_KIND.TRADE, 7);
const FAILED = {
  ...{ shard: 2, tradeSequence: 7, matchedMs: T0, market: 5, maker: 1, taker: 3, lots: 1000, yesTicks: 65 },
  ...{ reason: 'OrderExpired', failedMs: T0 + 60_000 },
};
const APPROVAL = {
  ...{ sequence: 1, id: 'a1', requestedBy: 'ann', requestedMs: T0, expiresMs: T0, status: 'pending' },
  ...{ decidedBy: null, decidedMs: null, failure: null },
};

async function ask(path: string, found: object, { asksFirst = false, query = {} } = {}) {
  const asked: unknown[] = [];
  const routes = failedTradeRoutes({
    failedTrades: found,
    accounts: { idOf: (account: number) => `user ${account}` },
    catalog: { byIndex: () => ({ id: 'market', ticksPerUnit: 100 }) },
    operators: { nameOf: (id: string) => id },
    fourEyes: {
      ask: (_who: unknown, subject: string, request: object) => {
        asked.push(subject, request);
        return asksFirst ? { approval: { ...APPROVAL, request } } : null;
      },
      statusOf: () => 'pending',
    },
  } as never);
  const route = routes.find((each) => each.path.endsWith(path))!;
  const call = new TestCall({ method: route.method, path: route.path });
  call.call.params = { id: TRADE.toUpperCase() };
  call.call.query = { cursor: 0, limit: 50, ...query };
  await route.handler(call.call);
  return { status: call.status, json: call.json, before: call.call.audited!.before, asked };
}

test('failed trades are listed with the ids that the API knows', async () => {
  const { status, json } = await ask('/failed', { list: async () => ({ trades: [FAILED], next: 9 }) });
  assert.equal(status, 200);
  assert.deepEqual(json, {
    trades: [
      {
        ...{ trade_id: TRADE, market_id: 'market', maker_user_id: 'user 1', taker_user_id: 'user 3' },
        ...{ price: '0.65000000', token_quantity_atomic: '100000', reason: 'OrderExpired' },
        ...{ matched_at: new Date(T0).toISOString(), failed_at: new Date(T0 + 60_000).toISOString() },
      },
    ],
    next_cursor: 9,
  });
  const away = await ask('/failed', { list: async () => ({ row: ERRORS.ENGINE_BUSY }) });
  assert.equal(away.status, 503);
});

test('an unwinding is done by one operator alone only where no other could approve it', async () => {
  const failed = { whyNotUnwound: async () => null, unwind: async () => null };
  const done = await ask('/unwind', failed);
  assert.deepEqual([done.status, done.json], [200, { trade_id: TRADE, settlement: 'unwound' }]);
  assert.deepEqual(done.before, { settlement_status: 'failed' });
  assert.deepEqual(done.asked, [`unwinding ${TRADE}`, { kind: 'unwinding', trade_id: TRADE }]);
  const waits = await ask('/unwind', { ...failed, unwind: () => assert.fail('it waits') }, { asksFirst: true });
  assert.deepEqual([waits.status, waits.json['kind'], waits.json['request']], [202, 'unwinding', { trade_id: TRADE }]);
});

test('a trade that cannot be unwound asks for no approval, and a refusal of the ledger is answered', async () => {
  const early = await ask('/unwind', { whyNotUnwound: async () => ({ row: ERRORS.CONFLICT, message: 'not yet' }) });
  assert.deepEqual([early.status, early.json['error'], early.asked], [409, 'not yet', []]);
  const details = { required: '2', available: '1', reserved: '0' };
  const short = { row: ERRORS.INSUFFICIENT_BALANCE, details };
  const refused = await ask('/unwind', { whyNotUnwound: async () => null, unwind: async () => short });
  assert.deepEqual([refused.status, refused.json['details']], [400, details]);
});

test('a failed trade is tried again', async () => {
  const done = await ask('/retry', { retry: async () => null });
  assert.deepEqual([done.status, done.json], [200, { trade_id: TRADE, settlement: 'tried_again' }]);
  const refused = await ask('/retry', { retry: async () => ({ row: ERRORS.CONFLICT }) });
  assert.equal(refused.status, 409);
});

/** A list of movements as it is answered (RULES.md 14.41). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fundMovementRoutes } from '../../../../gateway/account/fundMovementsRoutes.ts';
import { FUND_MOVEMENT } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';

const HASH = new Uint8Array(32);
const settlement = { status: 'settled', hash: null };
const NEWEST = { id: 'row', usdcMicro: -5, referenceHash: null, entryHash: '0x1', movedMs: 0, settlement };

async function ask(query: object, result: object) {
  const queries = { ofAccount: async () => result as never };
  const movements = { byHash: (hash: Uint8Array) => (hash === HASH ? { id: 'known', reference: 'r' } : undefined) };
  const [route] = fundMovementRoutes({ queries, movements });
  const call = new TestCall({ method: 'GET', path: route!.path, account: 7 });
  call.call.query = { limit: 50, offset: 0, ...query };
  await route!.handler(call.call);
  return call;
}

const page = (rows: object[], isFloor = false) => ({ ok: true, value: { rows, total: 10_000, isFloor } });

test('RULES.md 14.41: each kind has its type, a positive amount, and the id that the operator knows', async () => {
  const rows = Object.values(FUND_MOVEMENT)
    .filter((kind) => kind !== FUND_MOVEMENT.CARRIED)
    .map((kind) => {
      const isOut = [FUND_MOVEMENT.SPLIT, FUND_MOVEMENT.WITHDRAWAL, FUND_MOVEMENT.FEE].some((out) => out === kind);
      const isRequested = kind === FUND_MOVEMENT.DEPOSIT || kind === FUND_MOVEMENT.WITHDRAWAL;
      const requested = isRequested ? { referenceHash: HASH, entryHash: null } : {};
      return { ...NEWEST, kind, usdcMicro: isOut ? -5 : 5, ...requested };
    });
  const { json } = await ask({}, page(rows));
  const shown = (json['movements'] as Record<string, string>[]).map(({ id, type, amount_usdc_micro, reference }) => [
    id,
    type,
    amount_usdc_micro,
    reference,
  ]);
  const paid = ['row', 'claim', '5', '0x1'];
  assert.deepEqual(shown, [
    ['known', 'deposit', '5', 'r'],
    ['known', 'withdrawal', '5', 'r'],
    ['row', 'split', '5', '0x1'],
    ['row', 'merge', '5', '0x1'],
    paid,
    ['row', 'movement_fee', '5', '0x1'],
    ...[paid, paid],
    ['row', 'unwinding', '5', '0x1'],
    ['row', 'conversion', '5', '0x1'],
  ]);
});

test('RULES.md 14.41: a list is only skipped so far, and a query that cannot be answered now is refused', async () => {
  const row = { ...NEWEST, kind: FUND_MOVEMENT.SPLIT };
  const far = await ask({ offset: 10_001 }, page([], true));
  assert.deepEqual([far.status, far.json['error']], [400, 'invalid offset']);
  assert.deepEqual(far.json['details'], { field: 'offset', rule: 'maximum', value: 10_001, expected: 'at most 10000' });
  const near = await ask({ offset: 10_000 }, page([row], true));
  assert.deepEqual([near.status, near.json['count_is_estimate'], near.json['offset']], [200, true, 10_000]);
  const busy = await ask({}, { ok: false, row: ERRORS.ENGINE_BUSY });
  assert.deepEqual([busy.status, busy.json['code']], [503, 'ENGINE_BUSY']);
});

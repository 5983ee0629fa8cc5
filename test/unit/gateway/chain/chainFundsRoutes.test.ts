/** Deposits and withdrawals of an account's own (RULES.md 17.25 and 17.26). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChainBounds } from '../../../../gateway/account/chainBounds.ts';
import { chainFundRoutes } from '../../../../gateway/chain/chainFundsRoutes.ts';
import { ChainDown, ChainRefused } from '../../../../gateway/shardlink/settlementLink.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { MOVEMENT } from '../../../../shared/base/codes.ts';
import { E, ERRORS } from '../../../../shared/base/errors.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { checksumAddress } from '../../../../shared/crypto/checksumAddress.ts';
import { referenceHash } from '../../../../shared/crypto/referenceHash.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const WALLET = checksumAddress(`0x${'a1'.repeat(20)}`);
const EXCHANGE = checksumAddress(`0x${'e1'.repeat(20)}`);
const TOKEN = {
  name: 'USD Coin',
  version: '2',
  chainId: 137,
  verifyingContract: checksumAddress(`0x${'d1'.repeat(20)}`),
};
const BOUNDS = { leastMovementMicro: 1_000_000, mostMovementsADay: 2, movementFeeMicro: 0 };
const FACTS = { hasAgreed: () => true, report: () => null };
const PERMIT = { digest: '0xd1', signature: '0x51', token: TOKEN, data: { before: '0xbe', after: 'af' } };

type Changes = {
  answer?: () => unknown;
  hasChain?: boolean;
  wallet?: string | null;
  isFrozen?: boolean;
  room?: boolean;
  isKnown?: boolean;
  available?: number;
  bounds?: ChainBounds;
};

async function ask(path: string, body: object, changes: Changes = {}) {
  const { answer = () => PERMIT, hasChain = true, wallet = WALLET, isFrozen = false, room = true } = changes;
  const {
    isKnown = false,
    available = 50_000_000,
    bounds = new ChainBounds(BOUNDS, new ManualClock(0), FACTS),
  } = changes;
  const asked: unknown[] = [];
  const link = {
    ask: async (...question: unknown[]) => {
      asked.push(question);
      return answer() as never;
    },
  };
  const moved: unknown[] = [];
  const marks: number[] = [];
  const routes = chainFundRoutes({
    settlement: hasChain ? { ...link, holdsFunds: true, bounds } : LEDGER_SETTLEMENT,
    accounts: { escrowOf: () => wallet },
    accountStates: { reducingRefusal: () => (isFrozen ? ERRORS.ACCOUNT_FROZEN : null) },
    contracts: { current: { exchange: EXCHANGE, chainId: 137 } },
    movements: { hasRoomFor: () => room, noteMark: (mark) => void marks.push(mark) },
    views: { accounts: { availableMicro: () => available } },
    funding: {
      isKnown: () => isKnown,
      move: async (...movement: unknown[]) => {
        moved.push(movement);
        return { movement: null, code: E.INSUFFICIENT_BALANCE, details: { required: '5' } } as never;
      },
    },
    clock: new ManualClock(1_000_000),
  });
  const route = routes.find((each) => each.path === path)!;
  const sent = new TestCall({ method: 'POST', path, account: 7 });
  sent.call.body = body as never;
  await route.handler(sent.call);
  return { status: sent.status, json: sent.json as Record<string, never>, asked, moved, marks, headers: sent.headers };
}

const AUTHORIZE = '/v1/user/deposit-authorizations';
const WITHDRAW = '/v1/user/withdrawals';
const BODY = { amount_usdc_micro: '5000000' };

test('an authorization binds the permit to what the wallet signs', async () => {
  const { status, json, asked } = await ask(AUTHORIZE, BODY);
  assert.equal(status, 201);
  const [[question, permit]] = asked as [[string, { nonce: string; wallet: string; deadlineSec: number }]];
  assert.deepEqual([question, permit.wallet, permit.deadlineSec], ['depositPermit', WALLET, 2800]);
  const { typed_data, transaction } = json as Record<string, { message: object; domain: object }>;
  assert.deepEqual(typed_data!.message, {
    ...{ from: WALLET, to: EXCHANGE, value: '5000000', validAfter: '0', validBefore: '2800' },
    nonce: PERMIT.digest,
  });
  assert.deepEqual(typed_data!.domain, TOKEN);
  const data = { data_before_signature: '0xbe', data_after_signature: 'af' };
  assert.deepEqual(transaction, { to: EXCHANGE, chain_id: 137, ...data });
});

test('where a deposit would fail there is no permit', async () => {
  const fails = (error: Error) => ({
    answer: () => {
      throw error;
    },
  });
  const cases: [Changes, number, string][] = [
    [{ hasChain: false }, 503, 'FUNDING_UNAVAILABLE'],
    [fails(new ChainDown('away')), 503, 'FUNDING_UNAVAILABLE'],
    [fails(new ChainRefused('ExitPending')), 409, 'CONFLICT'],
    [fails(new ChainRefused('EnforcedPause')), 409, 'CONFLICT'],
    [{ wallet: null }, 409, 'CONFLICT'],
    [{ isFrozen: true }, 403, 'ACCOUNT_FROZEN'],
    [{ room: false }, 400, 'VALIDATION_ERROR'],
  ];
  for (const [changes, status, code] of cases) {
    const answer = await ask(AUTHORIZE, BODY, changes);
    assert.deepEqual([answer.status, answer.json['code']], [status, code], JSON.stringify(changes));
  }
  await assert.rejects(ask(AUTHORIZE, BODY, fails(new Error('a bug'))), /a bug/);
});

test('settlement knows where a withdrawal ends before the ledger has it', async () => {
  const withdrawal = { ...BODY, reference: 'mine' };
  const plain = await ask(WITHDRAW, withdrawal, { answer: () => ({ count: 0 }) });
  assert.deepEqual(plain.moved, [[7, MOVEMENT.WITHDRAWAL, 5_000_000, 'mine', 0]]);
  assert.deepEqual([plain.status, plain.json['code']], [400, 'INSUFFICIENT_BALANCE']);
  const unheld = await ask(WITHDRAW, { ...withdrawal, to: 'unheld' }, { answer: () => ({ mark: 4, count: 0 }) });
  const reference = toHex(referenceHash(7, MOVEMENT.WITHDRAWAL, 'mine'));
  assert.deepEqual(unheld.asked.at(-1), ['prepareRelease', { reference }]);
  assert.equal(unheld.moved.length, 1);
  assert.deepEqual(unheld.marks, [4], 'an older settlement.db would pay it to the wallet (RULES.md 17.2)');
  const away = await ask(
    WITHDRAW,
    { ...withdrawal, to: 'unheld' },
    {
      answer: () => {
        throw new ChainDown('away');
      },
    },
  );
  assert.deepEqual([away.status, away.json['code'], away.moved], [503, 'FUNDING_UNAVAILABLE', []]);
  const none = await ask(WITHDRAW, withdrawal, { hasChain: false });
  assert.deepEqual([none.status, none.json['code'], none.moved], [409, 'CONFLICT', []]);
  const huge = await ask(WITHDRAW, { amount_usdc_micro: '9999999999999999' });
  assert.deepEqual([huge.status, huge.json['code']], [400, 'VALIDATION_ERROR']);
});

/** RULES.md 17.46 */
test('a withdrawal that is too small, one too many in a day or behind too many moves nothing', async () => {
  const counted = (count: number) => ({ answer: () => ({ count }) });
  const small = { amount_usdc_micro: '999999' };
  const tooSmall = await ask(WITHDRAW, small, counted(0));
  assert.deepEqual([tooSmall.status, tooSmall.moved], [400, []]);
  assert.deepEqual(tooSmall.json['details'], { field: 'amount_usdc_micro', rule: 'minimum', value: '1000000' });
  const rest = await ask(WITHDRAW, small, { ...counted(0), available: 999_999 });
  assert.equal(rest.moved.length, 1, 'all there is');
  const behind = await ask(WITHDRAW, BODY, counted(16));
  assert.deepEqual([behind.status, behind.json['code'], behind.moved], [409, 'CONFLICT', []]);
  const away = () => {
    throw new ChainDown('away');
  };
  assert.equal((await ask(WITHDRAW, BODY, { answer: away })).moved.length, 1, 'withdrawals go on without settlement');

  const bounds = new ChainBounds(BOUNDS, new ManualClock(0), FACTS);
  for (let i = 0; i < 2; i++) assert.equal(bounds.take(7, 'amount_usdc_micro', 1_000_000, 5_000_000), null);
  const over = await ask(WITHDRAW, BODY, { ...counted(0), bounds });
  assert.deepEqual([over.status, over.json['code'], over.moved], [429, 'RATE_LIMITED', []]);
  assert.equal(over.headers.get('Retry-After'), '43200');
  const repeat = await ask(WITHDRAW, { ...BODY, reference: 'mine' }, { ...counted(16), bounds, isKnown: true });
  assert.equal(repeat.moved.length, 1, 'a repeat makes no work');
});

/** RULES.md 17.50 */
test('a withdrawal has its fee with it, and a refusal names it', async () => {
  const bounds = new ChainBounds({ ...BOUNDS, movementFeeMicro: 25_000 }, new ManualClock(0), FACTS);
  const known = { answer: () => ({ count: 0 }), bounds };
  const { moved, json } = await ask(WITHDRAW, { ...BODY, reference: 'mine' }, known);
  assert.deepEqual(moved, [[7, MOVEMENT.WITHDRAWAL, 5_000_000, 'mine', 25_000]]);
  assert.equal(json['error'], 'the amount and the fee of 25000 micro-USDC are more than is available');
  assert.deepEqual(json['details'], { required: '5', fee_usdc_micro: '25000' });
  const rest = { amount_usdc_micro: '975000' };
  assert.equal((await ask(WITHDRAW, rest, { ...known, available: 1_000_000 })).moved.length, 1, 'all but the fee');
  const facts = { ...FACTS, hasAgreed: () => false };
  const early = new ChainBounds({ ...BOUNDS, movementFeeMicro: 1 }, new ManualClock(0), facts);
  const refused = await ask(WITHDRAW, BODY, { ...known, bounds: early });
  assert.deepEqual([refused.status, refused.json['code'], refused.moved], [503, 'SETTLEMENT_UNHEALTHY', []]);
});

/** The ledger follows the chain (gateway/chain/chainMoney.ts). RULES.md 17.20 to 17.23. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AccountStates } from '../../../../gateway/account/accountStates.ts';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { Funding, type FundsReply } from '../../../../gateway/account/funding.ts';
import { Movements } from '../../../../gateway/account/movements.ts';
import { NonceFloors } from '../../../../gateway/account/nonceFloors.ts';
import { Restrictions } from '../../../../gateway/account/restrictions.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { followChain } from '../../../../gateway/chain/chainMoney.ts';
import { NonceFloorViews } from '../../../../gateway/shardlink/nonceFloorViews.ts';
import { Outbox } from '../../../../gateway/shardlink/outbox.ts';
import type { ReplyHandler } from '../../../../gateway/shardlink/reply.ts';
import { ACCOUNT_STATE, FUND_MOVEMENT, MOVEMENT } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { referenceHash } from '../../../../shared/crypto/referenceHash.ts';
import type { ChainNews, NewsKind } from '../../../../shared/wire/chainQuestions.ts';
import type { TradePlace, Unwinding } from '../../../../shared/wire/tradeQuestions.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { OwingShards, reply } from '../../../support/owingShards.ts';

const WALLETS = ['a1', 'b2'].map((byte) => `0x${byte.repeat(20)}`);
const STRANGER = `0x${'ee'.repeat(20)}`;
const MONEY: ChainNews['money'] = {
  event: 7,
  kind: 'deposit',
  wallet: WALLETS[0]!,
  amount: '5000000',
  reference: 'chain:0xab:3',
  market: null,
};

/** An account whose first wallet is the first of WALLETS, and whose shards answer with these codes. */
function rig(t: TestContext, codes: number[] = []) {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const clock = new ManualClock(1_000_000);
  const accounts = new Accounts(database);
  const fields = { displayName: null, email: null, role: 'user', referralCode: null };
  const user = accounts.signUp({ ...fields, wallet: WALLETS[0]! }, 1);
  accounts.addWallet(user, WALLETS[1]!);
  const done: string[] = [];
  const engine = {
    funds: async (account: number, kind: number, micro: number, _: Uint8Array, market: number | null) => {
      done.push(`funds ${account} ${kind} ${micro} ${market}`);
      return { code: codes.shift() ?? OK, a: 0, b: 0, c: 0 } satisfies FundsReply;
    },
    sweepAll: async (account: number) => {
      done.push(`sweep ${account}`);
      return OK;
    },
    sweep: <C>(shard: number, account: number, _: number, __: number, handler: ReplyHandler<C>, context: C) => {
      done.push(`sweep ${account}`);
      queueMicrotask(() => reply(handler, context, shard, OK));
      return OK;
    },
    payClaim: async (shard: number, account: number, market: number) => {
      done.push(`claim ${shard} ${account} ${market}`);
      return { code: codes.shift() ?? OK };
    },
    raiseNonceFloor: () => OK,
    unwind: async (
      { shard, tradeSequence }: TradePlace,
      { market, maker, taker }: Unwinding,
      reference: Uint8Array,
    ) => {
      done.push(`unwind ${shard} ${tradeSequence} ${market} ${maker} ${taker} ${toHex(reference)}`);
      return { code: codes.shift() ?? OK };
    },
  };
  const states = new AccountStates(database);
  const movements = new Movements(database);
  const funding = new Funding(movements, engine, states, clock, { holdsFunds: true });
  const restrictions = new Restrictions({
    ...{ outbox: new Outbox(1, new OwingShards(1)), engine, states, accounts, clock },
    nonceFloors: new NonceFloors(database),
    views: { nonceFloors: new NonceFloorViews() },
  });
  const leaving = { is: false };
  const contractFloors = { ask: async (wallets: readonly string[]) => void done.push(`floors ${wallets}`) };
  const handlers = new Map<NewsKind, (facts: never, number: number) => void | Promise<void>>();
  const link = {
    ask: async (question: string, ask: unknown) => {
      done.push(`${question} ${JSON.stringify(ask)}`);
      return question === 'moneyAccepted' ? { isLeaving: leaving.is, mark: 9 } : null;
    },
    onNews: (kind: NewsKind, handler: (facts: never, number: number) => void | Promise<void>) =>
      void handlers.set(kind, handler),
  };
  const markets = { shard: (market: number) => market % 2 };
  const parts = { link, accounts, contractFloors, funding, movements, restrictions, engine, markets, shards: 1 };
  followChain({ ...parts, log: createLogger('silent') } as never);
  const report = <K extends NewsKind>(kind: K, facts: ChainNews[K]) => handlers.get(kind)!(facts as never, 1);
  return { report, done, leaving, funding, movements, states, restrictions, database };
}

test('a deposit is accepted before the ledger has it, and a repeat moves nothing', async (t) => {
  const { report, done, movements, database } = rig(t);
  await report('money', MONEY);
  const first = [`floors ${WALLETS[0]}`, 'moneyAccepted {"event":7,"account":1}', 'funds 1 0 5000000 null'];
  assert.deepEqual(done, first, 'the account has the floor of its wallet before it has its money');
  await report('money', MONEY);
  assert.equal(done.filter((each) => each.startsWith('funds')).length, 1);
  assert.equal(movements.find(1, MOVEMENT.DEPOSIT, 'chain:0xab:3')?.status, 'completed');
  const mark = database.prepare(`SELECT value FROM platform WHERE key = 'settlement_mark'`).pluck();
  assert.equal(mark.get(), '9', 'an older settlement.db is not taken from now on (RULES.md 17.2)');
});

test('only the first wallet of an account is its escrow: deposits of other wallets wait', async (t) => {
  const { report, done } = rig(t);
  await report('money', { ...MONEY, wallet: STRANGER });
  await report('money', { ...MONEY, wallet: WALLETS[1]! });
  await report('money', { ...MONEY, kind: 'sets' });
  await report('money', { ...MONEY, amount: String(2n ** 60n) });
  const reasons = ['unknown_wallet', 'not_the_escrow_wallet', 'unknown_market', 'too_large'];
  assert.deepEqual(
    done,
    reasons.map((reason) => `moneyWaits {"event":7,"reason":"${reason}"}`),
  );
});

test('sets go to their market, and are USDC once that is decided', async (t) => {
  const { report, done, movements } = rig(t, [E.MARKET_NOT_ACTIVE]);
  await report('money', { ...MONEY, kind: 'sets', market: 4 });
  assert.deepEqual(done.slice(2), ['funds 1 0 5000000 4', 'funds 1 0 5000000 null']);
  assert.equal(movements.find(1, MOVEMENT.DEPOSIT, MONEY.reference)?.market, null);
});

test('a movement whose fate is not known is reported again, and keeps its market over a restart', async (t) => {
  const { report, done, movements, funding, database } = rig(t, [E.OUTCOME_UNKNOWN]);
  await assert.rejects(Promise.resolve(report('money', { ...MONEY, kind: 'sets', market: 4 })));
  assert.deepEqual(new Movements(database).pending()[0], { ...movements.pending()[0], market: 4 });
  await funding.resumePending();
  assert.deepEqual(done.slice(2), ['funds 1 0 5000000 4', 'funds 1 0 5000000 4']);
  assert.deepEqual(movements.pending(), []);
});

test('a movement that the ledger refuses waits, and is tried again', async (t) => {
  const { report, done } = rig(t, [E.INSUFFICIENT_BALANCE]);
  await report('money', { ...MONEY, kind: 'exit' });
  assert.equal(done.at(-1), 'moneyWaits {"event":7,"reason":"INSUFFICIENT_BALANCE"}');
  await report('money', { ...MONEY, kind: 'exit' });
  assert.equal(done.at(-1), 'funds 1 1 5000000 null');
});

test('with a chain, deposits come from nowhere else', async (t) => {
  const { funding, done } = rig(t);
  const result = await funding.move(1, MOVEMENT.DEPOSIT, 5, 'wire');
  assert.ok(result.movement === null && result.code === E.CONFLICT);
  assert.deepEqual(done, []);
});

test('an account is frozen while its wallet leaves, and then what the administrator says counts again', async (t) => {
  const { report, states, restrictions, funding, database } = rig(t);
  await restrictions.setState(1, ACCOUNT_STATE.CLOSE_ONLY);
  await report('exit', { wallet: WALLETS[0]!, isLeaving: true });
  await report('exit', { wallet: STRANGER, isLeaving: true });
  for (const each of [states, new AccountStates(database)]) {
    assert.deepEqual([each.of(1), each.of(2)], [ACCOUNT_STATE.FROZEN, ACCOUNT_STATE.ACTIVE]);
  }
  await restrictions.setState(1, ACCOUNT_STATE.CLOSE_ONLY);
  assert.equal(states.of(1), ACCOUNT_STATE.FROZEN, 'the administrator does not end an exit');
  const withdrawal = await funding.move(1, MOVEMENT.WITHDRAWAL, 5, 'mine');
  assert.ok(withdrawal.movement === null && withdrawal.code === E.ACCOUNT_FROZEN);
  await report('money', { ...MONEY, kind: 'exit' });
  await report('exit', { wallet: WALLETS[0]!, isLeaving: false });
  assert.equal(states.of(1), ACCOUNT_STATE.CLOSE_ONLY);
  assert.equal(new AccountStates(database).of(1), ACCOUNT_STATE.CLOSE_ONLY);
});

test('money of a wallet that leaves comes to an account that is frozen', async (t) => {
  const { report, states, leaving } = rig(t);
  leaving.is = true;
  await report('money', MONEY);
  assert.equal(states.of(1), ACCOUNT_STATE.FROZEN);
});

test('settlement learns the wallet of an account that it does not know', async (t) => {
  const { report, done } = rig(t);
  await report('walletMissing', { account: 1 });
  await report('walletMissing', { account: 9 });
  assert.deepEqual(done, [`setEscrow ${JSON.stringify({ account: 1, wallet: WALLETS[0] })}`]);
});

test('a claim that a wallet has made on the chain is paid by the ledger, until it is known whether', async (t) => {
  const { report, done } = rig(t, [E.OUTCOME_UNKNOWN, OK, E.NOTHING_TO_CLAIM]);
  await assert.rejects(async () => report('claimed', { account: 1, market: 5 }), /asked again/);
  await report('claimed', { account: 1, market: 5 });
  await report('claimed', { account: 1, market: 5 });
  assert.deepEqual(done, Array(3).fill('claim 1 1 5'));
});

const TAKEN = {
  taker: WALLETS[0]!,
  market: 5,
  tradeSequence: 77,
  changes: { maker: [-4, 10, 0], taker: [-6, 0, 10], fee: [0, 0, 0] },
} as const;

test('GATEMONEY-4: open orders are cancelled before something of their accounts is taken over', async (t) => {
  const { report, done } = rig(t);
  await report('money', { ...MONEY, kind: 'taken', taken: TAKEN });
  const name = toHex(referenceHash(1, FUND_MOVEMENT.UNWINDING, MONEY.reference));
  const accepted = [`floors ${WALLETS[0]}`, 'moneyAccepted {"event":7,"account":1}'];
  assert.deepEqual(done.splice(0), [...accepted, 'sweep 1', `unwind 1 77 5 1 1 ${name}`]);
  await report('money', { ...MONEY, kind: 'paid' });
  assert.deepEqual(done.splice(0), [...accepted, 'sweep 1', `funds 1 ${MOVEMENT.WITHDRAWAL} 5000000 null`]);
});

test('what cannot be taken over yet waits with its reason, and one without an answer comes again', async (t) => {
  const { report, done } = rig(t, [E.INSUFFICIENT_BALANCE, E.OUTCOME_UNKNOWN]);
  await report('money', { ...MONEY, kind: 'taken', taken: TAKEN });
  assert.equal(done.at(-1), 'moneyWaits {"event":7,"reason":"INSUFFICIENT_BALANCE"}');
  await assert.rejects(async () => report('money', { ...MONEY, kind: 'taken', taken: TAKEN }), /asked again/);
  await report('money', { ...MONEY, kind: 'taken', taken: { ...TAKEN, taker: STRANGER } });
  assert.equal(done.at(-1), 'moneyWaits {"event":7,"reason":"unknown_wallet"}');
  await report('money', { ...MONEY, kind: 'taken', taken: { ...TAKEN, taker: WALLETS[1]! } });
  assert.equal(done.at(-1), 'moneyWaits {"event":7,"reason":"not_the_escrow_wallet"}');
});

/** The ledger of an account on a real server: its movements of funds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from '../../shared/base/hex.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { AccountMovement, Statement } from '../../shared/client/types.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import { isOnChain, onLedgerOnly } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import { seedOr } from '../support/seeds.ts';
import { type Answer, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, deposit, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const HASH = /^0x[0-9a-f]{64}$/;

/** Newest first. */
async function movementsOf(trader: Trader): Promise<readonly AccountMovement[]> {
  return (await trader.client.ledger.fundMovements()).movements;
}

test('RULES.md 14.41: an account without movements has an empty list', async () => {
  const alice = await makeTrader(server, { depositMicro: 0 });
  assert.deepEqual(await alice.client.ledger.fundMovements(), { movements: [], total: 0, limit: 50, offset: 0 });
});

const byOperators = onLedgerOnly('an operator makes no deposits on a chain (RULES.md 17.21)');

test(
  'RULES.md 14.41: deposits and withdrawals have the id and the reference that the operator got',
  byOperators,
  async () => {
    const alice = await makeTrader(server, { depositMicro: 0 });
    const deposit = await server.admin.deposit(alice.userId, { amount_usdc_micro: '9000000', reference: 'wire 1' });
    const withdrawal = await server.admin.withdraw(alice.userId, { amount_usdc_micro: '4000000', reference: 'wire 1' });
    const repeated = await server.admin.withdraw(alice.userId, { amount_usdc_micro: '4000000', reference: 'wire 1' });
    assert.equal(repeated.id, withdrawal.id);
    const [second, first, ...none] = await movementsOf(alice);
    assert.deepEqual(none, [], 'a repeat is no movement');
    // Without a chain nothing is left to do.
    const done = { settlement_status: 'settled', tx_hash: null } as const;
    assert.deepEqual(first, { ...deposit, ...done, created_at: first!.created_at });
    assert.deepEqual(second, { ...withdrawal, ...done, created_at: second!.created_at });
  },
);

test('RULES.md 14.41: a movement is listed as soon as it is answered, with the hash that a claim answers', async () => {
  const [market, lost, void_] = [await makeMarket(server), await makeMarket(server), await makeMarket(server)];
  const alice = await makeTrader(server);
  await alice.client.split(market.id, 5_000_000);
  await alice.client.merge(market.id, 2_000_000);
  const [merge, split, deposit] = await movementsOf(alice);
  assert.deepEqual([deposit!.type, deposit!.amount_usdc_micro], ['deposit', '1000000000']);
  assert.deepEqual([split!.type, split!.amount_usdc_micro, split!.status], ['split', '5000000', 'completed']);
  assert.deepEqual([merge!.type, merge!.amount_usdc_micro], ['merge', '2000000']);
  assert.match(split!.reference!, HASH);
  assert.notEqual(split!.reference, merge!.reference);
  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  const { tx_hash } = await alice.client.claim(market.id);
  const [claim] = await movementsOf(alice);
  assert.deepEqual([claim!.type, claim!.amount_usdc_micro], ['claim', '3000000']);
  if (isOnChain) assert.match(claim!.reference!, HASH);
  else assert.equal(claim!.reference, tx_hash);
  await alice.client.split(lost.id, 1_000_000);
  await alice.client.split(void_.id, 1_000_000);
  await server.admin.resolveMarket(lost.id, { outcome_index: 1 });
  await server.admin.settleMarket(lost.id);
  const [settlement] = await movementsOf(alice);
  assert.deepEqual([settlement!.type, settlement!.amount_usdc_micro], ['claim', '1000000']);
  const page = await alice.client.ledger.fundMovements({ limit: 2, offset: 1 });
  assert.deepEqual([page.total, page.limit, page.offset, page.movements.length], [7, 2, 1, 2]);
  assert.deepEqual(page.movements, (await movementsOf(alice)).slice(1, 3));
});

test('RULES.md 14.41: a page out of bounds and a key without the scope are refused', async () => {
  const alice = await makeTrader(server, { scopes: ['trade:orders'] });
  assertScopeMissing(await alice.send('GET', '/v1/user/fund-movements'));
  const bob = await makeTrader(server, { depositMicro: 0 });
  for (const query of ['limit=0', 'limit=101', 'offset=-1', 'limit=x']) {
    const error = `invalid ${query.split('=')[0]}`;
    assertRefused(await bob.send('GET', `/v1/user/fund-movements?${query}`), 400, 'VALIDATION_ERROR', error);
  }
});

/** On a chain a deposit is named after its transaction (RULES.md 17.21). */
async function depositNamed(trader: Trader, micro: number, reference: string): Promise<string> {
  if (isOnChain) await deposit(server, trader.userId, trader.address, micro);
  else await server.admin.deposit(trader.userId, { amount_usdc_micro: String(micro), reference });
  const [{ reference: given }] = (await movementsOf(trader)) as [AccountMovement];
  if (isOnChain) assert.match(given!, /^chain:0x[0-9a-f]{64}:\d+$/);
  else assert.equal(given, reference);
  return given!;
}

/** Parses records as spreadsheets do (RFC 4180). */
function csvRecords(csv: string): Record<string, string>[] {
  const lines = csv.split('\r\n');
  assert.equal(lines.pop(), '');
  const cells = lines.map((line) =>
    [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(([, quoted, plain]) =>
      quoted === undefined ? plain! : quoted.replaceAll('""', '"'),
    ),
  );
  const header = cells.shift()!;
  return cells.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]!])));
}

test('RULES.md 14.42: a statement has the fee of each fill, and closes to the balances', async () => {
  const market = await makeMarket(server);
  const [alice, bob] = [await makeTrader(server, { depositMicro: 0 }), await makeTrader(server)];
  const reference = await depositNamed(alice, 20_000_000, '=1+1,"x"');
  await alice.client.split(market.id, 10_000_000);
  const resting = await bob.place(market, { price: '0.60', size: '10' });
  const sale = await alice.place(market, { side: 'SELL', price: '0.60', size: '10' });
  assert.deepEqual([resting.status, sale.status], ['open', 'filled']);
  const statement = await alice.client.ledger.statement();
  const [paidIn, split, fill, ...none] = statement.entries;
  assert.deepEqual(none, []);
  assert.deepEqual(statement.opening, { usdc_micro: '0', tokens: [] });
  assert.deepEqual([paidIn!.reference, paidIn!.usdc_delta_micro], [reference, '20000000']);
  assert.deepEqual([split!.type, split!.usdc_delta_micro, split!.yes_delta_atomic], ['split', '-10000000', '10000000']);
  assert.deepEqual(fill, {
    time: fill!.time,
    type: 'fill',
    id: sale.fills![0]!.trade_id,
    reference: null,
    market_id: market.id,
    outcome_index: 0,
    side: 'SELL',
    role: 'taker',
    order_id: sale.order_id,
    usdc_delta_micro: '5970000',
    yes_delta_atomic: '-10000000',
    no_delta_atomic: '0',
    fee_usdc_micro: '30000',
    fee_token_atomic: '0',
    usdc_balance_micro: '15970000',
  });
  const no = { market_id: market.id, outcome_index: 1, quantity_atomic: '10000000' };
  assert.deepEqual(statement.closing, { usdc_micro: '15970000', tokens: [no] });
  const [bought] = (await bob.client.ledger.statement({ from: fill!.time })).entries;
  assert.deepEqual([bought!.role, bought!.usdc_delta_micro], ['maker', '-6000000']);
  assert.deepEqual([bought!.yes_delta_atomic, bought!.fee_token_atomic], ['9950000', '50000']);
  const csv = await new Response(await alice.client.ledger.openStatement({ format: 'csv' })).text();
  const records = csvRecords(csv);
  assert.deepEqual(
    records.map(({ type }) => type),
    ['opening_balance', 'deposit', 'split', 'fill', 'closing_balance', 'closing_balance'],
  );
  // No spreadsheet takes it for a formula.
  assert.equal(records[1]!['reference'], reference.startsWith('=') ? `'${reference}` : reference);
  assert.equal(records[4]!['usdc_balance_micro'], '15970000');
  assert.equal(records[5]!['token_balance_atomic'], '10000000');
  const { path, headers } = alice.client.prepareSigned('GET', '/v1/user/statement?format=csv');
  const answer = await fetch(server.baseUrl + path, { headers });
  assert.match(answer.headers.get('content-type')!, /^text\/csv/);
  await answer.text();
});

test('RULES.md 14.42: a period excludes its end; one that ends before it starts is refused', async () => {
  const alice = await makeTrader(server, { depositMicro: 5 });
  const { entries, closing } = await alice.client.ledger.statement();
  const { time } = entries[0]!;
  const before = await alice.client.ledger.statement({ to: time });
  assert.deepEqual([before.to, before.entries, before.closing.usdc_micro], [time, [], '0']);
  const since = await alice.client.ledger.statement({ from: time, to: '2100-01-01T00:00:00' });
  assert.deepEqual([since.from, since.to, since.entries], [time, '2100-01-01T00:00:00.000Z', entries]);
  assert.deepEqual(since.closing, closing);
  const years = await alice.client.ledger.statement({ from: '2020-01-01', to: '2100-01-01' });
  assert.deepEqual([years.from, years.to], ['2020-01-01T00:00:00.000Z', '2100-01-01T00:00:00.000Z']);
  const wrong = [
    [`from=${time}&to=${time}`, 'from must be before to'],
    ['from=2100-01-01T00:00:00Z', 'from must be before to'],
    ['from=2100-01-01T00:00:00Z&to=2101-01-01T00:00:00Z', 'from must be before to'],
    ['from=yesterday', 'invalid from'],
    ['to=2026-02-30', 'invalid to'],
    ['format=pdf', 'invalid format'],
  ];
  for (const [query, error] of wrong) {
    assertRefused(await alice.send('GET', `/v1/user/statement?${query}`), 400, 'VALIDATION_ERROR', error!);
  }
  const trader = await makeTrader(server, { scopes: ['trade:orders'], depositMicro: 0 });
  assertScopeMissing(await trader.send('GET', '/v1/user/statement'));
});

test('RULES.md 14.44 and 14.45: a referrer earns a tenth of fees, a maker gets a part back by the rate', async () => {
  const market = await makeMarket(server);
  const alice = await makeTrader(server, { depositMicro: 0 });
  const { referral_code } = (await alice.send('GET', '/v1/user/referral')).body;
  const [maker, taker] = [await makeTrader(server), await makeTrader(server, { referralCode: referral_code })];
  await taker.client.split(market.id, 20_000_000);
  const trade = async (): Promise<string> => {
    await maker.place(market, { price: '0.60', size: '10' });
    return (await taker.place(market, { side: 'SELL', price: '0.60', size: '10' })).fills![0]!.trade_id;
  };
  const first = await trade();
  const before = await maker.client.ledger.rebates();
  assert.deepEqual(before, {
    rebates: [],
    total: 0,
    page: 1,
    per_page: 20,
    summary: { accrued: { total_usdc: '0', count: 0 } },
  });
  const set = await server.admin.setRebate(market.id, 2500);
  assert.deepEqual([set.market_id, set.rebate_bps], [market.id, 2500]);
  const second = await trade();
  const { rebates, summary, ...page } = await maker.client.ledger.rebates({ status: 'accrued' });
  const [rebate] = rebates;
  // A fee of 0.05 tokens is worth 0.03 USDC at 0.60; a quarter of it is paid back.
  assert.deepEqual(rebates, [
    {
      id: rebate!.id,
      user_id: maker.userId,
      trade_id: second,
      market_id: market.id,
      rebate_bps: 2500,
      rebate_amount_usdc: '0.0075',
      status: 'accrued',
      credited_at: null,
      created_at: rebate!.created_at,
    },
  ]);
  assert.deepEqual(
    [page, summary],
    [{ total: 1, page: 1, per_page: 20 }, { accrued: { total_usdc: '0.0075', count: 1 } }],
  );
  const paid = await maker.client.ledger.rebates({ status: 'paid' });
  assert.deepEqual([paid.rebates, paid.total, paid.summary.accrued.count], [[], 0, 1]);
  const { earnings, ...sums } = await alice.client.ledger.referralEarnings({ per_page: 1 });
  // Each sale of 6.00 has a fee of 0.03.
  assert.deepEqual(sums, { total_usdc: '0.006', total: 2, page: 1, per_page: 1 });
  const [earning] = earnings;
  const expected = { referred_user: taker.userId, trade_id: second, amount_usdc: '0.003' };
  assert.deepEqual(earnings, [{ ...expected, created_at: earning!.created_at }]);
  const older = await alice.client.ledger.referralEarnings({ per_page: 1, page: 2 });
  assert.equal(older.earnings[0]!.trade_id, first);
  assert.equal((await maker.client.ledger.referralEarnings()).total, 0);
});

test('RULES.md 14.44 and 14.45: pages out of bounds, keys without the scope and wrong rates are refused', async () => {
  const alice = await makeTrader(server, { depositMicro: 0 });
  const blind = await makeTrader(server, { depositMicro: 0, scopes: ['trade:orders'] });
  for (const path of ['/v1/user/rebates', '/v1/user/referral/earnings']) {
    assertScopeMissing(await blind.send('GET', path));
    for (const query of ['page=0', 'per_page=0', 'per_page=101', 'page=102&per_page=100']) {
      const error = `invalid ${query.split('=')[0]}`;
      assertRefused(await alice.send('GET', `${path}?${query}`), 400, 'VALIDATION_ERROR', error);
    }
  }
  await assert.rejects(server.admin.setRebate(UNKNOWN_MARKET, 1), { status: 404, code: 'NOT_FOUND' });
  const market = await makeMarket(server);
  for (const bps of [-1, 10_001, 0.5]) {
    await assert.rejects(server.admin.setRebate(market.id, bps), { status: 400, code: 'VALIDATION_ERROR' });
  }
});

test('RULES.md 14.43: split parameters name the condition once the market is deployed', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server, { depositMicro: 0 })];
  const { chain_id, exchange_address } = await alice.client.platformConfig();
  const before = await alice.client.ledger.splitParams(market.id);
  const { yes_token_id, no_token_id } = market;
  const same = { yes_token_id, no_token_id, exchange_address, chain_id };
  assert.deepEqual(before, { condition_id: null, ...same, instructions: before.instructions, call: null });
  assert.match(before.instructions[0]!, /deploy/);
  await alice.send('POST', `/v1/markets/${market.id}/deploy`, {});
  const after = await eventually('a condition', async () => {
    const params = await alice.client.ledger.splitParams(market.id);
    return params.condition_id !== null && params;
  });
  assert.equal(after.condition_id, (await alice.client.market(market.id)).condition_id);
  const [to, condition_id] = [exchange_address, after.condition_id!];
  const prefix = `${selectorOf('splitFromEscrow(bytes32,uint256)')}${condition_id.slice(2)}`;
  const call = { to, function: 'splitFromEscrow(bytes32,uint256)', data_prefix: prefix, data: null };
  assert.deepEqual(after, { condition_id, ...same, instructions: after.instructions, call });
  const whole = await alice.client.ledger.splitParams(market.id, { amount_usdc_micro: '1000000' });
  assert.deepEqual(whole.call, { ...call, data: `${prefix}${(1_000_000).toString(16).padStart(64, '0')}` });
  const zero = await alice.send('GET', `/v1/markets/${market.id}/split-params?amount_usdc_micro=0`);
  assertRefused(zero, 400, 'VALIDATION_ERROR', 'invalid amount_usdc_micro');
  assert.match(after.instructions[0]!, /withdrawals \{"amount_usdc_micro": "AMOUNT", "to": "unheld"\}/);
  assert.match(after.instructions[2]!, new RegExp(`splitFromEscrow\\(${after.condition_id}, AMOUNT\\)`));
  const unknown = await alice.send('GET', `/v1/markets/${UNKNOWN_MARKET}/split-params`);
  assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
  const reader = await makeTrader(server, { scopes: ['read:account'], depositMicro: 0 });
  assertScopeMissing(await reader.send('GET', `/v1/markets/${market.id}/split-params`));
});

function selectorOf(signature: string): string {
  return toHex(keccak256(Buffer.from(signature)), 0, 4);
}

function assertScopeMissing(answer: Answer): void {
  assert.deepEqual([answer.status, answer.body.code], [403, 'INSUFFICIENT_SCOPE']);
}

type Tokens = Readonly<Record<string, string>>;

/** By market and outcome, without zeros. */
function tokensBy(rows: readonly { market_id: string; outcome_index: number; quantity: bigint }[]): Tokens {
  const held = rows.filter(({ quantity }) => quantity !== 0n);
  return Object.fromEntries(held.map((row) => [`${row.market_id}/${row.outcome_index}`, String(row.quantity)]));
}

function sumOf(statement: Statement, column: 'usdc_delta_micro' | 'yes_delta_atomic' | 'no_delta_atomic'): bigint {
  return statement.entries.reduce((sum, entry) => sum + BigInt(entry[column]), 0n);
}

async function tradeIdsOf(trader: Trader): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await trader.client.userTrades({ limit: 10, ...(cursor === undefined ? {} : { cursor }) });
    ids.push(...page.trades.map(({ id }) => id));
    if (page.next_cursor === null) return ids;
    cursor = page.next_cursor;
  }
}

/** Statement, balances, positions and trades say the same. @returns the USDC and the realized gain, in micro. */
async function assertAgreeing(trader: Trader): Promise<{ usdc: bigint; realized: bigint; entries: Set<string> }> {
  const { client } = trader;
  const [statement, balances, positions, trades] = await Promise.all([
    client.ledger.statement(),
    client.balances(),
    client.positions.list(),
    tradeIdsOf(trader),
  ]);
  const usdc = BigInt(balances.usdc.available) + BigInt(balances.usdc.reserved);
  assert.deepEqual(
    [sumOf(statement, 'usdc_delta_micro'), BigInt(statement.closing.usdc_micro)],
    [usdc, usdc],
    'the entries, their closing balance, and the balance of the engine',
  );
  const inBalances = tokensBy(
    balances.tokens.map((row) => ({ ...row, quantity: BigInt(row.available) + BigInt(row.reserved) })),
  );
  assert.deepEqual(tokensBy(positions.map((row) => ({ ...row, quantity: BigInt(row.quantity) }))), inBalances);
  const closing = statement.closing.tokens.map((row) => ({ ...row, quantity: BigInt(row.quantity_atomic) }));
  assert.deepEqual(tokensBy(closing), inBalances);
  const held = Object.values(inBalances).reduce((sum, quantity) => sum + BigInt(quantity), 0n);
  assert.equal(sumOf(statement, 'yes_delta_atomic') + sumOf(statement, 'no_delta_atomic'), held);
  const fills = statement.entries.filter(({ type }) => type === 'fill');
  assert.deepEqual([...new Set(fills.map(({ id }) => id))].sort(), trades.sort(), 'the trades of its fills');
  const realized = positions.reduce((sum, row) => sum + BigInt(row.realized_pnl!.replace('.', '')), 0n);
  return { usdc, realized, entries: new Set(statement.entries.map(({ type, role }) => role ?? type)) };
}

/** One action of any kind; a refused action changes nothing. */
async function act(random: Random, traders: readonly Trader[], markets: readonly OrderMarket[]): Promise<void> {
  const [trader, market] = [random.pick(traders), random.pick(markets)];
  const amount = (1 + random.below(9)) * 1_000_000;
  const kind = random.below(20);
  if (kind === 0) await trader.client.cancelAll();
  else if (kind < 3) await trader.client.split(market.id, amount);
  else if (kind < 5) await trader.send('POST', `/v1/markets/${market.id}/merge`, { amount: String(amount) });
  else {
    const outcomeIndex = random.below(2) === 0 ? 0 : 1;
    const price = `0.${40 + random.below(20)}`;
    const size = String(1 + random.below(12));
    await trader.post(trader.body(market, { outcomeIndex, side: random.pick(['BUY', 'SELL']), price, size }));
  }
}

const SEED = seedOr(20_261_122);
test(`after random trading the answers of an account agree, and its gain is what it has more (${SEED})`, async () => {
  const random = new Random(SEED);
  const markets = [await makeMarket(server), await makeMarket(server)] as const;
  const traders = await Promise.all([0, 1, 2].map(() => makeTrader(server)));
  const deposited = 1_000_000_000n;
  for (let action = 0; action < 90; action++) await act(random, traders, markets);
  const seen = new Set<string>();
  for (const trader of traders) for (const entry of (await assertAgreeing(trader)).entries) seen.add(entry);
  assert.deepEqual([...seen].sort(), ['deposit', 'maker', 'merge', 'split', 'taker'], 'what has happened');
  await server.admin.resolveMarket(markets[0].id, { outcome_index: 0 });
  await server.admin.resolveMarket(markets[1].id, { outcome_index: 1 });
  for (const trader of traders) {
    const payouts = (await trader.client.redeemable()).filter(({ market_id }) => market_id === markets[0].id);
    const before = await assertAgreeing(trader);
    await trader.send('POST', `/v1/user/positions/${markets[0].id}/claim`);
    const { usdc } = await assertAgreeing(trader);
    const paid = payouts.reduce((sum, { payout }) => sum + BigInt(payout), 0n);
    assert.equal(usdc - before.usdc, paid, 'a claim pays what was redeemable');
  }
  for (const { id } of markets) await server.admin.settleMarket(id);
  for (const trader of traders) {
    const { usdc, realized } = await assertAgreeing(trader);
    assert.equal(usdc - deposited, realized, 'every position is closed');
  }
  await assertBalanced(server);
});

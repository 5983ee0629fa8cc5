/** The ledger of an account on a real server: its movements of funds. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AccountMovement } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await startServer({ after });
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

test('RULES.md 14.41: deposits and withdrawals have the id and the reference that the operator got', async () => {
  const alice = await makeTrader(server, { depositMicro: 0 });
  const deposit = await server.admin.deposit(alice.userId, { amount_usdc_micro: '9000000', reference: 'wire 1' });
  const withdrawal = await server.admin.withdraw(alice.userId, { amount_usdc_micro: '4000000', reference: 'wire 1' });
  const repeated = await server.admin.withdraw(alice.userId, { amount_usdc_micro: '4000000', reference: 'wire 1' });
  assert.equal(repeated.id, withdrawal.id);
  const [second, first, ...none] = await movementsOf(alice);
  assert.deepEqual(none, [], 'a repeat is no movement');
  assert.deepEqual(first, { ...deposit, created_at: first!.created_at });
  assert.deepEqual(second, { ...withdrawal, created_at: second!.created_at });
});

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
  assert.deepEqual([claim!.type, claim!.amount_usdc_micro, claim!.reference], ['claim', '3000000', tx_hash]);
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

test('RULES.md 14.43: split parameters name the condition once the market is deployed', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server, { depositMicro: 0 })];
  const { chain_id, exchange_address } = await alice.client.platformConfig();
  const before = await alice.client.splitParams(market.id);
  const { yes_token_id, no_token_id } = market;
  const same = { yes_token_id, no_token_id, exchange_address, chain_id };
  assert.deepEqual(before, { condition_id: null, ...same, instructions: before.instructions });
  assert.match(before.instructions[0]!, /deploy/);
  await alice.send('POST', `/v1/markets/${market.id}/deploy`, {});
  const after = await eventually('a condition', async () => {
    const params = await alice.client.splitParams(market.id);
    return params.condition_id !== null && params;
  });
  assert.equal(after.condition_id, (await alice.client.market(market.id)).condition_id);
  assert.deepEqual(after, { condition_id: after.condition_id, ...same, instructions: after.instructions });
  assert.match(after.instructions[0]!, new RegExp(`splitFromEscrow\\(${after.condition_id}, amount\\)`));
  const unknown = await alice.send('GET', `/v1/markets/${UNKNOWN_MARKET}/split-params`);
  assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
  const reader = await makeTrader(server, { scopes: ['read:account'], depositMicro: 0 });
  assertScopeMissing(await reader.send('GET', `/v1/markets/${market.id}/split-params`));
});

function assertScopeMissing(answer: Answer): void {
  assert.deepEqual([answer.status, answer.body.code], [403, 'INSUFFICIENT_SCOPE']);
}

/** Markets on a chain: their tokens, deployment, orders, decisions and claims (RULES.md 17.30 to 17.37). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Hex } from 'viem';
import { eventually } from '../support/eventually.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { receiptOf } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { chainRig, key, USDC } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const DEPOSIT = 100_000_000;
const FINAL_BLOCKS = 70;
const [ALICE, BOB, SIGNER] = [11, 12, 13];
const secretOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
const final = () => rig.client.mine({ blocks: FINAL_BLOCKS });

/** With the same USDC in the ledger and under its wallet on the chain. */
async function fundedTrader(server: TestServer, number: number): Promise<Trader> {
  await rig.fund(key(number), BigInt(DEPOSIT));
  return makeTrader(server, { privateKey: secretOf(number), depositMicro: DEPOSIT });
}

async function whenDeployed(server: TestServer, id: string) {
  return eventually('the deployment', async () => {
    const { body } = await server.request('GET', `/v1/markets/${id}`);
    return body.deploy_status === 'deployed' && body;
  });
}

test('a market on a chain is traded, deployed by its first trade, decided, and claimed', options, async () => {
  const server = await startServer({ after }, { ...(await chainSettings(rig)), MOST_HEAD_AGE_MS: '3600000' });
  await final();
  const market = await makeMarket(server);
  const tokens = [market.yes_token_id, market.no_token_id];
  const given = { yes_token_id: '7', no_token_id: '8' };
  const fields = { title: 'T', description: '', category: 'C', trading_ends_at: '2099-01-01T00:00:00Z' };
  const create = (more: object) => server.admin.createMarket({ ...fields, ...more } as never);
  await assert.rejects(create(given), { code: 'VALIDATION_ERROR', message: /invalid yes_token_id/ });
  const named = server.admin.patchMarket(market.id, { condition_id: `0x${'11'.repeat(32)}` });
  await assert.rejects(named, { code: 'VALIDATION_ERROR', message: /invalid condition_id/ });
  const contracts = { exchange_address: rig.contracts.exchange, market_factory_address: `0x${'22'.repeat(20)}` };
  await assert.rejects(server.admin.changeContracts(contracts), { message: /invalid market_factory_address/ });

  const [alice, bob] = [await fundedTrader(server, ALICE), await fundedTrader(server, BOB)];
  await eventually('a healthy chain', async () => (await server.request('GET', '/health/polygon')).status === 200);
  const [other, signer] = [key(99).address.toLowerCase(), key(SIGNER).address.toLowerCase()];
  await server.admin.addWallet(alice.userId, other);
  const foreign = alice.body(market, { price: '0.60', size: '10' }, {}, other);
  assertRefused(await alice.post(foreign), 403, 'FORBIDDEN', 'maker is not a wallet of this account');
  const delegate = () => server.admin.addDelegate(alice.userId, alice.address, signer);
  await assert.rejects(delegate(), { code: 'CONFLICT', message: /not added this delegate on the chain/ });
  await rig.exchange(key(ALICE).address, 'addDelegate', [key(SIGNER).address]);
  await final();
  await delegate();

  await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10' });
  const signing = await makeTrader(server, { privateKey: secretOf(SIGNER), depositMicro: 0 });
  const delegated = signing.body(market, { price: '0.60', size: '10' }, {}, alice.address);
  assert.equal((await alice.post(delegated)).status, 200);
  const yes = BigInt(market.yes_token_id);
  await eventually('the trade', async () => (await rig.held(key(ALICE), yes)) > 0n);
  await final();
  const deployed = await whenDeployed(server, market.id);
  const conditionId = (await rig.call('marketFactory', 'conditionOf', [deployed.question_id])) as Hex;
  assert.equal(deployed.condition_id, conditionId);
  assert.equal(deployed.contract_address, rig.contracts.marketFactory.toLowerCase());
  assert.deepEqual([deployed.yes_token_id, deployed.no_token_id], tokens);
  assert.deepEqual(await rig.call('exchange', 'markets', [conditionId]), tokens.map(BigInt));

  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  const marked = () => bob.send('POST', `/v1/user/positions/${market.id}/mark-claimed`);
  assertRefused(await marked(), 409, 'CONFLICT', 'the chain has not paid these tokens yet');
  const claim = await alice.client.claim(market.id);
  const receipt = await receiptOf(rig.client, claim.tx_hash as Hex);
  assert.equal(receipt.status, 'success');
  assert.equal(receipt.to, rig.contracts.exchange.toLowerCase());
  const { usdc } = await alice.holdings(market);
  assert.equal(await rig.held(key(ALICE), USDC), BigInt(usdc), 'the chain has paid what the ledger has');
  await rig.exchange(key(BOB).address, 'claim', [key(BOB).address, conditionId]);
  assert.deepEqual(await marked().then(({ status, body }) => [status, body]), [200, { message: 'marked as claimed' }]);
  await server.admin.settleMarket(market.id);
  await eventually('the last claim', async () => (await rig.held(rig.contracts.exchange, yes)) === 0n);
  assert.deepEqual(await rig.call('exchange', 'pools', [conditionId]), [true, 0n, 0n, 0n], 'nothing is left of it');
});

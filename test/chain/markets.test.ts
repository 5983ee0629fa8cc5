/** Markets on a chain: their tokens, deployment, orders, decisions and claims (RULES.md 17.30 to 17.37). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Hex } from 'viem';
import type { OrderMarket } from '../../shared/client/order.ts';
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

/** It has paid in on the chain, and the ledger has followed. */
async function fundedTrader(server: TestServer, number: number): Promise<Trader> {
  const trader = await makeTrader(server, { privateKey: secretOf(number), depositMicro: 0 });
  await rig.fund(key(number), BigInt(DEPOSIT));
  await final();
  await eventually('the deposit', async () => (await trader.client.balances()).usdc.available === String(DEPOSIT));
  return trader;
}

async function whenDeployed(server: TestServer, id: string) {
  return eventually('the deployment', async () => {
    const { body } = await server.request('GET', `/v1/markets/${id}`);
    return body.deploy_status === 'deployed' && body;
  });
}

/** A description of a market follows from its tokens, and these from contracts that stay (RULES.md 17.36). */
async function tryOthers(server: TestServer, { id }: OrderMarket): Promise<void> {
  const fields = { title: 'T', description: '', category: 'C', trading_ends_at: '2099-01-01T00:00:00Z' };
  const created = server.admin.createMarket({ ...fields, yes_token_id: '7', no_token_id: '8' });
  await assert.rejects(created, { code: 'VALIDATION_ERROR', message: /invalid yes_token_id/ });
  const named = server.admin.patchMarket(id, { condition_id: `0x${'11'.repeat(32)}` });
  await assert.rejects(named, { code: 'VALIDATION_ERROR', message: /invalid condition_id/ });
  const set = { event: { title: 'S' }, winners: 1, trading_ends_at: fields.trading_ends_at } as const;
  const made = server.admin.sets.create({ ...set, markets: [{ title: 'A' }, { title: 'B' }] });
  await assert.rejects(made, { code: 'SETS_UNAVAILABLE', message: /the markets of this exchange are on a chain/ });
  assert.equal((await server.request('GET', '/v1/events/s')).status, 404);
  const contracts = { exchange_address: rig.contracts.exchange, market_factory_address: `0x${'22'.repeat(20)}` };
  await assert.rejects(server.admin.changeContracts(contracts), { message: /invalid market_factory_address/ });
  const next = { exchange_address: `0x${'22'.repeat(20)}` };
  await assert.rejects(server.admin.changeContracts(next), { code: 'CONFLICT', message: /no contract/ });
}

/** Alice's delegate buys Yes of Bob, who buys No; then she takes it back. */
async function trade(server: TestServer, market: OrderMarket, alice: Trader, bob: Trader): Promise<void> {
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
  await eventually('the trade', async () => (await rig.held(key(ALICE), BigInt(market.yes_token_id))) > 0n);
  await rig.exchange(key(ALICE).address, 'removeDelegate', [key(SIGNER).address]);
  await final();
  await eventually('the delegate is taken away', async () => {
    const order = signing.body(market, { price: '0.10', size: '1' }, {}, alice.address);
    return (await alice.post(order)).status === 403;
  });
}

/** RULES.md 14.43: follows the instructions to the letter, with only the values that they name. */
async function split(market: OrderMarket, trader: Trader): Promise<void> {
  const account = key(ALICE).address;
  const { call, instructions } = await trader.client.ledger.splitParams(market.id, { amount_usdc_micro: '2000000' });
  const [, path = '', body = ''] = /POST (\S+) (\{.*\})/.exec(instructions[0]!) ?? [];
  const { status, body: asked } = await trader.send('POST', path, JSON.parse(body));
  assert.equal(status, 201);
  const [, listed = ''] = /GET (\S+) shows/.exec(instructions[1]!) ?? [];
  await eventually('the withdrawal is completed', async () => {
    await final();
    const { body: movements } = await trader.send('GET', listed);
    const found = movements.movements.find((each: { reference: string }) => each.reference === asked.reference);
    return found?.status === 'completed';
  });
  const before = await trader.holdings(market);
  const { to, data } = call as { to: Hex; data: Hex };
  const transaction = { account, to, data, gas: 1_000_000n, gasPrice: 0n, chain: null };
  const sent = await rig.client.sendTransaction(transaction);
  assert.equal((await receiptOf(rig.client, sent)).status, 'success');
  assert.equal(await rig.held(account, BigInt(market.yes_token_id)), 2_000_000n);
  await final();
  await eventually('the sets in the ledger', async () => {
    const { usdc, yes, no } = await trader.holdings(market);
    return usdc === before.usdc && yes === 2_000_000 && no === 2_000_000;
  });
}

/** The chain decides, and the ledger follows. */
async function decide(server: TestServer, { id }: OrderMarket, payouts: [number, number]): Promise<void> {
  assert.equal((await server.admin.resolveMarket(id, { payouts })).status, 'resolving');
  await eventually('the decision', async () => {
    await rig.client.mine({ blocks: 8 });
    return (await server.request('GET', `/v1/markets/${id}`)).body.status === 'resolved';
  });
}

/** Alice claims here, Bob on the chain. */
async function payOut(server: TestServer, market: OrderMarket, alice: Trader, bob: Trader): Promise<void> {
  const yes = BigInt(market.yes_token_id);
  const conditionId = (await rig.call('exchange', 'conditionOf', [yes])) as Hex;
  await decide(server, market, [700_000, 300_000]);
  const marked = () => bob.send('POST', `/v1/user/positions/${market.id}/mark-claimed`);
  assertRefused(await marked(), 409, 'CONFLICT', 'the chain has not paid these tokens yet');
  const claim = await alice.client.claim(market.id);
  const receipt = await receiptOf(rig.client, claim.tx_hash as Hex);
  assert.equal(receipt.status, 'success');
  assert.equal(receipt.to, rig.contracts.exchange.toLowerCase());
  const { usdc } = await alice.holdings(market);
  assert.equal(await rig.held(key(ALICE), USDC), BigInt(usdc), 'the chain has paid what the ledger has');
  const unpaid = await bob.holdings(market);
  await rig.exchange(key(BOB).address, 'claim', [key(BOB).address, conditionId]);
  assert.deepEqual(await marked().then(({ status, body }) => [status, body]), [200, { message: 'marked as claimed' }]);
  await final();
  await eventually('the ledger pays what the chain has paid', async () => (await bob.holdings(market)).no === 0);
  const paid = await bob.holdings(market);
  assert.equal(paid.usdc, unpaid.usdc + Math.floor((unpaid.no * 3) / 10));
  assert.equal(await rig.held(key(BOB), USDC), BigInt(paid.usdc), 'ledger and chain are equal');
  await server.admin.settleMarket(market.id);
  await eventually('the last claim', async () => (await rig.held(rig.contracts.exchange, yes)) === 0n);
  assert.deepEqual(await rig.call('exchange', 'pools', [conditionId]), [true, 0n, 0n, 0n], 'nothing is left of it');
}

test('a market on a chain is traded, deployed by its first trade, decided, and claimed', options, async () => {
  const settings = { ...(await chainSettings(rig)), MOST_HEAD_AGE_MS: '3600000' };
  const server = await startServer({ after }, settings);
  await final();
  const market = await makeMarket(server);
  await tryOthers(server, market);
  let [alice, bob] = [await fundedTrader(server, ALICE), await fundedTrader(server, BOB)];
  await eventually('a healthy chain', async () => (await server.request('GET', '/health/polygon')).status === 200);
  await trade(server, market, alice, bob);
  const deployed = await whenDeployed(server, market.id);
  const conditionId = await rig.call('marketFactory', 'conditionOf', [deployed.question_id]);
  assert.equal(deployed.condition_id, conditionId);
  assert.equal(deployed.contract_address?.toLowerCase(), rig.contracts.marketFactory.toLowerCase());
  const tokens = [market.yes_token_id, market.no_token_id];
  assert.deepEqual([deployed.yes_token_id, deployed.no_token_id], tokens);
  assert.deepEqual(await rig.call('exchange', 'markets', [conditionId]), tokens.map(BigInt));

  // Requested by a trader, and continued after a kill at any step.
  const second = await makeMarket(server);
  const { status, body } = await alice.send('POST', `/v1/markets/${second.id}/deploy`);
  assert.deepEqual([status, body.market_id], [200, second.id]);
  assert.match(body.status, /^(deploying|pending_deploy)$/);
  await server.kill();
  await server.start(settings);
  [alice, bob] = [alice.reconnected(), bob.reconnected()];
  await eventually('the second market', async () => {
    const { condition_id: condition } = await alice.client.ledger.splitParams(second.id);
    if (condition === null) await rig.client.mine({ blocks: 8 });
    return condition !== null;
  });
  await split(second, alice);
  await payOut(server, market, alice, bob);
});

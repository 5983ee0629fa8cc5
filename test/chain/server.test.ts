/** A server in chain mode: trades settle, and orders are refused while that does not work. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Address, type Hex, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { keystoreOf } from '../support/keystore.ts';
import { Pmx } from '../support/pmx.ts';
import { TestServer } from '../support/server.ts';
import { type Intent, makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { send, sendData } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, eventsOf, key, ROLES } from './rig.ts';

const rig = NO_ANVIL ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const options = { skip: NO_ANVIL };
const LIMITS = { MOST_HEAD_AGE_MS: '5000', MOST_SETTLEMENT_WAIT_MS: '3600000' };
const HUNDRED = 100_000_000;
const FINAL_BLOCKS = 70;
const given: Record<string, string> = NO_ANVIL ? {} : { ...(await chainSettings(rig)), ...LIMITS };
const settings = withKeystore(given);
const server = new TestServer(temporaryDirectory());
after(() => server.stop());

const connection = () => server.request('GET', '/health/polygon');

/** The operator's key is in an encrypted keystore, as it is in earnest. */
function withKeystore({ OPERATOR_KEY = '', ...others }: Record<string, string>): Record<string, string> {
  const directory = temporaryDirectory();
  const [keystore, password] = [join(directory, 'operator.json'), join(directory, 'password')];
  writeFileSync(keystore, keystoreOf(OPERATOR_KEY, 'correct horse'));
  writeFileSync(password, 'correct horse\n');
  return { ...others, OPERATOR_KEYSTORE: keystore, OPERATOR_KEYSTORE_PASSWORD_FILE: password };
}

/** A trader whose wallet has deposited, as the exchange authorizes it; the ledger follows once that is final. */
async function fundedTrader(number: number): Promise<Trader> {
  const trader = await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  const wallet = key(number);
  await rig.mint(wallet.address, BigInt(HUNDRED));
  const { typed_data: data, transaction } = await eventually('an authorization', () =>
    trader.client.ledger.authorizeDeposit(HUNDRED).catch(() => false as const),
  );
  const [value, validBefore] = [data.message.value, data.message.validBefore].map(BigInt);
  const message = { ...data.message, value, validAfter: 0n, validBefore };
  const signature = await wallet.signTypedData({ ...data, message } as never);
  const { data_before_signature: before, data_after_signature: after, to } = transaction;
  // Anybody sends it.
  await sendData(rig.client, {
    from: ROLES.admin,
    to: to as Address,
    data: `${before}${signature.slice(2)}${after}` as Hex,
  });
  assert.equal((await trader.client.balances()).usdc.available, '0', 'it is not final');
  await rig.client.mine({ blocks: FINAL_BLOCKS });
  await balanceOf(trader, HUNDRED);
  return trader;
}

function balanceOf(trader: Trader, micro: number): Promise<unknown> {
  return eventually(`${micro} available`, async () => {
    return (await trader.client.balances()).usdc.available === String(micro);
  });
}

/** Placing, as soon as the chain is healthy, or at once with this status. */
async function place(trader: Trader, market: OrderMarket, intent: Intent, status?: number): Promise<void> {
  const order = trader.body(market, intent);
  if (status !== undefined) {
    assert.equal((await trader.post(order)).status, status);
    return;
  }
  await eventually('a healthy chain', async () => (await trader.post(order)).status === 200);
}

test('trades are carried out on the chain, also when the server is killed in between', options, async () => {
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  await eventually('the node answers', async () => (await connection()).status === 200);
  assert.deepEqual((await connection()).body, { status: 'connected' });
  const [alice, bob] = [await fundedTrader(0x51), await fundedTrader(0x52)];
  const market = await makeMarket(server);
  await place(alice, market, { price: '0.60', size: '10' });
  await place(bob, market, { price: '0.40', size: '10', outcomeIndex: 1 });
  const yesOf = async ({ address }: Trader) => rig.held(address as Address, BigInt(market.yes_token_id));
  await eventually('the first trade on the chain', async () => (await yesOf(alice)) > 0n);
  await place(alice, market, { price: '0.30', size: '20' });
  await place(bob, market, { price: '0.70', size: '20', outcomeIndex: 1 });
  await server.kill();
  await server.start(settings);
  for (const trader of [alice, bob].map((each) => each.reconnected())) {
    const { usdc, reserved, yes, no } = await trader.holdings(market);
    await eventually('the same on the chain', async () => {
      const held = (asset: string) => rig.held(trader.address as Address, BigInt(asset));
      const inEscrow = [await held('0'), await held(market.yes_token_id), await held(market.no_token_id)].map(Number);
      return isDeepStrictEqual(inEscrow, [usdc + reserved, yes, no]);
    });
  }
  await showsSettlement(alice.reconnected(), bob.reconnected());
});

/** RULES.md 14.8 and 17.41. */
async function showsSettlement(alice: Trader, bob: Trader): Promise<void> {
  await rig.client.mine({ blocks: FINAL_BLOCKS });
  const trades = await eventually('final trades', async () => {
    const page = (await alice.client.userTrades()).trades;
    return page.every((trade) => trade.settlement_status === 'settled') && page;
  });
  assert.equal(trades.length, 2);
  const { id } = trades[1]!;
  const settlement = await bob.client.tradeSettlement(id);
  const { history, transaction_hash, batch_id, block_number, unwound_at } = settlement;
  assert.deepEqual([history[0]?.status, history.at(-1)?.status, unwound_at], ['pending', 'settled', null]);
  const receipt = await rig.client.getTransactionReceipt({ hash: transaction_hash as Hex });
  assert.equal(Number(receipt.blockNumber), block_number);
  const [batch] = eventsOf(receipt.logs, 'Exchange', 'BatchSettled');
  assert.equal(batch?.args['batchId'], batch_id);
  assert.deepEqual(await server.admin.failedTrades(), { trades: [], next_cursor: null });
  const notFailed = { status: 409, code: 'CONFLICT', message: 'the trade has not failed' };
  await assert.rejects(server.admin.unwindTrade(id), notFailed);
  await assert.rejects(server.admin.retryTrade(id), notFailed);
  const unknown = { status: 404, message: 'trade not found' };
  await assert.rejects(server.admin.unwindTrade(trades[1]!.market_id), unknown);
}

test('a wallet splits released USDC by itself, and is paid what it withdraws', options, async () => {
  const trader = await fundedTrader(0x54);
  const market = await rig.createMarket();
  const { ledger } = trader.client;
  await ledger.withdraw({ amount_usdc_micro: '30000000', to: 'unheld', reference: 'mine' });
  const again = await ledger.withdraw({ amount_usdc_micro: '30000000', to: 'unheld', reference: 'mine' });
  assert.deepEqual([again.reference, again.status], ['mine', 'pending']);
  await ledger.withdraw({ amount_usdc_micro: '5000000' });
  await balanceOf(trader, 65_000_000);
  const wallet = trader.address as Address;
  await eventually('released and paid', async () => {
    return (await rig.balance(wallet, 0n))[1] === 30_000_000n && (await rig.walletUsdc(wallet)) === 5_000_000n;
  });
  // The exchange does not know the market: its sets wait, and the rest is held again.
  await rig.exchange(wallet, 'splitFromEscrow', [market.conditionId, 1_234_567n]);
  await rig.exchange(wallet, 'hold', [0n, 28_765_433n]);
  await rig.client.mine({ blocks: FINAL_BLOCKS });
  await balanceOf(trader, 65_000_000 + 28_765_433);
  const { chain } = await server.admin.ledger();
  assert.ok(chain !== undefined && chain.block !== null);
  assert.deepEqual(chain.differences, []);
  await eventually('sets of an unknown market wait', async () => {
    const { movements, total } = await server.admin.waitingMoney();
    return total === 1 && movements[0]!.kind === 'sets' && movements[0]!.reason === 'unknown_market';
  });
  const { lines } = await reconcileChain(server.dataDir, given['RPC_URL']!, true);
  const ofTrader = lines.filter((line) => line.includes(trader.address.toLowerCase()));
  assert.ok(ofTrader.length === 1 && ofTrader[0]!.startsWith('equal '), lines.join('\n'));
});

const MINIMUM = { field: 'amount_usdc_micro', rule: 'minimum', value: '1000000' };

/** RULES.md 17.4, 17.26, 17.46: USDC refuses the wallet, and the attacker takes out as little as it may at a time. */
test('a wallet on the blacklist of USDC waits with its withdrawals, and nobody else notices', options, async () => {
  const [spiteful, alice, bob] = [await fundedTrader(0x55), await fundedTrader(0x56), await fundedTrader(0x57)];
  const market = await makeMarket(server);
  const freeze = (isFrozen: boolean) => {
    const args = [spiteful.address, isFrozen] as const;
    return send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', args);
  };
  await freeze(true);
  const asked = 7;
  const tooSmall = { status: 400, code: 'VALIDATION_ERROR', details: MINIMUM };
  await assert.rejects(spiteful.client.ledger.withdraw({ amount_usdc_micro: '1' }), tooSmall);
  for (let payment = 0; payment < asked; payment++) {
    await spiteful.client.ledger.withdraw({ amount_usdc_micro: '1000000' });
  }
  await bob.client.ledger.withdraw({ amount_usdc_micro: '2000000' });
  const from = await rig.client.getBlockNumber();
  for (let round = 0; round < 12; round++) {
    await place(bob, market, { price: '0.40', size: '1', outcomeIndex: 1 }, 200);
    await place(alice, market, { price: '0.60', size: '1' }, 200);
    await eventually('another block', async () => (await rig.client.getBlockNumber()) > from + BigInt(round));
  }
  await eventually('the others are paid', async () => (await rig.walletUsdc(bob.address as Address)) === 2_000_000n);
  const { movements } = await eventually('the operator sees it', async () => {
    const waiting = await server.admin.waitingMoney();
    return waiting.movements.some(({ kind }) => kind === 'payment') && waiting;
  });
  const refused = movements.filter(({ kind }) => kind === 'payment');
  assert.deepEqual(
    refused.map(({ amount_atomic }) => amount_atomic),
    ['1000000'],
    'one is tried, the others wait behind it',
  );
  assert.match(refused[0]!.reason!, /revert/);
  assert.equal((await server.admin.operations()).settlement!.reason, null);
  await freeze(false);
  await rig.client.mine({ blocks: FINAL_BLOCKS });
  await eventually('every micro is paid', async () => {
    return (await rig.walletUsdc(spiteful.address as Address)) === 1_000_000n * BigInt(asked);
  });
  assert.deepEqual((await server.admin.ledger()).chain!.differences, []);
});

test('orders are refused while the chain is away, and cancels are not', options, async () => {
  const market = await makeMarket(server);
  const trader = await fundedTrader(0x53);
  const order = trader.body(market, { price: '0.40', size: '10' });
  const placed = await eventually('a healthy chain', async () => {
    const answer = await trader.post(order);
    return answer.status === 200 && answer;
  });
  // The node hangs up on everybody.
  await rig.stop();
  const refused = await eventually('settlement is unhealthy', async () => {
    const answer = await trader.post(trader.body(market, { price: '0.41', size: '10' }));
    return answer.status === 503 && answer;
  });
  assert.equal(refused.body.code, 'SETTLEMENT_UNHEALTHY');
  const gone = await connection();
  assert.deepEqual([gone.status, gone.body], [503, { status: 'disconnected' }]);
  assert.equal((await trader.send('DELETE', `/v1/orders/${placed.body.order_hash}`)).status, 200);
  const ready = await server.request('GET', '/ready');
  const reason = 'settlement is unhealthy: orders are refused';
  assert.deepEqual([ready.status, ready.body], [200, { status: 'ready', reason }]);
  const doctor = await new Pmx({ BASE_URL: server.baseUrl }).run(['doctor', '--json']);
  const exchange = JSON.parse(doctor.out).checks.find(({ check }: { check: string }) => check === 'exchange');
  assert.deepEqual([exchange.state, exchange.message], ['warn', reason]);
  const metrics = (await (await fetch(`${server.baseUrl}/metrics`)).text()).split('\n');
  for (const line of [
    'exchange_settlement_healthy 0',
    'exchange_settlement_node_connected 0',
    'exchange_settlement_key_balance{key="RELAYER"} 1000',
    'exchange_settlement_key_low{key="RELAYER"} 0',
    'exchange_settlement_work{status="pending"} 0',
  ]) {
    assert.ok(metrics.includes(line), line);
  }
  const { settlement } = await server.admin.operations();
  assert.ok(settlement!.reason !== null && settlement!.head_age_seconds! >= 5);
  assert.doesNotMatch(server.stdout.join('\n'), new RegExp(given['OPERATOR_KEY']!.slice(2)));
  await server.kill();
  await server.start(settings);
  const again = trader.reconnected();
  assert.equal((await again.post(order)).status, 503, 'a start with the node away');
  assert.equal(await server.stop(), 0);
});

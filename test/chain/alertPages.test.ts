/**
 * Pages that a real Prometheus rings for what happens between an exchange and its chain: each by its cause, and not by
 * its neighbour. Each test has a chain of its own, because some of these stay for an hour.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { type Address, parseGwei, toHex } from 'viem';
import type { OrderMarket } from '../../shared/client/order.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { metricOf } from '../support/metricOf.ts';
import { NO_PROMETHEUS, Prometheus } from '../support/prometheus.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { deployExchange, send } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, EXIT_DELAY, key, ROLES, SETTLEMENT_GRACE } from './rig.ts';

const options = { skip: NO_ANVIL || NO_PROMETHEUS };
const HUNDRED = 100_000_000;
const HALF_HOUR_MS = 1_800_000;
/** The head grows old, and trades wait, where a test stops the chain. */
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000' };

/** An exchange on a chain of its own, and a Prometheus beside it. */
async function scene(t: TestContext, env: Record<string, string> = {}) {
  const rig = await ChainRig.start();
  t.after(() => rig.stop());
  const port = await freePort();
  const settings: Record<string, string> = {
    ...(await chainSettings(rig)),
    ...LIMITS,
    ADMIN_PORT: String(port),
    ...env,
  };
  await rig.client.setIntervalMining({ interval: 1 });
  const server = new TestServer(temporaryDirectory(), '1');
  t.after(() => server.kill());
  await server.start(settings);
  const settlement = async () => (await server.admin.operations()).settlement!;
  await eventually('settlement works', async () => (await server.admin.operations()).settlement?.reason === null);
  const prometheus = await Prometheus.start(t, { target: `127.0.0.1:${port}`, token: server.adminToken });
  await prometheus.rings([]);
  return { rig, server, settings, prometheus, settlement };
}

/** Traders whose wallets have deposited. */
async function funded(rig: ChainRig, server: TestServer, ...numbers: number[]): Promise<Trader[]> {
  const traders: Trader[] = [];
  for (const number of numbers) {
    await rig.fund(key(number), BigInt(HUNDRED));
    traders.push(await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 }));
  }
  for (const { client } of traders) {
    await eventually('the deposit', async () => {
      await rig.client.mine({ blocks: 8 });
      return (await client.balances()).usdc.available === String(HUNDRED);
    });
  }
  return traders;
}

/** Alice buys Yes and Bob No, ten of each. */
async function trade(market: OrderMarket, [alice, bob]: readonly Trader[], expirationSec?: number): Promise<void> {
  for (const [trader, outcomeIndex, price] of [
    [alice!, 0, '0.60'],
    [bob!, 1, '0.40'],
  ] as const) {
    const answer = await trader.post(trader.body(market, { price, size: '10', outcomeIndex, expirationSec }));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  }
}

test('that another program uses a key of the exchange, and not for transactions of others', options, async (t) => {
  const { rig, server, settings, prometheus, settlement } = await scene(t);
  const traders = await funded(rig, server, 0x71, 0x72);
  const market = await makeMarket(server);
  await trade(market, traders);
  await prometheus.rings([]);
  const operator = key(Number(settings['OPERATOR_KEY']));
  const { address } = operator;
  await eventually('the exchange has sent its own', async () => {
    const { pending, submitted } = (await settlement()).work;
    return pending + submitted === 0 && (await rig.client.getTransactionCount({ address })) > 0;
  });
  // The other program is first: its transaction has the nonce that the exchange means to use.
  await rig.client.setIntervalMining({ interval: 0 });
  await rig.client.impersonateAccount({ address });
  await rig.client.sendTransaction({ account: address, to: address, gasPrice: parseGwei('5000'), chain: null });
  await trade(market, traders);
  await eventually('the exchange has chosen its nonce', async () => (await settlement()).work.submitted > 0);
  await rig.client.mine({ blocks: 1 });
  await rig.client.setIntervalMining({ interval: 1 });
  await eventually('the nonce is final', async () => {
    await rig.client.mine({ blocks: 8 });
    return (await metricOf(server, 'exchange_settlement_foreign_nonces_total')) > 0;
  });
  await prometheus.rings(['ForeignNonces']);
});

test('that fees are above the most that may be offered, and not where nothing waits', options, async (t) => {
  const { rig, server, prometheus } = await scene(t);
  const traders = await funded(rig, server, 0x71, 0x72);
  await rig.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('1000000000') });
  await rig.client.mine({ blocks: 1 });
  await prometheus.rings([]);
  await trade(await makeMarket(server), traders);
  await prometheus.rings(['FeeAtMost']);
});

test('that five payments are refused, and not for four', options, async (t) => {
  const { rig, server, prometheus } = await scene(t);
  const traders = await funded(rig, server, 0x71, 0x72, 0x73, 0x74, 0x75);
  for (const [index, { address, client }] of traders.entries()) {
    const freeze = [address, true] as const;
    await send(rig.client, ROLES.admin, rig.contracts.usdc, 'DemoUsdc', 'setBlacklisted', freeze);
    await client.ledger.withdraw({ amount_usdc_micro: '1000000' });
    await eventually('the refusal', async () => {
      return (await metricOf(server, 'exchange_settlement_waiting{for="payment"}')) === index + 1;
    });
    if (index === 0) await prometheus.ringsTicket('PaymentRefused');
    if (index === 3) await prometheus.rings([]);
  }
  await prometheus.rings(['PaymentsRefused']);
});

test('a ticket that a payment is above what is paid in an hour, and no page', options, async (t) => {
  const { rig, server, prometheus } = await scene(t, { MOST_PAID_AN_HOUR_MICRO: '2000000' });
  const [alice] = await funded(rig, server, 0x71);
  await alice!.client.ledger.withdraw({ amount_usdc_micro: '2000000' });
  await prometheus.rings([]);
  await alice!.client.ledger.withdraw({ amount_usdc_micro: '1000000' });
  await prometheus.ringsTicket('PaymentHeldBack');
  await prometheus.rings([]);
});

test('that ledger and chain differ, and not for a deposit that waits', options, async (t) => {
  const { rig, server, prometheus } = await scene(t);
  const [alice] = await funded(rig, server, 0x71);
  await rig.fund(key(0x72), BigInt(HUNDRED));
  await rig.client.mine({ blocks: 80 });
  await prometheus.rings([]);
  // Another program with the right to it takes what the exchange holds for her.
  await rig.operator('release', [rig.freshHash(), alice!.address as Address, 0n, 1_000_000n]);
  await rig.client.mine({ blocks: 80 });
  await prometheus.rings(['ChainDiffers', 'SettlementUnhealthy']);
});

test('that the contract refuses a trade for good, and not while the chain is slow', options, async (t) => {
  const { rig, server, prometheus, settlement } = await scene(t);
  const traders = await funded(rig, server, 0x71, 0x72);
  const { timestamp } = await rig.client.getBlock();
  await rig.client.setIntervalMining({ interval: 0 });
  await trade(await makeMarket(server), traders, Number(timestamp) + 600);
  await prometheus.rings([]);
  // Longer than the contract still takes trades of orders that have expired.
  await rig.pass(SETTLEMENT_GRACE + 7200n);
  await rig.client.setIntervalMining({ interval: 1 });
  await eventually('the refusal', async () => (await settlement()).failed_trades > 0);
  await prometheus.rings(['TradesFailed']);
});

test('that funds have not moved for half an hour, and not when they begin to', options, async (t) => {
  const { rig, server, settings, prometheus, settlement } = await scene(t);
  await funded(rig, server, 0x71);
  const { exchange: old, ...others } = rig.contracts;
  const delays = { exitDelay: EXIT_DELAY, settlementGrace: SETTLEMENT_GRACE };
  const next = await deployExchange(rig.client, ROLES, delays, others, old);
  for (const [role, secret] of [
    ['OPERATOR_ROLE', settings['OPERATOR_KEY']],
    ['PERMIT_ROLE', settings['PERMIT_KEY']],
  ] as const) {
    const grant = [await rig.call('exchange', role, []), key(Number(secret)).address];
    await send(rig.client, ROLES.admin, next, 'Exchange', 'grantRole', grant);
  }
  await rig.exchange(ROLES.admin, 'announceSuccessor', [next]);
  // Accounts may leave before.
  await rig.pass(3n * EXIT_DELAY);
  await send(rig.client, ROLES.admin, rig.contracts.marketFactory, 'MarketFactory', 'setExchange', [next]);
  const change = () => server.admin.changeContracts({ exchange_address: next });
  await eventually('the change', () =>
    change().then(
      () => true,
      () => false,
    ),
  );
  // The blocks of before are never final: the funds wait for that.
  await rig.client.setIntervalMining({ interval: 0 });
  await eventually('a move', async () => (await settlement()).move !== null);
  await prometheus.rings([]);
  await server.stop();
  const db = new Database(join(server.dataDir, 'settlement.db'));
  db.prepare('UPDATE exchanges SET added_ms = added_ms - ?').run(HALF_HOUR_MS);
  db.close();
  await server.start(settings);
  await prometheus.rings(['FundsDoNotMove']);
});

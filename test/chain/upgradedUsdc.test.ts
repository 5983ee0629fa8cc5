/**
 * The issuer of USDC changes it behind its proxy: what the exchange reports, what it stops, what goes on, and that
 * nothing is lost. The tests build on each other, on one exchange.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Address, type Hex, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { sendData } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key, ROLES } from './rig.ts';
import { type Upgrade, upgradeUsdc } from './upgradedUsdc.ts';

const options = { skip: NO_ANVIL };
const HUNDRED = 100_000_000n;
const TEN = 10_000_000n;
const ONE = { amount_usdc_micro: '1000000' } as const;
const [ALICE, BOB] = [0x91, 0x92];
const server = new TestServer(temporaryDirectory());
let rig: ChainRig;
let settings: Record<string, string>;
let traders: readonly [Trader, Trader];
let market: OrderMarket;

before(async () => {
  if (NO_ANVIL) return;
  rig = await ChainRig.start();
  settings = { ...(await chainSettings(rig)), MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000' };
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  traders = [await traderOf(ALICE), await traderOf(BOB)];
  market = await makeMarket(server);
  await trade();
});
after(async () => {
  await server.stop();
  await rig?.stop();
});

const upgrade = (to: Upgrade | null) => upgradeUsdc(rig.client, rig.contracts.usdc, to);
const settlement = async () => (await server.admin.operations()).settlement!;
const inContract = () => rig.walletUsdc(rig.contracts.exchange);
const walletOf = (number: number) => rig.walletUsdc(key(number).address);

/** Waits for the exchange, as the chain goes on. */
function until<T>(what: string, question: () => Promise<T | false>): Promise<T> {
  return eventually(what, async () => {
    await rig.client.mine({ blocks: 4 });
    return question();
  });
}

async function traderOf(number: number): Promise<Trader> {
  const trader = await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  await rig.fund(key(number), HUNDRED);
  await until('the deposit', async () => (await trader.client.balances()).usdc.available === String(HUNDRED));
  return trader;
}

/** A permit of now, signed by the wallet for a token as that is now. */
async function authorized(trader: Trader, number: number) {
  const { typed_data: data, transaction } = await eventually('an authorization', () =>
    trader.client.ledger.authorizeDeposit(Number(TEN)).catch(() => false as const),
  );
  const [value, validBefore] = [data.message.value, data.message.validBefore].map(BigInt);
  const message = { ...data.message, value, validAfter: 0n, validBefore };
  const signature = await key(number).signTypedData({ ...data, message } as never);
  const { data_before_signature: head, data_after_signature: tail, to } = transaction;
  const call = { from: ROLES.admin, to: to as Address, data: `${head}${signature.slice(2)}${tail}` as Hex };
  return { version: data.domain.version, send: async () => (await sendData(rig.client, call)).status };
}

/** Alice buys Yes and Bob No, ten of each, and the chain has it. */
async function trade(): Promise<void> {
  const yes = () => rig.held(key(ALICE), BigInt(market.yes_token_id));
  const had = await yes();
  for (const [index, trader] of traders.entries()) {
    const terms = { price: ['0.60', '0.40'][index]!, size: '10', outcomeIndex: index as 0 | 1 };
    await eventually('an order', async () => (await trader.post(trader.body(market, terms))).status === 200);
  }
  await until('the trade on the chain', async () => (await yes()) > had);
}

async function assertEqual(): Promise<void> {
  const from = Number(await rig.client.getBlockNumber());
  const chain = await until('a comparison', async () => {
    const { chain: compared } = await server.admin.ledger();
    return compared!.block! > from && compared;
  });
  assert.deepEqual([chain!.differences, (await settlement()).reason], [[], null]);
}

test('other code that does the same is not noticed: deposits, trades and payments go on', options, async () => {
  await upgrade('compatible');
  const [alice] = traders;
  await rig.mint(key(ALICE).address, TEN);
  const had = await alice.holdings(market);
  assert.equal(await (await authorized(alice, ALICE)).send(), 'success');
  await until('the deposit', async () => (await alice.holdings(market)).usdc === had.usdc + Number(TEN));
  await trade();
  await alice.client.ledger.withdraw(ONE);
  await until('the payment', async () => (await walletOf(ALICE)) === 1_000_000n);
  await assertEqual();
});

test('transfers that move nothing and say so hold payments back, and no trade', options, async () => {
  await upgrade('false');
  const [, bob] = traders;
  const had = await walletOf(BOB);
  await bob.client.ledger.withdraw(ONE);
  const listed = async () => (await server.admin.waitingMoney()).movements;
  const [held] = await until('the refusal', async () => {
    const money = await listed();
    return money.length > 0 && money;
  });
  assert.deepEqual([held!.kind, held!.amount_atomic], ['payment', '1000000']);
  await trade();
  await assertEqual();
  assert.equal(await walletOf(BOB), had);
  await upgrade(null);
  await until('the payment', async () => (await walletOf(BOB)) === had + 1_000_000n && (await listed()).length === 0);
});

/** RULES.md 17.25 */
test('another domain of signatures voids what wallets have signed, and the next permit has it', options, async () => {
  const [alice] = traders;
  await rig.mint(key(ALICE).address, TEN);
  const [had, wallet] = [await alice.holdings(market), await walletOf(ALICE)];
  const old = await authorized(alice, ALICE);
  assert.equal(old.version, '2');
  await upgrade('version');
  assert.equal(await old.send(), 'reverted');
  assert.equal(await walletOf(ALICE), wallet);
  const next = await authorized(alice, ALICE);
  assert.equal(next.version, '3');
  assert.equal(await next.send(), 'success');
  await until('the deposit', async () => (await alice.holdings(market)).usdc === had.usdc + Number(TEN));
  await trade();
  await assertEqual();
  await upgrade(null);
});

/** RULES.md 17.24 */
test('a token that keeps a part of deposits leaves the sum short: no order until it is paid', options, async () => {
  await upgrade('fee');
  const [alice, bob] = traders;
  const { order_hash } = await bob.place(market, { price: '0.10', size: '10' });
  await rig.mint(key(ALICE).address, TEN);
  const [had, escrow] = [await alice.holdings(market), await inContract()];
  assert.equal(await (await authorized(alice, ALICE)).send(), 'success');
  const fee = TEN / 100n;
  assert.equal(await inContract(), escrow + TEN - fee);
  await until('the deposit', async () => (await alice.holdings(market)).usdc === had.usdc + Number(TEN));
  await until('the difference', async () => (await settlement()).differences === 1);
  const refused = await bob.post(bob.body(market, { price: '0.10', size: '10' }));
  assert.deepEqual([refused.status, refused.body.code], [503, 'SETTLEMENT_UNHEALTHY']);
  await bob.client.cancelOrder(order_hash);
  const { lines } = await reconcileChain(server.dataDir, settings['RPC_URL']!, false);
  const all = lines.filter((line) => line.startsWith('DIFFERS'));
  assert.match(all.join(), new RegExp(`^DIFFERS +all +- +USDC .* -${fee}$`));
  // Whoever makes it up sends it to the contract, which is right in this case alone.
  await upgrade(null);
  await rig.mint(rig.contracts.exchange, fee);
  await until('no difference', async () => (await settlement()).differences === 0);
  await trade();
  await assertEqual();
});

/** RULES.md 17.3 */
test('a token that counts in another unit stops orders, and is named', options, async () => {
  await upgrade('decimals');
  await server.stop();
  await server.start(settings);
  const problem = /^USDC_ADDRESS: the token at 0x[0-9a-f]{40} has 18 decimals, and amounts here have 6$/;
  // Before the node has answered, the reason is that it was not asked yet.
  await eventually('the problem', async () => problem.test((await server.admin.operations()).settlement?.reason ?? ''));
  traders = [traders[0].reconnected(), traders[1].reconnected()];
  const refused = await traders[0].post(traders[0].body(market, { price: '0.10', size: '10' }));
  assert.deepEqual([refused.status, refused.body.code], [503, 'SETTLEMENT_UNHEALTHY']);
  await upgrade(null);
  await trade();
  await assertEqual();
});

/**
 * Another exchange contract (RULES.md 17.36, 17.38, 17.39), through the API of a real server with two shards: orders
 * and withdrawals around the change, a kill and a reorganisation while the funds move, and who comes or leaves then.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Address, type Hex, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { assertRefused, type Intent, makeMarket, makeTrader, marketPerShard, Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { deployExchange, send } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key, ROLES, SETTLEMENT_GRACE } from './rig.ts';

const rig = NO_ANVIL ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const HUNDRED = 100_000_000;
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000' };
const DELAYS = { exitDelay: 1n, settlementGrace: SETTLEMENT_GRACE };
const server = new TestServer(temporaryDirectory());
after(() => server.stop());

type Settings = Record<string, string>;

/** Another exchange contract of the same market factory, with the same rights. */
async function nextContract({ OPERATOR_KEY, PERMIT_KEY }: Settings, before?: Address): Promise<Address> {
  const { exchange: _, ...others } = rig.contracts;
  const next = await deployExchange(rig.client, ROLES, DELAYS, others, before);
  for (const [role, secret] of [
    ['OPERATOR_ROLE', OPERATOR_KEY],
    ['PERMIT_ROLE', PERMIT_KEY],
  ] as const) {
    const grant = [await rig.call('exchange', role, []), key(Number(secret)).address];
    await send(rig.client, ROLES.admin, next, 'Exchange', 'grantRole', grant);
  }
  return next;
}

/** From now on the rig means this one. */
async function use(exchange: Address): Promise<void> {
  await send(rig.client, ROLES.admin, rig.contracts.marketFactory, 'MarketFactory', 'setExchange', [exchange]);
  Object.assign(rig.contracts, { exchange });
}

async function at<T>(exchange: Address, look: () => Promise<T>): Promise<T> {
  const now = rig.contracts.exchange;
  Object.assign(rig.contracts, { exchange });
  try {
    return await look();
  } finally {
    Object.assign(rig.contracts, { exchange: now });
  }
}

/** The chain goes on meanwhile, so that its blocks become final. */
function finalized<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  return eventually(what, async () => {
    await rig.client.mine({ blocks: 8 });
    return look();
  });
}

/** Traders whose wallets have deposited. */
async function funded(...numbers: number[]): Promise<Trader[]> {
  const traders: Trader[] = [];
  for (const number of numbers) {
    await rig.fund(key(number), BigInt(HUNDRED));
    traders.push(await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 }));
  }
  for (const { client } of traders) {
    await finalized('the deposit', async () => (await client.balances()).usdc.available === String(HUNDRED));
  }
  return traders;
}

/** The same trader, signing for the present contract, at the server's present address. */
async function renewed(trader: Trader, number: number): Promise<Trader> {
  const domain = await trader.reconnected().client.signingDomain();
  return new Trader(server, trader.userId, new OrderSigner(toHex(number, { size: 32 }), domain), trader.credentials);
}

async function place(trader: Trader, market: OrderMarket, intent: Intent): Promise<string> {
  const answer = await trader.post(trader.body(market, intent));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.order_hash;
}

/** Alice buys Yes and Bob No, ten of each. */
async function trade(alice: Trader, bob: Trader, market: OrderMarket): Promise<void> {
  await place(alice, market, { price: '0.60', size: '10' });
  await place(bob, market, { price: '0.40', size: '10', outcomeIndex: 1 });
}

const move = async () => (await server.admin.operations()).settlement?.move ?? null;

/** The change itself, after everything that it asks for, which it names as long as it is not so. */
async function change(settings: Settings, old: Address, next: Address): Promise<void> {
  const contracts = '/admin/platform/contracts';
  const ask = { exchange_address: next };
  const problem = async (expected: RegExp): Promise<void> => {
    const { status, body } = await server.adminRequest('POST', contracts, ask);
    assert.deepEqual([status, body.code], [409, 'CONFLICT']);
    assert.match(body.error, expected);
  };
  await problem(/has not announced/);
  await rig.exchange(ROLES.admin, 'announceSuccessor', [next]);
  // The markets of the trades have to be on the chain before the factory names another contract.
  await eventually('every market is there', async () => {
    const { status, body } = await server.adminRequest('POST', contracts, ask);
    assert.deepEqual([status, body.code], [409, 'CONFLICT']);
    return !/not known to the contract of today/.test(body.error);
  });
  await problem(/does not register its markets with the new contract/);
  const factory = { ...ask, market_factory_address: toHex(7, { size: 20 }) };
  assert.equal((await server.adminRequest('POST', contracts, factory)).status, 400);
  await use(next);
  await eventually('the funds may move', async () => {
    const { status, body } = await server.adminRequest('POST', contracts, ask);
    if (status === 409) assert.match(body.error, /may move from second/);
    return status === 200 && body.exchange_address.toLowerCase() === next.toLowerCase();
  });
  assert.equal((await server.adminRequest('POST', contracts, ask)).status, 200, 'a repeat changes nothing');
  assert.equal(settings['EXCHANGE_ADDRESS']!.toLowerCase(), old.toLowerCase());
}

test('funds, trades and people get to another contract, through a kill and a reorganisation', {
  skip: NO_ANVIL,
}, async () => {
  const settings: Settings = { ...(await chainSettings(rig)), ...LIMITS };
  const old = await nextContract(settings);
  await use(old);
  settings['EXCHANGE_ADDRESS'] = old;
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  let [alice, bob, carol] = (await funded(0x61, 0x62, 0x63)) as [Trader, Trader, Trader];
  // Dave's deposit waits until somebody has his wallet: after the move.
  await rig.fund(key(0x64), 7_000_000n);
  const markets = await marketPerShard(server, 2);
  const decided = await makeMarket(server);
  await eventually('a healthy chain', async () => (await server.request('GET', '/health/polygon')).status === 200);
  for (const market of [...markets, decided]) await trade(alice, bob, market);
  await server.admin.resolveMarket(decided.id, { payouts: [1_000_000, 0] });
  await finalized('the decision', async () => {
    return (await server.request('GET', `/v1/markets/${decided.id}`)).body.status === 'resolved';
  });
  const resting = await place(alice, markets[0]!, { price: '0.10', size: '10' });
  const signedBefore = alice.body(markets[1]!, { price: '0.11', size: '10' });
  await alice.client.ledger.withdraw({ amount_usdc_micro: '5000000' });

  const next = await nextContract(settings, old);
  await change(settings, old, next);
  const { status } = await alice.client.getOrder(resting);
  assert.equal(status, 'cancelled', 'RULES.md 5.6');
  assertRefused(await alice.post(signedBefore), 400, 'INVALID_SIGNATURE', 'invalid order signature');
  alice = await renewed(alice, 0x61);
  bob = await renewed(bob, 0x62);
  for (const market of markets) await trade(alice, bob, market);
  await bob.client.ledger.withdraw({ amount_usdc_micro: '3000000' });
  await eventually('a move', async () => (await move()) !== null);
  // Carol asks for her exit where her funds are: she is frozen, and her funds move all the same.
  await at(old, () => rig.exchange(carol.address as Address, 'requestExit', []));
  await eventually('a frozen account', async () => {
    const answer = await carol.post(carol.body(markets[0]!, { price: '0.10', size: '10' }));
    return answer.body.code === 'ACCOUNT_FROZEN';
  });

  await finalized('the claims', async () => ['claiming', 'moving'].includes((await move())?.state ?? ''));
  await server.kill();
  await server.start(settings);
  [alice, bob, carol] = [await renewed(alice, 0x61), await renewed(bob, 0x62), await renewed(carol, 0x63)];
  const hasMoved = async () => (await rig.held(carol.address as Address, 0n)) > 0n;
  await eventually('funds at the next contract', async () => {
    if ((await move())?.state === 'claiming') await rig.client.mine({ blocks: 8 });
    return hasMoved();
  });
  await rig.client.request({ method: 'anvil_reorg', params: [20, []] } as never);
  await finalized(
    'the end of the move',
    async () => (await server.admin.operations()).settlement !== null && (await move()) === null,
  );
  assert.ok(await hasMoved(), 'what a reorganisation took back is sent again');

  const dave = await makeTrader(server, { privateKey: toHex(0x64, { size: 32 }), depositMicro: 0 });
  await server.admin.settleMarket(decided.id);
  await leaves(carol);
  await eventually('a deposit of before', async () => {
    // It is tried again every half minute.
    await rig.client.mine({ blocks: 1 });
    return (await dave.client.balances()).usdc.available === '7000000';
  });
  await finalized('the late deposit moves', async () => (await rig.held(dave.address as Address, 0n)) === 7_000_000n);
  await alice.client.ledger.withdraw({ amount_usdc_micro: '4000000' });
  await eventually('withdrawals of before, during and after', async () => {
    const paid = [await rig.walletUsdc(alice.address as Address), await rig.walletUsdc(bob.address as Address)];
    return paid[0] === 9_000_000n && paid[1] === 3_000_000n;
  });
  const withdrawn = await finalized('final withdrawals', async () => {
    const { movements } = await alice.client.ledger.fundMovements();
    const found = movements.filter(({ type }) => type === 'withdrawal');
    return found.every((each) => each.settlement_status === 'settled') && found;
  });
  for (const { tx_hash } of withdrawn) {
    assert.equal((await rig.client.getTransactionReceipt({ hash: tx_hash as Hex })).status, 'success');
  }
  await assertEqual(settings, old, [alice, bob, dave], markets);
});

/** Leaves from the new contract, where she has to request her exit again; she need not cancel the old request. */
async function leaves(carol: Trader): Promise<void> {
  const wallet = carol.address as Address;
  await rig.exchange(wallet, 'requestExit', []);
  await eventually('the exit is due', () =>
    rig
      .exchange(wallet, 'exit', [[0n]])
      .then(() => true)
      .catch(() => false),
  );
  await rig.exchange(wallet, 'withdraw', [0n, BigInt(HUNDRED), wallet]);
  await finalized('the ledger follows', async () => (await carol.client.balances()).usdc.available === '0');
  assert.equal(await rig.walletUsdc(wallet), BigInt(HUNDRED));
  await rig.exchange(wallet, 'cancelExit', []);
  const [exit, deposit] = (await carol.client.ledger.fundMovements()).movements;
  for (const movement of [exit, deposit]) {
    // RULES.md 14.41: the chain has done it first.
    assert.equal(movement?.settlement_status, 'settled');
    assert.equal(`${movement.reference?.split(':')[1]}`, movement.tx_hash);
  }
}

/** Every account has its ledger balances at the new contract, and the old one has nothing. */
async function assertEqual(settings: Settings, old: Address, traders: Trader[], markets: OrderMarket[]): Promise<void> {
  assert.equal(await rig.walletUsdc(old), 0n, 'nothing is left behind');
  for (const trader of traders) {
    for (const market of markets) {
      const { usdc, reserved, yes, no } = await trader.holdings(market);
      await finalized('the same on the chain', async () => {
        const held = async (asset: string) => Number(await rig.held(trader.address as Address, BigInt(asset)));
        const inEscrow = [await held('0'), await held(market.yes_token_id), await held(market.no_token_id)];
        return JSON.stringify(inEscrow) === JSON.stringify([usdc + reserved, yes, no]);
      });
    }
  }
  await finalized('no difference', async () => {
    const report = await reconcileChain(server.dataDir, settings['RPC_URL']!, false).catch(() => null);
    return report?.isEqual === true;
  });
  const { chain } = await server.admin.ledger();
  assert.deepEqual(chain?.differences, []);
  const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text();
  assert.match(metrics, /^exchange_settlement_move_seconds 0$/m);
  assert.equal((await server.admin.failedTrades()).trades.length, 0);
}

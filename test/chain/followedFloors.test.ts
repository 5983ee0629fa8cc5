/**
 * Floors under nonces that wallets raise on the chain itself, followed by a server (RULES.md 5.13): at first sight,
 * over kills and reorganisations with trades in flight, for wallets that are linked later, and after a restore.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Address, toHex } from 'viem';
import type { OrderMarket } from '../../shared/client/order.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, EXIT_DELAY, key } from './rig.ts';

const rig = NO_ANVIL ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const options = { skip: NO_ANVIL };
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000', SHARDS: '2' };
const settings: Record<string, string> = NO_ANVIL ? {} : { ...(await chainSettings(rig)), ...LIMITS };
const HUNDRED = 100_000_000;
const folder = temporaryDirectory();
const server = new TestServer(temporaryDirectory());
const back = new TestServer(join(folder, 'restored'));
after(() => Promise.all([server.kill(), back.kill()]));
const ORDER = { price: '0.40', size: '10' };

/** The chain goes on meanwhile, so that its blocks become final. */
function finalized<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  return eventually(what, async () => {
    await rig.client.mine({ blocks: 8 });
    return look();
  });
}

async function funded(number: number): Promise<Trader> {
  await rig.fund(key(number), BigInt(HUNDRED));
  const trader = await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  await finalized('the deposit', async () => (await trader.client.balances()).usdc.available === String(HUNDRED));
  return trader;
}

const raise = (of: Trader, floor: bigint) => rig.exchange(of.address as Address, 'raiseNonceFloorTo', [floor]);

function hasFloor(trader: Trader, floor: number): Promise<unknown> {
  return eventually(`a floor of ${floor}`, async () => {
    const { body } = await trader.send('GET', `/v1/wallets/${trader.address}/nonce-floor`);
    return body.nonce_floor === floor;
  });
}

/** The first answer of a healthy exchange to an order with this nonce. */
function placed(trader: Trader, market: OrderMarket, intent: object): ReturnType<Trader['post']> {
  return eventually('an answer of a healthy exchange', async () => {
    const answer = await trader.post(trader.body(market, { ...ORDER, ...intent }));
    return answer.status !== 503 && answer;
  });
}

async function isSettled(trader: Trader, market: OrderMarket): Promise<unknown> {
  return finalized('every trade on the chain', async () => {
    const { yes, no } = await trader.holdings(market);
    const [held, other] = [market.yes_token_id, market.no_token_id].map((id) =>
      rig.held(trader.address as Address, BigInt(id)),
    );
    return Number(await held) === yes && Number(await other) === no;
  });
}

test('a raise is followed at first sight, over kills, and the trades of before settle', options, async () => {
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  let [alice, bob] = [await funded(0x61), await funded(0x62)];
  const market = await makeMarket(server);
  for (let floor = 1; floor <= 3; floor++) {
    const nonce = floor - 1;
    const resting = await placed(alice, market, { price: '0.10', nonce });
    assert.equal(resting.status, 200, JSON.stringify(resting.body));
    assert.equal((await placed(alice, market, { nonce })).status, 200);
    assert.equal((await placed(bob, market, { outcomeIndex: 1, price: '0.60' })).status, 200, 'they meet');
    // The trade is in flight while the server is killed, and the raise is of the time when it was away.
    await server.kill();
    await raise(alice, BigInt(floor));
    await server.start(settings);
    [alice, bob] = [alice.reconnected(), bob.reconnected()];
    const refused = await placed(alice, market, { nonce });
    assert.deepEqual([refused.body.code, refused.body.details], ['NONCE_BELOW_FLOOR', { nonce_floor: floor }]);
    await eventually('it is cancelled', async () => {
      return (await alice.client.getOrder(resting.body.order_hash)).status === 'cancelled';
    });
  }
  await isSettled(alice, market);
  assert.equal((await server.admin.failedTrades()).trades.length, 0);
  await rig.pass(EXIT_DELAY);
  assert.equal((await placed(alice, market, { nonce: 3 })).status, 200);
  // A reorganisation takes a raise away: its owner has wanted it, so the ledger keeps it, and is above the contract.
  await raise(alice, 5n);
  await hasFloor(alice, 5);
  await rig.client.request({ method: 'anvil_reorg', params: [8, []] } as never);
  const [, announced] = (await rig.call('exchange', 'nonceFloorOf', [alice.address])) as [bigint, bigint];
  assert.equal(announced, 3n);
  await rig.client.mine({ blocks: 80 });
  assert.equal((await placed(alice, market, { nonce: 4 })).body.code, 'NONCE_BELOW_FLOOR');
  assert.equal((await placed(alice, market, { nonce: 5 })).status, 200);
  assert.equal((await placed(bob, market, { outcomeIndex: 1, price: '0.60' })).status, 200);
  await isSettled(alice, market);
});

test('a wallet that had raised its floor before it was linked has it before it can trade', options, async () => {
  const wallet = key(0x63);
  await rig.exchange(wallet.address, 'raiseNonceFloorTo', [4n]);
  await rig.pass(EXIT_DELAY);
  await rig.client.mine({ blocks: 80 });
  const carol = await funded(0x63);
  const market = await makeMarket(server);
  const refused = await placed(carol, market, { nonce: 0 });
  assert.deepEqual([refused.body.code, refused.body.details], ['NONCE_BELOW_FLOOR', { nonce_floor: 4 }]);
  assert.equal((await placed(carol, market, { nonce: 4 })).status, 200);
});

test('after a restore no order is placed before the ledger has the floors of the contract', options, async () => {
  const admin = async (...args: string[]): Promise<void> => {
    const { status, stdout, stderr } = await runAdminHere(args, { RPC_URL: settings['RPC_URL']! });
    assert.equal(status, 0, stdout + stderr);
  };
  const dave = await funded(0x64);
  const market = await makeMarket(server);
  await admin('backup', join(folder, 'backups'), '--data', server.dataDir, '--rate', '0');
  await raise(dave, 6n);
  await hasFloor(dave, 6);
  await server.kill();
  await rig.client.mine({ blocks: 80 });
  await admin('restore', join(folder, 'backups'), '--data', back.dataDir);
  await finalized('all is final', async () => {
    const ran = await runAdminHere(['chain', 'adopt', '--data', back.dataDir], { RPC_URL: settings['RPC_URL']! });
    return ran.status === 0;
  });
  await back.start(settings);
  await back.admin.resume();
  const refused = await placed(dave.on(back), market, { nonce: 5 });
  assert.deepEqual([refused.body.code, refused.body.details], ['NONCE_BELOW_FLOOR', { nonce_floor: 6 }]);
});

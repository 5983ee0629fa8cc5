/**
 * An exchange with three nodes of a chain, one of which is down, lies or lags (RULES.md 17.47): it trades and settles
 * as with three good ones, and names that node. If two disagree it stops, and invents nothing.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Address, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { RpcGate } from '../support/rpcGate.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key } from './rig.ts';

const HUNDRED = 100_000_000;
const LIMITS = { MOST_HEAD_AGE_MS: '5000', MOST_SETTLEMENT_WAIT_MS: '3600000' };
const rig = NO_ANVIL ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const server = new TestServer(temporaryDirectory());
after(() => server.kill());

async function openGates(): Promise<readonly RpcGate[]> {
  const url = rig.client.chain.rpcUrls.default.http[0];
  return Promise.all([1, 2, 3].map(() => RpcGate.open({ after }, url)));
}

/** Nodes that fail, or say otherwise than the chain. */
const LIES: Readonly<Record<string, RpcGate['changes']>> = {
  'is down': () => null,
  'hides what has happened': (method, answer) => {
    if (method === 'eth_getLogs') return [];
    return method === 'eth_getTransactionReceipt' ? undefined : answer;
  },
  'says that every payment and trade was reverted': (method, answer) => {
    if (method !== 'eth_getTransactionReceipt' || answer === null) return answer;
    return { ...(answer as object), status: '0x0', logs: [] };
  },
  'has forgotten what was sent': (method, answer) => (method === 'eth_getTransactionCount' ? '0x0' : answer),
};

async function equalInTheEnd(traders: readonly Trader[], market: Awaited<ReturnType<typeof makeMarket>>) {
  for (const trader of traders) {
    await eventually('the same on the chain', async () => {
      const { usdc, reserved, yes } = await trader.holdings(market);
      const held = async (asset: string) => Number(await rig.held(trader.address as Address, BigInt(asset)));
      return (await held('0')) === usdc + reserved && (await held(market.yes_token_id)) === yes;
    });
  }
}

test('of three nodes one may be away or lie, and everything settles', { skip: NO_ANVIL }, async () => {
  const gates = await openGates();
  const settings = { ...(await chainSettings(rig)), ...LIMITS, RPC_URL: gates.map(({ url }) => url).join(', ') };
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  const market = await makeMarket(server);
  const traders: Trader[] = [];
  let at = 0;
  for (const [what, lie] of Object.entries(LIES)) {
    const bad = at++ % gates.length;
    for (const [i, gate] of gates.entries()) gate.changes = i === bad ? lie! : null;
    // One after the other: both are given their USDC by one wallet, whose transactions have a nonce each.
    const alice = await fundedTrader(0x900 + 2 * at);
    const bob = await fundedTrader(0x900 + 2 * at + 1);
    traders.push(alice, bob);
    const buys = (trader: Trader, price: string, outcomeIndex: 0 | 1) => {
      return eventually('a healthy chain', async () => {
        return (await trader.post(trader.body(market, { price, size: '10', outcomeIndex }))).status === 200;
      });
    };
    await buys(alice, '0.60', 0);
    await buys(bob, '0.40', 1);
    await alice.client.ledger.withdraw({ amount_usdc_micro: '5000000' });
    await eventually(`paid while a node ${what}`, async () => {
      return (await rig.walletUsdc(alice.address as Address)) === 5_000_000n;
    });
    await equalInTheEnd([alice, bob], market);
    let seen = '';
    await eventually(
      () => `the node is named: ${seen}`,
      async () => {
        const { settlement } = await server.admin.operations();
        seen = JSON.stringify([what, settlement!.nodes]);
        return settlement!.nodes[bad]!.state !== 'well';
      },
    );
    // Beside busy neighbours the newest block may be old for a moment.
    const settlement = await eventually(`settlement is well: ${what}`, async () => {
      const { settlement: now } = await server.admin.operations();
      return now!.reason === null && now!;
    });
    assert.deepEqual([settlement.differences, settlement.failed_trades], [0, 0], what);
  }
  await rig.client.mine({ blocks: 70 });
  await eventually('ledger and chain are equal, as all nodes say', async () => {
    return (await reconcileChain(server.dataDir, settings.RPC_URL, false)).isEqual;
  });
});

async function fundedTrader(number: number): Promise<Trader> {
  const trader = await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  await rig.fund(key(number), BigInt(HUNDRED));
  await rig.client.mine({ blocks: 70 });
  await eventually('it is credited', async () => {
    return (await trader.client.balances()).usdc.available === String(HUNDRED);
  });
  return trader;
}

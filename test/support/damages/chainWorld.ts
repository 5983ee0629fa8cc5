/**
 * Directories for the battery of damages, of an exchange that settles on a chain: one killed after deposits, trades and
 * withdrawals that the chain has made, the same at an earlier time, and one of another exchange and chain.
 */
import { toHex } from 'viem';
import type { OrderMarket } from '../../../shared/client/order.ts';
import { chainSettings } from '../../chain/exchange.ts';
import { ChainRig, key } from '../../chain/rig.ts';
import { eventually } from '../eventually.ts';
import type { Scope, TestServer } from '../server.ts';
import { makeMarket, makeTrader, type Trader } from '../traders.ts';
import { copyOf, emptyLogs, keepSources, newExchange, startAsNobody, toldBy, type World } from './world.ts';

const DEPOSIT_MICRO = 100_000_000;
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000' };

type OnChain = { readonly rig: ChainRig; readonly server: TestServer; readonly settings: Record<string, string> };

/** The chain goes on in the meantime, so that its blocks become final. */
function finalized<T>({ rig }: OnChain, what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  return eventually(what, async () => {
    await rig.client.mine({ blocks: 8 });
    return look();
  });
}

async function funded(exchange: OnChain, number: number): Promise<Trader> {
  await exchange.rig.fund(key(number), BigInt(DEPOSIT_MICRO));
  const trader = await makeTrader(exchange.server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  await finalized(exchange, 'a deposit', async () => {
    return (await trader.client.balances()).usdc.available === String(DEPOSIT_MICRO);
  });
  return trader;
}

function settled(exchange: OnChain): Promise<unknown> {
  return finalized(exchange, 'all is settled', async () => {
    const { baseUrl, adminToken: token } = exchange.server;
    const answer = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    const metrics = await answer.text();
    const open = [...metrics.matchAll(/^exchange_settlement_work\{status="(?:pending|submitted|mined)"\} (\d+)$/gm)];
    const behind = /^exchange_settlement_behind_records (\d+)$/m.exec(metrics);
    const isHealthy = /^exchange_settlement_healthy 1$/m.test(metrics);
    return isHealthy && behind?.[1] === '0' && open.length > 0 && open.every(([, count]) => count === '0');
  });
}

/** Settlement says so before it has looked at the chain, and of the short delays of a test. */
const OF_ANY_START =
  /^(?:settlement cannot use its node|settlement is unhealthy|a decision on the chain can take effect before)/;

async function begin(scope: Scope): Promise<OnChain> {
  const rig = await ChainRig.start();
  scope.after(() => rig.stop());
  await rig.client.setIntervalMining({ interval: 1 });
  const settings = { ...(await chainSettings(rig)), ...LIMITS };
  await keepSources(settings);
  const server = await newExchange(settings);
  scope.after(() => server.kill());
  return { rig, server, settings };
}

async function trade(exchange: OnChain, market: OrderMarket, traders: readonly Trader[], rounds: number) {
  const [alice, bob] = traders.map((trader) => trader.on(exchange.server));
  for (let round = 0; round < rounds; round++) {
    await alice!.place(market, { price: '0.55', size: '3' });
    await bob!.place(market, { price: '0.46', size: '2', outcomeIndex: 1 });
  }
  await exchange.server.admin.withdraw(alice!.userId, { amount_usdc_micro: '2000000' });
  await settled(exchange);
}

export async function makeChainWorld(scope: Scope): Promise<World & { readonly rig: ChainRig }> {
  const exchange = await begin(scope);
  const { server, settings, rig } = exchange;
  const market = await makeMarket(server);
  const traders = [await funded(exchange, 0x1001), await funded(exchange, 0x1002)];
  await trade(exchange, market, traders, 20);
  await server.stop();
  emptyLogs(server.dataDir);
  const earlier = copyOf(server.dataDir);
  await startAsNobody(server, settings);
  await settled(exchange);
  await trade(exchange, market, traders, 20);
  const told = await toldBy(server, { traders, market });
  await server.kill();
  const whole = copyOf(server.dataDir);
  const another = await begin(scope);
  const theirs = [await funded(another, 0x1001), await funded(another, 0x1002)];
  await trade(another, await makeMarket(another.server), theirs, 5);
  await another.server.kill();
  const other = copyOf(another.server.dataDir);
  const rest = { framesBefore: 0, changing: new Set<string>(), ofAnyStart: OF_ANY_START, rig };
  return { settings, whole, earlier, other, told, traders, market, ...rest };
}

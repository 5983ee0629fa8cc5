/**
 * An older settlement.db beside newer journals (RULES.md 17.2): the exchange does not start with it, and once it is
 * brought up to them nothing is paid a second time.
 */
import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Address, toHex } from 'viem';
import { adoptSettlement } from '../../engine/admin/adoptSettlement.ts';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { deployExchange, send } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key, ROLES, SETTLEMENT_GRACE } from './rig.ts';

const rig = NO_ANVIL ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const HUNDRED = 100_000_000;
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000', SHARDS: '1' };
const server = new TestServer(temporaryDirectory());
after(() => server.stop());
const path = join(server.dataDir, 'settlement.db');
const copy = join(temporaryDirectory(), 'older.db');

/** The chain goes on meanwhile, so that its blocks become final. */
function finalized<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  return eventually(what, async () => {
    await rig.client.mine({ blocks: 8 });
    return look();
  });
}

function has(trader: Trader, micro: number): Promise<unknown> {
  const what = `${micro} available`;
  return finalized(what, async () => (await trader.client.balances()).usdc.available === String(micro));
}

async function funded(number: number): Promise<Trader> {
  await rig.fund(key(number), BigInt(HUNDRED));
  const trader = await makeTrader(server, { privateKey: toHex(number, { size: 32 }), depositMicro: 0 });
  await has(trader, HUNDRED);
  return trader;
}

/** The server has stopped, and its newest pages go with it. */
function replace(from: string, to: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(to + suffix, { force: true });
  copyFileSync(from, to);
}

test('withdrawals that the chain has made are not paid again with an older settlement.db', {
  skip: NO_ANVIL,
}, async () => {
  const given = await chainSettings(rig);
  const { exchange: first, ...others } = rig.contracts;
  const exchange = await deployExchange(
    rig.client,
    ROLES,
    { exitDelay: 1n, settlementGrace: SETTLEMENT_GRACE },
    others,
  );
  for (const [role, secret] of [
    ['OPERATOR_ROLE', given['OPERATOR_KEY']],
    ['PERMIT_ROLE', given['PERMIT_KEY']],
  ] as const) {
    const grant = [await rig.call('exchange', role, []), key(Number(secret)).address];
    await send(rig.client, ROLES.admin, exchange, 'Exchange', 'grantRole', grant);
  }
  assert.notEqual(exchange, first);
  await send(rig.client, ROLES.admin, others.marketFactory, 'MarketFactory', 'setExchange', [exchange]);
  Object.assign(rig.contracts, { exchange });
  const settings: Record<string, string> = { ...given, EXCHANGE_ADDRESS: exchange, ...LIMITS };
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  let [alice, bob] = [await funded(0x71), await funded(0x72)];
  assert.equal(await server.stop(), 0);
  replace(path, copy);

  await server.start(settings);
  [alice, bob] = [alice.reconnected(), bob.reconnected()];
  await alice.client.ledger.withdraw({ amount_usdc_micro: '30000000', to: 'unheld' });
  await alice.client.ledger.withdraw({ amount_usdc_micro: '5000000' });
  const [hers, his] = [alice.address as Address, bob.address as Address];
  await eventually('paid', async () => (await rig.walletUsdc(hers)) === 5_000_000n);
  await rig.exchange(his, 'requestExit', []);
  await eventually('the exit is due', () =>
    rig
      .exchange(his, 'exit', [[0n]])
      .then(() => true)
      .catch(() => false),
  );
  await rig.exchange(his, 'withdraw', [0n, BigInt(HUNDRED), his]);
  await has(bob, 0);
  await rig.exchange(his, 'cancelExit', []);
  await rig.fund(key(0x72), 9_000_000n);
  await has(bob, 9_000_000);
  assert.equal(await server.stop(), 0);

  replace(copy, path);
  await assert.rejects(server.start(settings), /settlement\.db is older than these journals: put back the newest one/);
  const lines = await adoptSettlement(server.dataDir, settings['RPC_URL']!);
  // The file may have been copied before it had followed the first deposits.
  assert.match(lines[1]!, /^[23] of them the chain had made first, 1 are in the unheld escrow of their wallets$/);
  await server.start(settings);
  await finalized('ledger and chain are equal', async () => {
    const report = await reconcileChain(server.dataDir, settings['RPC_URL']!, false).catch(() => null);
    const { work } = (await server.admin.operations()).settlement ?? {};
    return report?.isEqual === true && work?.pending === 0 && work.submitted === 0;
  });
  assert.deepEqual(await rig.balance(hers, 0n), [65_000_000n, 30_000_000n]);
  assert.deepEqual([await rig.walletUsdc(hers), await rig.walletUsdc(his)], [5_000_000n, BigInt(HUNDRED)]);
  assert.deepEqual(await rig.balance(his, 0n), [9_000_000n, 0n]);
});

/**
 * A directory that was restored to an earlier time beside a chain that went on (RULES.md 10.27, 10.30, 17.2). It does
 * not start before `chain adopt`, deposits since come back by themselves, nothing is taken as done because its number
 * was given out before, and no order is placed while ledger and chain differ by payments since.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Address, toHex } from 'viem';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings } from './exchange.ts';
import { ChainRig, key } from './rig.ts';

const rig = NO_ANVIL ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const HUNDRED = 100_000_000;
const LOST = 1_000_000;
const LIMITS = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000', SHARDS: '1' };
const folder = temporaryDirectory();
const target = join(folder, 'backups');
const server = new TestServer(temporaryDirectory());
after(() => server.stop());
const back = new TestServer(join(folder, 'restored'));
after(() => back.stop());

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

function paid(trader: Trader, micro: number): Promise<unknown> {
  return eventually(`${micro} paid`, async () => (await rig.walletUsdc(trader.address as Address)) === BigInt(micro));
}

async function admin(args: readonly string[], rpcUrl: string): Promise<string> {
  const { status, stdout, stderr } = await runAdminHere(args, { RPC_URL: rpcUrl });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test('an exchange that is restored beside its chain pays what it is asked for, and shows what it has paid since', {
  skip: NO_ANVIL,
}, async () => {
  const settings: Record<string, string> = { ...(await chainSettings(rig)), ...LIMITS };
  const rpcUrl = settings['RPC_URL']!;
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  const [alice, bob] = [await funded(0x81), await funded(0x82)];
  const market = await makeMarket(server);
  await admin(['backup', target, '--data', server.dataDir, '--rate', '0'], rpcUrl);
  // More records than a restored exchange has before the withdrawal below.
  for (let i = 0; i < 6; i++) await alice.client.ledger.withdraw({ amount_usdc_micro: String(LOST) });
  await paid(alice, 6 * LOST);
  await rig.fund(key(0x82), 9_000_000n);
  await has(bob, HUNDRED + 9_000_000);
  await server.kill();

  const text = await admin(['restore', target, '--data', back.dataDir], rpcUrl);
  assert.match(text, /does not start until `npm run admin -- chain adopt`/);
  await assert.rejects(back.start(settings), /restored to an earlier time, and the chain went on/);
  assert.match(
    await admin(['chain', 'adopt', '--data', back.dataDir], rpcUrl),
    /it starts paused: resume it only when/,
  );
  await back.start(settings);
  assert.equal((await back.admin.platform()).paused, true);
  const [hers, his] = [alice.on(back), bob.on(back)];
  await has(his, HUNDRED + 9_000_000);
  await has(hers, HUNDRED);
  const report = await finalized('all is followed', async () => {
    const found = await reconcileChain(back.dataDir, rpcUrl, false).catch(() => null);
    return found !== null && /: \d+ differ/.test(found.lines.at(-1)!) && found;
  });
  const shown = report.lines.filter((line) => line.startsWith('DIFFERS')).join('\n');
  assert.match(shown, new RegExp(`${hers.address} +USDC +${HUNDRED} +0 +${HUNDRED - 6 * LOST} `, 'i'));

  await hers.client.ledger.withdraw({ amount_usdc_micro: String(LOST) });
  await paid(hers, 7 * LOST);
  assert.equal(await rig.held(hers.address as Address, 0n), BigInt(HUNDRED - 7 * LOST));
  await back.admin.resume();
  await finalized('no order is placed', async () => {
    const answer = await his.post(his.body(market, { price: '0.10', size: '10' }));
    return answer.status === 503 && answer.body.code === 'SETTLEMENT_UNHEALTHY';
  });
});

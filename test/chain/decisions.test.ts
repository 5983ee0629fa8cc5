/** Decisions of a real exchange: they wait on the chain, are vetoed there, and the ledger follows (RULES.md 17.32). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { type Hex, parseEther, toHex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { sendData } from './deploy.ts';
import { chainSettings, resolverAddress } from './exchange.ts';
import { chainRig, key, RESOLUTION_DELAY, ROLES, USDC } from './rig.ts';

const rig = await chainRig(RESOLUTION_DELAY);
const options = { skip: NO_ANVIL };
const DEPOSIT = 100_000_000;
const FINAL_BLOCKS = 70;
const ALL = 1_000_000n;
const [ALICE, BOB] = [11, 12];
const secretOf = (number: number): Hex => toHex(number, { size: 32 });
const final = () => rig.client.mine({ blocks: FINAL_BLOCKS });
const NEXT_RESOLVER = toHex(0x4e57, { size: 32 });

type Standing = { number: bigint; isOpen: boolean; isDecided: boolean; yesPayout: bigint; decidedYes: bigint };

async function standingOf({ id }: OrderMarket): Promise<Standing> {
  const found = await rig.call('resolutions', 'standingsOf', [[`0x${id.replaceAll('-', '')}`]]);
  return (found as Standing[])[0];
}

const whenProposed = (market: OrderMarket, after = 0n) =>
  eventually('the proposal', async () => {
    const standing = await standingOf(market);
    return standing.isOpen && standing.number > after && standing;
  });

const statusOf = async (server: TestServer, { id }: OrderMarket): Promise<string> =>
  (await server.request('GET', `/v1/markets/${id}`)).body.status;

async function metric(server: TestServer, line: string): Promise<number> {
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length),
  );
}

async function fundedTrader(server: TestServer, number: number): Promise<Trader> {
  const trader = await makeTrader(server, { privateKey: secretOf(number), depositMicro: 0 });
  await rig.fund(key(number), BigInt(DEPOSIT));
  await final();
  await eventually('the deposit', async () => (await trader.client.balances()).usdc.available === String(DEPOSIT));
  return trader;
}

/** Alice has 10 Yes, and Bob 10 No, on the chain too. */
async function traded(server: TestServer, alice: Trader, bob: Trader): Promise<OrderMarket> {
  const market = await makeMarket(server);
  await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10' });
  await alice.place(market, { price: '0.60', size: '10' });
  await eventually('the trade', async () => (await rig.held(key(ALICE), BigInt(market.yes_token_id))) > 0n);
  await final();
  return market;
}

/** Nothing of an undecided market is claimed or settled. */
async function assertUnpaid(server: TestServer, market: OrderMarket, trader: Trader): Promise<void> {
  assert.equal(await statusOf(server, market), 'resolving');
  const undecided = { code: 'CONFLICT', message: 'market status does not allow this' };
  await assert.rejects(trader.client.claim(market.id), undecided);
  await assert.rejects(server.admin.settleMarket(market.id), undecided);
}

async function whenResolved(server: TestServer, market: OrderMarket): Promise<void> {
  await eventually('the ledger follows', async () => {
    await rig.client.mine({ blocks: 16 });
    return (await statusOf(server, market)) === 'resolved';
  });
}

/** Alice has won, and the chain pays her the same as the ledger. */
async function assertPaid(market: OrderMarket, alice: Trader): Promise<void> {
  const before = await alice.holdings(market);
  await alice.client.claim(market.id);
  const { usdc } = await alice.holdings(market);
  assert.equal(usdc, before.usdc + before.yes);
  await eventually('the claim on the chain', async () => (await rig.held(key(ALICE), USDC)) === BigInt(usdc));
}

/** The step of data/docs/incidents.md: any wallet program sends these data. */
async function vetoAsDocumented(number: number): Promise<void> {
  const text = readFileSync(new URL('../../data/docs/incidents.md', import.meta.url), 'utf8');
  const [, selector] = /data are `(0x[0-9a-f]{8})` and the number as 64 hex digits/.exec(text)!;
  const data = `${selector}${number.toString(16).padStart(64, '0')}` as Hex;
  const { status } = await sendData(rig.client, { from: ROLES.vetoer, to: rig.contracts.resolutions, data });
  assert.equal(status, 'success');
}

const grantTo = async (address: Hex) => {
  await rig.client.setBalance({ address, value: parseEther('1000') });
  await rig.decide(ROLES.admin, 'grantRole', [await rig.call('resolutions', 'PROPOSER_ROLE', []), address]);
};

async function start() {
  const settings: Record<string, string> = { ...(await chainSettings(rig)), MOST_HEAD_AGE_MS: '3600000' };
  const server = await startServer({ after }, settings);
  await final();
  const [alice, bob] = [await fundedTrader(server, ALICE), await fundedTrader(server, BOB)];
  await eventually('a healthy chain', async () => (await server.request('GET', '/health/polygon')).status === 200);
  return { settings, server, alice, bob };
}

test(
  'a decision waits, is vetoed while the exchange is down, and is made anew; only then it pays',
  options,
  async () => {
    let { settings, server, alice, bob } = await start();
    const market = await traded(server, alice, bob);
    const resolve = (payouts: [number, number]) => server.admin.resolveMarket(market.id, { payouts });
    assert.equal((await resolve([0, 1_000_000])).status, 'resolving');
    assert.equal((await resolve([0, 1_000_000])).status, 'resolving', 'a repeat changes nothing');
    await assert.rejects(resolve([1_000_000, 0]), {
      code: 'CONFLICT',
      message: /^another decision of this market waits/,
    });
    const { number, yesPayout } = await whenProposed(market);
    assert.equal(yesPayout, 0n);
    await assertUnpaid(server, market, alice);
    const waiting = 'exchange_settlement_decisions{state="proposed"}';
    await eventually('it is counted', async () => (await metric(server, waiting)) === 1);

    await server.kill();
    await rig.decide(ROLES.vetoer, 'veto', [number]);
    await final();
    await server.start(settings);
    [alice, bob] = [alice.reconnected(), bob.reconnected()];
    const vetoed = await eventually('the veto', async () => {
      const { records } = await server.admin.audit({ event: 'decision_vetoed' });
      return records.length > 0 && records;
    });
    const [{ market_id, payouts, proposal }] = vetoed;
    assert.deepEqual([market_id, payouts, proposal], [market.id, [0, 1_000_000], Number(number)]);
    await assertUnpaid(server, market, alice);

    // Without its right the key proposes nothing, and trading goes on.
    assert.equal((await resolve([1_000_000, 0])).status, 'resolving');
    await eventually(
      'the right is missed',
      async () => (await metric(server, 'exchange_settlement_may_propose')) === 0,
    );
    const other = await traded(server, alice, bob);
    assert.equal((await standingOf(market)).isOpen, false);
    await grantTo(resolverAddress());
    const again = await whenProposed(market, number);
    assert.equal(again.yesPayout, ALL);
    await assertUnpaid(server, market, alice);
    await rig.pass(RESOLUTION_DELAY);
    await whenResolved(server, market);
    await assertPaid(market, alice);
    await server.admin.settleMarket(market.id);
    assert.equal(await statusOf(server, other), 'active');
  },
);

test('a thief with RESOLVER_KEY is vetoed, and with another key the market is decided rightly', options, async () => {
  let { settings, server, alice, bob } = await start();
  const market = await traded(server, alice, bob);
  const marketId = `0x${market.id.replaceAll('-', '')}`;
  await rig.decide(resolverAddress(), 'propose', [marketId, 0n, ALL]);
  const foreign = () => metric(server, 'exchange_settlement_foreign_proposals');
  await eventually('the alarm', async () => (await foreign()) === 1);
  const { settlement } = await server.admin.operations();
  const [listed] = settlement!.decisions.foreign;
  assert.deepEqual([listed.market_id, listed.payouts, listed.is_carried_out], [market.id, [0, 1_000_000], false]);
  // The exchange does not trust the decision on the chain, even while it wants another one.
  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  await assertUnpaid(server, market, alice);
  await vetoAsDocumented(listed.proposal);
  await eventually('the end of the alarm', async () => (await foreign()) === 0);
  await assert.rejects(rig.decide(resolverAddress(), 'propose', [marketId, 0n, ALL]), /AccessControlUnauth/);

  await server.kill();
  await grantTo(privateKeyToAddress(NEXT_RESOLVER));
  settings = { ...settings, RESOLVER_KEY: NEXT_RESOLVER };
  await server.start(settings);
  [alice, bob] = [alice.reconnected(), bob.reconnected()];
  assert.equal((await whenProposed(market)).yesPayout, ALL);
  await server.kill();
  await rig.pass(RESOLUTION_DELAY);
  // Anybody may carry it out, and the exchange follows.
  await rig.decide(key(BOB).address, 'carryOut', [(await standingOf(market)).number]);
  await final();
  await server.start(settings);
  alice = alice.reconnected();
  await whenResolved(server, market);
  await assertPaid(market, alice);
});

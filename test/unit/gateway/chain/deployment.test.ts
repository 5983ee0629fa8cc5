/** The deployment of markets and its transitions (RULES.md 9.19). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { type Deployer, Deployment, ledgerDeployer } from '../../../../gateway/chain/deployment.ts';
import { Catalog, type MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { deployStatus } from '../../../../gateway/markets/deployments.ts';
import { completeMarketDetails } from '../../../../gateway/markets/marketDetails.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const FACTORY = '0x00000000000000000000000000000000000000ff';
const MARKET_ID = '0190a0b0-c0d0-7000-8000-0000000000af';
const DEPLOYED = { condition_id: '0xaa', question_id: '0xbb', contract_address: FACTORY };

type Rig = { catalog: Catalog; market: MarketEntry; deployment: Deployment; clock: ManualClock; restart: () => Rig };

function rigOf(t: TestContext, deployer: Deployer): Rig {
  const path = join(temporaryDirectory(), 'control.db');
  const clock = new ManualClock(1_800_000_000_000);
  const open = (): Rig => {
    const database = openControlDatabase(path);
    t.after(() => database.close());
    const catalog = new Catalog(database, 2);
    const market = catalog.byId(MARKET_ID) ?? catalog.createMarket(newMarket(clock.nowMs()), clock.nowMs());
    const deployment = new Deployment({ catalog, deployer, clock, log: createLogger('silent') });
    const restart = (): Rig => {
      database.close();
      return open();
    };
    return { catalog, market, deployment, clock, restart };
  };
  return open();
}

function newMarket(nowMs: number): Parameters<Catalog['createMarket']>[0] {
  return {
    id: MARKET_ID,
    eventId: null,
    ticksPerUnit: 100,
    minOrderAtomic: 1_000_000,
    tokenIds: null,
    opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: nowMs, endMs: nowMs + 1 },
    details: completeMarketDetails({ title: 'Will it rain?', description: 'Yes if it does.', category: 'Weather' }),
  };
}

/** Ticks, and waits for the end of what the tick has started. */
async function tick({ deployment }: Rig): Promise<void> {
  deployment.tick();
  await new Promise((resolve) => setImmediate(resolve));
}

test('a market that is asked for is deploying at once, and deployed with its ids a tick later', async (t) => {
  const rig = rigOf(t, () => Promise.resolve(DEPLOYED));
  const { deployment, market } = rig;
  const { yesTokenId, noTokenId } = market;
  assert.equal(deployStatus(market), 'not_deployed');
  assert.equal(await deployment.request(market, false), null);
  assert.equal(deployStatus(market), 'deploying');
  const { updatedMs } = market;
  await tick(rig);
  assert.equal(deployStatus(market), 'deployed');
  assert.ok(market.updatedMs > updatedMs, 'lists and caches see the change');
  const { condition_id, question_id, contract_address, title } = market.details;
  assert.deepEqual({ condition_id, question_id, contract_address }, DEPLOYED);
  assert.equal(title, 'Will it rain?');
  assert.deepEqual([market.yesTokenId, market.noTokenId], [yesTokenId, noTokenId], 'DEPLOYMENT-3');
  assert.equal(await deployment.request(market, true), null, 'a repeat is answered, though it is decided by now');

  const again = rig.restart();
  assert.equal(deployStatus(again.market), 'deployed');
  assert.deepEqual([again.market.yesTokenId, again.market.noTokenId], [yesTokenId, noTokenId]);
});

test('a decided market is refused, and one whose condition has a name needs no deployment', async (t) => {
  const { catalog, deployment, market, clock } = rigOf(t, () => assert.fail('nothing is deployed'));
  assert.deepEqual(await deployment.request(market, true), { row: ERRORS.INVALID_TRANSITION });
  assert.equal(deployStatus(market), 'not_deployed');
  catalog.updateMarket(market, null, { ...market.details, condition_id: '0x01' }, clock.nowMs());
  assert.equal(await deployment.request(market, false), null);
  assert.equal(deployStatus(market), 'deployed');
  deployment.tick();
});

test('a failed attempt is made again after growing pauses, five times, and then never', async (t) => {
  let attempts = 0;
  const rig = rigOf(t, () => {
    attempts++;
    return Promise.reject(new Error('no gas'));
  });
  const { clock, deployment, market } = rig;
  const startMs = clock.nowMs();
  const seen: string[] = [];
  const note = (): void => {
    const status = deployStatus(market);
    if (seen.at(-1) !== status) seen.push(status);
  };
  await deployment.request(market, false);
  const failedMs: number[] = [];
  for (let ticks = 0; ticks < 400; ticks++) {
    const before = attempts;
    note();
    await tick(rig);
    note();
    if (attempts > before) failedMs.push(clock.nowMs() - startMs);
    clock.advance(100);
  }
  assert.equal(attempts, 6);
  const retry = ['failed', 'pending_deploy', 'deploying'];
  assert.deepEqual(seen, ['deploying', ...Array(5).fill(retry).flat(), 'permanently_failed']);
  const pauses = failedMs.slice(1).map((ms, i) => Math.floor((ms - failedMs[i]!) / 1000));
  assert.deepEqual(pauses, [1, 2, 4, 8, 16]);
  assert.equal(await deployment.request(market, false), null);
  const again = rig.restart();
  assert.equal(deployStatus(again.market), 'permanently_failed');
  await tick(again);
  assert.equal(attempts, 6);
});

test('a restart goes on with a deployment that was under way, and counts the attempts before it', async (t) => {
  let attempts = 0;
  const rig = rigOf(t, () => (++attempts < 3 ? Promise.reject(new Error('away')) : Promise.resolve(DEPLOYED)));
  await rig.deployment.request(rig.market, false);
  const second = rig.restart();
  assert.equal(deployStatus(second.market), 'deploying');
  await tick(second);
  assert.equal(deployStatus(second.market), 'failed');
  let third = second.restart();
  await tick(third);
  assert.deepEqual(third.market.deployment, { status: 'pending_deploy', retries: 1 });
  third = third.restart();
  await tick(third); // deploying
  await tick(third); // fails
  assert.deepEqual(third.market.deployment, { status: 'failed', retries: 1 });
  third.clock.advance(2000);
  for (let ticks = 0; ticks < 3; ticks++) await tick(third);
  assert.equal(deployStatus(third.market), 'deployed');
});

test('the ids in the ledger are those that the contract of conditional tokens computes', async () => {
  const market = { idBytes: new Uint8Array(16).fill(1) } as MarketEntry;
  // Made with viem: keccak256 of 16 bytes 01, and of encodePacked(address, bytes32, uint256 2).
  assert.deepEqual(await ledgerDeployer(() => FACTORY)(market), {
    contract_address: FACTORY,
    question_id: '0x372f5c45e4c2fa9ea5e682e9dac24c121c7a09104a7d9ad9236dad1a1a76b566',
    condition_id: '0x766d0cc5bcbb37310eba56cbd93fea131125f39a6084e08bd1e107c77cb0b21e',
  });
});

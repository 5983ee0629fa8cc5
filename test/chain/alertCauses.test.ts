/**
 * Alerts for what really happens between an exchange and its chain: a key runs low, the node goes away. Each cause
 * rings its page, and no page of a neighbour.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseEther, parseGwei } from 'viem';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { firingPages, NO_PROMTOOL, type Scrape, scrape } from '../support/firingAlerts.ts';
import { TestServer } from '../support/server.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings, relayerAddress } from './exchange.ts';
import { ChainRig } from './rig.ts';

const skip = NO_ANVIL || NO_PROMTOOL;
const rig = skip ? (null as unknown as ChainRig) : await ChainRig.start();
after(() => rig?.stop());
const LIMITS = { MOST_HEAD_AGE_MS: '5000', MOST_SETTLEMENT_WAIT_MS: '3600000' };
/** Longer than any page about a chain waits, except for moving funds. */
const AFTER_SEC = 400;

function sampleOf({ samples }: Scrape, metric: string, labels = ''): number | undefined {
  return samples.get(`${metric}{${labels}job="exchange",instance="exchange:8080"}`);
}

test('what rings when keys run low and when the node goes away', { skip }, async (t) => {
  const settings = { ...(await chainSettings(rig)), ...LIMITS };
  const server = new TestServer(temporaryDirectory(), '1');
  t.after(() => server.kill());
  await rig.client.setIntervalMining({ interval: 1 });
  await server.start(settings);
  const seen = (what: string, holds: (now: Scrape) => boolean): Promise<Scrape> => {
    return eventually(what, async () => {
      const now = await scrape(server);
      return holds(now) && now;
    });
  };
  const pages = async (before: Scrape, first: Scrape): Promise<string[]> => {
    return firingPages(before, [first, await scrape(server)], AFTER_SEC);
  };
  const isHealthy = (now: Scrape) => {
    const balance = sampleOf(now, 'exchange_settlement_key_balance', 'key="RELAYER",');
    return sampleOf(now, 'exchange_settlement_healthy') === 1 && balance !== undefined;
  };
  const whole = await seen('settlement works', isHealthy);
  assert.deepEqual(await pages(whole, whole), [], 'nothing rings while it settles');

  await rig.client.setBalance({ address: relayerAddress(), value: parseGwei('1') });
  const isLow = (now: Scrape) => sampleOf(now, 'exchange_settlement_key_low', 'key="RELAYER",') === 1;
  assert.deepEqual(await pages(whole, await seen('a key runs low', isLow)), ['KeyLow']);
  await rig.client.setBalance({ address: relayerAddress(), value: parseEther('1000') });
  await seen('it was filled up', (now) => !isLow(now));

  await rig.stop();
  const isAway = (now: Scrape) => sampleOf(now, 'exchange_settlement_healthy') === 0;
  assert.deepEqual(await pages(whole, await seen('the node is away', isAway)), ['SettlementUnhealthy']);
});

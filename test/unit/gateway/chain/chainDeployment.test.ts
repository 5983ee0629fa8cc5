/** The deployment of markets on a chain, as the settlement thread reports it (RULES.md 17.33). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { ChainDeployment } from '../../../../gateway/chain/chainDeployment.ts';
import { Catalog } from '../../../../gateway/markets/catalog.ts';
import { deployStatus } from '../../../../gateway/markets/deployments.ts';
import { completeMarketDetails } from '../../../../gateway/markets/marketDetails.ts';
import { ChainLink } from '../../../../gateway/shardlink/settlementLink.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import { marketIds } from '../../../../shared/chain/outcomeTokens.ts';
import type { ChainAsk, ChainNews } from '../../../../shared/wire/chainQuestions.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const FACTORY = '0x00000000000000000000000000000000000000ff';
const EXCHANGE = '0x00000000000000000000000000000000000000ee';
type Step = ChainNews['deployment'];

function rigOf(t: TestContext) {
  const path = join(temporaryDirectory(), 'control.db');
  const clock = new ManualClock(1_800_000_000_000);
  const database = openControlDatabase(path);
  t.after(() => database.close());
  const log = createLogger('silent');
  const opening = { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: 1, endMs: 2 };
  const details = completeMarketDetails({ title: 'Will it rain?', description: '', category: 'Weather' });
  const made = { eventId: null, ticksPerUnit: 100, minOrderAtomic: 1_000_000, tokenIds: null, opening, details };
  new Catalog(database, 1).createMarket(made, 1);
  /** A start of the gateway; the thread answers as `reply` says, and not at all without one. */
  const start = (reply: ((ask: ChainAsk) => unknown) | null) => {
    const asked: ChainAsk[] = [];
    let number = 0;
    const link: ChainLink = new ChainLink((ask) => {
      asked.push(ask);
      if (ask.question === 'acknowledge') setImmediate(() => link.reply({ id: ask.id, answer: null }));
      else if (reply !== null) setImmediate(() => link.reply({ id: ask.id, answer: reply(ask) }));
      return reply !== null || ask.question === 'acknowledge';
    }, log);
    const catalog = new Catalog(database, 1);
    const deployment = new ChainDeployment({ catalog, link, marketFactory: () => FACTORY, clock, log });
    link.acceptNews();
    const [market] = catalog.markets;
    const news = (status: Step['status'], failures = 0): Promise<void> => {
      const reason = status === 'failed' || status === 'given_up' ? 'EnforcedPause' : null;
      const facts = { marketId: toHex(market.idBytes), exchange: EXCHANGE, status, failures, reason };
      return link.take({ number: ++number, kind: 'deployment', facts });
    };
    return { asked, deployment, market, news };
  };
  return { clock, start };
}

test('a request is stored, then asked for, and goes on as the thread reports', async (t) => {
  const { deployment, market, news, asked } = rigOf(t).start(() => ({ isWanted: true }));
  assert.equal(await deployment.request(market, false), null);
  assert.equal(deployStatus(market), 'deploying');
  assert.deepEqual(asked[0].ask, { market: 0, marketId: toHex(market.idBytes) });
  await deployment.request(market, false);
  assert.equal(asked.length, 1, 'a repeat changes nothing');
  const seen: string[] = [];
  for (const [status, failures] of [
    ['wanted', 0],
    ['submitted', 0],
    ['failed', 1],
    ['wanted', 1],
    ['submitted', 1],
    ['mined', 1],
    ['submitted', 1],
    ['final', 1],
    ['submitted', 1],
  ] as const) {
    await news(status, failures);
    seen.push(`${deployStatus(market)} ${market.deployment?.retries ?? '-'}`);
  }
  assert.deepEqual(seen, [
    'deploying 0',
    'deploying 0',
    'failed 0',
    'pending_deploy 1',
    'deploying 1',
    'deploying 1',
    'deploying 1',
    'deployed -',
    'deployed -',
  ]);
  const { condition_id, question_id, contract_address } = market.details;
  const { conditionId, questionId } = marketIds(FACTORY, market.idBytes);
  assert.deepEqual([condition_id, question_id, contract_address], [conditionId, questionId, FACTORY]);
  assert.equal(asked.at(-1)!.question, 'acknowledge');
});

test('a request that the thread does not have is pending, and asked again, also after a restart', async (t) => {
  const { clock, start } = rigOf(t);
  const away = start(null);
  assert.equal(await away.deployment.request(away.market, false), null);
  assert.equal(deployStatus(away.market), 'pending_deploy');
  away.deployment.tick();
  assert.equal(away.asked.length, 1, 'not at once');
  clock.advance(5000);
  away.deployment.tick();
  assert.equal(away.asked.length, 2);
  const back = start(() => ({ isWanted: true }));
  assert.equal(deployStatus(back.market), 'pending_deploy');
  back.deployment.tick();
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  assert.equal(deployStatus(back.market), 'deploying');
});

test('a decided market is refused, by the catalogue or by the thread, and a deployment may be given up', async (t) => {
  const { start } = rigOf(t);
  const { deployment, market, news } = start(() => ({ isWanted: false }));
  const refused = { row: ERRORS.INVALID_TRANSITION };
  assert.deepEqual(await deployment.request(market, true), refused);
  assert.deepEqual(await deployment.request(market, false), refused);
  assert.equal(deployStatus(market), 'not_deployed');
  await news('wanted');
  assert.equal(deployStatus(market), 'deploying', 'trades want it');
  await news('given_up', 6);
  assert.deepEqual(market.deployment, { status: 'permanently_failed', retries: 5 });
  await deployment.request(market, false);
  assert.equal(deployStatus(market), 'permanently_failed', 'only an administrator starts it again (RULES.md 17.33)');
  await news('final', 6);
  assert.equal(deployStatus(market), 'deployed', 'the chain knows it all the same');
});

test('RULES.md 17.33: an administrator has a market deployed that was given up', async (t) => {
  const { start } = rigOf(t);
  const { deployment, market, news, asked } = start(() => ({ isWanted: true }));
  await news('wanted');
  await news('given_up', 6);
  assert.deepEqual(await deployment.requestAgain(market, true), { row: ERRORS.INVALID_TRANSITION });
  const before = asked.length;
  assert.equal(await deployment.requestAgain(market, false), null);
  assert.deepEqual([deployStatus(market), asked.length], ['deploying', before + 1]);
  assert.equal(await deployment.requestAgain(market, false), null);
  assert.equal(asked.length, before + 1, 'a repeat changes nothing');
});

/** Questions to the settlement thread and its news (gateway/shardlink/settlementLink.ts); the test plays the thread. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { ChainDown, ChainLink, ChainRefused } from '../../../../gateway/shardlink/settlementLink.ts';
import type { ChainAsk, NewsOf } from '../../../../shared/wire/chainQuestions.ts';

const MARKET = { market: 3, marketId: `0x${'11'.repeat(16)}` };
const WANTED = { isWanted: true };
const FAILED = { shard: 1, tradeSequence: 5, market: 3, reason: 'OrderExpired' };
const failed = (number: number): NewsOf => ({ number, kind: 'tradeFailed', facts: FAILED });

class Rig {
  readonly asked: ChainAsk[] = [];
  isRunning = true;
  readonly link = new ChainLink((ask) => this.isRunning && this.asked.push(ask) > 0, createLogger('silent'));

  /** The last question of the link. */
  get last(): ChainAsk {
    return this.asked.at(-1)!;
  }
}

test('a question is answered, refused by a contract, or finds the chain away', async () => {
  const { link, asked } = new Rig();
  const [answered, refused, away] = [MARKET, MARKET, MARKET].map((ask) => link.ask('deploy', ask));
  assert.deepEqual(asked[0], { id: 1, question: 'deploy', ask: MARKET });
  link.reply({ id: 3, down: 'eth_call: no answer' });
  link.reply({ id: 1, answer: WANTED });
  link.reply({ id: 2, refused: 'UnknownToken' });
  link.reply({ id: 2, answer: WANTED });
  assert.deepEqual(await answered, WANTED);
  await assert.rejects(refused, (error) => error instanceof ChainRefused && error.error === 'UnknownToken');
  await assert.rejects(away, ChainDown);
});

test('a question ends when its time is over, when the thread ends, and while there is none', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const rig = new Rig();
  const late = rig.link.ask('deploy', MARKET);
  t.mock.timers.tick(15_000);
  await assert.rejects(late, ChainDown);
  rig.link.reply({ id: 1, answer: WANTED });
  const lost = [rig.link.ask('deploy', MARKET), rig.link.ask('deploy', MARKET)];
  rig.link.threadEnded();
  for (const each of lost) await assert.rejects(each, ChainDown);
  rig.isRunning = false;
  await assert.rejects(rig.link.ask('deploy', MARKET), ChainDown);
});

test('news are acknowledged once they are carried out, and only then', async () => {
  const rig = new Rig();
  const { link } = rig;
  const seen: [unknown, number][] = [];
  let works = false;
  link.onNews('tradeFailed', async (facts, number) => {
    seen.push([facts, number]);
    if (!works) throw new Error('the disk is full');
  });
  await link.take(failed(7));
  assert.deepEqual(seen, [], 'the exchange is not ready yet');
  link.acceptNews();
  await link.take(failed(7));
  assert.deepEqual([seen.length, rig.asked.length], [1, 0]);
  works = true;
  const taken = link.take(failed(7));
  // A repeat that comes while it is carried out.
  await link.take(failed(7));
  assert.deepEqual([seen.length, rig.asked.length], [2, 1]);
  assert.deepEqual(rig.last, { id: 1, question: 'acknowledge', ask: { news: 7 } });
  link.reply({ id: 1, answer: null });
  await taken;
  const again = link.take(failed(7));
  while (rig.asked.length < 2) await Promise.resolve();
  link.threadEnded();
  await again;
  assert.deepEqual(seen.at(-1), [FAILED, 7], 'the acknowledgement may be lost: it comes again');
});

test('news without a handler wait for one', async () => {
  const rig = new Rig();
  rig.link.acceptNews();
  await rig.link.take(failed(1));
  assert.deepEqual(rig.asked, []);
});

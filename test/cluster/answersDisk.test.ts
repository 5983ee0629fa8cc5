/**
 * The disk of idempotency.db alone is full on a leader, and on a standby (RULES.md 6.11): nothing is answered 500, no
 * thread ends, each says so once a minute and in a metric, and when there is room again no answer is lost.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import type { Answer } from '../support/server.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DISK_MB = 4;
const BATCH = '/v1/orders/batch';
const ATTEMPTS = 10;
const FILE = 'idempotency.db';

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];

/** For a stopped member. */
function moveAnswers({ dataDir }: Member, disk: SmallDisk): void {
  copyFileSync(join(dataDir, FILE), join(disk.path, FILE));
  rmSync(join(dataDir, FILE));
  symlinkSync(join(disk.path, FILE), join(dataDir, FILE));
}

const said = ({ stdout }: Member): number => stdout.filter((line) => line.includes('there is no room to keep')).length;

async function metricOf({ baseUrl }: Member, name: string): Promise<number> {
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

async function threadEnds({ baseUrl }: Member): Promise<number> {
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(/^exchange_thread_ends_total\{thread="idempotency"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

test('no room for answers on the leader and on a standby costs no answer, no thread and no 500', {
  skip,
}, async (t) => {
  const [ofLeader, ofStandby] = [SmallDisk.mount(t, DISK_MB), SmallDisk.mount(t, DISK_MB)];
  if (ofLeader === null || ofStandby === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  const url = await (await sharedPostgres()).database();
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url });
  const [a, b] = [cluster.leader, cluster.standbys[0]!];
  await b.stop();
  moveAnswers(b, ofStandby);
  await b.begin();
  await cluster.awaitStandby(b);
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster);
  const order = () => trader.body(market, { price: '0.1', size: '10' });
  const keyed = (method: string, payload: object): ((member: Member) => Promise<Answer>) => {
    const key = randomUUID();
    return (member) => {
      const { body, headers } = trader.client.prepareSigned(method, BATCH, payload);
      return member.request(method, BATCH, body, { ...headers, 'idempotency-key': key });
    };
  };
  const place = (member: Member) => keyed('POST', { orders: [order()] })(member);
  const statusOf = async (answer: Promise<Answer>) => {
    const { status, body } = await answer;
    return [status, body.code ?? body.results?.[0]?.status ?? body.cancelled];
  };

  // A standby without disk space: the leader and its answers go on, and rows for the standby wait in order.
  ofStandby.fill();
  const placed: string[] = [];
  for (let count = 0; count < ATTEMPTS; count++) {
    ofStandby.fill();
    const answer = await place(a);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    placed.push(answer.body.results[0].order_hash);
  }
  await eventually('a standby that says so', async () => (await metricOf(b, 'exchange_kept_answers_full')) === 1);
  assert.deepEqual([said(b), await threadEnds(b)], [1, 0], 'once a minute, and no thread ends');
  assert.deepEqual(await statusOf(place(b)), [503, 'NOT_MATCHING_LEADER']);
  ofStandby.clear();
  await eventually('its answers', async () => (await metricOf(b, 'exchange_kept_answers_full')) === 0);
  await cluster.awaitStandby(b);

  // It leads, and has no room: keys are refused with the cause.
  await a.stop();
  await cluster.awaitLeader([b]);
  await eventually('keys', async () => (await place(b)).status === 200);
  const first = keyed('POST', { orders: [order()] });
  ofStandby.fill();
  assert.deepEqual(await statusOf(first(b)), [503, 'OUTCOME_UNKNOWN'], 'it was carried out already');
  for (let count = 0; count < ATTEMPTS; count++) {
    ofStandby.fill();
    assert.deepEqual(await statusOf(place(b)), [503, 'ENGINE_BUSY']);
  }
  assert.deepEqual(await statusOf(keyed('DELETE', { order_hashes: [placed[0]] })(b)), [200, 'cancelled']);
  assert.equal(await metricOf(b, 'exchange_kept_answers_full'), 1);
  assert.deepEqual([said(b), await threadEnds(b)], [2, 0], 'of the leader that is another line');
  ofStandby.clear();
  const again = await eventually('the answer of the unknown outcome', async () => {
    const answer = await first(b);
    return answer.status !== 503 && answer;
  });
  assert.deepEqual([again.status, again.body.results[0].status], [200, 'success'], JSON.stringify(again.body));
  await cluster.rejoin(a);
  await b.stop();
  await cluster.awaitLeader([a]);
  await eventually('the same answer at the next leader', async () => {
    const answer = await first(a);
    return answer.status === 200 && JSON.stringify(answer.body) === JSON.stringify(again.body);
  });
});

/** Front threads answer reads by themselves: real threads and sockets, in front of a shard that the test leads. */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { LIMIT_CLASSES } from '../../../../gateway/base/classes.ts';
import { MemberRole } from '../../../../gateway/base/memberRole.ts';
import { systemClock } from '../../../../shared/base/clock.ts';
import { AUTH_HEADER } from '../../../../shared/crypto/hmac.ts';
import { Replication } from '../../../../shared/wire/replication.ts';
import { eventually } from '../../../support/eventually.ts';
import { Random } from '../../../support/random.ts';
import { READ_MARKETS, startReads } from '../../../support/readsRig.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const PATHS = [
  '/v1/market-data/:id/tick-size',
  '/v1/market-data/:id/bbo',
  '/v1/market-data/:id/bbo?outcome_index=1',
  '/v1/market-data/:id/bbo?outcome_index=2',
  '/v1/market-data/:id/spread',
  '/v1/market-data/:id/midpoint',
  '/v1/orders/book/:id',
  '/v1/orders/book/:id?both=true&levels=3',
  '/v1/orders/book/:id?l3=true',
];
/** This many networks of a site are counted as themselves (RULES.md 4.10). */
const OF_A_SITE = 128;
const UNKNOWN_ID = '0190b1c2-0000-7000-8000-0000000000ff';

type Rig = Awaited<ReturnType<typeof startReads>>;
type Answer = { readonly status: number; readonly headers: Record<string, unknown>; readonly text: string };

/** A client with a connection of its own, which some thread has. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;

  constructor(t: TestContext, { port }: Rig) {
    this.#port = port;
    t.after(() => this.#agent.destroy());
  }

  get(path: string, headers: Record<string, string | string[]> = {}, method = 'GET'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, path, method, headers, agent: this.#agent };
      const sent = request(options, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }));
      });
      sent.on('error', reject);
      sent.end();
    });
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Resolves when every thread answers reads of every market. */
async function allAnswering(t: TestContext, rig: Rig): Promise<void> {
  await eventually('answers of every thread', async () => {
    const before = await rig.answered();
    const clients = Array.from({ length: 4 }, () => new Client(t, rig));
    for (const client of clients)
      for (const { id } of READ_MARKETS) await client.get(`/v1/market-data/${id}/tick-size`);
    const after = await rig.answered();
    const answered = after.map((count, thread) => count - before[thread]!);
    return sumOf(answered) === clients.length * READ_MARKETS.length && answered.every((count) => count > 0);
  });
}

/** Everything but what differs from one answer to the next. */
function comparable({ status, headers, text }: Answer): object {
  const { date: _date, 'x-request-id': _id, ...rest } = headers;
  return { status, headers: rest, text: text.replace(/"timestamp":\d+/, '') };
}

test('a front answers what the gateway thread would, byte for byte, whatever has happened before', async (t) => {
  const seed = seedOr(11);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const rig = await startReads(t, { seed, threads: 2 });
  await allAnswering(t, rig);
  const clients = Array.from({ length: 4 }, () => new Client(t, rig));
  const before = sumOf(await rig.answered());
  let reads = 0;
  for (let round = 0; round < timesOf({ suite: 60, soak: 1000 }); round++) {
    for (let count = random.below(30); count > 0; count--) rig.shard.flow.next();
    rig.shard.run();
    const path = random.pick(PATHS).replace(':id', random.pick(READ_MARKETS).id);
    const method = random.chance(10) ? 'HEAD' : 'GET';
    const [here, there] = [
      await random.pick(clients).get(path, {}, method),
      // A call with credentials is the gateway thread's; for a public read wrong ones count as none.
      await random.pick(clients).get(path, { [AUTH_HEADER.API_KEY]: 'nobody' }, method),
    ];
    assert.deepEqual(comparable(here), comparable(there), `${method} ${path}`);
    reads++;
  }
  assert.equal(sumOf(await rig.answered()) - before, reads, 'one of each pair was answered by its thread');
});

test('answers include committed records whose events are still in the shard (FRONTREADS-1)', async (t) => {
  const seed = seedOr(12);
  console.log(`seed ${seed}`);
  const rig = await startReads(t, { seed, threads: 2 });
  await allAnswering(t, rig);
  const client = new Client(t, rig);
  const path = `/v1/orders/book/${READ_MARKETS[0]!.id}`;
  const answeredBefore = sumOf(await rig.answered());
  for (let count = 0; count < 40; count++) rig.shard.flow.next();
  rig.shard.commit();
  await client.get(path);
  assert.equal(sumOf(await rig.answered()), answeredBefore, 'the front does not know what was committed: it passes on');
  rig.shard.publish();
  const book = JSON.parse((await client.get(path)).text) as { readonly sequence: number };
  assert.equal(book.sequence, rig.shard.views.markets.sequence(0));
  assert.equal(sumOf(await rig.answered()), answeredBefore + 1, 'it applies what has come before it answers');
});

test('a front of a member says of its role what the gateway thread says (RULES.md 18.4, 18.5)', async (t) => {
  const memory = new Replication(Replication.create(1));
  const role = new MemberRole(memory, systemClock, systemClock);
  const rig = await startReads(t, { seed: seedOr(17), threads: 2, role });
  await allAnswering(t, rig);
  const client = new Client(t, rig);
  const path = `/v1/market-data/${READ_MARKETS[0]!.id}/bbo`;
  const said = async (): Promise<object> => {
    const before = sumOf(await rig.answered());
    const [here, there] = [await client.get(path), await client.get(path, { [AUTH_HEADER.API_KEY]: 'nobody' })];
    assert.equal(sumOf(await rig.answered()) - before, 1, 'one of the two was answered by its thread');
    const { 'x-svc-stale-ms': staleHere, ...rest } = here.headers;
    const { 'x-svc-stale-ms': staleThere, ...restThere } = there.headers;
    assert.deepEqual(
      comparable({ ...here, headers: rest }),
      comparable({ ...there, headers: restThere }),
      'the same but for the time between the two',
    );
    assert.ok(Number(staleThere ?? 0) >= Number(staleHere ?? 0), `${staleHere} ms, and then ${staleThere} ms`);
    return { role: rest['x-svc-role'], leader: rest['x-svc-leader'], isStale: staleHere !== undefined };
  };
  assert.deepEqual(await said(), { role: 'standby', leader: undefined, isStale: false });
  role.leader = { holder: 'b', address: 'http://192.0.2.2:8080', epoch: 4 };
  role.asOfMs = Date.now() - 40;
  assert.deepEqual(await said(), { role: 'standby', leader: 'http://192.0.2.2:8080', isStale: true });
  memory.setState('leader');
  memory.setRenewed(Date.now() + 60_000);
  role.lead();
  assert.deepEqual(await said(), { role: 'leader', leader: undefined, isStale: false });
  memory.setRenewed(Date.now() - 60_000);
  assert.deepEqual(await said(), { role: 'leader', leader: undefined, isStale: true });
});

test('markets that it does not know, credentials, bodies and other methods are passed on', async (t) => {
  const rig = await startReads(t, { seed: seedOr(13), threads: 1 });
  await allAnswering(t, rig);
  const client = new Client(t, rig);
  const before = sumOf(await rig.answered());
  const known = `/v1/market-data/${READ_MARKETS[0]!.id}`;
  assert.equal((await client.get(`/v1/market-data/${UNKNOWN_ID}/bbo`)).status, 404);
  assert.equal((await client.get(`${known}/nothing`)).status, 404);
  assert.equal((await client.get(`${known}/bbo`, {}, 'DELETE')).status, 405);
  assert.equal((await client.get(`${known}/fee-rate`)).status, 401);
  assert.equal((await client.get(`${known}/bbo`, { authorization: 'Bearer x' })).status, 200);
  assert.equal((await client.get(`${known}/bbo`, { 'transfer-encoding': 'chunked' })).status, 200);
  // The first line that is not empty counts.
  assert.equal((await client.get(`${known}/bbo`, { [AUTH_HEADER.API_KEY]: ['', 'nobody'] })).status, 200);
  assert.equal(sumOf(await rig.answered()), before);
  assert.equal((await client.get(`${known}/bbo`, { 'content-length': '0' })).status, 200);
  assert.equal(sumOf(await rig.answered()), before + 1, 'a body of no bytes is none');
});

test('while the exchange stops every call is the gateway thread’s', async (t) => {
  const rig = await startReads(t, { seed: seedOr(14), threads: 1 });
  await allAnswering(t, rig);
  const client = new Client(t, rig);
  const path = `/v1/market-data/${READ_MARKETS[0]!.id}/bbo`;
  assert.equal((await client.get(path)).status, 200);
  const before = sumOf(await rig.answered());
  const stopping = rig.server.stop(1000);
  assert.equal((await client.get(path)).status, 200);
  assert.equal(sumOf(await rig.answered()), before);
  await stopping;
});

test('a limit is one limit, whichever threads the requests of an address come to (FRONTREADS-3)', async (t) => {
  const rig = await startReads(t, { seed: seedOr(15), threads: 2, isLimited: true });
  await allAnswering(t, rig);
  const { requests } = LIMIT_CLASSES.unlisted;
  const clients = Array.from({ length: 4 }, () => new Client(t, rig));
  const path = `/v1/market-data/${READ_MARKETS[0]!.id}/midpoint`;
  const before = sumOf(await rig.answered());
  const answers: Answer[] = [];
  while (answers.length < 2 * requests) {
    // The gateway thread counts requests that offer an unknown key.
    const [offered, none] = [{ [AUTH_HEADER.API_KEY]: 'nobody' }, {}];
    const sent = clients.map((client, index) => client.get(path, index === 0 ? offered : none));
    answers.push(...(await Promise.all(sent)));
  }
  assert.equal(sumOf(await rig.answered()) - before, (answers.length / clients.length) * 3);
  const statuses = answers.map(({ status }) => status).sort();
  assert.equal(statuses.filter((status) => status === 200).length, requests);
  assert.equal(statuses.filter((status) => status === 429).length, answers.length - requests);
  const left = answers
    .filter(({ status }) => status === 200)
    .map(({ headers }) => Number(headers['x-ratelimit-remaining']));
  assert.deepEqual(
    left.sort((a, b) => a - b),
    Array.from({ length: requests }, (_, index) => index),
    'each admitted request was counted once',
  );
});

test('an IPv6 network has one limit at all threads, once the gateway thread has had a request of it', async (t) => {
  const rig = await startReads(t, { seed: seedOr(18), threads: 2, isLimited: true, isProxied: true });
  await allAnswering(t, rig);
  const { requests } = LIMIT_CLASSES.unlisted;
  const clients = Array.from({ length: 4 }, () => new Client(t, rig));
  const path = `/v1/market-data/${READ_MARKETS[0]!.id}/spread`;
  const from = (index: number, network: string): Promise<Answer> =>
    clients[index % clients.length]!.get(path, { 'x-forwarded-for': `2001:db8:${network}::${index.toString(16)}` });
  const before = sumOf(await rig.answered());
  const answers: Answer[] = [];
  for (let index = 0; index < 2 * requests; index++) answers.push(await from(index, '1:1'));
  assert.equal(sumOf(await rig.answered()) - before, answers.length - 1, 'all but the first');
  assert.deepEqual(
    answers.map(({ headers }) => headers['x-ratelimit-remaining']),
    answers.map((_, index) => String(Math.max(requests - 1 - index, 0))),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map((_, index) => (index < requests ? 200 : 429)),
  );
});

test('the networks that are counted as their site are the gateway thread’s, and have one limit', async (t) => {
  const rig = await startReads(t, { seed: seedOr(19), threads: 2, isLimited: true, isProxied: true });
  await allAnswering(t, rig);
  const client = new Client(t, rig);
  const path = `/v1/market-data/${READ_MARKETS[0]!.id}/spread`;
  const from = (network: number): Promise<Answer> =>
    client.get(path, { 'x-forwarded-for': `2001:db8:2:${network.toString(16)}::1` });
  for (let network = 0; network < OF_A_SITE; network++) await from(network);
  const before = sumOf(await rig.answered());
  for (let network = 0; network < OF_A_SITE; network++)
    assert.equal((await from(network)).headers['x-ratelimit-remaining'], '28', String(network));
  assert.equal(sumOf(await rig.answered()) - before, OF_A_SITE, 'its thread answers each that was there before');
  for (let more = 0; more < 5; more++) {
    const { headers } = await from(OF_A_SITE + more);
    assert.equal(headers['x-ratelimit-remaining'], String(LIMIT_CLASSES.unlisted.requests - 1 - more));
  }
  assert.equal(sumOf(await rig.answered()) - before, OF_A_SITE, 'the others are passed on');
});

test('a thread that fails comes back with the state of the shard, and its counts are kept', async (t) => {
  const seed = seedOr(16);
  console.log(`seed ${seed}`);
  const rig = await startReads(t, { seed, threads: 2 });
  await allAnswering(t, rig);
  const before = await rig.answered();
  for (let count = 0; count < 200; count++) rig.shard.flow.next();
  rig.shard.run();
  await rig.fail(0);
  assert.equal(rig.kept.length, 1);
  assert.equal(rig.kept[0]!.answered, before[0]);
  for (let count = 0; count < 200; count++) rig.shard.flow.next();
  rig.shard.run();
  await allAnswering(t, rig);
  const after = await rig.answered();
  assert.ok(after[0]! > before[0]!, 'the new thread answers, and the count goes on');
  const client = new Client(t, rig);
  const book = JSON.parse((await client.get(`/v1/orders/book/${READ_MARKETS[1]!.id}`)).text) as { sequence: number };
  assert.equal(book.sequence, rig.shard.views.markets.sequence(1));
});

test('a thread that cannot apply what its shard sends ends, and its successor answers', async (t) => {
  const rig = await startReads(t, { seed: seedOr(17), threads: 1 });
  await allAnswering(t, rig);
  rig.shard.spoilsNextState = true;
  await rig.fail(0);
  await eventually('the second failure', async () => rig.failures() === 2);
  await allAnswering(t, rig);
  assert.equal(rig.shard.spoilsNextState, false);
});

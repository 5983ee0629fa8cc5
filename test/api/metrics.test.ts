/** GET /metrics on a real server (RULES.md 10.9). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const NO_PROMTOOL =
  spawnSync('promtool', ['--version']).status !== 0 && 'promtool is not installed (Debian: the package prometheus)';

/** Requests of a busy machine that take as long are too few for the bound of the log. */
const SLOW_MS = 200;

type Samples = ReadonlyMap<string, number>;

function get(headers: Record<string, string> = {}, baseUrl = server.baseUrl): Promise<Response> {
  return fetch(`${baseUrl}/metrics`, { headers });
}

/** Values by name with labels, as they are written. */
async function scrape(): Promise<Samples> {
  const response = await get();
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

function sum(samples: Samples, name: string): number {
  let total = 0;
  for (const [sample, value] of samples) if (sample === name || sample.startsWith(`${name}{`)) total += value;
  return total;
}

/** Listens on the network, too, for the one test that comes from there. */
const server = await startServer(fileScope, {
  RATE_LIMITS: 'on',
  VERIFIER: 'noble',
  SLOW_REQUEST_MS: String(SLOW_MS),
  HOST: '0.0.0.0',
  TRUST_PROXY: '192.0.2.1',
  MASTER_KEY: 'file',
});

test('a request whose client went away before it was answered is counted as aborted', async () => {
  const sample = 'exchange_requests_total{method="POST",route="/v1/orders",status="aborted"}';
  const before = (await scrape()).get(sample) ?? 0;
  const { headers } = (await makeTrader(server)).client.prepareSigned('POST', '/v1/orders', {});
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  socket.end(`POST /v1/orders HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: 100\r\n\r\n{"market_id"`);
  await eventually('its count', async () => (await scrape()).get(sample) === before + 1);
  socket.destroy();
});

test('tells requests, limits, rings, lags, switches and the verifier', async () => {
  const market = await makeMarket(server);
  const alice = await makeTrader(server);
  await alice.place(market, { price: '0.40', size: '2' });
  await alice.place(market, { price: '0.41', size: '2' });
  assert.equal((await alice.post({})).status, 400);
  assert.equal((await alice.send('POST', '/v1/orders/heartbeat', {})).status, 200);
  assert.equal((await alice.send('POST', '/v1/orders/heartbeat', {})).status, 429);
  assert.equal((await server.request('GET', '/v1/nowhere')).status, 404);
  const samples = await scrape();
  const of = (name: string) => samples.get(name);
  assert.equal(of('exchange_requests_total{method="POST",route="/v1/orders",status="200"}'), 2);
  assert.equal(of('exchange_requests_total{method="POST",route="/v1/orders",status="400"}'), 1);
  assert.equal(of('exchange_requests_total{method="none",route="none",status="404"}'), 1);
  assert.equal(of('exchange_rate_limit_decisions_total{decision="quota_denied"}'), 1);
  assert.equal(of('exchange_rate_limit_decisions_total{decision="dependency_unavailable"}'), 0);
  assert.ok(of('exchange_rate_limit_decisions_total{decision="allowed"}')! >= 4);
  assert.ok(of('exchange_connections')! >= 1);
  assert.equal(of('exchange_heartbeat_switches_armed'), 1);
  assert.equal(of('exchange_heartbeat_switches_triggered_total'), 0);
  assert.deepEqual([of('exchange_ready'), of('exchange_paused'), of('exchange_disk_low')], [1, 0, 0]);
  for (const shard of [0, 1]) {
    assert.equal(of(`exchange_shard_ready{shard="${shard}"}`), 1);
    assert.equal(of(`exchange_verifier_info{shard="${shard}",verifier="noble"}`), 1);
    assert.equal(of(`exchange_journal_lag_commands{shard="${shard}"}`), 0);
    assert.ok(of(`exchange_command_ring_capacity_bytes{shard="${shard}"}`)! > 0);
    assert.ok(of(`exchange_command_ring_bytes{shard="${shard}"}`) !== undefined);
    assert.ok(of(`exchange_event_ring_bytes{shard="${shard}"}`) !== undefined);
  }
  assert.ok(sum(samples, 'exchange_journal_sequence') >= 4, 'a market, a deposit and two orders');
  assert.ok(of('process_resident_memory_bytes')! > 0);
  await eventually('the read model catches up', async () => {
    return sum(await scrape(), 'exchange_projector_lag_records') === 0;
  });
});

test('shards, queue, commits and stages are measured as orders go through them', async () => {
  const placed = 'method="POST",route="/v1/orders"';
  const ofBatches = ['batch_commands', 'batch_run_seconds', 'batch_publish_seconds', 'commit_seconds'];
  // A shard measures a batch after its answers have left.
  const samples = await eventually('each batch is measured whole', async () => {
    const now = await scrape();
    const counts = ofBatches.map((name) => sum(now, `exchange_${name}_count`));
    const isWhole = counts.every((count) => count >= 4 && count === counts[0]);
    return isWhole && sum(now, 'exchange_views_lag_records') === 0 && now;
  });
  for (const stage of ['receive', 'identify', 'validate', 'handle', 'answer']) {
    assert.ok(samples.get(`exchange_request_stage_seconds_count{${placed},stage="${stage}"}`)! >= 2, stage);
  }
  assert.ok(samples.get(`exchange_request_seconds_count{${placed}}`)! >= 3);
  assert.equal(sum(samples, 'exchange_open_orders'), 2);
  assert.ok(sum(samples, 'exchange_commit_seconds_sum') > 0);
  assert.ok(sum(samples, 'exchange_command_queue_seconds_count') >= 4);
  assert.ok(sum(samples, 'exchange_command_seconds_count') >= 4);
  assert.ok(samples.get('exchange_refusals_total{code="NOT_FOUND"}')! >= 1);
  assert.ok(samples.get('exchange_disk_free_bytes')! > 0);
  await eventually('the size of a file', async () => (await scrape()).get('exchange_file_bytes{file="read.db"}')! > 0);
  await eventually('the shards say how many signatures they checked', async () => {
    return sum(await scrape(), 'exchange_signature_checks_total') >= 2;
  });
});

test('a slow request is a line of the log, with the id of its answer and what each stage took (10.24)', async () => {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1').setEncoding('utf8');
  const path = '/v1/market-data/bbo?secret=in-the-path';
  await once(socket, 'connect');
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[`);
  // The rest of the body waits for the answers to other requests: longer than the threshold, from when it was received.
  await server.request('GET', '/health');
  const startedMs = performance.now();
  while (performance.now() - startedMs < 2 * SLOW_MS) await server.request('GET', '/health');
  socket.end(']');
  let text = '';
  for await (const chunk of socket) text += chunk;
  const [, id] = /\r\nx-request-id: ([0-9a-f]{16})\r\n/i.exec(text)!;
  await eventually('the line', async () => server.stdout.some((line) => line.includes(id)));
  const found = JSON.parse(server.stdout.find((line) => line.includes(id))!);
  assert.deepEqual(
    [found.msg, found.level, found.method, found.route],
    ['slow request', 'warn', 'POST', '/v1/market-data/bbo'],
  );
  assert.ok(found.took_ms >= SLOW_MS && found.stages_ms.receive > 0);
  assert.doesNotMatch(server.stdout.join(), /in-the-path/);
});

test('the memory of every thread, even of a blocked one, is reported, and that of the process by kind', {
  skip: process.platform !== 'linux' && 'kinds are those of Linux',
}, async () => {
  const THREADS = ['gateway', 'shard 0', 'projector', 'idempotency', 'spot checker', 'query'];
  const heap = (thread: string) => `exchange_thread_memory_bytes{thread="${thread}",kind="heap"}`;
  const samples = await eventually('an answer of every thread', async () => {
    const found = await scrape();
    return THREADS.every((thread) => (found.get(heap(thread)) ?? 0) > 1e6) && found;
  });
  for (const thread of THREADS) {
    const of = (kind: string) => samples.get(heap(thread).replace('heap', kind)) ?? -1;
    assert.ok(of('used') > 1e6 && of('used') <= of('heap') && of('external') > 0 && of('v8') > 0, thread);
  }
  const [resident, anonymous, file, shared, own] = ['resident', 'anonymous', 'file', 'shared', 'private'].map(
    (kind) => samples.get(`exchange_memory_bytes{kind="${kind}"}`) ?? -1,
  );
  assert.equal(resident, anonymous! + file! + shared!);
  assert.ok(
    own! > sum(samples, 'exchange_thread_memory_bytes{thread="shard 0",kind="used"}') && own! <= resident! * 1.5,
  );
});

test('promtool has nothing to say of the names and the text', { skip: NO_PROMTOOL }, async () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: await (await get()).text() });
  assert.deepEqual([status, String(stdout), String(stderr)], [0, '', '']);
});

test('counters only grow, and by the number of events', async () => {
  const name = 'exchange_requests_total{method="GET",route="/v1/time",status="200"}';
  const before = (await scrape()).get(name) ?? 0;
  for (let round = 1; round <= 3; round++) {
    await server.request('GET', '/v1/time');
    assert.equal((await scrape()).get(name), before + round);
  }
});

test('is for this machine, not for whom a proxy here speaks for, and for the administrator', async () => {
  for (let index = 0; index < 40; index++) assert.equal((await get()).status, 200, 'no limit here');
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
    const refused = await get({ [name]: '127.0.0.1' });
    assert.equal(refused.status, 401);
    assert.equal(((await refused.json()) as { error: string }).error, 'invalid admin token');
  }
  const authorization = `Bearer ${server.adminToken}`;
  assert.equal((await get({ 'x-forwarded-for': '9.9.9.9', authorization })).status, 200);
  assert.equal((await get({ 'x-forwarded-for': '9.9.9.9', authorization: 'Bearer wrong' })).status, 401);
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === 'IPv4' && !found.internal);

test('asks whoever comes over the network for the token', {
  skip: outside === undefined && 'no network',
}, async () => {
  const url = `http://${outside!.address}:${new URL(server.baseUrl).port}`;
  assert.equal((await get({}, url)).status, 401);
  assert.equal((await get({ authorization: `Bearer ${server.adminToken}` }, url)).status, 200);
});

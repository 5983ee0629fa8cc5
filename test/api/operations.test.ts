/** GET /admin/operations and the page at /ops on a real server (RULES.md 9.60). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALERTS } from '../../gateway/web/browser/ops/alerts.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await startServer(fileScope, { ADMIN_PORT: '0' });

test('a report has the values of the metrics, and the name and roles of the operator', async () => {
  const market = await makeMarket(server);
  const alice = await makeTrader(server);
  const before = await server.admin.operations();
  await alice.place(market, { price: '0.40', size: '2' });
  await alice.place(market, { price: '0.41', size: '2' });
  assert.equal((await alice.post({})).status, 400);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  // A shard measures a batch after its answers have left.
  const report = await eventually('the shards have measured both orders', async () => {
    const now = await server.admin.operations();
    const counted = (part: 'queue' | 'commit' | 'place'): number =>
      sum(now.shards.flatMap((shard) => shard[part].counts));
    return (['queue', 'commit', 'place'] as const).every((part) => counted(part) >= 2) && now;
  });
  assert.deepEqual(report.operator, { name: 'bootstrap', roles: ['superuser'] });
  assert.deepEqual([report.status, report.reason, report.paused, report.drills], ['ready', null, false, []]);
  assert.deepEqual([report.shards.length, report.shards.every(({ ready }) => ready)], [2, true]);
  assert.ok(report.time >= before.time && report.started === before.started && report.started <= before.time);
  const orders = report.routes.find(({ method, route }) => method === 'POST' && route === '/v1/orders')!;
  assert.equal(sum(orders.counts), 3);
  assert.ok(orders.sum > 0 && orders.counts.length === report.bounds_seconds.length + 1);
  assert.equal(sum(report.shards.map((shard) => shard.open_orders)), 2);
  assert.equal(sum(report.shards.map(({ batch }) => batch.counts.length)), 2 * (report.bounds_commands.length + 1));
  assert.deepEqual(report.refusals, [{ code: 'VALIDATION_ERROR', count: 1 }]);
  assert.equal(report.disk.growth_bytes_per_day, null, 'it is known after half an hour');
  assert.ok(report.disk.free_bytes > 0 && report.memory_bytes > 0 && report.event_loop.idle_seconds > 0);
  await eventually('the sizes of files', async () => {
    return (await server.admin.operations()).disk.files.some(({ name, bytes }) => name === 'read.db' && bytes > 0);
  });
});

test('every role may read it, with the token alone; a pause and waiting changes are in it', async () => {
  const { token } = await server.admin.createOperator({ name: 'vera', roles: ['viewer'] });
  const ask = async (authorization?: string): Promise<[number, string | undefined]> => {
    const headers = new Headers(authorization === undefined ? {} : { authorization });
    const response = await fetch(`${server.adminUrl}/admin/operations`, { headers });
    const body = (await response.json()) as { error?: string };
    return [response.status, body.error];
  };
  assert.deepEqual(await ask(`Bearer ${token}`), [200, undefined]);
  assert.deepEqual(await ask('Bearer wrong'), [401, 'invalid admin token']);
  assert.deepEqual(await ask(), [401, 'invalid admin token']);
  await server.admin.pause();
  const large = { amount_usdc_micro: '20000000000', reference: 'large' };
  await server.admin.createOperator({ name: 'tom', roles: ['treasury'] });
  const { id } = await server.admin.createUser({});
  await assert.rejects(server.admin.withdraw(id, large), /waits for the approval/);
  const report = await server.admin.operations();
  await server.admin.resume();
  assert.deepEqual([report.paused, report.approvals_pending], [true, 1]);
});

test('an account is found by its wallet, in any case of its letters (9.16)', async () => {
  const wallet = `0x${'ab'.repeat(20)}`;
  const { id } = await server.admin.createUser({ wallet_address: wallet });
  const found = async (asked: string) => (await server.admin.listUsers({ wallet: asked })).users.map((user) => user.id);
  assert.deepEqual(await found(wallet), [id]);
  assert.deepEqual(await found(`0x${'AB'.repeat(20)}`), [id]);
  assert.deepEqual(await found(`0x${'cd'.repeat(20)}`), []);
  await assert.rejects(found('0x12'), /invalid wallet/);
});

test('the page and its runbooks are where administrators reach their routes, under a strict policy', async () => {
  assert.equal((await server.request('GET', '/ops')).status, 404);
  const document = await fetch(`${server.adminUrl}/ops`);
  assert.equal(document.status, 200);
  assert.match(document.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self' 'sha256-/);
  const html = await document.text();
  const paths = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((found) => found[1]);
  assert.ok(paths.some((path) => path!.startsWith('/assets/ops.')) && html.includes('gateway/web/browser/ops/main.ts'));
  for (const path of paths) assert.equal((await fetch(server.adminUrl + path)).status, 200, path);
  // Its runbooks are read at the same port: an operator may reach no other one.
  const runbooks = await (await fetch(`${server.adminUrl}/docs/incidents`)).text();
  const missing = Object.entries(ALERTS).filter(([, { runbook }]) => !runbooks.includes(` id="${runbook}"`));
  assert.deepEqual(missing, []);
});

/**
 * An exchange whose markets are divided among another number of shards: every account sees what it saw, nothing that
 * was refused is accepted, and it trades on. The command may be killed between any two of its steps, and at any moment.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { reshard } from '../../engine/admin/reshard.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { assertWhole, runAdminHere } from '../support/adminProgram.ts';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { fileScope } from '../support/fileScope.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr } from '../support/seeds.ts';
import { type Json, startServer, type TestServer } from '../support/server.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const MARKETS = 5;
const NOW_MS = Date.now();
const SEED = seedOr(56);
const KILLS = 4;
const READS = [
  '/v1/user/balances',
  '/v1/user/positions',
  '/v1/user/orders',
  '/v1/user/orders/v2',
  '/v1/user/trades',
  '/v1/user/fund-movements',
  '/v1/user/activity',
  '/v1/user/order-groups',
];

/** Reads what an account can, and leaves out the age of each answer. */
async function readBy(trader: Trader): Promise<Json> {
  const answers: Json = {};
  for (const path of [...READS, ...markets.map(({ id }) => `/v1/orders/open/${id}`)]) {
    const { status, body } = await trader.send('GET', path);
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    answers[path] = JSON.parse(JSON.stringify(body, (name, value) => (UNSTABLE.has(name) ? undefined : value)));
  }
  return answers;
}

const UNSTABLE: ReadonlySet<string> = new Set([
  'as_of',
  'as_of_ms',
  'timestamp',
  'generated_at',
  'next_cursor',
  'cursor',
]);

async function booksOf(server: TestServer, markets: readonly OrderMarket[]): Promise<Json> {
  const books: Json = {};
  for (const { id } of markets) {
    const { body } = await server.request('GET', `/v1/orders/book/${id}?l3=true`);
    books[id] = [body.bids, body.asks];
  }
  return books;
}

async function admin(directory: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runAdminHere([...args, '--data', directory], {});
  assert.equal(status, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

/** In each market orders rest on both sides, one is filled in part and one is cancelled. */
const hashes = new Map<string, string>();

async function trade(alice: Trader, bob: Trader, markets: readonly OrderMarket[], salt: string): Promise<void> {
  for (const [index, market] of markets.entries()) {
    const resting = alice.body(market, { price: '0.40', size: '5' }, { client_order_id: `${salt}-${index}` });
    const placed = await alice.post(resting);
    assert.equal(placed.status, 200);
    hashes.set(resting.client_order_id!, placed.body.order_hash);
    await alice.place(market, { price: '0.39', size: '2' });
    await bob.place(market, { price: '0.60', size: '2', outcomeIndex: 1 });
    await bob.place(market, { price: '0.30', size: '3', outcomeIndex: 1 });
    const gone = await bob.place(market, { price: '0.10', size: '3' });
    assert.equal((await bob.send('DELETE', `/v1/orders/${gone.order_hash}`)).status, 200);
  }
}

/** A split with this key: it must be carried out once. */
async function split(trader: Trader, key: string): Promise<string> {
  const path = `/v1/markets/${markets[0]!.id}/split`;
  const { headers, body } = trader.client.prepareSigned('POST', path, { amount: '3000000' });
  const all = { ...headers, 'idempotency-key': key, 'content-type': 'application/json' };
  const answer = await fetch(server.baseUrl + path, { method: 'POST', headers: all, body });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text;
}

/** As a kill leaves them that comes between the commit of a journal and the answers. */
function loseAnswers(): void {
  const db = new Database(join(server.dataDir, 'idempotency.db'));
  db.exec('DELETE FROM answers; UPDATE settled SET settled_ms = 0');
  db.close();
}

/** A copy of the directory of the exchange, which has ended. */
function copy(): string {
  const directory = join(temporaryDirectory(), 'copy');
  cpSync(server.dataDir, directory, { recursive: true });
  return directory;
}

const server = await startServer(fileScope, { SHARDS: '2' });
const markets: OrderMarket[] = [];
for (let index = 0; index < MARKETS; index++) markets.push(await makeMarket(server));
const alice = await makeTrader(server);
const bob = await makeTrader(server);
const repeated = alice.body(markets[0]!, { price: '0.05', size: '1' });
assert.equal((await alice.post(repeated)).status, 200);
await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: markets[0]!.id });
await trade(alice, bob, markets, 'first');
const splitKey = randomUUID();
await split(alice, splitKey);

test('an exchange goes on with three shards, and then with one, as it was', async () => {
  for (const shards of ['3', '1']) {
    const before = [await readBy(alice.reconnected()), await readBy(bob.reconnected()), await booksOf(server, markets)];
    if (shards === '3') {
      await server.kill();
      loseAnswers();
    } else await server.stop();
    await admin(server.dataDir, 'reshard', shards);
    await assertWhole(server.dataDir);
    await server.start({ SHARDS: shards });
    const [a, b] = [alice.reconnected(), bob.reconnected()];
    await split(a, splitKey);
    assert.deepEqual([await readBy(a), await readBy(b), await booksOf(server, markets)], before);
    assert.equal((await a.post(repeated)).body.error, 'duplicate order');
    if (shards === '1') assert.equal((await a.send('DELETE', `/v1/orders/${hashes.get('first-2')}`)).status, 200);
    await trade(a, b, markets, `of-${shards}`);
    await assertBalanced(server);
  }
  await server.stop();
  await assertWhole(server.dataDir);
});

test('backups go on over a cut, and each restores the exchange of its time', async () => {
  await server.stop();
  const directory = copy();
  const folder = join(temporaryDirectory(), 'backups');
  const backUp = async (): Promise<string> => /^point (\S+):/m.exec(await admin(directory, 'backup', folder))![1]!;
  const points: string[] = [];
  const counts = [1, 3, 1];
  for (const [at, shards] of counts.entries()) {
    if (at > 0) await admin(directory, 'reshard', String(shards));
    points.push(await backUp());
  }
  for (const [at, shards] of counts.entries()) {
    const restored = join(temporaryDirectory(), `restored-${at}`);
    await admin(restored, 'restore', folder, '--point', points[at]!);
    await assertWhole(restored);
    const journals = readdirSync(restored).filter((name) => /^journal-\d+\.db$/.test(name));
    assert.equal(journals.length, shards, points[at]);
  }
  await admin(directory, 'backups', 'drill', folder);
});

test('a command that ends between two steps leaves the old exchange or the new one, and can be repeated', async () => {
  const steps: string[] = [];
  await reshard(
    copy(),
    3,
    () => undefined,
    NOW_MS,
    (name) => void steps.push(name),
  );
  const placed = steps.filter((name) => name.startsWith('placed'));
  for (const last of steps) {
    // Of the files that get their names the first, one and the last.
    if (placed.includes(last) && ![0, 3, placed.length - 1].includes(placed.indexOf(last))) continue;
    const directory = copy();
    const end = (name: string): void => {
      if (name === last) throw new Error(`ends at ${name}`);
    };
    await assert.rejects(
      reshard(directory, 3, () => undefined, NOW_MS, end),
      /ends at/,
    );
    const { stderr } = await runAdminHere(['journal', 'verify', '--data', directory], {});
    const isNew = stderr.includes('a reshard was interrupted');
    assert.equal(isNew, steps.indexOf(last) >= steps.indexOf('planned'), last);
    await reshard(directory, 3, () => undefined, NOW_MS);
    await assertWhole(directory);
  }
});

test(`a command that is killed at any moment leaves the old exchange or the new one (SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const program = [...argumentsOfNode(), 'engine/admin/main.ts', 'reshard', '3', '--data'];
  const run = (directory: string) => spawn(process.execPath, [...program, directory], { stdio: 'ignore' });
  const whole = copy();
  const startedMs = performance.now();
  assert.deepEqual(await once(run(whole), 'exit'), [0, null]);
  const tookMs = performance.now() - startedMs;
  await assertWhole(whole);
  for (let kill = 0; kill < KILLS; kill++) {
    const directory = copy();
    const child = run(directory);
    const ended = once(child, 'exit');
    await Promise.race([sleep(tookMs * random()), ended]);
    child.kill('SIGKILL');
    await ended;
    const { status, stderr } = await runAdminHere(['reshard', '3', '--data', directory], {});
    if (status !== 0) assert.match(stderr, /has 3 shards already/, 'it had ended');
    await assertWhole(directory);
  }
});

test('what settles on a chain, and what is of a cluster, is refused by name and stays as it is', async () => {
  const settling = copy();
  writeFileSync(join(settling, 'settlement.db'), '');
  const member = copy();
  const db = new Database(join(member, 'control.db'));
  db.exec('CREATE TABLE record_end (one INTEGER)');
  db.close();
  const expected = [/settles on a chain/, /is of a member of a cluster/];
  for (const [at, directory] of [settling, member].entries()) {
    const { status, stderr } = await runAdminHere(['reshard', '3', '--data', directory], {});
    assert.equal(status, 1);
    assert.match(stderr, expected[at]!);
  }
  for (const argument of ['0', '65', '1', 'two']) {
    const { status, stderr } = await runAdminHere(['reshard', argument, '--data', settling], {});
    assert.notEqual(status, 0);
    assert.match(stderr, /from 1 on|1 to 64 shards|has 1 shards already/, argument);
  }
});

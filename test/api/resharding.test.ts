/**
 * An exchange whose markets are divided among another number of shards: every account sees what it saw, nothing that
 * was refused is accepted, and it trades on. The command may be killed between any two of its steps.
 */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { reshard } from '../../engine/admin/reshard.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { assertWhole, runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Json, startServer, type TestServer } from '../support/server.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const MARKETS = 5;
const NOW_MS = Date.now();
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

const server = await startServer(fileScope, { SHARDS: '2' });
const markets: OrderMarket[] = [];
for (let index = 0; index < MARKETS; index++) markets.push(await makeMarket(server));
const alice = await makeTrader(server);
const bob = await makeTrader(server);
const repeated = alice.body(markets[0]!, { price: '0.05', size: '1' });
assert.equal((await alice.post(repeated)).status, 200);
await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: markets[0]!.id });
await trade(alice, bob, markets, 'first');

test('an exchange goes on with three shards, and then with one, as it was', async () => {
  for (const shards of ['3', '1']) {
    const before = [await readBy(alice.reconnected()), await readBy(bob.reconnected()), await booksOf(server, markets)];
    await server.stop();
    await admin(server.dataDir, 'reshard', shards);
    await assertWhole(server.dataDir);
    await server.start({ SHARDS: shards });
    const [a, b] = [alice.reconnected(), bob.reconnected()];
    assert.deepEqual([await readBy(a), await readBy(b), await booksOf(server, markets)], before);
    assert.equal((await a.post(repeated)).body.error, 'duplicate order');
    if (shards === '1') assert.equal((await a.send('DELETE', `/v1/orders/${hashes.get('first-2')}`)).status, 200);
    await trade(a, b, markets, `of-${shards}`);
    await assertBalanced(server);
  }
  await server.stop();
  await assertWhole(server.dataDir);
});

test('a command that ends between two steps leaves the old exchange or the new one, and can be repeated', async () => {
  const steps: string[] = [];
  const copy = (): string => {
    const directory = join(temporaryDirectory(), 'copy');
    cpSync(server.dataDir, directory, { recursive: true });
    return directory;
  };
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

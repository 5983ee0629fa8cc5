/**
 * Disasters of a whole cluster: its log is lost, restored from an older state, or taken over by a server that lags, and
 * a directory becomes the first of another cluster. Each acknowledged order is there afterwards, or each start is
 * refused and says what the log lacks, over any number of starts (RULES.md 18.22, 18.23).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/disasters.test.ts
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { examine } from '../../engine/admin/clusterDoctor.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import type { Scope } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes minutes';
const options = { skip: NO_POSTGRES || IS_LONG };
/** This many of the 40 orders are there before a fault begins. */
const BEFORE = 20;
const ORDERS = 40;
/** Refused starts, one after the other, like a supervisor's. */
const STARTS = 2;

type Postgres = Awaited<ReturnType<typeof startPostgres>>;
type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];
type Trading = {
  readonly market: Awaited<ReturnType<typeof makeMarket>>;
  readonly place: (count: number) => Promise<void>;
};

async function traded(cluster: Cluster): Promise<Trading> {
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster);
  const place = async (count: number): Promise<void> => {
    for (let order = 0; order < count; order++) await trader.place(market, { price: '0.20', size: '1' });
  };
  await place(BEFORE);
  return { market, place };
}

async function assertAllAt(members: readonly Member[], { market }: Trading): Promise<void> {
  for (const member of members) {
    await eventually(`${ORDERS} orders at member ${member.name}`, async () => {
      const { body } = await member.request('GET', `/v1/orders/book/${market.id}`);
      return body.bids?.[0]?.num_orders === ORDERS;
    });
  }
}

/** A start that is refused ends the process with one line, and so does the next one. */
async function assertRefused(member: Member, reason: RegExp, starts = STARTS): Promise<void> {
  for (let start = 0; start < starts; start++) {
    const before = member.stderr.length;
    await assert.rejects(member.begin(), /the server ended with code 1/);
    assert.match(member.stderr.slice(before).join('\n'), reason);
  }
}

async function admin(member: Member, args: readonly string[]) {
  // Records are checked with the key of the process.
  process.env['MASTER_KEY'] = member.env['MASTER_KEY']!;
  try {
    return await runAdminHere(args, { ...member.env, DATA_DIR: member.dataDir });
  } finally {
    delete process.env['MASTER_KEY'];
  }
}

/** The founder is compared with what all others have written down, and the log goes on from it. */
async function decide(command: 'found' | 'refill', founder: Member, reason: RegExp, lost: readonly string[] = []) {
  await assertRefused(founder, reason, 1);
  const without = lost.flatMap((name) => ['--without', name]);
  const { status, stdout, stderr } = await admin(founder, ['cluster', command, founder.name, ...without]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`the log goes on from what ${founder.name} has`));
}

/** Each leads in its turn, with everything. */
async function assertWhole(cluster: Cluster, founder: Member, trading: Trading): Promise<void> {
  const [other] = cluster.members.filter((member) => member !== founder);
  await founder.begin();
  await cluster.awaitLeader([founder]);
  await assertAllAt([founder], trading);
  await other!.begin();
  await cluster.awaitStandby(other!);
  await assertAllAt([other!], trading);
  await founder.kill();
  await cluster.awaitLeader([other!]);
  await assertAllAt([other!], trading);
  await cluster.rejoin(founder);
  await assertAllAt([founder], trading);
}

async function killAll(cluster: Cluster): Promise<void> {
  await Promise.all(cluster.members.map((member) => member.kill()));
}

test('a new database under another name: no member founds it, until an operator does', options, async (t) => {
  const { postgres, cluster, trading } = await startAll(t);
  await trading.place(ORDERS - BEFORE);
  await killAll(cluster);
  const [a, b] = cluster.members as [Member, Member];
  const fresh = { JOURNAL_URL: await postgres.database(), CLUSTER_NAME: 'another' };
  for (const member of [a, b]) Object.assign(member.env, fresh);
  const reason = /those of another log: .* the database has no log yet under this name/;
  await assertRefused(a, reason);
  const early = await admin(a, ['cluster', 'found', 'a']);
  assert.match(early.stderr, /b has not reported what it has/);
  await assertRefused(b, reason);
  assert.match(
    (await admin(a, ['cluster', 'found', 'a'])).stderr,
    /start a once more, which is refused and compares them/,
  );
  await decide('found', a, reason);
  await assertWhole(cluster, a, trading);
});

for (const end of ['killed', 'stopped'] as const) {
  test(`the database is restored from a backup, the members were ${end}: no row is set aside`, options, async (t) => {
    const { postgres, cluster, trading } = await startAll(t);
    const backup = await postgres.backUp();
    await trading.place(ORDERS - BEFORE);
    const [a, b] = cluster.members as [Member, Member];
    if (end === 'killed') await killAll(cluster);
    else for (const member of [b, a]) assert.equal(await member.stop(), 0);
    await postgres.restore(backup);
    const reason = /the log does not have: .*shard \d, records \d+ to \d+ \(held before; \d+ orders/;
    await assertRefused(a, reason);
    await assertRefused(b, reason);
    await decide('refill', a, reason);
    await assertWhole(cluster, a, trading);
  });
}

test('a server that lags is promoted: its members stay refused, until an operator decides', options, async (t) => {
  const { postgres, cluster, trading } = await startAll(t);
  const { s1, s2 } = postgres.nodes;
  // Hanging is not enough: data sent to it would be read when it goes on.
  await s2.stop('SIGKILL');
  await trading.place(ORDERS - BEFORE);
  const [a, b] = cluster.members as [Member, Member];
  await assertAllAt([b], trading);
  b.mayEnd();
  await a.kill();
  await Promise.all([postgres.primary.stop('SIGKILL'), s1.stop('SIGKILL')]);
  await s2.start();
  await postgres.promote(false);
  await postgres.rejoin(s1);
  await b.expectEnd();
  const reason = /the log does not have: .*held before; \d+ orders/;
  await assertRefused(b, reason);
  await assertRefused(a, reason);
  await decide('refill', b, reason);
  await assertWhole(cluster, b, trading);
});

test('a backup of a data directory becomes the first member of a new cluster, by an operator', options, async (t) => {
  const { postgres, cluster, trading } = await startAll(t);
  await trading.place(ORDERS - BEFORE);
  for (const member of cluster.members.toReversed()) assert.equal(await member.stop(), 0);
  const [a] = cluster.members as [Member, Member];
  const backup = temporaryDirectory();
  cpSync(a.dataDir, backup, { recursive: true });
  const fresh = { JOURNAL_URL: await postgres.database(), CLUSTER_NAME: 'another' };
  for (const member of cluster.members) Object.assign(member.env, fresh);
  const reason = /those of another log/;
  const c = await cluster.addMember('c', backup);
  await assertRefused(c, reason);
  assert.match(
    (await admin(c, ['cluster', 'found', 'c'])).stderr,
    /a has not reported what it has.*\n.*b has not reported/,
  );
  await decide('found', c, reason, ['a', 'b']);
  await c.begin();
  await cluster.awaitLeader([c]);
  await assertAllAt([c], trading);
  await assertRefused(a, reason);
  const d = await cluster.addMember('d', temporaryDirectory());
  await d.begin();
  await cluster.awaitStandby(d);
  await assertAllAt([d], trading);
});

test(
  'an operator accepts a loss: every order, cancel and payment of it is listed and counted first',
  options,
  async (t) => {
    const { postgres, cluster, trading } = await startAll(t);
    const [a, b] = cluster.members as [Member, Member];
    const backup = await postgres.backUp();
    b.mayEnd();
    await b.kill();
    const orders = await laterOf(cluster, trading);
    await a.kill();
    await postgres.restore(backup);
    // It has seen no more than the log has, and leads once the operator has given up the other one.
    await b.begin();
    await eventually('the word of an operator', async () => (await admin(b, ['cluster', 'leave', 'a'])).status === 0);
    await cluster.awaitLeader([b]);
    const [market, next] = [await makeMarket(cluster), await makeTrader(cluster)];
    await next.place(market, { price: '0.30', size: '1' });
    const reason = /the log does not have: .*held before; \d+ orders, \d+ cancels, \d+ payments/;
    await assertRefused(a, reason);
    const { lines, isWell } = await examine({ ...b.env }, systemClock);
    assert.equal(isWell, false);
    assert.match(lines.join('\n'), /^wrong {2}member a was refused \d+ s ago: refused: the log ends at position/m);

    const files = filesIn(a.dataDir);
    const asked = await admin(a, ['cluster', 'accept-loss']);
    assert.equal(asked.status, 0, asked.stderr);
    const [, count, path] = /^(\d+) in all are in (.*)$/m.exec(asked.stdout) ?? [];
    const listed = readFileSync(path!, 'utf8').trimEnd().split('\n');
    assert.equal(listed.length, Number(count));
    const records = listed.map((line) => JSON.parse(line) as Record<string, unknown>);
    const text = listed.join('\n');
    for (const hash of orders) assert.ok(text.includes(hash), `order ${hash} is listed`);
    const ofKind = (kind: string) => records.filter(({ name }) => name === kind);
    assert.deepEqual([ofKind('PLACE').length, ofKind('CANCEL').length], [orders.length, 1]);
    // The first money of the account, and then the deposit and the withdrawal.
    assert.deepEqual(
      ofKind('FUNDS')
        .map(({ amountMicro }) => amountMicro)
        .slice(-2),
      [5_000_000, 1_000_000],
    );
    const sequences = records
      .filter(({ shard }) => shard === records[0]!['shard'])
      .map(({ sequence }) => Number(sequence));
    assert.deepEqual(
      sequences,
      sequences.toSorted((x, y) => x - y),
      'in the order in which they were made',
    );
    const wrong = await admin(a, ['cluster', 'accept-loss', '--count', String(Number(count) + 1)]);
    assert.notEqual(wrong.status, 0);
    assert.match(wrong.stderr, new RegExp(`not ${Number(count) + 1}: nothing was given up`));
    assert.deepEqual(filesIn(a.dataDir), files, 'a wrong number changes nothing');
    await assertRefused(a, reason, 1);

    const given = await admin(a, ['cluster', 'accept-loss', '--count', count!]);
    assert.equal(given.status, 0, given.stderr);
    assert.match(given.stdout, /the files of this member are in .*left-.*: its next start joins with a copy/);
    await a.begin();
    await cluster.awaitStandby(a);
    await eventually('what the log has, at the member that joined', async () => {
      const { body } = await a.request('GET', `/v1/orders/book/${market.id}`);
      return body.bids?.[0]?.num_orders === 1;
    });
  },
);

/** Orders, a cancel, a deposit and a withdrawal that only one member and the log have. */
async function laterOf(cluster: Cluster, { market }: Trading): Promise<string[]> {
  const trader = await makeTrader(cluster);
  const placed = [];
  for (let order = 0; order < 3; order++) placed.push(await trader.place(market, { price: '0.25', size: '1' }));
  const orders = placed.map(({ order_hash: hash }) => hash);
  await trader.client.cancelOrder(orders[0]!);
  await cluster.admin.deposit(trader.userId, { amount_usdc_micro: '5000000', reference: 'later deposit' });
  await cluster.admin.withdraw(trader.userId, { amount_usdc_micro: '1000000', reference: 'later withdrawal' });
  return orders;
}

/** A hash of each file of a member, except lists of losses. */
function filesIn(directory: string): Record<string, string> {
  const names = readdirSync(directory).filter((name) => !name.startsWith('accepted-loss-'));
  const files = names.map((name) => join(directory, name)).filter((path) => statSync(path).isFile());
  return Object.fromEntries(files.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]));
}

async function startAll(t: Scope): Promise<{ postgres: Postgres; cluster: Cluster; trading: Trading }> {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
  return { postgres, cluster, trading: await traded(cluster) };
}

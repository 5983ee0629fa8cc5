/**
 * Disasters of a whole cluster: its log is lost, restored from an older state, or taken over by a server that lags, and
 * a directory becomes the first of another cluster. Each acknowledged order is there afterwards, or each start is
 * refused and says what the log lacks, over any number of starts (RULES.md 18.22, 18.23).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/disasters.test.ts
 */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { test } from 'node:test';
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
/** Of the 40 orders so many are there before a fault begins. */
const BEFORE = 20;
const ORDERS = 40;
/** Starts that are refused, one after the other, as those of a supervisor. */
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
  return runAdminHere(args, { ...member.env, DATA_DIR: member.dataDir });
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
  // Not only hung: what was sent to it would be read when it goes on.
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

async function startAll(t: Scope): Promise<{ postgres: Postgres; cluster: Cluster; trading: Trading }> {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
  return { postgres, cluster, trading: await traded(cluster) };
}

/**
 * Backups of members of a cluster, made beside running ones: of a standby and of the leader. One that is restored as it
 * was is a member that was away; one that goes back in time is refused by the log that goes on, and founds another one
 * (RULES.md 10.27, 10.30, 18.22).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/backups.test.ts
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertWhole, runAdminHere } from '../support/adminProgram.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it takes minutes';
const options = { skip: NO_POSTGRES || IS_LONG };
const BEFORE = 20;
const ORDERS = 40;

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];

async function admin(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { status, stdout, stderr } = await runAdminHere(args, env);
  assert.equal(status, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

function assertOrders(member: Member, market: string, count: number): Promise<unknown> {
  return eventually(`${count} orders at member ${member.name}`, async () => {
    const { body } = await member.request('GET', `/v1/orders/book/${market}`);
    return body.bids?.[0]?.num_orders === count;
  });
}

async function refusal(member: Member): Promise<string> {
  const before = member.stderr.length;
  await assert.rejects(member.begin(), /the server ended with code/);
  return member.stderr.slice(before).join('\n');
}

test('members are backed up beside the others, and restored as what they were', options, async (t) => {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() });
  const market = await makeMarket(cluster);
  const trader = await makeTrader(cluster);
  const place = async (count: number): Promise<void> => {
    for (let order = 0; order < count; order++) await trader.place(market, { price: '0.20', size: '1' });
  };
  await place(BEFORE);
  const folder = temporaryDirectory();
  const masterKey = cluster.leader.env['MASTER_KEY']!;
  process.env['MASTER_KEY'] = masterKey;
  t.after(() => delete process.env['MASTER_KEY']);
  const [leader, standby] = cluster.members as [Member, Member];
  assert.equal(cluster.leader, leader);
  for (const member of [leader, standby]) {
    await admin(['backup', join(folder, member.name), '--data', member.dataDir, '--rate', '0']);
    await admin(['backups', 'drill', join(folder, member.name), '--data', member.dataDir]);
  }
  await place(ORDERS - BEFORE);

  for (const [name, of] of [
    ['c', leader],
    ['d', standby],
  ] as const) {
    const away = await cluster.addMember(name, join(folder, `as-${name}`));
    await admin(['restore', join(folder, of.name), '--data', away.dataDir, '--as-it-was']);
    await away.begin();
    await cluster.awaitStandby(away);
    await assertOrders(away, market.id, ORDERS);
    assert.equal(await away.stop(), 0);
  }

  const back = await cluster.addMember('e', join(folder, 'as-e'));
  await admin(['restore', join(folder, standby.name), '--data', back.dataDir]);
  assert.match(
    await refusal(back),
    /refused: the log ends at .* the log does not have: shard \d, records .* An operator/,
  );
  await place(1);
  await assertOrders(standby, market.id, ORDERS + 1);

  await Promise.all(cluster.members.filter(({ isRunning }) => isRunning).map((member) => member.kill()));
  const fresh = { JOURNAL_URL: await postgres.database(), CLUSTER_NAME: 'another' };
  for (const member of cluster.members) Object.assign(member.env, fresh);
  assert.match(await refusal(back), /those of another log/);
  const lost = ['a', 'b'].flatMap((name) => ['--without', name]);
  await admin(['cluster', 'found', 'e', ...lost, '--data', back.dataDir], back.env);
  await back.begin();
  await cluster.awaitLeader([back]);
  await assertOrders(back, market.id, BEFORE);
  await back.admin.resume();
  const other = await cluster.addMember('f', temporaryDirectory());
  await other.begin();
  await cluster.awaitStandby(other);
  await trader.on(back).place(market, { price: '0.20', size: '1' });
  await assertOrders(other, market.id, BEFORE + 1);
  await back.kill();
  await cluster.awaitLeader([other]);
  await trader.on(other).place(market, { price: '0.20', size: '1' });
  const { body } = await other.request('GET', `/v1/orders/book/${market.id}`);
  assert.ok(body.sequence > 2 ** 50, `frame ${body.sequence} is above the floor`);
  assert.equal(await other.stop(), 0);
  await assertWhole(other.dataDir, masterKey);
});

/**
 * Clients with the addresses of all members, over a takeover of real processes: sessions of wallets, and pmx
 * (RULES.md 18.5, 18.7).
 *
 *     SOAK=on node shared/run.mjs --test test/cluster/clients.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeClient, signInWithWallet } from '../../shared/client/index.ts';
import { startCluster } from '../support/cluster.ts';
import { Pmx } from '../support/pmx.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { timesOf } from '../support/seeds.ts';
import { makeMarket } from '../support/traders.ts';

const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: it starts two processes';
const KEY = `0x${'5e'.repeat(32)}` as const;

test('a session and pmx with several addresses go on at the next leader', {
  skip: NO_POSTGRES || IS_LONG,
}, async (t) => {
  const cluster = await startCluster(t, ['a', 'b']);
  const market = await makeMarket(cluster);
  const [standby] = cluster.standbys;
  const addresses = [standby!.baseUrl, cluster.leader.baseUrl];
  const session = await signInWithWallet({ baseUrl: addresses, wallet: KEY });
  const client = new ExchangeClient({ baseUrl: addresses, session });
  const { id } = await client.account.profile();

  const pmx = new Pmx({});
  const url = ['--url', addresses.join(',')];
  const entered = await pmx.run(['login', ...url], { env: { PRIVATE_KEY: KEY } });
  assert.equal(entered.code, 0, entered.err);
  const before = await pmx.run(['whoami', '--json', ...url]);
  assert.equal(before.code, 0, before.err);
  assert.ok(before.out.includes(id), before.out);

  await cluster.leader.kill();
  const found = await pmx.run(['markets', 'show', market.id, ...url]);
  assert.equal(found.code, 0, found.err);
  await cluster.awaitLeader([standby!]);
  assert.ok((await session.ticket()).length > 0, 'the next leader opens sockets for the session');
  assert.equal((await client.account.profile()).id, id);
  const after = await pmx.run(['whoami', '--json', ...url]);
  assert.equal(after.code, 0, after.err);
  assert.ok(after.out.includes(id), after.out);
  await session.signOut();
  const left = await pmx.run(['logout', ...url]);
  assert.equal(left.code, 0, left.err);
});

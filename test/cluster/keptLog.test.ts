/**
 * The log and the members of a cluster that an earlier version left (test/vectors/upgrade, test/upgrade/makeLog.ts) go
 * on in this version, and go through two versions that are to come (test/support/inventedVersions.ts): the older one
 * may lead until the cluster is raised, and is refused in a line from then on.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { raiseFormats } from '../../engine/admin/cluster.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { startCluster } from '../support/cluster.ts';
import { nextRules } from '../support/inventedVersions.ts';
import { sharedPostgres, NO_POSTGRES as skip } from '../support/postgres.ts';
import { PROGRAMS } from '../support/postgresFiles.ts';
import { ROOT } from '../support/server.ts';
import { Trader } from '../support/traders.ts';
import { changes, folderOf, releases, unpacked } from '../upgrade/releases.ts';

const LOG = 'log.sql.gz';

for (const release of releases().filter((each) => existsSync(join(folderOf(each), 'cluster', LOG)))) {
  test(`the cluster of ${release} goes on, and through a new field and a new rule`, { skip }, async (t) => {
    const folder = join(folderOf(release), 'cluster');
    const url = await (await sharedPostgres()).database();
    const input = gunzipSync(readFileSync(join(folder, LOG)));
    const psql = ['--quiet', '--set=ON_ERROR_STOP=1', `--dbname=${url}`];
    execFileSync(join(PROGRAMS!, 'psql'), psql, { input, stdio: ['pipe', 'ignore', 'inherit'] });
    const { answers, marketId, userId, privateKey, ...credentials } = JSON.parse(
      readFileSync(join(folder, 'answers.json'), 'utf8'),
    );
    const directories = { a: unpacked(release, 'cluster/a'), b: unpacked(release, 'cluster/b') };
    const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url }, {}, directories);
    const [a, b] = [cluster.leader, cluster.standbys[0]!];
    const domain = await new Trader(cluster, '', null as never, credentials).client.signingDomain();
    const trader = new Trader(cluster, userId, new OrderSigner(privateKey, domain), credentials);
    for (const { path, body } of answers) {
      assert.deepEqual(changes(body, (await trader.send('GET', path)).body), [], path);
    }
    const trade = async (): Promise<void> => {
      const now = trader.reconnected();
      const market = await now.client.orderMarket(marketId);
      const { order_hash } = await now.place(market, { side: 'BUY', price: '0.2', size: '5' });
      await now.client.cancelOrder(order_hash);
    };
    /** The leader dies, and begins anew as a standby, in another version if one is given. */
    const takeOver = async (from: typeof a, to: typeof a, project = from.project): Promise<void> => {
      await trade();
      await from.kill();
      await cluster.awaitLeader([to]);
      await trade();
      from.project = project;
      await cluster.rejoin(from);
    };

    const next = nextRules().root;
    await takeOver(a, b, next);
    await takeOver(b, a, ROOT);
    await takeOver(a, b, next);
    await takeOver(b, a, next);
    await raiseFormats({ JOURNAL_URL: url });
    await takeOver(a, b);
    await a.stop();
    a.project = ROOT;
    await assert.rejects(a.begin(), /this version does not read what the cluster writes: .*engine \d+ \(\d+ at most\)/);
    a.project = next;
    await cluster.rejoin(a);
    await takeOver(b, a);
  });
}

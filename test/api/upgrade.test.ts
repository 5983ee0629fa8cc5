/**
 * Data directories of earlier versions open in this one: test/vectors/upgrade has one of each release, made by its own
 * code (test/upgrade/make.ts), with its answers. An older version refuses the directory of a newer one.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { argumentsOfNode } from '../support/builtPrograms.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, TestServer } from '../support/server.ts';
import { Trader } from '../support/traders.ts';
import { changes, keptOf, releases, unpacked } from '../upgrade/releases.ts';
import { questionsAbout } from '../upgrade/requests.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
for (const release of releases()) {
  describe(`a data directory that ${release} has left`, async () => {
    const { masterKey, traders, markets, answers } = keptOf(release);
    const directory = unpacked(release);
    const server = new TestServer(directory);
    after(() => server.kill());
    await server.start({ MASTER_KEY: masterKey });
    const domain = await new Trader(server, '', null as never, traders[0]!).client.signingDomain();
    const [alice, bob] = traders.map(({ userId, privateKey, ...credentials }) => {
      return new Trader(server, userId, new OrderSigner(privateKey, domain), credentials);
    }) as [Trader, Trader];
    const ask = ({ who, path }: { who: number; path: string }): Promise<Answer> =>
      who < 0 ? server.adminRequest('GET', path) : [alice, bob][who]!.send('GET', path);

    test('has the same balances, orders, books, trades and history in this version', async () => {
      await eventually('the read model', async () => (await ask(answers[1]!)).status === 200);
      const asked = questionsAbout(markets, [alice.userId, bob.userId]);
      assert.deepEqual(
        answers.map(({ path }) => path),
        asked.map(({ path }) => path),
      );
      for (const { who, path, body } of answers) {
        const { status, body: now } = await ask({ who, path });
        assert.equal(status, 200, path);
        assert.deepEqual(changes(body, now), [], path);
      }
    });

    test('trades on: an order from before the upgrade is filled by a new one, and cancelled by its owner', async () => {
      const market = await alice.client.orderMarket(markets[0]!);
      const [best] = (await alice.client.book(market.id)).bids;
      const { status } = await bob.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.60', size: '1' });
      assert.ok(best !== undefined);
      assert.equal(status, 'filled');
      const open = await alice.client.openOrders(market.id);
      await alice.client.cancelOrder(open[0]!.order_hash);
      assert.equal((await alice.client.openOrders(market.id)).length, open.length - 1);
    });

    test('closes to the micro-dollar in its journals, and every record is sound', async () => {
      assert.equal(await server.stop(), 0);
      for (const command of [['audit'], ['journal', 'verify']]) {
        const args = [...argumentsOfNode(), join(ROOT, 'engine/admin/main.ts'), ...command, '--data', directory];
        const env = { ...process.env, MASTER_KEY: masterKey };
        const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
        assert.equal(status, 0, stdout + stderr);
      }
    });

    test('is refused in one line, and left as it was, where a newer version has opened it', () => {
      const newer = temporaryDirectory();
      cpSync(directory, newer, { recursive: true });
      const control = new Database(join(newer, 'control.db'));
      control.pragma(`user_version = ${Number(control.pragma('user_version', { simple: true })) + 1}`);
      control.close();
      // The room beside a file (a WAL without frames) goes back to its first name before anything is opened.
      const hashes = () =>
        readdirSync(newer)
          .filter((name) => /^(?:journal|read|snapshot).*(?<!-room|-shm|-wal)$/.test(name))
          .sort()
          .map((name) => `${name} ${hash('sha256', readFileSync(join(newer, name)))}`);
      const before = hashes();
      const args = [...argumentsOfNode(), join(ROOT, 'gateway/main.ts')];
      const env = { PATH: process.env['PATH'], DATA_DIR: newer, PORT: '0', MASTER_KEY: masterKey, DEMO: 'off' };
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
      assert.equal(status, 1);
      assert.match(stderr, /^error: \S+control\.db was written by a newer version\n$/);
      assert.deepEqual(hashes(), before);
    });
  });
}

/**
 * Pages that a real Prometheus rings for an exchange that runs out of system resources, or whose own parts contradict
 * each other: each by its own cause, and not by a neighbouring one.
 */
import assert from 'node:assert/strict';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { metricOf } from '../support/metricOf.ts';
import { ProjectCopy } from '../support/projectCopy.ts';
import { NO_PROMETHEUS, Prometheus } from '../support/prometheus.ts';
import { type Scope, startServer, TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const LEAK = fileURLToPath(new URL('../support/leak.mjs', import.meta.url));
const OPEN_FILES = 600;
const MOST_BYTES = 2 * 1024 ** 3;
const CGROUPS = '/sys/fs/cgroup';
const BID = { price: '0.40', size: '1' };

async function watch(scope: Scope, server: TestServer): Promise<Prometheus> {
  const { host } = new URL(server.adminUrl);
  const prometheus = await Prometheus.start(scope, { target: host, token: server.adminToken });
  await prometheus.rings([]);
  return prometheus;
}

/** A server that leaks on request. @param wrapper the command that limits it */
async function leaking(scope: Scope, wrapper: readonly string[]) {
  const path = join(temporaryDirectory(), 'leak');
  const server = new TestServer(temporaryDirectory(), '1');
  scope.after(() => server.kill());
  // Reserves are files in memory while the suite runs, and would count.
  const env = { NODE_OPTIONS: `--import=${LEAK}`, LEAK: path, JOURNAL_RESERVE_MB: '1' };
  await server.start(env, wrapper);
  const leak = async (wanted: { files: number; bytes: number }): Promise<void> => {
    writeFileSync(path, JSON.stringify(wanted));
    const lines = server.stdout.length;
    process.kill(server.pid!, 'SIGUSR2');
    await eventually('the leak', async () => {
      return server.stdout.slice(lines).some((line) => line.includes('the test has leaked'));
    });
  };
  const metric = (sample: string): Promise<number> => metricOf(server, sample);
  return { server, prometheus: await watch(scope, server), leak, metric };
}

/** A group of processes with so much memory, or null where this process may not make one. */
function memoryGroup(): string | null {
  const name = `exchange-test-${process.pid}`;
  for (const [folder, limit] of [
    [join(CGROUPS, 'memory', name), 'memory.limit_in_bytes'],
    [join(CGROUPS, name), 'memory.max'],
  ] as const) {
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, limit), String(MOST_BYTES));
      return folder;
    } catch {}
  }
  return null;
}

function removed(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

describe('what a real Prometheus rings', { skip: NO_PROMETHEUS }, () => {
  test('that the exchange itself has most of its files, and not that its clients have', async (t) => {
    const limited = ['sh', '-c', `ulimit -n ${OPEN_FILES} && exec "$@"`, 'sh'];
    const { server, prometheus, leak, metric } = await leaking(t, limited);
    const own = OPEN_FILES - (await metric('exchange_bound_most{bound="connections"}'));
    const sockets: Socket[] = [];
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (let count = 0; count < own; count++) {
      sockets.push(connect(Number(new URL(server.baseUrl).port), '127.0.0.1').on('error', () => {}));
    }
    await eventually('as many connections', async () => (await metric('exchange_connections')) >= own / 2);
    await prometheus.rings([]);
    await leak({ files: own, bytes: 0 });
    await prometheus.rings(['OpenFiles']);
  });

  test('that the exchange has nine tenths of its memory, and not for seven', async (t) => {
    const group = memoryGroup();
    if (group === null) return t.skip('this process may not make a group of processes');
    const joined = ['sh', '-c', `echo $$ > ${group}/cgroup.procs && exec "$@"`, 'sh'];
    const { prometheus, leak, metric } = await leaking(t, joined);
    // Behind the end of the server.
    t.after(async () => void (await eventually('the group is empty', async () => removed(group))));
    assert.equal(await metric('exchange_memory_limit_bytes'), MOST_BYTES);
    const used = async () =>
      (await metric('exchange_memory_bytes{kind="anonymous"}')) +
      (await metric('exchange_memory_bytes{kind="shared"}'));
    const first = await used();
    const leakTo = (share: number) => leak({ files: 0, bytes: Math.round(share * MOST_BYTES - first) });
    await leakTo(0.7);
    assert.ok((await used()) > 0.6 * MOST_BYTES);
    await prometheus.rings([]);
    await leakTo(0.92);
    await prometheus.rings(['MemoryNearItsEnd']);
  });

  test('that the fast verifier was wrong, and not for a signature that is', async (t) => {
    const copy = new ProjectCopy();
    // A defect of the kernel: it takes every signature.
    copy.change('engine/verify/kernel/kernel.ts', 'this.#kernel.verify() !== 0', 'this.#kernel.verify() !== 2');
    for (const isBroken of [false, true]) {
      const server = new TestServer(temporaryDirectory(), '1');
      t.after(() => server.kill());
      if (isBroken) server.project = copy.root;
      await server.start();
      const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
      const prometheus = await watch(t, server);
      const { signature } = bob.body(market, BID);
      const forged = await alice.post({ ...alice.body(market, BID), signature });
      assert.equal(forged.status, isBroken ? 200 : 400);
      assert.equal((await bob.post(bob.body(market, BID))).status, 200);
      await prometheus.rings(isBroken ? ['SignaturesDiffered'] : []);
    }
  });

  test('the test that an operator asks for, until it is over', async (t) => {
    const server = await startServer(t, { SHARDS: '1' });
    const prometheus = await watch(t, server);
    await server.admin.testAlert();
    await prometheus.rings(['TestAlert']);
  });
});

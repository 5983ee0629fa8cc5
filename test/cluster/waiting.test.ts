/**
 * A member that waits for a log that does not answer: at ADMIN_PORT it reports that and why, before it has opened any
 * file (JOININGDOOR-1); once the log answers, the exchange uses the same port.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';

type Said = { readonly status: number; readonly text: string; readonly retryAfter: string | null };

test('a member that waits for the log says so at ADMIN_PORT, to probes and to everybody else', {
  skip: NO_POSTGRES,
}, async (t) => {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database(), SHARDS: '1' });
  const member = cluster.standbys[0]!;
  await member.stop();
  for (const each of cluster.members) each.mayEnd();
  const port = await freePort();
  member.env['ADMIN_PORT'] = String(port);
  const ask = async (path: string): Promise<Said> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return {
      status: response.status,
      text: await response.text(),
      retryAfter: response.headers.get('retry-after'),
    };
  };

  const nodes = Object.values(postgres.nodes);
  for (const node of nodes) node.hang();
  t.after(() => nodes.forEach((node) => void node.goOn()));
  const begun = member.begin();
  begun.catch(() => {});
  const waiting = await eventually('an answer of the member that waits', () =>
    ask('/ready').catch(() => false as const),
  );
  assert.equal(waiting.status, 503);
  const told = await eventually('the reason for the wait', async () => {
    const { status, reason } = JSON.parse((await ask('/ready')).text);
    assert.equal(status, 'starting');
    return reason !== 'this member compares its files with the log' && reason;
  });
  assert.match(told, /^this member compares its files with the log: /);
  assert.deepEqual(await ask('/health'), { status: 200, text: '{"status":"ok"}', retryAfter: null });
  const metrics = await ask('/ready/metrics');
  assert.equal(metrics.status, 200);
  assert.match(metrics.text, /^exchange_ready 0$/m);
  assert.match(metrics.text, /^exchange_starting_seconds \d+$/m);
  for (const path of ['/admin/cluster', '/v1/markets', '/nothing']) {
    const { status, text, retryAfter } = await ask(path);
    assert.deepEqual([status, JSON.parse(text).code, retryAfter], [503, 'ENGINE_BUSY', '1'], path);
  }

  for (const node of nodes) node.goOn();
  await begun;
  await eventually('the exchange itself, at the same port', async () => {
    const { status, text } = await ask('/ready').catch(() => ({ status: 0, text: '{}' }));
    return status === 200 && JSON.parse(text).role !== undefined;
  });
});

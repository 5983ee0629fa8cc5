/**
 * A disk whose reads and writes fail, under the audit log and under a journal: a real Prometheus rings the page of
 * each, and each failure is logged once a minute, however often it is retried (RULES.md 10.9).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { assertSaidOnceAMinute } from '../support/linesOfLog.ts';
import { NO_PROMETHEUS, watched } from '../support/prometheus.ts';
import { attachStrace, skipWithoutStrace, straceEnded } from '../support/strace.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const TRANSFERS = 'pread64,pwrite64,write,pwritev,writev';

describe('what a real Prometheus rings for a disk', { skip: NO_PROMETHEUS }, () => {
  test('that fails under the audit log, and one that fails under a journal', { skip: skipWithoutStrace }, async (t) => {
    const { server, prometheus } = await watched(t);
    const [market, trader] = [await makeMarket(server), await makeTrader(server)];
    const change = () =>
      server.admin.pause().then(
        () => 200,
        ({ status }) => status,
      );
    const failing = async (files: string[], act: () => Promise<unknown>, pages: string[]): Promise<void> => {
      const paths = files.flatMap((file) => ['-P', join(server.dataDir, file)]);
      const failures = ['-e', `trace=${TRANSFERS}`, '-e', `inject=${TRANSFERS}:error=EIO`];
      const tracer = await attachStrace(server.pid!, ['-o', '/dev/null', ...paths, ...failures]);
      await act();
      await prometheus.rings(pages);
      tracer.kill();
      await straceEnded(tracer);
      assertSaidOnceAMinute(server.stdout);
      await eventually('it goes on', async () => (await change()) === 200);
      await prometheus.rings([]);
    };
    await failing(['audit.log'], async () => assert.equal(await change(), 503), ['AuditLogUnwritten']);
    const place = () => trader.post(trader.body(market, { price: '0.1', size: '1' }));
    await server.admin.resume();
    await failing(['journal-0.db', 'journal-0.db-wal'], place, ['ExchangeNotReady', 'ShardAway']);
  });
});

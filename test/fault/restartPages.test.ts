/**
 * Pages that a real Prometheus rings for starts, lost history and backups of a real exchange: each by its cause, and by
 * a neighbour of the cause not that one.
 */
import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { firstRecord } from '../support/firstRecord.ts';
import { NO_PROMETHEUS, watched } from '../support/prometheus.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const HOUR_MS = 3_600_000;

describe('what a real Prometheus rings', { skip: NO_PROMETHEUS }, () => {
  test('that the exchange was started three times in a quarter of an hour, and not twice', async (t) => {
    const { server, settings, prometheus } = await watched(t);
    for (let starts = 0; starts < 3; starts++) {
      await server.kill();
      await prometheus.rings(['ExchangeDown']);
      await server.start(settings);
      await prometheus.rings(starts < 2 ? [] : ['ExchangeRestarts']);
    }
  });

  test('that history is lost with the read model of a trimmed journal, and not with that of a whole one', async (t) => {
    const { server, settings, prometheus } = await watched(t, { SNAPSHOT_EVERY: '15', JOURNAL_KEEP: '0' });
    const [market, trader] = [await makeMarket(server), await makeTrader(server)];
    const place = () => trader.reconnected().place(market, { price: '0.02', size: '1' });
    const withoutReadModel = async (): Promise<void> => {
      await server.stop();
      for (const name of readdirSync(server.dataDir)) {
        if (name.startsWith('read.db')) rmSync(join(server.dataDir, name));
      }
      await server.start(settings);
    };
    await withoutReadModel();
    await prometheus.rings([]);
    await eventually('a journal that was trimmed', async () => {
      await place();
      return firstRecord(join(server.dataDir, 'journal-0.db')) > 1;
    });
    await prometheus.rings([]);
    await withoutReadModel();
    await prometheus.rings(['HistoryShortened']);
  });

  test('that the last backup is a day old, and that none can be restored', async (t) => {
    const { server, prometheus } = await watched(t);
    const target = temporaryDirectory();
    const admin = (...args: string[]) => runAdminHere(args, { DATA_DIR: server.dataDir, MASTER_KEY: 'file' });
    const backUp = async (hoursAgo: number): Promise<void> => {
      const { now } = Date;
      const moved = t.mock.method(Date, 'now', () => now() - hoursAgo * HOUR_MS);
      const { status, stderr } = await admin('backup', target);
      moved.mock.restore();
      assert.equal(status, 0, stderr);
    };
    await backUp(25);
    await prometheus.rings(['BackupOld']);
    await backUp(4);
    await prometheus.rings([]);
    await prometheus.ringsTicket('BackupLate');
    assert.equal((await admin('backups', 'drill', target)).status, 0);
    await prometheus.rings([]);
    for (const name of readdirSync(join(target, 'objects'), { recursive: true, encoding: 'utf8' })) {
      const path = join(target, 'objects', name);
      if (statSync(path).isFile()) truncateSync(path);
    }
    assert.equal((await admin('backups', 'drill', target)).status, 1);
    await prometheus.rings(['BackupDrillFailed']);
  });
});

/**
 * A disk fills up: a real Prometheus rings each page at its own level, none of them earlier, and nothing once there is
 * space again (RULES.md 10.8, 10.11).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { assertSaidOnceAMinute } from '../support/linesOfLog.ts';
import { NO_PROMETHEUS, watched } from '../support/prometheus.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const DISK_MB = 160;
const RESERVE_MB = 16;
const MB = 1_000_000;
const ORDERS = 30;

describe('what a real Prometheus rings for a disk', { skip: NO_PROMETHEUS }, () => {
  test('that fills up: each page at its depth, and none before', async (t) => {
    const disk = SmallDisk.mount(t, DISK_MB);
    if (disk === null) {
      t.skip('needs the right to mount a file system');
      return;
    }
    const env = { DATA_DIR: join(disk.path, 'data'), DISK_RESERVE_MB: String(RESERVE_MB), JOURNAL_RESERVE_MB: '4' };
    const { server, settings, prometheus } = await watched(t, env);
    const [market, trader] = [await makeMarket(server), await makeTrader(server)];
    const placed: string[] = [];
    while (placed.length < ORDERS) {
      const orders = Array.from({ length: 15 }, () => trader.body(market, { price: '0.1', size: '1' }));
      const { body } = await trader.send('POST', '/v1/orders/batch', { orders });
      for (const { order_hash } of body.results) placed.push(order_hash);
    }
    disk.fill((RESERVE_MB * MB) / 2);
    await prometheus.rings(['DiskLow']);
    disk.fill();
    assert.equal((await trader.send('DELETE', `/v1/orders/${placed.pop()}`)).status, 200);
    await prometheus.rings(['DiskLow', 'ProjectorBehind']);
    for (const [wanted, pages] of [
      ['24', ['ControlReserveUsed', 'DiskLow']],
      ['36', ['ControlReserveUsed', 'DiskLow', 'JournalReserveUsed']],
    ] as const) {
      await server.kill();
      disk.fill();
      await server.start({ ...settings, JOURNAL_RESERVE_MB: wanted });
      await prometheus.rings(pages);
    }
    disk.clear();
    await prometheus.rings([]);
    assertSaidOnceAMinute(server.stdout);
  });
});

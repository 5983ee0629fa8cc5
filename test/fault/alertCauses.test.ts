/**
 * Alerts for what really happens to a real exchange: each cause rings its page within a minute, and nothing else rings.
 * Where a cause needs a chain, a cluster, a full disk or a defect, test/unit/deploy/alerts.test.ts has its series.
 */
import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import type { NewApiKey } from '../../shared/client/types.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { firing, NO_PROMTOOL, type Scrape, scrape } from '../support/firingAlerts.ts';
import { freePort } from '../support/freePort.ts';
import { NO_REDIS, startRedis } from '../support/redis.ts';
import { type Scope, startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const MOVED_CLOCK = fileURLToPath(new URL('../support/movedClock.mjs', import.meta.url));
const MINUTE_SEC = 60;
const BID = { price: '0.40', size: '1' };
const WIDE: NewApiKey = {
  scopes: ['read:account', 'trade:orders', 'trade:bulk'],
  rate_limit_override: { requests: 100_000, window_seconds: 1 },
};

/** Alerts that ring during a cause, while `act` goes on and on. */
async function rings(server: TestServer, before: Scrape, act: () => Promise<unknown>, afterSec = MINUTE_SEC) {
  const during: Scrape[] = [];
  for (let round = 0; round < 2; round++) {
    await act();
    during.push(await scrape(server));
  }
  return firing(before, [during[0]!, during[1]!], afterSec);
}

async function repeat(times: number, act: () => Promise<unknown>): Promise<void> {
  for (let index = 0; index < times; index++) await act();
}

async function widened(server: TestServer, trader: Trader): Promise<Trader> {
  const key = await server.admin.createApiKey(trader.userId, WIDE);
  return trader.withKey({ keyId: key.key_id, secret: key.secret, passphrase: key.passphrase });
}

async function scene(scope: Scope, env: Record<string, string> = {}) {
  const server = await startServer(scope, { SHARDS: '1', ...env });
  const market = await makeMarket(server);
  const alice = await widened(server, await makeTrader(server));
  const order = () => alice.post(alice.body(market, BID));
  assert.equal((await order()).status, 200);
  return { server, market, alice, order };
}

describe('what rings', { skip: NO_PROMTOOL }, () => {
  test('nothing, for strangers who are refused, and for clients with a wrong clock and no funds', async (t) => {
    const { server, order } = await scene(t, { RATE_LIMITS: 'on' });
    const poor = [await makeTrader(server, { depositMicro: 0 }), await makeTrader(server, { depositMicro: 0 })];
    const before = await scrape(server);
    const found = await rings(server, before, async () => {
      for (const { credentials } of poor) {
        const signer = new RequestSigner(credentials, { nowMs: () => Date.now() - 120_000 });
        const path = '/v1/orders/heartbeat';
        const answer = await server.request('POST', path, {}, signer.headers('POST', path, '{}'));
        assert.ok([401, 429].includes(answer.status));
      }
      await repeat(45, () => server.request('POST', '/v1/orders', {}));
      await repeat(45, () => server.request('GET', '/v1/balances'));
    });
    assert.deepEqual(found, []);
    assert.equal((await order()).status, 200);
  });

  test('that orders are refused for rate limits, where more are refused than taken', async (t) => {
    const { server, market, order } = await scene(t, { RATE_LIMITS: 'on' });
    const narrow = { scopes: WIDE.scopes, rate_limit_override: { requests: 1, window_seconds: 3600 } };
    const trader = await makeTrader(server);
    const key = await server.admin.createApiKey(trader.userId, narrow);
    const limited = trader.withKey({ keyId: key.key_id, secret: key.secret, passphrase: key.passphrase });
    const tooMany = () => limited.post(limited.body(market, BID));
    await tooMany();
    const before = await scrape(server);
    const fewer = await rings(server, before, () => Promise.all([tooMany(), repeat(3, order)]), 550);
    assert.deepEqual(fewer, []);
    const calm = await scrape(server);
    assert.deepEqual(await rings(server, calm, () => repeat(5, tooMany), 550), ['OrdersLimited']);
  });

  test('nothing, while an operator has paused', async (t) => {
    const { server, order } = await scene(t);
    const before = await scrape(server);
    await server.admin.pause();
    assert.deepEqual(await rings(server, before, () => repeat(5, order)), []);
  });

  test('that trading has stopped, once more than half of the orders are refused for any own cause', async (t) => {
    const { server, order } = await scene(t);
    const before = await scrape(server);
    const drill = (isOn: boolean) => server.admin.setDrill('SETTLEMENT_UNHEALTHY', isOn);
    const found = await rings(server, before, async () => {
      await drill(true);
      await repeat(5, order);
      await drill(false);
    });
    assert.deepEqual(found, ['TradingStopped']);
    const calm = await scrape(server);
    const few = await rings(server, calm, async () => {
      await drill(true);
      await repeat(3, order);
      await drill(false);
      await repeat(6, order);
    });
    assert.deepEqual(few, []);
  });

  test('that Redis does not count, also as a replica, and why orders are refused', { skip: NO_REDIS }, async (t) => {
    const [redis, other] = [await startRedis(t), await startRedis(t)];
    const { server, order } = await scene(t, { RATE_LIMITS: 'on', REDIS_URL: redis.url });
    const counts = async (value: number) => {
      const { samples } = await scrape(server);
      return samples.get('exchange_limits_counted{job="exchange",instance="exchange:8080"}') === value;
    };
    const before = await scrape(server);
    const hours = [() => redis.command('REPLICAOF', '127.0.0.1', String(other.port)), () => redis.kill()];
    for (const fail of hours) {
      await eventually('it counts', () => counts(1));
      await fail();
      await eventually('an order is refused', async () => (await order()).status === 429);
      const expected = ['ExchangeNotReady', 'LimitsNotCounted', 'TradingStopped'];
      assert.deepEqual(await rings(server, before, () => repeat(5, order)), expected);
      const ready = await server.request('GET', '/ready');
      assert.deepEqual([ready.status, ready.body.status], [503, 'degraded']);
      assert.match(ready.body.reason, /^Redis does not count/);
      await redis.command('REPLICAOF', 'NO', 'ONE').catch(() => {});
    }
  });

  test('that metrics are refused, and not that the exchange is down; once it is, the other way round', async (t) => {
    const { server } = await scene(t);
    const before = await scrape(server);
    const refused = await scrape(server, 'the token of another directory');
    assert.deepEqual(firing(before, [refused, refused], 180), ['MetricsRefused']);
    await server.kill();
    const gone = await scrape(server);
    assert.deepEqual(firing(before, [gone, gone], 120), ['ExchangeDown']);
  });
});

describe('what rings for a clock', { skip: NO_PROMTOOL }, () => {
  async function moving(scope: Scope) {
    const path = join(temporaryDirectory(), 'clock');
    const env = { NODE_OPTIONS: `--import=${MOVED_CLOCK}`, MOVED_CLOCK: path };
    const parts = await scene(scope, env);
    const { server } = parts;
    const move = async (byMs: number): Promise<void> => {
      writeFileSync(path, String(byMs));
      process.kill(server.pid!, 'SIGUSR2');
      await eventually('the log has the shift', async () => {
        return server.stdout.some((line) => line.includes('the clock of this machine was moved: check what sets it'));
      });
      // A record that waited for the read model in the meantime seems to have waited as long as the shift.
      await eventually('the read model is there', async () => {
        const { samples } = await scrape(server);
        return samples.get('exchange_projector_lag_seconds{shard="0",job="exchange",instance="exchange:8080"}') === 0;
      });
    };
    return { ...parts, move };
  }

  test('that was set back', async (t) => {
    const { server, move, order } = await moving(t);
    const before = await scrape(server);
    await move(-300_000);
    const found = await rings(server, before, order);
    assert.deepEqual(found, ['ClockDiffers', 'ClockSetBack', 'ClockShifted', 'ExchangeNotReady']);
    const ready = await server.request('GET', '/ready');
    const { samples } = await scrape(server);
    assert.equal(ready.status, 503);
    for (const job of ['exchange', 'exchange-ready']) {
      assert.equal(samples.get(`exchange_ready{job="${job}",instance="exchange:8080"}`), 0, job);
    }
  });

  test('that is a minute ahead: two accounts with funds say so, and one alone does not', async (t) => {
    const { server, move, order } = await moving(t);
    const bob = await makeTrader(server);
    const before = await scrape(server);
    await move(60_000);
    const others = ['ClockDiffers', 'ClockShifted'];
    assert.deepEqual(await rings(server, before, order, 90), others);
    const both = async () => {
      assert.equal((await order()).status, 401);
      assert.equal((await bob.send('GET', '/v1/user/balances')).status, 401);
    };
    assert.deepEqual(await rings(server, before, both, 90), ['ClockDiffers', 'ClockShifted', 'ClockWrong']);
  });
});

describe('what rings after a start', { skip: NO_PROMTOOL }, () => {
  test('that the audit log was cut, and that the kept answers are made anew', async (t) => {
    const { server } = await scene(t);
    const before = await scrape(server);
    await server.stop();
    truncateSync(join(server.dataDir, 'audit.log'), 0);
    await server.start();
    assert.deepEqual(await rings(server, before, async () => {}), ['AuditLogCut']);
    await server.stop();
    writeFileSync(join(server.dataDir, 'idempotency.db'), Buffer.alloc(65_536, 7));
    await server.start();
    assert.deepEqual(await rings(server, before, async () => {}), ['Damaged']);
  });

  test('that a row of control.db is not as it was written, and not one that an operator has changed', async (t) => {
    const { server, alice } = await scene(t);
    const before = await scrape(server);
    await server.admin.setAccountState(alice.userId, 'close_only');
    await server.stop();
    await server.start();
    assert.deepEqual(await rings(server, before, async () => {}), []);
    await server.stop();
    const db = new Database(join(server.dataDir, 'control.db'));
    db.exec("UPDATE users SET role = 'admin' WHERE account_index = 1");
    db.close();
    await server.start();
    assert.deepEqual(await rings(server, before, async () => {}), ['ControlRowsDamaged']);
  });

  test('nothing while a start goes on, which says for how long, though the exchange is not ready', async (t) => {
    const { server } = await scene(t);
    const before = await scrape(server);
    await server.stop();
    const port = await freePort();
    const starting = server.start({ ADMIN_PORT: String(port) });
    const during = await eventually('metrics of a start', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/ready/metrics`).catch(() => null);
      return answer?.status === 200 && (await answer.text());
    });
    await starting;
    assert.match(during, /^exchange_starting_seconds \d+$/m);
    const began = { atSec: before.atSec, samples: new Map(before.samples) };
    for (const job of ['exchange', 'exchange-ready']) {
      const labels = `{job="${job}",instance="exchange:8080"}`;
      // Uses the metrics of a start, whatever has happened to it in the meantime.
      began.samples.set(`exchange_ready${labels}`, 0).set(`exchange_starting_seconds${labels}`, 60);
    }
    assert.deepEqual(firing(before, [began, began], 400), []);
    assert.deepEqual(await rings(server, before, async () => {}), []);
  });

  test('that the disk is nearly full, and then that trading has stopped', async (t) => {
    const { server, order } = await scene(t);
    const before = await scrape(server);
    // More than any disk has: the free space is read from the real one.
    await server.restart({ DISK_RESERVE_MB: '1000000000' });
    assert.deepEqual(await rings(server, before, async () => {}), ['DiskLow']);
    assert.deepEqual(await rings(server, before, () => repeat(5, order)), ['DiskLow', 'TradingStopped']);
  });

  test('that a shard has hardly room for further orders, long before they are refused', async (t) => {
    const { server, market, alice } = await scene(t, { MAX_ORDERS_EVER: '1000' });
    const before = await scrape(server);
    const place = async (trader: Trader, count: number): Promise<void> => {
      for (let placed = 0; placed < count; placed += 15) {
        const orders = Array.from({ length: Math.min(15, count - placed) }, () => trader.body(market, BID));
        const { body } = await trader.send('POST', '/v1/orders/batch', { orders });
        assert.equal(body.failed, 0, JSON.stringify(body));
      }
    };
    await place(alice, 480);
    const used = async (): Promise<number> => {
      const { samples } = await scrape(server);
      return samples.get(
        'exchange_bound_used{bound="orders in memory of shard 0",job="exchange",instance="exchange:8080"}',
      )!;
    };
    for (let index = 0; index < 4; index++) await place(await widened(server, await makeTrader(server)), 110);
    await eventually('the shard says how many there are', async () => (await used()) > 900);
    assert.deepEqual(await rings(server, before, async () => {}, 330), ['OrderCapacity', 'TableFilling']);
  });
});

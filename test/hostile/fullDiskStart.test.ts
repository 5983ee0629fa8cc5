/**
 * A full disk at the end of a process (RULES.md 10.11): even if another program takes the last byte after a stop or a
 * kill, the next start serves cancels, withdrawals, the pause and reads, refuses new data with the cause, answers
 * nothing with 500, and accepts everything again by itself once there is space. On file systems in memory and of ext4.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import type { Scope, TestServer } from '../support/server.ts';
import { type Answer, startServer } from '../support/server.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const DISK_MB = 200;
const MB = 1_000_000;
const SETTINGS = { SHARDS: '2', DISK_RESERVE_MB: '16', JOURNAL_RESERVE_MB: '4' };
const ORDERS = 60;
const DEPOSIT_MICRO = 1_000_000_000;
const BUSY = 'the engine is busy';

const DISKS = {
  'in memory': (scope: Scope) => SmallDisk.mount(scope, DISK_MB),
  'of ext4': (scope: Scope) => SmallDisk.mountExt4(scope, DISK_MB),
};

type Market = Awaited<ReturnType<typeof makeMarket>>;

class World {
  readonly server: TestServer;
  readonly #disk: SmallDisk;
  readonly #market: Market;
  #trader: Trader;
  #orders: string[] = [];
  #withdrawn = 0;

  static async begin(scope: Scope, disk: SmallDisk): Promise<World> {
    const server = await startServer(scope, { DATA_DIR: join(disk.path, 'data'), ...SETTINGS });
    const market = await makeMarket(server);
    const world = new World(server, disk, market, await makeTrader(server, { depositMicro: DEPOSIT_MICRO }));
    for (let n = 0; n < ORDERS; n++) assert.equal((await world.place()).status, 200);
    return world;
  }

  private constructor(server: TestServer, disk: SmallDisk, market: Market, trader: Trader) {
    this.server = server;
    this.#disk = disk;
    this.#market = market;
    this.#trader = trader;
  }

  /** Another program takes every byte before the start, and every byte that the start sets free. */
  async startFull(): Promise<void> {
    this.#disk.fill();
    await this.server.start(SETTINGS);
    this.#trader = this.#trader.reconnected();
    this.#disk.fill();
    assert.equal(this.#disk.freeBytes, 0);
  }

  async place(): Promise<Answer> {
    const answer = await this.#trader.post(this.#trader.body(this.#market, { price: '0.1', size: '1' }));
    if (answer.status === 200) this.#orders.push(answer.body.order_hash);
    return answer;
  }

  /** Everything that has to go on does, and the rest is refused with the cause. */
  async leave(): Promise<void> {
    const refused = await this.place();
    assertRefused(refused, 503, 'ENGINE_BUSY', BUSY);
    assert.deepEqual(refused.body.details, { reason: 'disk_low' });
    const ready = await this.server.request('GET', '/ready');
    assert.deepEqual([ready.status, ready.body.status], [200, 'ready']);
    for (let n = 0; n < 15; n++) {
      this.#disk.fill();
      const { status, body } = await this.#trader.send('DELETE', `/v1/orders/${this.#orders.pop()}`);
      assert.equal(status, 200, JSON.stringify(body));
    }
    const open = await this.#trader.client.openOrders(this.#market.id);
    assert.deepEqual(new Set(open.map(({ order_hash }) => order_hash)), new Set(this.#orders));
    for (let n = 0; n < 5; n++) {
      this.#disk.fill();
      await this.#withdraw();
    }
    for (const change of ['pause', 'resume']) {
      this.#disk.fill();
      const { status, body } = await this.server.adminRequest('POST', `/admin/platform/${change}`, {});
      assert.equal(status, 200, `${change}: ${JSON.stringify(body)}`);
    }
    await this.#assertReserve();
  }

  /** Nothing but room is needed. */
  async recover(): Promise<void> {
    this.#disk.clear();
    const { status, body } = await eventually('a placement', async () => {
      const answer = await this.place();
      return answer.status !== 503 && answer;
    });
    assert.equal(status, 200, JSON.stringify(body));
    const open = await this.#trader.client.openOrders(this.#market.id);
    assert.deepEqual(new Set(open.map(({ order_hash }) => order_hash)), new Set(this.#orders));
    const { usdc } = await this.#trader.client.balances();
    assert.equal(Number(usdc.available) + Number(usdc.reserved), DEPOSIT_MICRO - this.#withdrawn * MB);
    await eventually('the history', async () => (await this.#trader.send('GET', '/v1/user/orders/v2')).status === 200);
    await this.#assertReserve();
    await assertBalanced(this.server);
  }

  fill(): void {
    this.#disk.fill();
  }

  async #withdraw(): Promise<void> {
    const path = `/admin/users/${this.#trader.userId}/withdrawals`;
    const { status, body } = await this.server.adminRequest('POST', path, { amount_usdc_micro: String(MB) });
    assert.equal(status, 201, JSON.stringify(body));
    this.#withdrawn++;
  }

  /** Both shards and control.db have what JOURNAL_RESERVE_MB asks for. */
  async #assertReserve(): Promise<void> {
    const text = await (await fetch(`${this.server.baseUrl}/metrics`)).text();
    const samples = [...text.matchAll(/^exchange_(?:journal|control)_reserve_bytes\S* (\d+)$/gm)];
    assert.equal(samples.length, 3);
    for (const [sample, bytes] of samples) assert.ok(Number(bytes) >= 4 * MB, sample);
  }
}

for (const [where, mount] of Object.entries(DISKS)) {
  test(`a disk ${where} that is full after a stop or a kill lets everybody leave, and keeps the room`, async (t) => {
    const disk = mount(t);
    if (disk === null) {
      t.skip('needs the right to mount a file system');
      return;
    }
    const world = await World.begin(t, disk);
    await world.server.stop();
    await world.startFull();
    await world.leave();
    // On the full disk stopped and started, and killed and started.
    await world.server.stop();
    await world.startFull();
    await world.leave();
    await world.server.kill();
    await world.startFull();
    await world.leave();
    await world.recover();
    await world.server.stop();
    await world.server.start(SETTINGS);
    world.fill();
    await world.server.kill();
    const failed = world.server.stdout.filter((line) => /"msg":"(?:a thread failed|reply handler failed)"/.test(line));
    assert.deepEqual(failed, []);
  });
}

/**
 * A disk fills up where the journals have no reserve: first no new risk is taken while everybody may leave, then a
 * journal fails, and with space again everything goes on by itself with nothing lost. test/hostile/fullDisk.test.ts has
 * one with a reserve.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, startServer } from '../support/server.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const DISK_MB = 48;
const RESERVE_MB = 16;
const MB = 1_000_000;
const BUSY = 'the engine is busy';

const disk = SmallDisk.mount(fileScope, DISK_MB);
const server = await startServer(fileScope, {
  SHARDS: '1',
  DATA_DIR: join(disk?.path ?? temporaryDirectory(), 'data'),
  DISK_RESERVE_MB: String(RESERVE_MB),
});
const market = await makeMarket(server);

test('on a full disk new risk is refused and everybody can leave; with space again all is served', async (t) => {
  if (disk === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  const trader = await makeTrader(server, { depositMicro: 100_000_000 });
  const placed: string[] = [];
  for (let i = 0; i < 10; i++) placed.push((await trader.place(market, { price: '0.1', size: '10' })).order_hash);
  const cancel = (hash: string): Promise<Answer> => trader.send('DELETE', `/v1/orders/${hash}`);
  const place = (): Promise<Answer> => trader.post(trader.body(market, { price: '0.1', size: '10' }));

  disk.fill((RESERVE_MB * MB) / 2);
  const refused = await eventually('a refusal', async () => {
    const answer = await place();
    if (answer.status === 200) placed.push(answer.body.order_hash);
    return answer.status !== 200 && answer;
  });
  assertRefused(refused, 503, 'ENGINE_BUSY', BUSY);
  const amount = { amount_usdc_micro: '1000000' };
  const split = await trader.send('POST', `/v1/markets/${market.id}/split`, { amount: '1000000' });
  assertRefused(split, 503, 'ENGINE_BUSY', BUSY);
  const deposit = await server.adminRequest('POST', `/admin/users/${trader.userId}/deposits`, amount);
  assertRefused(deposit, 503, 'ENGINE_BUSY', BUSY);
  assert.equal((await cancel(placed.pop()!)).status, 200);
  const withdrawal = await server.adminRequest('POST', `/admin/users/${trader.userId}/withdrawals`, amount);
  assert.equal(withdrawal.status, 201, JSON.stringify(withdrawal.body));
  assert.equal((await trader.client.openOrders(market.id)).length, placed.length);

  disk.fill();
  let unknown: string | undefined;
  while (unknown === undefined && placed.length > 0) {
    const hash = placed.pop()!;
    const { status, body } = await cancel(hash);
    if (status === 200) continue;
    assert.deepEqual([status, body.code], [503, 'OUTCOME_UNKNOWN']);
    unknown = hash;
  }
  assert.ok(unknown !== undefined, 'there was no room for all the cancels');

  disk.clear();
  const resolved = await eventually('the cancel', async () => {
    const { status } = await cancel(unknown);
    return status !== 503 && status;
  });
  assert.equal(resolved, 200);
  const again = await eventually('a placement', async () => {
    const answer = await place();
    return answer.status !== 503 && answer;
  });
  assert.equal(again.status, 200, JSON.stringify(again.body));
  placed.push(again.body.order_hash);

  const open = await trader.client.openOrders(market.id);
  assert.deepEqual(new Set(open.map(({ order_hash }) => order_hash)), new Set(placed));
  const { usdc } = await trader.client.balances();
  assert.equal(Number(usdc.available) + Number(usdc.reserved), 99_000_000);
  await assertBalanced(server);
  const told = server.stdout.filter((line) => line.includes('the disk '));
  assert.equal(told.length, 2, told.join('\n'));
});

test('a reserve larger than the disk still lets orders be cancelled and money leave', async () => {
  const trader = await makeTrader(server);
  const { order_hash } = await trader.place(market, { price: '0.1', size: '10' });
  await server.restart({ DISK_RESERVE_MB: '1000000000' });
  const again = trader.reconnected();
  assertRefused(await again.post(again.body(market, { price: '0.1', size: '10' })), 503, 'ENGINE_BUSY', BUSY);
  await again.client.cancelOrder(order_hash);
  assert.equal((await again.client.balances()).usdc.reserved, '0');
});

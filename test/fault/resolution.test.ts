/**
 * kill -9 while a market is ended (RULES.md 9.6, 9.18): between two records in which its orders are cancelled, and
 * between two in which its holders are paid. What the journal holds then closes, and the next start goes on from there:
 * every order is cancelled, and every holder is paid once. The same for a claim.
 *
 * A tracer kills at the sync of the journal's first record about the end, which a dead process leaves in the file.
 * Without a tracer the kill comes with the answer, and may come too late.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/resolution.test.ts
 */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { test } from 'node:test';
import { listShards } from '../../engine/admin/directory.ts';
import { currentState } from '../../engine/admin/replica.ts';
import { type Market, UNDECIDED } from '../../engine/book/market.ts';
import { checkInvariants } from '../../engine/core/invariants.ts';
import type { ShardState } from '../../engine/core/state.ts';
import { ROWS_OF_RECORD } from '../../engine/core/steps.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { shardOfMarket } from '../../shared/base/sharding.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { attachStrace, skipWithoutStrace, straceEnded } from '../support/strace.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const SEED = seedOr(20_261_122);
const ROUNDS = timesOf({ suite: 1, soak: 5 });
const isTraced = skipWithoutStrace === false;
const ORDERS_EACH = 12;
const MAKERS = Math.ceil((ROWS_OF_RECORD + 24) / ORDERS_EACH);
/** More than one record pays; the makers, who have more open orders than one record closes, are among them. */
const HOLDERS = ROWS_OF_RECORD + 24;
const AT_ONCE = 8;
const DEPOSIT = 100_000_000;
const SET = 10_000_000;
const ASKED_AFTER = 20;
/** A sync of the journal for another reason may come first. */
const MOST_KILLS = 5;

const random = seededRandom(SEED);
const server = await startServer(fileScope);

type Found = { readonly state: ShardState; readonly market: Market };

for (let round = 0; round < ROUNDS; round++) {
  test(`everyone is paid once, wherever it dies: round ${round} (SEED=${SEED})`, async () => {
    const market = await makeMarket(server, { fee_bps: 0 });
    const holders = await parallel(HOLDERS, (index) => makeHolder(market, index < MAKERS));
    await assertBalanced(server);

    const decide = (): Promise<unknown> => server.admin.resolveMarket(market.id, { outcome_index: 0 });
    await killedIn(
      decide,
      market.id,
      ({ market: { decision, status } }) => decision !== UNDECIDED || isDecided(status),
      {
        isMiddle: ({ market: { isClosing, openOrders } }) => isClosing && openOrders > 0,
      },
    );
    await assertBalanced(server);
    await eventually('a resolved market', async () => (await show(market.id)).status === 'resolved');
    const again = await server.adminRequest('POST', `/admin/markets/${market.id}/resolve`, { outcome_index: 1 });
    assert.equal(again.status, 409, 'a market is decided once');
    const maker = holders[0]!.reconnected();
    assert.deepEqual(await maker.client.openOrders(market.id), []);
    assert.equal((await maker.send('POST', `/v1/user/positions/${market.id}/claim`)).status, 200);

    const settle = (): Promise<unknown> => server.admin.settleMarket(market.id);
    await killedIn(settle, market.id, ({ market: { isSettling, settledMs } }) => isSettling || settledMs > 0, {
      isMiddle: ({ market: { collateralMicro, isSettling } }) => isSettling && collateralMicro > 0,
    });
    await assertBalanced(server);
    await eventually('a settled market', async () => (await show(market.id)).status === 'settled');
    await assertBalanced(server);
    const asked = Array.from({ length: ASKED_AFTER }, () => holders[Math.floor(random() * HOLDERS)]!.reconnected());
    const paid = { usdc: DEPOSIT, reserved: 0, yes: 0, no: 0 };
    for (const holder of [maker.reconnected(), ...asked]) assert.deepEqual(await holder.holdings(market), paid);
    assert.equal((await server.adminRequest('POST', `/admin/markets/${market.id}/settle`)).status, 409);
  });
}

test('RULES.md 14.24: a claim that was carried out and never answered pays once', async () => {
  const market = await makeMarket(server, { fee_bps: 0 });
  const holder = await makeHolder(market, false);
  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  const claim = (): Promise<unknown> => holder.reconnected().client.claim(market.id);
  await killedIn(claim, market.id, ({ market: { collateralMicro } }) => collateralMicro === 0, {
    isMiddle: () => true,
  });
  const again = holder.reconnected();
  assert.equal((await again.send('POST', `/v1/user/positions/${market.id}/claim`)).status, 404, 'nothing to claim');
  assert.deepEqual(await again.holdings(market), { usdc: DEPOSIT, reserved: 0, yes: 0, no: 0 });
  const positions = await again.client.positions.list();
  assert.deepEqual(
    positions.map(({ quantity, realized_pnl, claimed }) => [quantity, realized_pnl, claimed]),
    [
      ['0', '5.000000', true],
      ['0', '-5.000000', true],
    ],
  );
  await assertBalanced(server);
});

async function makeHolder(market: OrderMarket, isMaker: boolean): Promise<Trader> {
  const trader = await makeTrader(server, { depositMicro: DEPOSIT });
  const split = await trader.send('POST', `/v1/markets/${market.id}/split`, { amount: String(SET) });
  assert.equal(split.status, 200);
  if (!isMaker) return trader;
  const orders = Array.from({ length: ORDERS_EACH }, (_, order) => {
    const isBuy = order % 2 === 0;
    return trader.body(market, {
      side: isBuy ? 'BUY' : 'SELL',
      price: isBuy ? '0.10' : '0.90',
      size: '1',
      feeRateBps: 0,
    });
  });
  const { results } = await trader.client.placeOrders(orders);
  assert.deepEqual(
    results.map(({ status }) => status),
    Array(ORDERS_EACH).fill('success'),
  );
  return trader;
}

/**
 * Sends the request, kills, checks what the journal holds, and starts again; once more if the kill came before the
 * request.
 */
async function killedIn(
  ask: () => Promise<unknown>,
  id: string,
  hasBegun: (found: Found) => boolean,
  { isMiddle }: { isMiddle: (found: Found) => boolean },
): Promise<void> {
  for (let kill = 0; kill < MOST_KILLS; kill++) {
    await (isTraced ? killAtSync(ask, id) : killAfter(ask));
    const found = await foundIn(id);
    checkInvariants(found.state);
    await server.start();
    if (!hasBegun(found)) continue;
    assert.ok(!isTraced || isMiddle(found), 'it died between two records');
    return;
  }
  assert.fail('no kill came after the request');
}

async function killAtSync(ask: () => Promise<unknown>, id: string): Promise<void> {
  const wal = realpathSync(`${server.dataDir}/journal-${shardOf(id)}.db-wal`);
  const syncs = 'fsync,fdatasync';
  const options = ['-P', wal, '-e', `trace=${syncs}`, '-e', `inject=${syncs}:signal=SIGKILL:when=1`];
  const tracer = await attachStrace(server.pid!, options);
  const ended = server.expectEnd();
  await assert.rejects(ask(), 'the sync comes before the answer');
  await ended;
  await straceEnded(tracer);
}

async function killAfter(ask: () => Promise<unknown>): Promise<void> {
  await ask();
  await server.kill();
}

/** The state that the next start recovers from the journal. */
async function foundIn(id: string): Promise<Found> {
  const { state } = currentState((await listShards(server.dataDir))[shardOf(id)]!).engine;
  const uuid = new DataView(bytesOf(id).buffer);
  for (const market of state.markets.all()) {
    if (market.uuid.every((word, index) => word === uuid.getUint32(index * 4, true))) return { state, market };
  }
  assert.fail('the market is in its journal');
}

function shardOf(id: string): number {
  return shardOfMarket(bytesOf(id), 2);
}

function bytesOf(id: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  assert.ok(uuidToBytes(id, bytes, 0));
  return bytes;
}

const show = (id: string): Promise<{ readonly status: string }> =>
  new ExchangeClient({ baseUrl: server.baseUrl }).market(id);

/** Runs this many at once, and returns the results in order. */
async function parallel<T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      results[index] = await run(index);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

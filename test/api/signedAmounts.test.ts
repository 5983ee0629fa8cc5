/**
 * Orders that are signed at 1.00 and more, below one tick, between two ticks or with tokens below a lot, on a real
 * server: all places show the signed beside the paid amounts (RULES.md 1.4, 1.6, 1.8), and the operator's checks of the
 * directory pass, before and after a restore (data/docs/backup.md).
 */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertWhole } from '../support/adminProgram.ts';
import { isOnChain } from '../support/backend.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { type Json, startServer } from '../support/server.ts';
import { allOrders, assertShown, SignedTrading } from '../support/signedTrading.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertRefused } from '../support/traders.ts';

const server = await startServer(fileScope);
/** One token for 1.50. */
const ABOVE_ONE = { ticks_per_unit: 100, side: 'BUY', maker_amount: '1500000', taker_amount: '1000000' } as const;
/** One token for a millionth of a dollar. */
const NEAR_NOTHING = { ticks_per_unit: 100, side: 'SELL', maker_amount: '1000000', taker_amount: '1' } as const;

const trading = await SignedTrading.on(server);
const { headers } = trading.trader.client.prepareSigned('GET', '/v1/ws');
const stream = await StreamClient.open(fileScope, server.baseUrl, headers);
await stream.subscribe({ user: true });
await trading.tradeAll([100]);

describe('orders of any ratio', () => {
  it('have records and rows of lists with what was signed, beside what was paid', async () => {
    await trading.readAgain(server);
    const rows = new Map((await allOrders(trading.trader)).map((row) => [row.order_hash, row]));
    for (const { hash, vector, state } of trading.traded) assertShown(rows.get(hash)!, vector, state);
  });

  it('have frames with the same amounts, and fills at the prices that were paid', async () => {
    const last = trading.traded.at(-1)!.hash;
    const of = (hash: string, channel: string): Json[] =>
      stream.frames.filter((frame) => frame.channel === channel && frame.data.order_hash === hash);
    await eventually('the last frames', async () => of(last, 'order_status').length >= 2);
    for (const { hash, vector, state } of trading.traded) {
      const fills = of(hash, 'fill').map(({ data }) => [data.token_quantity_atomic, data.notional_usdc_micro]);
      const paid = state.fills.map(([lots, ticks]) => [String(lots * vector.ticks_per_unit), String(lots * ticks)]);
      assert.deepEqual(fills, paid, vector.name);
      const { status, filled_amount, remaining } = of(hash, 'order_status').at(-1)!.data;
      assert.deepEqual({ status, filled_amount, remaining }, pick(state, ['status', 'filled_amount', 'remaining']));
    }
  });

  it('are told in the activity by the price that was signed, and their fills by those that were paid', async () => {
    const vectors = new Map(trading.traded.map(({ hash, vector }) => [hash, vector]));
    const hashes = new Map((await allOrders(trading.trader)).map(({ id, order_hash }) => [id, order_hash]));
    let fills = 0;
    for (let cursor: string | undefined; ; ) {
      const { activity, next_cursor } = await trading.trader.client.userActivity({ limit: 100, cursor });
      for (const { type, order_id, price } of activity) {
        const vector = vectors.get(hashes.get(order_id)!);
        if (type === 'fill') assert.ok(Number(price) < 1, `a fill at ${price}`);
        else if (vector !== undefined) assert.equal(price, vector.price, `${type}: ${vector.name}`);
        if (type === 'fill') fills++;
      }
      if (next_cursor === null) break;
      cursor = next_cursor;
    }
    assert.ok(fills > trading.traded.length / 2);
  });

  it('receive their minimum net or nothing, also where their limit promises next to nothing', async () => {
    for (const [order, received] of [
      [ABOVE_ONE, 995_000],
      [NEAR_NOTHING, 597_000],
    ] as const) {
      for (const time_in_force of ['FOK', 'FAK'] as const) {
        await trading.offer(order.side, '0.60');
        const tooMuch = trading.bodyOf({ ...order, time_in_force }, 0, String(received + 1));
        assertRefused(await trading.trader.post(tooMuch), 400, 'MIN_NET_NOT_MET', 'minimum net not met');
        const answer = await trading.trader.client.placeOrder(
          trading.bodyOf({ ...order, time_in_force }, 0, String(received)),
        );
        assert.deepEqual([answer.status, answer.fills[0]!.price], ['filled', '0.6']);
      }
    }
  });

  it('take the place of an order that rests, by a replacement and by an amend', async () => {
    const { trader } = trading;
    for (const way of ['cancelReplace', 'amendOrder'] as const) {
      for (const time_in_force of ['FOK', 'FAK'] as const) {
        for (const order of [ABOVE_ONE, NEAR_NOTHING]) {
          const price = order.side === 'BUY' ? '0.10' : '0.90';
          const old = await trader.place(trading.market(100), { side: order.side, price, size: '1' });
          const body = trading.bodyOf({ ...order, time_in_force }, 0);
          const refused = await trader.client[way](old.order_hash, body).catch(({ code }) => code);
          assert.equal(refused, time_in_force === 'FOK' ? 'FOK_NOT_FILLED' : 'FAK_NO_FILL');
          await trading.offer(order.side, '0.60');
          const answer = await trader.client[way](old.order_hash, body);
          const { order_hash, fills } = 'order' in answer ? answer.order : answer;
          if ('price' in answer) assert.equal(answer.price, order.side === 'BUY' ? '1.50000000' : '0.00000100');
          assert.deepEqual([fills.length, fills[0]!.price], [1, '0.6']);
          const record = await trader.client.getOrder(order_hash);
          assert.deepEqual(
            pick(record, ['price', 'filled_amount', 'remaining', 'average_fill_price']),
            order.side === 'BUY' ? shown('1.50000000', '1500000') : shown('0.00000100', '1000000'),
          );
          assert.equal((await trader.client.getOrder(old.order_hash)).status, 'cancelled');
        }
      }
    }
  });

  it('are shown by pmx with their limit and with what they paid on average', async () => {
    const { trader } = trading;
    const { keyId, secret, passphrase } = trader.credentials;
    const pmx = new Pmx({
      BASE_URL: server.baseUrl,
      API_KEY: keyId,
      API_SECRET: secret,
      API_PASSPHRASE: passphrase,
    });
    await trading.offer('BUY', '0.60');
    const { order_hash } = await trader.client.placeOrder(trading.bodyOf({ ...ABOVE_ONE, time_in_force: 'FOK' }, 0));
    const lines = await pmx.lines('order', order_hash);
    assert.ok(lines.includes('order       BUY Yes, limit 1.50, FOK'), lines.join('\n'));
    assert.ok(lines.includes('filled      1 tokens, at 0.60 on average'), lines.join('\n'));
    assert.deepEqual(cells(await pmx.lines('orders', '--limit', '1'), ['LIMIT', 'AVERAGE']), [['1.50', '0.60']]);
    assert.deepEqual(cells(await pmx.lines('activity', '--limit', '2'), ['WHAT', 'LIMIT', 'PRICE']), [
      ['fill', '-', '0.60'],
      ['placed', '1.50', '-'],
    ]);
  });

  it('leave a directory that passes the checks of the operator, and so does a restored copy', async (t) => {
    await server.kill();
    await assertWhole(server.dataDir);
    if (isOnChain) return; // a copy would have contracts of its own
    const copy = join(temporaryDirectory(), 'restored');
    cpSync(server.dataDir, copy, { recursive: true });
    await assertWhole(copy);
    const restored = await startServer(t, { DATA_DIR: copy });
    await trading.readAgain(restored);
    assert.ok((await restored.admin.ledger()).balanced);
    await restored.kill();
    await assertWhole(copy);
  });
});

/** The cells under these heads, line by line. */
function cells([head, ...lines]: readonly string[], names: readonly string[]): string[][] {
  const at = head!.split(/ {2,}/);
  const rows = lines.map((line) => line.split(/ {2,}/)).filter((row) => row.length > 1);
  return rows.map((row) => names.map((name) => row[at.indexOf(name)]!));
}

function shown(price: string, filled_amount: string): Json {
  return { price, filled_amount, remaining: '0', average_fill_price: '0.60000000' };
}

function pick(from: object, names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, (from as Json)[name]]));
}

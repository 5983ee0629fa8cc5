/**
 * kill -9 under load: after a restart on the same directory every acknowledged order, fill, cancel and balance is there,
 * and what was not acknowledged is there whole or not at all. The signed order itself resolves an unknown outcome.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ApiError } from '../../shared/sdk/http.ts';
import type { OrderMarket } from '../../shared/sdk/order.ts';
import type { OrderRecord, PlacementBody, PlacementResponse } from '../../shared/sdk/types.ts';
import { seededRandom } from '../support/flow.ts';
import { startServer } from '../support/server.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const CYCLES = Number(process.env['KILL_CYCLES'] ?? 3);
const SEED = Number(process.env['SEED'] ?? 20_261_120);
const ORDERS_PER_CYCLE = 150;
const CONNECTIONS = 8;

const server = await startServer({ after });
const random = seededRandom(SEED);

type Sent = { trader: Trader; body: PlacementBody; answer: PlacementResponse | 'unknown'; cancelled: boolean };

test(`nothing acknowledged is lost over ${CYCLES} kills (SEED=${SEED})`, async () => {
  const markets = [
    await makeMarket(server),
    await makeMarket(server),
    await makeMarket(server, { ticks_per_unit: 1000 }),
  ];
  let traders = [await makeTrader(server), await makeTrader(server)];
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const sent = await tradeUntilKilled(traders, markets);
    await server.start();
    traders = traders.map((trader) => trader.reconnected());
    assert.ok(
      sent.some(({ answer }) => answer !== 'unknown'),
      'the cycle got somewhere',
    );
    for (const order of sent) await checkOrder(order, traders.find(({ userId }) => userId === order.trader.userId)!);
    for (const trader of traders) await checkReservations(trader, markets);
    await assertBalanced(server);
  }
});

/** Places, crosses and cancels on several connections at once until the process is gone. */
async function tradeUntilKilled(traders: Trader[], markets: OrderMarket[]): Promise<Sent[]> {
  const sent: Sent[] = [];
  const killAfter = 40 + Math.floor(random() * (ORDERS_PER_CYCLE - 60));
  let acknowledged = 0;
  let killing: Promise<void> | undefined;
  const oneConnection = async (): Promise<void> => {
    while (killing === undefined && sent.length < ORDERS_PER_CYCLE) {
      const order = makeOrder(traders, markets);
      sent.push(order);
      try {
        order.answer = await order.trader.client.placeOrder(order.body);
        if (++acknowledged === killAfter) killing = server.kill();
        if (order.answer.status === 'open' && random() < 0.3) {
          await order.trader.client.cancelOrder(order.answer.order_hash);
          order.cancelled = true;
        }
      } catch (error) {
        // The connection broke, or the cancel came too late because somebody took the order.
        if (error instanceof ApiError) assert.equal(error.code, 'ORDER_NOT_CANCELLABLE');
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, oneConnection));
  await (killing ?? server.kill());
  return sent;
}

function makeOrder(traders: Trader[], markets: OrderMarket[]): Sent {
  const trader = traders[Math.floor(random() * traders.length)]!;
  const market = markets[Math.floor(random() * markets.length)]!;
  const outcomeIndex = random() < 0.5 ? 0 : 1;
  // Buys of both outcomes around the middle: about half of them mint against each other.
  const price = `0.${45 + Math.floor(random() * 10)}`;
  const body = trader.body(market, { outcomeIndex, price, size: String(1 + Math.floor(random() * 5)) });
  return { trader, body, answer: 'unknown', cancelled: false };
}

async function checkOrder({ body, answer, cancelled }: Sent, trader: Trader): Promise<void> {
  const repeated = await trader.post(body);
  if (answer === 'unknown' && repeated.status === 200) return; // it never arrived, so this was its first time
  assert.equal(repeated.status, 409, `an order that was placed is a duplicate: ${JSON.stringify(repeated.body)}`);
  assert.equal(repeated.body.error, 'duplicate order');
  if (answer === 'unknown') return;
  const record: OrderRecord = await trader.client.getOrder(answer.order_hash);
  assert.equal(record.id, answer.order_id);
  assert.equal(BigInt(record.remaining) + BigInt(record.filled_amount), BigInt(body.maker_amount));
  if (cancelled) assert.equal(record.status, 'cancelled');
  if (answer.status === 'filled') assert.equal(record.status, 'filled');
}

/** What is reserved is exactly what the open orders hold. */
async function checkReservations(trader: Trader, markets: OrderMarket[]): Promise<void> {
  let held = 0n;
  for (const market of markets) {
    for (const order of await trader.client.openOrders(market.id)) held += BigInt(order.remaining);
  }
  assert.equal((await trader.client.balances()).usdc.reserved, String(held));
}

/** The client of the stream over kill -9: real servers, real orders, one address that stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import type { UserEvent } from '../../shared/client/stream/userStream.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { sharedServer } from '../support/server.ts';
import { StreamProxy } from '../support/streamProxy.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const SEED = seedOr(60);
const KILLS = timesOf({ suite: 1, soak: 3 });
const ORDERS = 40;

const server = await sharedServer();

test('books and private events go on over kill -9; the book is what REST shows (RULES.md 8.3, 8.7)', async (t) => {
  const random = new Random(SEED);
  const market = await makeMarket(server);
  const [alice, bob] = [
    await makeTrader(server, { scopes: ['read:account', 'trade:orders', 'stream:market', 'stream:user'] }),
    await makeTrader(server),
  ];
  let traders: Trader[] = [alice, bob];
  const proxy = await StreamProxy.start(t, () => server.baseUrl);
  const times = { firstRetryMs: 10, mostRetryMs: 100 };
  const stream = new ExchangeStream({ baseUrl: proxy.baseUrl, signer: new RequestSigner(alice.credentials), times });
  t.after(() => stream.close());
  const book = stream.openBook(market.id, { verify: 'every' });
  const told: UserEvent[] = [];
  const user = stream.openUser({ onEvent: (event) => told.push(event) });
  await Promise.all([book.ready(), user.ready()]);
  for (let life = 0; life <= KILLS; life++) {
    for (let order = 0; order < ORDERS; order++) {
      const outcomeIndex = random.pick([0, 1] as const);
      await random.pick(traders).place(market, { outcomeIndex, price: `0.${random.between(40, 60)}`, size: '5' });
    }
    const rest = traders[0].client;
    await eventually('the book is where REST is', async () => {
      const shown = await rest.bothBooks(market.id);
      return book.state === 'live' && book.sequence === shown.sequence;
    });
    const shown = await rest.bothBooks(market.id);
    for (const outcome of [0, 1] as const) {
      const { bids, asks } = outcome === 0 ? shown.outcome_0 : shown.outcome_1;
      const levels = book.levels(outcome);
      for (const [mine, theirs] of [
        [levels.bids, bids],
        [levels.asks, asks],
      ] as const) {
        const rows = theirs.map(({ price, num_orders, token_quantity_atomic }) => ({
          price,
          num_orders,
          token_quantity_atomic,
        }));
        assert.deepEqual(mine, rows, `life ${life}, outcome ${outcome}`);
      }
    }
    if (life === KILLS) break;
    await server.kill();
    await server.start();
    traders = traders.map((trader) => trader.reconnected());
    await eventually('the client is back', async () => book.state === 'live' && user.isLive);
  }
  const placedIds = (): string[] =>
    told.flatMap((event) =>
      event.type === 'order_status' && event.frame.data.reason === 'placed' ? [event.frame.data.order_id] : [],
    );
  const { orders } = await traders[0].client.userOrders({ limit: 100 });
  await eventually('every order of hers was told of', async () => placedIds().length >= orders.length);
  // A restart of the numbers is reported; otherwise each number follows the last.
  let last: number | null = null;
  for (const event of told) {
    if (event.type === 'gap') last = event.cause === 'restarted' ? 0 : event.to;
    if (event.type !== 'fill' && event.type !== 'order_status') continue;
    if (last !== null) assert.equal(event.frame.user_sequence, last + 1);
    last = event.frame.user_sequence;
  }
  const placed = placedIds();
  assert.equal(new Set(placed).size, placed.length);
  assert.deepEqual(new Set(placed), new Set(orders.map(({ id }) => id)));
});

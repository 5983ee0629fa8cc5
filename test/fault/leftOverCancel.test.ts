/**
 * A mass cancel that a lost shard has not run comes before every order sent after it: orders that an account places
 * once the shard is back stay, whatever its old connection or its silence has cancelled (RULES.md 7.8, 8.10).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { canLimit, loseShard } from '../support/loseShard.ts';
import { startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeTrader, marketPerShard } from '../support/traders.ts';

/** Cancels that waited were sent again once a second. */
const LEFT_OVER_MS = 2500;
const ROUNDS = 3;

test('an order that is placed once its shard is back is not cancelled for an older disconnect', async (t) => {
  if (!canLimit) return t.skip('there is no prlimit here');
  const server = await startServer(t, { SHARDS: '1' });
  const [market] = await marketPerShard(server, 1);
  const other = await makeTrader(server);
  for (let round = 0; round < ROUNDS; round++) {
    const trader = await makeTrader(server, { scopes: ['read:account', 'trade:orders', 'stream:user'] });
    const old = await trader.place(market!, { price: '0.31', size: '10' });
    const client = await StreamClient.open(t, server.baseUrl, trader.client.prepareSigned('GET', '/v1/ws').headers);
    await client.subscribe({ user: true, cancel_on_disconnect: true });
    // The end of the connection is the first that cannot be written.
    await loseShard(server, () => {
      client.socket.terminate();
      other.place(market!, { price: '0.11', size: '10' }).catch(() => {});
    });
    let placed = '';
    await eventually('a shard that takes orders again', async () => {
      const answer = await trader.place(market!, { price: '0.32', size: '10' }).catch(() => null);
      placed = answer?.order_hash ?? '';
      return answer !== null;
    });
    await delay(LEFT_OVER_MS);
    const statuses = [old.order_hash, placed].map(async (hash) => (await trader.client.getOrder(hash)).status);
    assert.deepEqual(await Promise.all(statuses), ['cancelled', 'open'], `round ${round}`);
  }
});

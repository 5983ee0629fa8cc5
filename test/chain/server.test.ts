/** A server in chain mode: it starts, refuses orders while settlement is unhealthy, and keeps its choice of a chain. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Pmx } from '../support/pmx.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { chainSettings } from './exchange.ts';
import { chainRig } from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const LIMITS = { MOST_HEAD_AGE_MS: '5000', MOST_SETTLEMENT_WAIT_MS: '3600000' };

test('orders are refused while the chain is away, and cancels are not', options, async () => {
  const settings = await chainSettings(rig);
  await rig.client.setIntervalMining({ interval: 1 });
  const server = await startServer({ after }, { ...settings, ...LIMITS });
  const connection = () => server.request('GET', '/health/polygon');
  await eventually('the node answers', async () => (await connection()).status === 200);
  assert.deepEqual((await connection()).body, { status: 'connected' });
  const market = await makeMarket(server);
  const trader = await makeTrader(server);
  const order = trader.body(market, { price: '0.40', size: '10' });
  const placed = await eventually('a healthy chain', async () => {
    const answer = await trader.post(order);
    return answer.status === 200 && answer;
  });
  // The node hangs up on everybody.
  await rig.stop();
  const refused = await eventually('settlement is unhealthy', async () => {
    const answer = await trader.post(trader.body(market, { price: '0.41', size: '10' }));
    return answer.status === 503 && answer;
  });
  assert.equal(refused.body.code, 'SETTLEMENT_UNHEALTHY');
  const gone = await connection();
  assert.deepEqual([gone.status, gone.body], [503, { status: 'disconnected' }]);
  assert.equal((await trader.send('DELETE', `/v1/orders/${placed.body.order_hash}`)).status, 200);
  const ready = await server.request('GET', '/ready');
  const reason = 'settlement is unhealthy: orders are refused';
  assert.deepEqual([ready.status, ready.body], [200, { status: 'ready', reason }]);
  const doctor = await new Pmx({ BASE_URL: server.baseUrl }).run(['doctor', '--json']);
  const exchange = JSON.parse(doctor.out).checks.find(({ check }: { check: string }) => check === 'exchange');
  assert.deepEqual([exchange.state, exchange.message], ['warn', reason]);
  const metrics = (await (await fetch(`${server.baseUrl}/metrics`)).text()).split('\n');
  for (const line of [
    'exchange_settlement_healthy 0',
    'exchange_settlement_node_connected 0',
    'exchange_settlement_key_balance{key="OPERATOR"} 1000',
    'exchange_settlement_key_low{key="RELAYER"} 0',
    'exchange_settlement_work{status="pending"} 0',
  ]) {
    assert.ok(metrics.includes(line), line);
  }
  const { settlement } = await server.admin.operations();
  assert.ok(settlement!.reason !== null && settlement!.head_age_seconds! >= 5);
  assert.doesNotMatch(server.stdout.join('\n'), new RegExp(settings['OPERATOR_KEY']!.slice(2)));
  await server.kill();
  await server.start({ ...settings, ...LIMITS });
  const again = trader.reconnected();
  assert.equal((await again.post(order)).status, 503, 'a start with the node away');
  assert.equal(await server.stop(), 0);
  await assert.rejects(server.start({}), /error: RPC_URL: this data directory settles on a chain/);
});

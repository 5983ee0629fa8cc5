/** The official clients of Polymarket, as they come, play every method against `npm run polymarket`. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { NO_PEERS, startFacade } from '../support/polymarketRig.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import { clientAt, clobClient, makeSigner, NAMES } from './clients.ts';
import { type Row, SCENARIO, type World } from './scenario.ts';

const server = await sharedServer();
const facade = await startFacade({ after }, server);
const LEAST_METHODS = 50;
const clientOf = (version: 1 | 2, signer: Json, creds?: Json, type = 0, funder?: string): Promise<Json> =>
  clientAt(facade.host, version, { signer, creds, type, ...(funder === undefined ? {} : { funder }) });

async function fillBook(market: OrderMarket): Promise<Trader> {
  const maker = await makeTrader(server);
  for (const price of ['0.50', '0.49', '0.45']) await maker.place(market, { outcomeIndex: 1, price, size: '10' });
  await maker.place(market, { price: '0.40', size: '10' });
  return maker;
}

async function makeWorld(version: 1 | 2): Promise<World> {
  const market = await makeMarket(server);
  await fillBook(market);
  const signer = makeSigner();
  const wallet = await clientOf(version, signer);
  const creds = await wallet.createApiKey();
  const listed = await findMarket(wallet, market.yes_token_id);
  const [token, other] = [market.yes_token_id, market.no_token_id];
  const client = await clientOf(version, signer, creds);
  return { client, wallet, token, other, condition: listed.condition_id, version, kept: new Map() };
}

async function findMarket(client: Json, token: string): Promise<Json> {
  return eventually('the market is listed', async () => {
    const { data } = await client.getMarkets();
    return data.find(({ tokens }: Json) => tokens[0].token_id === token);
  });
}

async function play(row: Row, world: World): Promise<'ok' | 'error'> {
  const answer: Json = await row.call(world);
  const failed = typeof answer === 'object' && answer !== null && 'error' in answer;
  if (typeof row.expect === 'object') {
    assert.ok(failed && typeof answer.error === 'string', `an error was expected: ${JSON.stringify(answer)}`);
    assert.equal(answer.status, row.expect.status, JSON.stringify(answer));
    return 'error';
  }
  assert.ok(!failed, JSON.stringify(answer));
  row.expect(answer, world);
  return 'ok';
}

for (const version of [1, 2] as const) {
  test(`${NAMES[version]} gets from each of its methods what the list says`, { skip: NO_PEERS }, async () => {
    const world = await makeWorld(version);
    const succeeded = new Set<string>();
    const rows = SCENARIO.filter(({ of }) => of === undefined || of === version);
    for (const [index, row] of rows.entries()) {
      const result = await play(row, world).catch((error: unknown) => {
        throw new Error(`row ${index}, ${row.method}`, { cause: error });
      });
      if (result === 'ok') succeeded.add(row.method);
    }
    assert.ok(succeeded.size >= LEAST_METHODS, `${succeeded.size} methods succeed`);
    assert.deepEqual(facade.errors, []);
  });

  test(`every method of ${NAMES[version]} that asks the exchange is in the list`, { skip: NO_PEERS }, async () => {
    const named = new Set(SCENARIO.filter(({ of }) => of === undefined || of === version).map(({ method }) => method));
    const methods = Object.getOwnPropertyNames((await clobClient(version)).prototype);
    assert.deepEqual(
      methods.filter((method) => !named.has(method) && !NOT_ASKING.has(method) && !method.startsWith('_')),
      [],
    );
  });
}

/** They compute, or are what the others are made of; builders' methods first want a builder of Polymarket. */
const NOT_ASKING: ReadonlySet<string> = new Set([
  ...['constructor', 'clearTickSizeCache', 'get', 'post', 'put', 'del', 'throwIfError', 'canL1Auth', 'canL2Auth'],
  ...['mustBuilderAuth', 'canBuilderAuth', 'updateTickSizeFromOrderBook', 'isBuilderOrder', 'resolveVersion'],
  ...['getBuilderTrades', 'revokeBuilderApiKey', 'getBuilderTakerFeeRate', 'ensureBuilderFeeRateCached'],
  // Parts of methods in the list; and an order of a struct that is not taken here.
  ...['waitForResolvedTrades', 'resolveTransactionsHashes', 'adjustBuyAmountForBalance'],
  'createExchangeV3OrderFromAmounts',
]);

test('an order of a proxy or a Safe is that of its signer, and of no other', { skip: NO_PEERS }, async () => {
  const market = await makeMarket(server);
  const [owner, thief] = [makeSigner(), makeSigner()];
  await findMarket(await clientOf(1, owner), market.yes_token_id);
  const order = { tokenID: market.yes_token_id, price: 0.4, size: 10, side: 'BUY' };
  for (const [type, version] of [
    [1, 1],
    [2, 2],
  ] as const) {
    const funder = privateKeyToAccount(generatePrivateKey()).address;
    const of = async (signer: Json): Promise<Json> => {
      const creds = await (await clientOf(version, signer)).createOrDeriveApiKey();
      return clientOf(version, signer, creds, type, funder);
    };
    const own = await of(owner);
    const { orderID, status } = await own.createAndPostOrder(order);
    assert.equal(status, 'live');
    assert.equal((await own.getOrder(orderID)).maker_address, funder.toLowerCase());
    assert.match((await (await of(thief)).createAndPostOrder(order)).error, /belongs to another signer/);
  }
});

test('markets in steps of 0.005 and 0.0025 trade with the newer client, and are not listed for the older', {
  skip: NO_PEERS,
}, async () => {
  const older = await startFacade({ after }, server, { orderVersion: 1 });
  for (const [ticks_per_unit, tick, price, off] of [
    [200, '0.005', 0.055, 0.052],
    [400, '0.0025', 0.0525, 0.051],
  ] as const) {
    const market = await makeMarket(server, { ticks_per_unit });
    const tokenID = market.yes_token_id;
    const signer = makeSigner();
    await findMarket(await clientOf(2, signer), tokenID);
    const creds = await (await clientOf(2, signer)).createOrDeriveApiKey();
    const client = await clientOf(2, signer, creds);
    assert.equal(await client.getTickSize(tokenID), tick);
    const { orderID, status } = await client.createAndPostOrder({ tokenID, price, size: 20, side: 'BUY' });
    assert.equal(status, 'live');
    assert.equal((await client.getOrder(orderID)).price, String(price));
    assert.deepEqual((await client.getOrderBook(tokenID)).bids, [{ price: String(price), size: '20' }]);
    const refused = await client
      .createAndPostOrder({ tokenID, price: off, size: 20, side: 'BUY' })
      .catch((thrown: Error) => ({ error: thrown.message }));
    assert.match(refused.error, /tick|TICK|price/i);
    const answer = await fetch(`${older.host}/tick-size?token_id=${tokenID}`);
    assert.equal(answer.status, 404);
  }
});

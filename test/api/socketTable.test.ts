/**
 * The same requests over HTTP, as JSON on a socket and as binary records: a random table, whose rows get the same
 * status and the same body in all three ways (RULES.md 8.13, 8.19).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as records from '../../shared/client/stream/orderRecords.ts';
import type { PlacementBody } from '../../shared/client/types.ts';
import { Random } from '../support/random.ts';
import { RecordClient } from '../support/recordClient.ts';
import { seedOr } from '../support/seeds.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader, type TraderOptions } from '../support/traders.ts';

const SEED = seedOr(20_261_122);
const ROWS = 100;
const server = await sharedServer();
const market = await makeMarket(server);
const scopes: NonNullable<TraderOptions['scopes']> = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user'];

type Answer = { status: number; body: Json };
type Changes = Readonly<Record<string, unknown>>;
type Values = (random: Random, of: Trader) => unknown;

const SAFE = Number.MAX_SAFE_INTEGER;
const oneOf =
  (...values: unknown[]) =>
  (random: Random) =>
    values[random.below(values.length)];
/** Values that a body may have in place of its own, each expressible in a record. */
const FIELDS: Record<string, Values> = {
  // A record names its market by the token, so that an unknown one is a market that is not found.
  token_id: oneOf(market.yes_token_id, market.no_token_id),
  maker: (random, { address }) => oneOf(address, `0x${'00'.repeat(20)}`, `0x${'12'.repeat(20)}`)(random),
  signer: (random, { address }) => oneOf(address, `0x${'00'.repeat(20)}`, `0x${'12'.repeat(20)}`)(random),
  salt: oneOf('0', '1', (2n ** 256n - 1n).toString()),
  nonce: oneOf(0, 1, SAFE),
  expiration: oneOf(0, 1, 4_000_000_000, 4_294_967_296, SAFE),
  fee_rate_bps: oneOf(0, 7, 10_000, 65_536, 4_294_967_295),
  signature: oneOf(`0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, `0x${'1b'.repeat(65)}`, '0x12', ''),
  outcome_index: oneOf(0, 1),
  post_only: oneOf(true, false),
  min_taker_net: oneOf('0', '1', '1000000000000000', '1000000000000001', String(SAFE)),
  self_trade_prevention: oneOf('none', 'cancel_newest', 'cancel_oldest', 'cancel_both'),
  side: oneOf('BUY', 'SELL'),
  maker_amount: oneOf('0', '1', '3', '1500001', '1000000000000000', '1000000000000001', String(SAFE)),
  taker_amount: oneOf('0', '1', '3', '5000001', '1000000000000000', '1000000000000001', String(SAFE)),
  time_in_force: oneOf('GTC', 'GTD', 'FOK', 'FAK'),
  client_order_id: oneOf('a', ' ', '~'.repeat(64), 'quote 1', '\u007f', '"\\'),
};
const NAMES = Object.keys(FIELDS);

function changesOf(random: Random, of: Trader): Changes {
  const count = random.below(4);
  const names = Array.from({ length: count }, () => NAMES[random.below(NAMES.length)]!);
  return Object.fromEntries(names.map((name) => [name, FIELDS[name]!(random, of)]));
}

const VARIES = /^(order_id|order_hash|trade_id|maker_order_id|server_time)$/;
function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, VARIES.test(name) ? typeof member : shapeOf(member)]),
  );
}

test(`each request has one answer, over HTTP and in both forms of the socket (SEED=${SEED})`, async (t) => {
  const random = new Random(SEED);
  const of = await makeTrader(server, { scopes, requestsPerSecond: 100_000 });
  const headers = () => of.client.prepareSigned('GET', '/v1/ws').headers;
  const json = await StreamClient.open(t, server.baseUrl, headers());
  const binary = await RecordClient.open(t, server.baseUrl, headers());
  const ways: ((body: PlacementBody) => Promise<Answer>)[] = [
    (body) => of.post(body),
    async (body) => (await json.ask('order', { action: 'place', ...body })).data,
    async (body) => {
      const { status, body: text, placed } = await binary.ask((id) => records.placeRecord(id, body));
      const { client_order_id } = body;
      const named = client_order_id === undefined ? {} : { client_order_id };
      return { status, body: placed === null ? text : { ...placed.order, ...named } };
    },
  ];
  const statuses = new Set<number>();
  for (let row = 0; row < ROWS; row++) {
    const changes = changesOf(random, of);
    const answers: Answer[] = [];
    for (const ask of ways) {
      const { status, body } = await ask(of.body(market, { price: '0.30', size: '5' }, changes));
      statuses.add(status);
      answers.push({ status, body: shapeOf(body) });
      if (status === 200) await of.client.cancelAll();
    }
    const [overHttp, inJson, inBinary] = answers;
    const context = JSON.stringify({ row, changes });
    assert.deepEqual(inJson, overHttp, context);
    assert.deepEqual(inBinary, overHttp, context);
  }
  assert.deepEqual([...statuses].sort(), [200, 400]);
  await assertBalanced(server);
});

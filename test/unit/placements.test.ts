/** What a request adds to the order in its body (RULES.md 6.7, 7.7, 7.12). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../gateway/call.ts';
import { ClientOrderIds } from '../../gateway/clientOrderIds.ts';
import type { Placement } from '../../gateway/encodeOrder.ts';
import { OrderTask, Placements, type PlacementsDeps } from '../../gateway/placements.ts';
import * as cmd from '../../shared/commands.ts';
import { E, OK } from '../../shared/errors.ts';
import { readSafe } from '../../shared/record.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
const BODY = {
  market_id: 'm',
  token_id: '1',
  maker: ADDRESS,
  signer: ADDRESS,
  salt: '5',
  nonce: 0,
  fee_rate_bps: 50,
  signature: `0x${'12'.repeat(65)}`,
  outcome_index: 0,
  side: 'BUY',
  maker_amount: '1000000',
  taker_amount: '2000000',
} as const;
const CALL = {
  key: { accountIndex: 5, selfTradePrevention: 0 },
  idempotencyHold: {
    place: { route: cmd.EXT_ROUTE.BATCH },
    words: { words: Uint32Array.of(1, 2, 3, 4), fingerprint: Uint32Array.of(5, 6, 7, 8) },
  },
  deadlineMs: 1_800_000_000_123,
} as unknown as Call;

/** An engine that keeps the last record, and says `code`. */
function rig(code: number) {
  const sent: Uint32Array[] = [];
  const engine = {
    isReady: () => true,
    place: (_shard: number, _account: number, _market: number, record: Uint32Array) => {
      sent.push(record.slice());
      return code;
    },
  };
  const clientIds = new ClientOrderIds({ findByClientId: () => null }, engine);
  const placements = new Placements({
    engine,
    views: { orders: [] },
    catalog: { byId: () => ({ shard: 0, index: 3, yesTokenId: '1', noTokenId: '2' }) },
    accounts: { ownerOf: () => 5, maySign: () => true },
    clientIds,
    groups: { indexOf: () => 7, isKnownTo: (_shard: number, group: number) => group === 7 },
  } as unknown as PlacementsDeps);
  return { sent, clientIds, placements };
}

const RESULT = { isAmend: false, placed: () => undefined, refused: () => undefined };
const taskOf = (body: object): OrderTask => {
  return new OrderTask(CALL, { ...BODY, ...body } as unknown as Placement, RESULT, 14);
};

test('idempotency key, fingerprint, route and row, deadline and group travel with the order', () => {
  const { sent, placements } = rig(OK);
  assert.equal(placements.tryPlace(taskOf({ order_group: 'quotes' })), null);
  const [record] = sent;
  assert.deepEqual([...record!.subarray(cmd.EXT_KEY, cmd.EXT_KEY + 8)], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(record![cmd.EXT_ROUTE_ROW], cmd.EXT_ROUTE.BATCH | (14 << 8));
  assert.equal(readSafe(record!, cmd.EXT_DEADLINE_MS), CALL.deadlineMs);
  assert.equal(record![cmd.EXT_GROUP], 7);
});

test('an order that finds no room gives its client order id back', () => {
  const { placements, clientIds } = rig(E.ENGINE_BUSY);
  assert.equal(placements.tryPlace(taskOf({ client_order_id: 'a' }))?.row.number, E.ENGINE_BUSY);
  assert.equal(clientIds.stateOf(5, 'a'), 'free');
});

test('an order whose client order id is taken goes to its shard, which says so in its turn', () => {
  const { placements, clientIds, sent } = rig(OK);
  assert.ok(clientIds.tryClaim(5, 'a', null));
  assert.equal(placements.tryPlace(taskOf({ client_order_id: 'a' })), null);
  const bits = cmd.kindBits(sent[0]![cmd.PLACE_KIND]!);
  assert.notEqual(bits & cmd.PLACE_BIT_CLIENT_ID_TAKEN, 0);
  assert.equal(clientIds.stateOf(5, 'a'), 'onItsWay');
});

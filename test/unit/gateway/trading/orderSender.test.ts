/** Parts of a request beside the order in its body (RULES.md 6.7, 7.7, 7.12), and how a reply is counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refusal } from '../../../../gateway/base/refusal.ts';
import { BadSignatures } from '../../../../gateway/http/badSignatures.ts';
import type { AccountCall } from '../../../../gateway/http/route.ts';
import type { PlacementWriter } from '../../../../gateway/shardlink/placementWriter.ts';
import type { RecordResult } from '../../../../gateway/shardlink/recordResult.ts';
import { emptyReply, type ReplyHandler, setReply } from '../../../../gateway/shardlink/reply.ts';
import { Views } from '../../../../gateway/shardlink/views.ts';
import { ClientOrderIds } from '../../../../gateway/trading/clientOrderIds.ts';
import { OpenOrderCounts } from '../../../../gateway/trading/openOrderCounts.ts';
import { OrderSender, type OrderSenderDeps, SentOrder } from '../../../../gateway/trading/orderSender.ts';
import { ParsedOrders } from '../../../../gateway/trading/parsedOrders.ts';
import { PastOrders, type PastReads } from '../../../../gateway/trading/pastOrders.ts';
import type { PlacementBody } from '../../../../shared/api/orders.ts';
import { E, ERRORS, OK } from '../../../../shared/base/errors.ts';
import {
  COMMAND,
  EXT_ROUTE,
  EXTENDED_PLACE,
  kindBits,
  PLACE_BIT_CLIENT_ID_TAKEN,
  PLACE_BIT_TOO_MANY_OPEN,
} from '../../../../shared/wire/commands.ts';
import { HASH_START_BYTES, hashStartIn, WRONGLY_SIGNED } from '../../../../shared/wire/hashStart.ts';
import { readSafe } from '../../../../shared/wire/record.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { recordOf } from '../../../support/recordWriter.ts';

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
  principal: { accountIndex: 5, selfTradePrevention: 0 },
  idempotencyHold: {
    use: { route: EXT_ROUTE.BATCH },
    words: { key: Uint32Array.of(1, 2, 3, 4), fingerprint: Uint32Array.of(5, 6, 7, 8) },
  },
  deadlineMs: 1_800_000_000_123,
} as unknown as AccountCall;

const MARKET = { shard: 0, index: 3, yesTokenId: '1', noTokenId: '2' };

/** An engine that keeps the records, says `code`, and replies to the last order when the test wants it. */
function rig(code: number, past?: PastReads, named: readonly [number, number, number] = [0, 0, 0]) {
  const records: Uint32Array[] = [];
  let replyToLast: (replied: number) => void = () => {};
  const engine = {
    isReady: () => true,
    place: (
      shard: number,
      _account: number,
      _market: number,
      order: PlacementWriter,
      onReply: ReplyHandler<SentOrder>,
      sent: SentOrder,
    ) => {
      records.push(recordOf(order));
      const result = {} as RecordResult;
      const reply = emptyReply(result);
      replyToLast = (replied) => {
        setReply(reply, replied, shard, 0, result);
        [reply.a, reply.b, reply.c] = named;
        onReply(reply, sent);
      };
      return code;
    },
  };
  const clientIds = new ClientOrderIds({ findByClientId: () => null }, engine);
  const sender = new OrderSender({
    engine,
    views: { orders: [] },
    catalog: { byId: (id: string) => (id === 'm' ? MARKET : undefined) },
    accounts: { grantOf: () => 1 },
    accountStates: { placingRefusal: () => null },
    clientIds,
    badSignatures: new BadSignatures(new ManualClock(1_800_000_000_000)),
    openOrders: new OpenOrderCounts(new Views(1), engine, { of: () => ({ inAll: 1, inMarket: 1 }) }),
    past: past && new PastOrders(past),
    groups: { indexOf: () => 7, isKnownTo: (_shard: number, group: number) => group === 7 },
  } as unknown as OrderSenderDeps);
  return { records, clientIds, sender, reply: (replied: number) => replyToLast(replied) };
}

const parsed = new ParsedOrders();

class TestOrder extends SentOrder {
  readonly call = CALL;
  placed(): void {}
  refused(): void {}
}

const sentOrder = (body: object): SentOrder => {
  return new TestOrder(parsed.read({ ...BODY, ...body } as unknown as PlacementBody), 14);
};

test('idempotency key, fingerprint, route and row, deadline and group travel with the order', () => {
  const { records, sender } = rig(OK);
  assert.equal(sender.tryPlace(sentOrder({ order_group: 'quotes' })), null);
  const [record] = records;
  assert.deepEqual([...record!.subarray(EXTENDED_PLACE.key, EXTENDED_PLACE.key + 8)], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(record![EXTENDED_PLACE.keyUse], EXT_ROUTE.BATCH | (14 << 8));
  assert.equal(readSafe(record!, EXTENDED_PLACE.deadlineMs), CALL.deadlineMs);
  assert.equal(record![EXTENDED_PLACE.group], 7);
});

test('an order that finds no room gives its client order id back', () => {
  const { sender, clientIds } = rig(E.ENGINE_BUSY);
  assert.equal(sender.tryPlace(sentOrder({ client_order_id: 'a' }))?.row.number, E.ENGINE_BUSY);
  assert.equal(clientIds.stateOf(5, 'a'), 'free');
});

test('an order whose client order id is taken goes to its shard, which says so in its turn', () => {
  const { sender, clientIds, records } = rig(OK);
  assert.ok(clientIds.tryClaim(5, 'a', null));
  assert.equal(sender.tryPlace(sentOrder({ client_order_id: 'a' })), null);
  const bits = kindBits(records[0][COMMAND.PLACE.kind]);
  assert.notEqual(bits & PLACE_BIT_CLIENT_ID_TAKEN, 0);
  assert.equal(clientIds.stateOf(5, 'a'), 'onItsWay');
});

test('an order beyond the bound of open ones is refused by its shard; one that is not sent frees its room', () => {
  const { sender, records } = rig(OK);
  for (const time_in_force of ['GTC', 'GTC', 'FOK']) sender.tryPlace(sentOrder({ time_in_force }));
  const bits = records.map((record) => kindBits(record[COMMAND.PLACE.kind]) & PLACE_BIT_TOO_MANY_OPEN);
  assert.deepEqual(bits, [0, PLACE_BIT_TOO_MANY_OPEN, 0]);

  const busy = rig(E.ENGINE_BUSY);
  for (let i = 0; i < 2; i++) busy.sender.tryPlace(sentOrder({}));
  assert.deepEqual(
    busy.records.map((record) => kindBits(record[COMMAND.PLACE.kind]) & PLACE_BIT_TOO_MANY_OPEN),
    [0, 0],
  );
});

test('an order for a market that does not exist is not sent', () => {
  const { sender, records } = rig(OK);
  assert.equal(sender.tryPlace(sentOrder({ market_id: 'other' }))?.row.number, E.MARKET_NOT_FOUND);
  assert.deepEqual(records, []);
});

test('wrong signatures that its shard finds keep further orders of an account from the shard (RULES.md 5.8)', () => {
  const { sender, records, reply } = rig(OK);
  for (const code of [E.INSUFFICIENT_BALANCE, E.INVALID_SIGNATURE]) {
    for (let count = 0; count < 20; count++) {
      assert.equal(sender.tryPlace(sentOrder({})), null, `${count} were refused with ${code}`);
      reply(code);
    }
  }
  assert.equal(sender.tryPlace(sentOrder({}))?.row, ERRORS.RATE_LIMITED);
  assert.equal(records.length, 40);
});

test('5.8 a wrong signature counts too if the order was refused because its market is decided', () => {
  const { sender, reply } = rig(OK, undefined, WRONGLY_SIGNED);
  for (const code of [E.INSUFFICIENT_BALANCE, E.MARKET_NOT_ACTIVE]) {
    for (let count = 0; count < 20; count++) {
      assert.equal(sender.tryPlace(sentOrder({})), null, `${count} were refused with ${code}`);
      reply(code);
    }
  }
  assert.equal(sender.tryPlace(sentOrder({}))?.row, ERRORS.RATE_LIMITED);
});

test('2.13 an order that its shard may have forgotten is refused only as history knows it', async () => {
  const START = Uint8Array.from({ length: HASH_START_BYTES }, (_, at) => (at * 37) % 256);
  class Asked extends SentOrder {
    readonly call = { ...CALL, idempotencyHold: null } as unknown as AccountCall;
    readonly refusal = Promise.withResolvers<string>();
    placed(): void {}
    refused({ row, details }: Refusal): void {
      this.refusal.resolve(`${row.message}${details?.may_have_been_accepted === true ? ', perhaps' : ''}`);
    }
  }
  const ask = async (code: number, historyFromMs: number, found: object | null): Promise<string> => {
    const ofAccountByNow = async (_account: unknown, _name: unknown, { start, isOwn }: Record<string, unknown>) => {
      assert.deepEqual([start, isOwn], [START, false]);
      return found ?? new Promise(() => {});
    };
    const past = { historyFromMs, ofAccountByNow } as unknown as PastReads;
    const { sender, reply } = rig(OK, past, hashStartIn(START, 0));
    const sent = new Asked(parsed.read(BODY as unknown as PlacementBody));
    assert.equal(sender.tryPlace(sent), null);
    reply(code);
    return sent.refusal.promise;
  };
  const [yes, no] = [
    { ok: true, value: true },
    { ok: true, value: false },
  ];
  for (const row of [ERRORS.MARKET_NOT_ACTIVE, ERRORS.ORDER_EXPIRED, ERRORS.DEADLINE_PASSED, ERRORS.ENGINE_BUSY]) {
    const said = [await ask(row.number, 0, yes), await ask(row.number, 0, no), await ask(row.number, 1, no)];
    assert.deepEqual(said, ['duplicate order', row.message, `${row.message}, perhaps`]);
  }
  const late = await ask(E.MARKET_NOT_ACTIVE, 0, null);
  assert.equal(late, `${ERRORS.MARKET_NOT_ACTIVE.message}, perhaps`, 'history does not answer');
});

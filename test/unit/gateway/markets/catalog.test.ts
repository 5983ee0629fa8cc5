/** Markets and events in control.db: their tokens, shards and order, over a restart as well. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { Catalog } from '../../../../gateway/markets/catalog.ts';
import { completeEventDetails } from '../../../../gateway/markets/marketDetails.ts';
import { toIdBytes } from '../../../../gateway/markets/marketTokensStore.ts';
import { uuidToBytes } from '../../../../shared/base/hex.ts';
import { shardOfMarket } from '../../../../shared/base/sharding.ts';
import { NOW_MS, newDatabase, newMarket } from '../../../support/controlRows.ts';

describe('catalogue', () => {
  test('derived token ids are the same for ever and differ between outcomes and markets', (t) => {
    const database = newDatabase(t);
    const catalog = new Catalog(database, 2);
    const markets = [catalog.createMarket(newMarket(), NOW_MS), catalog.createMarket(newMarket(), NOW_MS)];
    const tokens = markets.flatMap((market) => [market.yesTokenId, market.noTokenId]);
    assert.equal(new Set(tokens).size, 4);
    for (const market of markets) assert.equal(catalog.byToken(market.noTokenId), market);
  });

  test('markets made in one millisecond still have an order of creation', (t) => {
    const catalog = new Catalog(newDatabase(t), 1);
    const first = catalog.createMarket(newMarket(), NOW_MS);
    const second = catalog.createMarket(newMarket(), NOW_MS);
    const third = catalog.createMarket(newMarket(), NOW_MS - 1000);
    assert.ok(first.createdMs < second.createdMs && second.createdMs < third.createdMs);
  });

  test('a market that is taken back frees its tokens, its place and its event', (t) => {
    const catalog = new Catalog(newDatabase(t), 1);
    const event = catalog.createEvent('rain', completeEventDetails({ title: 'Rain' }, NOW_MS), NOW_MS);
    const fields = newMarket({ eventId: event.id, tokenIds: ['1', '2'] });
    catalog.removeNewest(catalog.createMarket(fields, NOW_MS));
    assert.deepEqual(event.markets, []);
    assert.equal(catalog.byToken('1'), undefined);
    assert.equal(catalog.createMarket(fields, NOW_MS).index, 0);
  });

  test('markets and events come back as they were last written', (t) => {
    const database = newDatabase(t);
    const before = new Catalog(database, 4);
    const event = before.createEvent('rain', completeEventDetails({ title: 'Rain' }, NOW_MS), NOW_MS);
    const market = before.createMarket(newMarket(), NOW_MS);
    before.updateMarket(market, event.id, { ...market.details, title: 'Will it pour?', line: 0.5 }, NOW_MS);
    before.updateEvent(event, { ...event.details, status: 'live' }, NOW_MS);
    const after = new Catalog(database, 4);
    assert.deepEqual(after.byId(market.id), market);
    assert.deepEqual(after.eventBySlug('rain'), event);
    assert.equal(after.eventById(event.id)!.markets[0], after.byIndex(0));
  });

  test('an event set and its markets are made in one transaction, all or none, on the shard of its id (19.1)', (t) => {
    const database = newDatabase(t);
    const catalog = new Catalog(database, 4);
    const details = completeEventDetails({ title: 'Election' }, NOW_MS);
    const [id, other] = [randomUUID(), randomUUID()];
    const set = catalog.createSet('election', details, [newMarket(), newMarket(), newMarket()], NOW_MS, id);
    assert.equal(set.details.winners, 1);
    for (const market of set.markets) assert.equal(market.shard, shardOfMarket(toIdBytes(id), 4));
    assert.deepEqual(new Catalog(database, 4).events, [set]);
    const twice = newMarket({ id: set.markets[0]!.id });
    assert.throws(() => catalog.createSet('again', details, [newMarket(), twice], NOW_MS, other), /UNIQUE/);
    for (const each of [catalog, new Catalog(database, 4)]) {
      assert.equal(each.eventBySlug('again'), undefined);
      assert.equal(each.markets.length, 3);
    }
  });

  test('several markets are made in one transaction, all or none', (t) => {
    const database = newDatabase(t);
    const catalog = new Catalog(database, 2);
    const made = catalog.createMarkets([newMarket(), newMarket()], NOW_MS);
    assert.deepEqual(new Catalog(database, 2).markets, made);
    const twice = newMarket({ id: made[0].id });
    assert.throws(() => catalog.createMarkets([newMarket(), twice], NOW_MS), /UNIQUE/);
    assert.equal(catalog.markets.length, 2);
    assert.equal(new Catalog(database, 2).markets.length, 2);
  });

  test('a market id is found in either case', (t) => {
    const catalog = new Catalog(newDatabase(t), 1);
    const market = catalog.createMarket(newMarket(), NOW_MS);
    assert.equal(catalog.byId(market.id.toUpperCase()), market);
  });

  test('RULES.md 19.1: all markets of an event set lie in the shard of the event, also after a start', (t) => {
    const database = newDatabase(t);
    const catalog = new Catalog(database, 5);
    for (let i = 0; i < 5; i++) {
      const details = { ...completeEventDetails({ title: 'Who wins' }, NOW_MS), winners: 1 } as const;
      const event = catalog.createEvent(`set-${i}`, details, NOW_MS);
      catalog.createMarkets(
        [newMarket(), newMarket()].map((market) => ({ ...market, eventId: event.id })),
        NOW_MS,
      );
      const shard = shardOfMarket(toIdBytes(event.id), 5);
      const again = new Catalog(database, 5).eventById(event.id)!;
      for (const { markets } of [event, again])
        assert.deepEqual(
          markets.map((market) => market.shard),
          [shard, shard],
        );
    }
  });

  test('a market’s shard is FNV-1a of its id, and ids spread over all shards', () => {
    const id = new Uint8Array(16);
    uuidToBytes('6ff7e213-1b80-4383-aa22-16f15b3779f6', id, 0);
    let hash = 2166136261n;
    for (const byte of id) hash = ((hash ^ BigInt(byte)) * 16777619n) % 2n ** 32n;
    assert.equal(shardOfMarket(id, 7), Number(hash % 7n));
    const seen = new Set<number>();
    for (let byte = 0; byte < 64; byte++) seen.add(shardOfMarket(id.with(15, byte), 4));
    assert.equal(seen.size, 4);
  });
});

/** MarketResponse: members that come and go with the state of a market (RULES.md 12.30 and 12.31). */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { MarketDetails, MarketEntry } from '../../../../gateway/markets/catalog.ts';
import type { ContractStore } from '../../../../gateway/markets/contracts.ts';
import { MarketResponses } from '../../../../gateway/markets/marketJson.ts';
import { mirrorPair } from '../../../../gateway/markets/mirrorPairs.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { checksumAddress } from '../../../../shared/crypto/checksumAddress.ts';
import { EntryMaker } from '../../../support/catalogueEntries.ts';
import { ClientRig } from '../../../support/clientRig.ts';
import type { Json } from '../../../support/server.ts';

const FACTORY = `0x${'fa'.repeat(20)}`;
const CONDITION = `0x${'01'.repeat(32)}`;
const PAIR = [['A', 'B'] as const, ['B', 'A'] as const];

type FindPair = ConstructorParameters<typeof MarketResponses>[0]['findPair'];

/** Two markets, each in a shard of its own, with the answers about them. */
async function open(t: TestContext, details: Partial<MarketDetails>[], findPair: FindPair = mirrorPair) {
  const rig = new ClientRig(t);
  await rig.start();
  const maker = new EntryMaker();
  const markets = details.map((each) => maker.add(each));
  const failures: unknown[] = [];
  const responses = new MarketResponses({
    catalog: { eventById: () => maker.event },
    contracts: { current: { marketFactory: FACTORY } } as ContractStore,
    views: rig.views,
    volumes: { volumeMicro: () => 1_500_000n, volume24hMicro: () => 0n },
    findPair,
    onPairFailed: (error) => failures.push(error),
  });
  const show = (market: MarketEntry): Json => JSON.parse(responses.toJson(market));
  return { rig, markets, responses, failures, show };
}

function moneylines(): Partial<MarketDetails>[] {
  return PAIR.map((outcomes) => ({ external_market_type: 'moneyline', outcomes: [...outcomes] }));
}

describe('the canonical sibling', () => {
  test('is in both markets of a pair, in lists and alone', async (t) => {
    const { markets, responses, show } = await open(t, moneylines());
    const listed = [...responses.listJson(markets)].map((text): Json => JSON.parse(text));
    assert.deepEqual(listed, markets.map(show));
    for (const market of listed) assert.equal(market.canonical_sibling_market_id, markets[0].id);
  });

  test('is looked up once for all markets of an event in a list, and on each request of one', async (t) => {
    let asked = 0;
    const { markets, responses, show } = await open(t, moneylines(), () => {
      asked++;
      return null;
    });
    assert.equal([...responses.listJson(markets)].length, 2);
    assert.equal(asked, 1);
    show(markets[0]);
    show(markets[0]);
    assert.equal(asked, 3);
  });

  test('is left out when the lookup fails, and the market is answered all the same', async (t) => {
    const failure = new Error('no pair today');
    const { markets, responses, failures, show } = await open(t, moneylines(), () => {
      throw failure;
    });
    const market = show(markets[0]);
    assert.deepEqual([market.id, market.status], [markets[0].id, 'active']);
    assert.ok(!('canonical_sibling_market_id' in market));
    assert.equal([...responses.listJson(markets)].length, 2);
    assert.deepEqual(failures, [failure, failure]);
  });
});

test('the factory of a deployed market is the one it was deployed by, or else the present one', async (t) => {
  const own = `0x${'0b'.repeat(20)}`;
  const { markets, show } = await open(t, [{ contract_address: own }, { condition_id: CONDITION }]);
  assert.ok(!('contract_address' in show(markets[0])));
  assert.equal(show(markets[1]).contract_address, checksumAddress(FACTORY));
  markets[0].details = { ...markets[0].details, condition_id: CONDITION };
  markets[0].updatedMs++;
  assert.equal(show(markets[0]).contract_address, checksumAddress(own));
});

test('a trimmed market lacks what joins it with its provider, and nothing else', async (t) => {
  const { markets, responses, show } = await open(t, [{ external_event_id: 'X-1', series_ticker: 'X', line: 2.5 }]);
  const { external_event_id, series_ticker, ...rest } = show(markets[0]);
  assert.deepEqual([external_event_id, series_ticker], ['X-1', 'X']);
  assert.deepEqual(JSON.parse(responses.toJson(markets[0], 'trimmed')), rest);
});

test('prices are the mids of the book, exact, and even odds without orders on both sides', async (t) => {
  const { rig, markets, show } = await open(t, [{}]);
  await rig.run(rig.place(rig.record(SIDE.BUY, 30)));
  assert.deepEqual(show(markets[0]).current_prices, { 0: 0.5, 1: 0.5 });
  await rig.run(rig.place(rig.record(SIDE.BUY, 55, OUTCOME.NO)));
  assert.deepEqual(show(markets[0]).current_prices, { 0: 0.375, 1: 0.625 });
  assert.equal(show(markets[0]).total_volume, '1.5');
});

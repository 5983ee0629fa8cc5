/** Settlement (engine/settlement) after very many trades: the calls, reads and stored bytes for one more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Database from 'better-sqlite3';
import { type Hex, size, toHex } from 'viem';
import { DecisionRows } from '../../../../engine/settlement/decisionRows.ts';
import { DeployRows } from '../../../../engine/settlement/deployRows.ts';
import { Drafts } from '../../../../engine/settlement/drafts.ts';
import { News } from '../../../../engine/settlement/news.ts';
import { RefusedTrades } from '../../../../engine/settlement/refusedTrades.ts';
import { Rotation } from '../../../../engine/settlement/rotation.ts';
import { Settlement } from '../../../../engine/settlement/settlement.ts';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND, WorkRows } from '../../../../engine/settlement/work.ts';
import { MATCH_TYPE, SIDE } from '../../../../shared/base/codes.ts';
import { EnvelopeRows } from '../../../../shared/chain/envelopeRows.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { FakeChain } from '../../../support/fakeChain.ts';
import { COLLATERAL, EXCHANGE, FACTORY, FakeExchange, RESOLUTIONS, TOKENS } from '../../../support/fakeExchange.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { Random } from '../../../support/random.ts';

const KEY = chainKey(toHex(7, { size: 32 }));
const CONTRACTS = {
  exchange: EXCHANGE,
  marketFactory: FACTORY,
  usdc: COLLATERAL,
  conditionalTokens: TOKENS,
  resolutions: RESOLUTIONS,
};
/** The largest transaction that nodes take. */
const MOST_BYTES = 2 ** 17;

/** Adds a trade of two orders that no other trade has. */
function addTrade(rows: WorkRows, sequence: number): void {
  const order = (side: number, slot: number): number => {
    rows.addOrder({
      ...{ shard: 0, slot, outcome: 0, exchange: null, hash: toHex(slot + 1, { size: 32 }), side },
      ...{ salt: toHex(slot, { size: 32 }), maker: EXCHANGE, signer: EXCHANGE, token_id: toHex(1, { size: 32 }) },
      ...{ maker_amount: 100, taker_amount: 100, expiration_sec: 0, nonce: 0, fee_bps: 0, min_taker_net: 0 },
      signature: toHex(1, { size: 65 }),
    });
    return rows.openOrder(0, slot)!;
  };
  const [maker_order, taker_order] = [order(SIDE.SELL, 2 * sequence), order(SIDE.BUY, 2 * sequence + 1)];
  const terms = { yes_ticks: 50, match_type: MATCH_TYPE.STANDARD, maker_order, taker_order };
  const parties = { account: 1, taker_account: 2 };
  rows.add({ kind: KIND.TRADE, shard: 0, sequence, part: 0, market: 0, amount: 1, ...terms, ...parties });
}

function withTrades(trades: number): { db: Database.Database; rows: WorkRows } {
  const db = openSettlementDb(':memory:');
  const rows = new WorkRows(db, () => 1);
  rows.setMarket(0, toHex(1, { size: 16 }), 100);
  for (let sequence = 1; sequence <= trades; sequence++) addTrade(rows, sequence);
  return { db, rows };
}

test('the largest batch fills a transaction that nodes take, and no more', async () => {
  const { db, rows } = withTrades(200);
  const deploys = new DeployRows(db, () => 1, new News(db, () => 1));
  const rotation = new Rotation(db, rows, deploys, EXCHANGE);
  const { draft, work } = new Drafts(rows, CONTRACTS, rotation).next(rows.pending(1, 400, 1), 60_000_000)!;
  const fees = { maxFeePerGas: 10n ** 15n, maxPriorityFeePerGas: 10n ** 15n };
  const { bytes } = await KEY.sign({ chainId: 2 ** 48, nonce: 2 ** 48, ...draft, gas: BigInt(draft.gas), ...fees });
  assert.ok(size(bytes) <= MOST_BYTES && size(bytes) > 0.97 * MOST_BYTES, `${size(bytes)} bytes`);
  assert.ok(work.length > 90, `${work.length} trades`);
});

test('no statement reads a table that grows from end to end', () => {
  const { db, rows } = withTrades(2);
  const found: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    const values = (sql.match(/\?/g) ?? []).map(() => null);
    const named = Object.fromEntries((sql.match(/@\w+/g) ?? []).map((name) => [name.slice(1), null]));
    const steps = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    for (const { detail } of steps.all(...(values.length > 0 ? values : [named]))) {
      // An index of pending or failed rows is only as long as these.
      if (/^SCAN (?!(work|deploys) USING .*INDEX (work_(pending|waited|failed)|deploys_due))/.test(detail))
        found.push(`${detail}: ${sql}`);
    }
    return prepare(sql);
  }) as typeof db.prepare;
  const fresh = new WorkRows(db, () => 1);
  const [work] = rows.pending(1, 1, 1);
  const job = fresh.addJob(EXCHANGE, [work], null);
  fresh.setMined(job, { hash: '0x', blockNumber: 1 });
  fresh.submit(work.id, job);
  fresh.retry(work, 1, 'why');
  fresh.hasOlderFills(work);
  fresh.addHolder(0, 1);
  fresh.removeHolder(0, 1);
  fresh.decideMarket(1, 0);
  fresh.jobOfClaim(0, 1);
  const decisions = new DecisionRows(db);
  decisions.add({ market: 0, uuid: toHex(1, { size: 16 }), status: 5, payout_yes_ppm: 1 });
  decisions.submit(0, 1);
  decisions.forgetJobs(() => true);
  decisions.failed(decisions.ofJob(1)!, 1);
  decisions.after(-1, 1);
  decisions.ofUuid(toHex(1, { size: 16 }));
  decisions.ofLedger(1, 1);
  decisions.ofLedgerIn(0);
  decisions.isInLedger(0);
  decisions.isOnChain(0);
  decisions.isReady(0);
  fresh.oldestPendingMs(1);
  fresh.countFailed();
  new RefusedTrades(db, fresh).handlers.marketTrades({ market: 0 });
  fresh.hasUnsettledMove(1);
  fresh.countUnsettledAt(1);
  fresh.countUnsettled();
  fresh.history(work.id);
  fresh.order(1);
  fresh.market(0);
  fresh.escrow(1);
  fresh.isMirrored('');
  fresh.pending(1, 9, 1);
  fresh.closeOrder(fresh.openOrder(0, 2)!);
  fresh.job(job);
  const deploys = new DeployRows(db, () => 1, new News(db, () => 1));
  deploys.want(0, toHex(1, { size: 16 }), EXCHANGE, true);
  const [deploy] = deploys.due(1);
  deploys.has(0);
  deploys.ofJob(deploys.submit(deploy.id));
  deploys.fail(deploy.id, 'why', 1, false);
  new EnvelopeRows(db, EXCHANGE).hashOfJob(1);
  assert.deepEqual(found, []);
});

test('final transactions keep no bytes, and waiting for finality costs no calls', async () => {
  const engines = new ProjectionRig({ seed: 5 });
  const chain = new FakeChain(new Random(1), () => new FakeExchange());
  const db = openSettlementDb(':memory:');
  const calls = new Map<string, number>();
  let nowMs = 1_800_000_000_000;
  const call = (method: string, params: readonly unknown[]): Promise<unknown> => {
    calls.set(method, (calls.get(method) ?? 0) + 1);
    return chain.call(method, params);
  };
  const settlement = new Settlement({
    ...{ db, node: new ChainNode({ call }), key: KEY, chainId: 137, contracts: CONTRACTS, mostFeeWei: 10n ** 15n },
    ...{ deployerKey: chainKey(toHex(8, { size: 32 })), resolverKey: chainKey(toHex(9, { size: 32 })) },
    ...{ news: new News(db, () => nowMs), limits: { headAgeMs: 30_000, waitMs: 60_000 } },
    ...{ progress: engines.progress, journalPaths: engines.journalPaths, keys: [TEST_KEY], nowMs: () => nowMs },
  });
  const step = async (): Promise<void> => {
    nowMs += 2000;
    await settlement.step();
    chain.mine();
  };
  const count = (sql: string): number => db.prepare<[], number>(sql).pluck().get()!;
  for (let rounds = 0; rounds < 12; rounds++) {
    engines.trade(10);
    await step();
  }
  assert.ok(count(`SELECT count(*) FROM envelopes WHERE state = 'mined'`) >= 4);
  while (count(`SELECT count(*) FROM work WHERE status IN ('pending', 'submitted')`) > 0) await step();
  await step();
  calls.clear();
  for (let rounds = 0; rounds < 3; rounds++) await step();
  assert.equal(calls.get('eth_getTransactionReceipt') ?? 0, 0, 'the block of the newest one of a key stands for all');
  assert.ok(calls.get('eth_getBlockByNumber')! <= 12, JSON.stringify([...calls]));
  for (let rounds = 0; rounds < 150; rounds++) await step();
  assert.equal(count(`SELECT count(*) FROM work WHERE status <> 'settled'`), 0);
  assert.equal(count('SELECT sum(length(data)) FROM envelopes'), 0);
  assert.equal(count('SELECT sum(length(bytes)) FROM envelope_attempts'), 0);
  const hash = db.prepare<[], Hex>('SELECT hash FROM envelope_attempts LIMIT 1').pluck().get()!;
  assert.equal(size(hash), 32, 'the transaction is still known by its hash');
  settlement.close();
  engines.close();
});

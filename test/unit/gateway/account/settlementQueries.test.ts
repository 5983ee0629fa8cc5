/** The status of a trade on a chain is read from settlement.db (RULES.md 14.8). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import Database from 'better-sqlite3';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { KIND, WorkRows } from '../../../../engine/settlement/work.ts';
import { ChainSettlements, LEDGER_SETTLEMENTS } from '../../../../gateway/account/settlementQueries.ts';
import { FUND_MOVEMENT } from '../../../../shared/base/codes.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../../../shared/base/ids.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const T0 = Date.UTC(2026, 0, 1);
const BATCH = `0x${'ba'.repeat(32)}`;
const TRANSACTION = `0x${'7a'.repeat(32)}`;
const at = (second: number): string => new Date(T0 + second * 1000).toISOString();
const tradeId = (shard: number, sequence: number): Uint8Array => timeOrderedIdBytes(T0, shard, ID_KIND.TRADE, sequence);
const NOTHING = { batch_id: null, transaction_hash: null, block_number: null, reason: null, unwound_at: null };
const PENDING = { settlement_status: 'pending', history: [{ status: 'pending', at: at(0) }], ...NOTHING };

const path = join(temporaryDirectory(), 'settlement.db');
const db = openSettlementDb(path);
after(() => db.close());
/** Settlement reads of a trade after it was made. */
let nowMs = T0 + 500;
const rows = new WorkRows(db, () => nowMs);

function add(kind: 0 | 1 | 3 | 6, shard: number, sequence: number): number {
  const no = {
    ...{ maker_order: null, taker_order: null, yes_ticks: null, match_type: null },
    ...{ taker_account: null },
  };
  rows.add({ kind, shard, sequence, part: 0, account: 1, market: 0, amount: 1, ...no });
  return db.prepare<[], number>('SELECT max(id) FROM work').pluck().get()!;
}

test('a trade has its status, every step with its time, and the transaction that did it', () => {
  const settlements = new ChainSettlements(path);
  const id = add(KIND.TRADE, 3, 7);
  add(KIND.SPLIT, 3, 8);
  assert.deepEqual(settlements.of(tradeId(3, 7), at(0)), PENDING);
  nowMs += 1000;
  const job = rows.addJob('0x00', [rows.get(id)!], BATCH);
  rows.submit(id, job);
  nowMs += 1000;
  rows.setMined(job, { hash: TRANSACTION, blockNumber: 9 });
  rows.setStatus(id, 'mined');
  const history = [
    { status: 'pending', at: at(0) },
    { status: 'submitted', at: at(1.5) },
    { status: 'mined', at: at(2.5) },
  ];
  const inBlock = { batch_id: BATCH, transaction_hash: TRANSACTION, block_number: 9, reason: null, unwound_at: null };
  assert.deepEqual(settlements.of(tradeId(3, 7), at(0)), { settlement_status: 'mined', history, ...inBlock });
  rows.setMined(job, null);
  rows.setStatus(id, 'failed', 'OrderExpired');
  assert.deepEqual(settlements.of(tradeId(3, 7), at(0)), {
    settlement_status: 'failed',
    history: [...history, { status: 'failed', at: at(2.5) }],
    ...{ ...NOTHING, batch_id: BATCH, reason: 'OrderExpired' },
  });
  const page = [tradeId(3, 8), tradeId(3, 7), tradeId(2, 7), tradeId(3, 7)];
  assert.deepEqual(settlements.statusesOf(page), ['pending', 'failed', 'pending', 'failed'], 'a split is no trade');
  assert.deepEqual(settlements.statusesOf([]), []);
  assert.deepEqual(settlements.of(tradeId(2, 7), at(0)), PENDING, 'settlement has not reached it');
});

test('every trade is pending before settlement has made its file and its tables', () => {
  const later = join(temporaryDirectory(), 'settlement.db');
  const settlements = new ChainSettlements(later);
  assert.deepEqual(settlements.of(tradeId(0, 1), at(0)), PENDING);
  const empty = new Database(later);
  empty.pragma('journal_mode = WAL');
  assert.deepEqual(settlements.statusesOf([tradeId(0, 1)]), ['pending']);
  empty.close();
  openSettlementDb(later).close();
  assert.deepEqual(settlements.of(tradeId(0, 1), at(0)), PENDING);
});

test('without a chain a trade is settled when it is made', () => {
  assert.deepEqual(LEDGER_SETTLEMENTS.statusesOf([tradeId(0, 1)]), ['settled']);
  const history = [{ status: 'settled', at: at(5) }];
  assert.deepEqual(LEDGER_SETTLEMENTS.of(tradeId(0, 1), at(5)), {
    settlement_status: 'settled',
    history,
    ...NOTHING,
  });
});

test('RULES.md 14.41: a movement is as far as its work, and settled if the chain has nothing to do for it', () => {
  const settlements = new ChainSettlements(path);
  const moved = (kind: number, shardSequence: number, shard = 4) => ({ kind, shard, shardSequence });
  const { WITHDRAWAL, SPLIT, SETTLEMENT, UNWINDING } = FUND_MOVEMENT;
  const page = [moved(WITHDRAWAL, 20), moved(SPLIT, 21), moved(SETTLEMENT, 22), moved(UNWINDING, 23)];
  const [pending, settled] = ['pending', 'settled'].map((status) => ({ status, hash: null }));
  assert.deepEqual(
    settlements.ofMovements(1, page),
    page.map(() => pending),
    'settlement has not reached them',
  );
  db.prepare('INSERT OR REPLACE INTO followed VALUES (4, 22, 0, 0, NULL)').run();
  const ids = [add(KIND.RELEASE, 4, 20), add(KIND.SPLIT, 4, 21)];
  add(KIND.WITHDRAWAL, 5, 20);
  assert.deepEqual(settlements.ofMovements(1, page), [pending, pending, settled, pending]);
  const job = rows.addJob(
    '0x00',
    ids.map((id) => rows.get(id)!),
    null,
  );
  rows.submit(ids[0]!, job);
  rows.setMined(job, { hash: TRANSACTION, blockNumber: 9 });
  rows.setStatus(ids[0]!, 'mined');
  assert.deepEqual(settlements.ofMovements(1, page)[0], { status: 'mined', hash: TRANSACTION });
  assert.deepEqual(settlements.ofMovements(2, page)[0], settled, 'the work is of another account');
  const later = new ChainSettlements(join(temporaryDirectory(), 'settlement.db'));
  assert.deepEqual(later.ofMovements(1, [page[0]!]), [pending], 'before settlement has begun');
  assert.deepEqual(
    LEDGER_SETTLEMENTS.ofMovements(1, page),
    page.map(() => settled),
  );
});

/**
 * A decision realizes the gain and the loss of everybody who holds tokens, and the claims and the settlement after it
 * move nothing: read models of one journal, up to the decision and up to the end (RULES.md 13.9, 13.11, 14.20).
 *
 *     SEED=7 node shared/run.mjs --test test/unit/gateway/account/decisions.test.ts
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { AchievementQueries } from '../../../../gateway/account/achievementQueries.ts';
import { PortfolioQueries } from '../../../../gateway/account/portfolioQueries.ts';
import { positionMask } from '../../../../gateway/account/positionIds.ts';
import { FIRST_POSITION, PositionQueries } from '../../../../gateway/account/positionQueries.ts';
import { LeaderboardQueries, NO_MARK } from '../../../../gateway/markets/leaderboardQueries.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { payoutMicro } from '../../../../shared/base/payout.ts';
import { DAY_MS, HOUR_MS } from '../../../../shared/tables/buckets.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(20_261_128);
const ACCOUNTS = [1, 2, 3];
const MARKETS = [0, 1, 2];
/** Yes pays so much of a million. */
const PAYOUTS = [333_333, 500_000, 1_000_000];
const masks = [0, 1].map((outcome) => positionMask('user', outcome));

type Seen = { realized: bigint[]; closed: unknown[]; gained: bigint[]; leaders: unknown; held: number };

/** The read models of all accounts after the first records. */
function seenAfter(shard: JournaledShard, records: number, nowMs: number): Seen {
  const readDbPath = join(temporaryDirectory(), 'read.db');
  const progress = Progress.create(1);
  new Progress(progress).setCommitted(0, records);
  const projector = new Projector({
    journalPaths: [shard.file.journalPath],
    keys: [TEST_KEY],
    readDbPath,
    progress,
  });
  while (projector.step(true));
  projector.close();
  const db = new Database(readDbPath, { readonly: true });
  const positions = new PositionQueries(db);
  const shown = ACCOUNTS.flatMap((account) => {
    const task = { account, market: null, after: FIRST_POSITION, limit: 100, masks, marked: new Set<number>() };
    return positions.slice(task).texts.map((text) => JSON.parse(text));
  });
  const facts = new AchievementQueries(db);
  const leaders = new LeaderboardQueries(db);
  const marks = new SharedArrayBuffer(4 * MARKETS.length);
  new Uint32Array(marks).fill(NO_MARK);
  const part = leaders.part({ sinceMs: nowMs - (nowMs % DAY_MS), by: 'days', after: 0, marks });
  const seen = {
    realized: shown.map(({ realized_pnl }) => BigInt(realized_pnl.replace('.', ''))),
    closed: ACCOUNTS.map((account) => facts.facts({ account, nflSinceMs: 0 })),
    gained: ACCOUNTS.map((account) => gainedOf(db, account, nowMs)),
    leaders: part.traders,
    held: shown.filter(({ quantity }) => quantity !== '0').length,
  };
  db.close();
  return seen;
}

function gainedOf(db: Database.Database, account: number, nowMs: number): bigint {
  const sinceMs = nowMs - (nowMs % HOUR_MS);
  const slice = new PortfolioQueries(db).slice({ account, sinceMs, after: null });
  let gained = slice.gainedMicro - slice.gainedThenMicro - slice.worthThenMicro;
  for (const [row, yes] of slice.held.yesAtomic.entries()) {
    gained += BigInt(payoutMicro(yes, slice.held.noAtomic[row]!, slice.held.lastYesPpm[row]!));
  }
  return gained;
}

test(`RULES.md 13.11: a decision realizes gains and losses, and claims and settlements none (SEED=${seed})`, () => {
  const shard = new JournaledShard(seed);
  shard.trade(600);
  const before = shard.last;
  for (const market of MARKETS) {
    const status = market === 1 ? MARKET_STATUS.CANCELLED : MARKET_STATUS.RESOLVED;
    shard.rig.resolve(market, PAYOUTS[market]!, status);
  }
  shard.commit();
  const decided = shard.last;
  shard.rig.claim(2, 0);
  shard.rig.claim(1, 1);
  for (const market of MARKETS) shard.rig.settle(market);
  shard.commit();
  const { nowMs } = shard.rig;

  const open = seenAfter(shard, before, nowMs);
  const atDecision = seenAfter(shard, decided, nowMs);
  const paid = seenAfter(shard, shard.last, nowMs);
  assert.ok(open.held > 10 && atDecision.held === open.held && paid.held === 0);
  assert.deepEqual({ ...paid, held: 0 }, { ...atDecision, held: 0 });
  const moved = atDecision.realized.map((micro, row) => micro - open.realized[row]!);
  assert.ok(moved.some((micro) => micro > 0n) && moved.some((micro) => micro < 0n), 'gains, and losses too');
  const last = moved.filter((_, row) => row % 6 >= 4);
  assert.ok(
    last.filter((_, row) => row % 2 === 1).every((micro) => micro <= 0n),
    'No of the last market pays nothing',
  );
});

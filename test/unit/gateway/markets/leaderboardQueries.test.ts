/** The earnings of accounts in a window, beside a replay of all trades up to its start and to now (RULES.md 13.7). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { byEarnings, LeaderboardQueries, NO_MARK } from '../../../../gateway/markets/leaderboardQueries.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { bucketOf, DAY_MS, HOUR_MS } from '../../../../shared/tables/buckets.ts';
import { POSITIONS } from '../../../../shared/tables/positions.ts';
import { READ_DB_SCHEMA } from '../../../../shared/tables/readDb.ts';
import { ACCOUNT_STATS } from '../../../../shared/tables/statsAccounts.ts';
import { insert } from '../../../../shared/tables/table.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seededRandom } from '../../../support/random.ts';
import { JournalScript } from '../../../support/records.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(37);
const T0 = Date.UTC(2026, 0, 1);
const MARKETS = 4;
const ACCOUNTS = 12;
/** Beyond the accounts of one part. */
const FAR_ACCOUNT = 1700;
const D = 100;

type Part = { account: number; market: number; outcome: number; isBuy: boolean; lots: number; ticks: number };
type Trade = { timeMs: number; yesTicks: number; parts: readonly [Part, Part] };

const random = seededRandom(seed);
const below = (n: number): number => Math.floor(random() * n);
const trades: Trade[] = [];
const directory = temporaryDirectory();

function write(): string {
  const script = new JournalScript(join(directory, 'journal-0.db'));
  script.record(T0, (events) => {
    for (let market = 0; market < MARKETS; market++)
      events.market(market, `11111111-1111-4111-8111-00000000000${market}`);
  });
  let timeMs = T0;
  for (let i = 0; i < 800; i++) {
    // Over forty days, often hours apart.
    timeMs += below(10) < 3 ? below(12 * HOUR_MS) : below(60_000);
    const [maker, taker] = [accountAt(below(ACCOUNTS)), accountAt(below(ACCOUNTS))];
    const market = below(MARKETS);
    const outcome = below(2);
    const [lots, yesTicks] = [1000 * (1 + below(20)), 1 + below(D - 1)];
    const order = { market, lots, outcome, limitTicks: 50 };
    script.record(timeMs, (events) => {
      events.order({ ...order, slot: 0, account: maker, side: SIDE.BUY });
      events.order({ ...order, slot: 1, account: taker, side: SIDE.SELL });
      events.fill({ maker: 0, taker: 1, yesTicks, lots });
      events.filled(0);
      events.filled(1);
    });
    const part = { market, outcome, lots, ticks: outcome === OUTCOME.YES ? yesTicks : D - yesTicks };
    const parts = [
      { ...part, account: maker, isBuy: true },
      { ...part, account: taker, isBuy: false },
    ] as const;
    trades.push({ timeMs, yesTicks, parts });
  }
  const progress = Progress.create(1);
  const readDbPath = join(directory, 'read.db');
  const projector = new Projector({
    journalPaths: [join(directory, 'journal-0.db')],
    keys: [TEST_KEY],
    readDbPath,
    progress,
  });
  new Progress(progress).setCommitted(0, script.journal.lastSequence);
  while (projector.step(true));
  projector.close();
  script.journal.close();
  return readDbPath;
}

function accountAt(i: number): number {
  return i === ACCOUNTS - 1 ? FAR_ACCOUNT : 1 + i;
}

/** USDC received minus paid, plus the holding at the given prices: without fees these are the earnings. */
function equityMicro(account: number, untilMs: number, yesTicksOf: (market: number) => number): number {
  let micro = 0;
  for (const { timeMs, parts } of trades) {
    if (timeMs >= untilMs) break;
    for (const part of parts) {
      if (part.account !== account) continue;
      const yesTicks = yesTicksOf(part.market);
      const worth = part.lots * (part.outcome === OUTCOME.YES ? yesTicks : D - yesTicks);
      micro += (part.isBuy ? 1 : -1) * (worth - part.lots * part.ticks);
    }
  }
  return micro;
}

/** Half a unit before the first trade. */
function lastTicks(market: number, untilMs: number): number {
  const before = trades.filter(({ timeMs, parts }) => timeMs < untilMs && parts[0].market === market);
  return before.at(-1)?.yesTicks ?? D / 2;
}

const db = new Database(write(), { readonly: true });
const queries = new LeaderboardQueries(db);
const nowMs = trades.at(-1)!.timeMs;

for (const [window, by, spanMs, spans] of [
  ['24h', 'hours', HOUR_MS, 24],
  ['7d', 'hours', HOUR_MS, 168],
  ['30d', 'days', DAY_MS, 30],
  ['all', 'days', DAY_MS, 365],
] as const) {
  test(`RULES.md 13.7: ${window} is the change of money and of what is held, by every account (seed ${seed})`, () => {
    const sinceMs = bucketOf(nowMs, spanMs) - (spans - 1) * spanMs;
    // Two markets have a book, one of them far from its last trade; the others are worth their last trade.
    const memory = new SharedArrayBuffer(4 * MARKETS);
    new Uint32Array(memory).set([355_000, 990_000, NO_MARK, NO_MARK]);
    const ticksNow = (market: number): number => [35.5, 99][market] ?? lastTicks(market, Number.POSITIVE_INFINITY);
    const found = [];
    for (let after: number | null = 0; after !== null; ) {
      const part = queries.part({ sinceMs, by, after, marks: memory });
      assert.deepEqual(part.traders, part.traders.toSorted(byEarnings));
      found.push(...part.traders);
      after = part.next;
    }
    const expected = Array.from({ length: ACCOUNTS }, (_, i) => {
      const account = accountAt(i);
      const now = equityMicro(account, Number.POSITIVE_INFINITY, ticksNow);
      const then = equityMicro(account, sinceMs, (market) => lastTicks(market, sinceMs));
      const own = trades.filter(
        ({ timeMs, parts }) => timeMs >= sinceMs && parts.some((part) => part.account === account),
      );
      return { account, pnlMicro: now - then, trades: own.length };
    }).filter(({ pnlMicro, trades }) => pnlMicro !== 0 || trades > 0);
    const shown = found.map(({ account, pnlMicro, trades }) => ({ account, pnlMicro, trades }));
    const byAccount = (a: { account: number }, b: { account: number }): number => a.account - b.account;
    assert.deepEqual(shown.toSorted(byAccount), expected.toSorted(byAccount));
    assert.ok(
      found.some(({ account }) => account === FAR_ACCOUNT),
      'an account beyond the first part is there',
    );
  });
}

test('RULES.md 13.7: parts end between accounts, however many positions those have, and leave none out', () => {
  const held: readonly [account: number, positions: number][] = [
    ...Array.from({ length: 80 }, (_, i): [number, number] => [1 + i, 20]),
    [100, 1200],
    [101, 1],
    [900, 499],
    [901, 2],
  ];
  const crowded = new Database(':memory:');
  crowded.exec(READ_DB_SCHEMA);
  const addSums = crowded.prepare(insert(ACCOUNT_STATS));
  const addPosition = crowded.prepare(insert(POSITIONS));
  const zeros = {
    volume_micro: 0,
    funded_micro: 0,
    realized_micro: 0,
    cost_micro: 0,
    reserved_micro: 0,
    fee_shares_micro: 0,
    fee_shares: 0,
  };
  crowded.transaction(() => {
    for (const [account, positions] of held) {
      addSums.run({ account, shard: 0, trades: 0, ...zeros, trade_hour_ms: 0, changed_ms: 0 });
      for (let market = 0; market < positions; market++) {
        const tokens = { quantity_atomic: 1_000_000, gross_milli: 1, entry_atto: 0, cost_micro: 0, realized_micro: 0 };
        addPosition.run({
          account,
          market,
          outcome: OUTCOME.YES,
          ...tokens,
          is_paid: 0,
          has_traded: 1,
          cost_basis: 0,
          opened_ms: 0,
          changed_ms: 0,
        });
      }
    }
  })();
  // Every token is worth 0.75 now, and was worth 0.50 before the first trade.
  const memory = new SharedArrayBuffer(4 * 1200);
  new Uint32Array(memory).fill(750_000);
  const parts = [];
  const leaderboard = new LeaderboardQueries(crowded);
  for (let after: number | null = 0; after !== null; ) {
    const part = leaderboard.part({ sinceMs: T0, by: 'days', after, marks: memory });
    parts.push(part.traders);
    after = part.next;
  }
  const shown = parts.flat().toSorted((a, b) => a.account - b.account);
  assert.deepEqual(
    shown.map(({ account, pnlMicro }) => [account, pnlMicro]),
    held.map(([account, positions]) => [account, positions * 250_000]),
  );
  const most = Math.max(...parts.map((part) => part.reduce((sum, { pnlMicro }) => sum + pnlMicro / 250_000, 0)));
  assert.ok(most < 500 + 1200, 'a part has its bound of positions and at most one account beyond');
  assert.ok(parts.length >= 6);
});

/** Shares of fees of random trading in two shards (RULES.md 14.44, 14.45), against sums over all trades in bigints. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { type Rebate, RebateQueries, type RebatesSlice } from '../../../../gateway/account/rebateQueries.ts';
import { ReferralQueries } from '../../../../gateway/account/referralQueries.ts';
import { fillTime } from '../../../../shared/base/fillTimes.ts';
import { bytesToUuid } from '../../../../shared/base/hex.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(41);
const random = seededRandom(seed);
const pick = (n: number): number => Math.floor(random() * n);
const ACCOUNTS = [1, 2, 3, 4];
const PARTIES = ['maker', 'taker'] as const;

type Trade = Readonly<Record<string, bigint>>;
type Share = { readonly account: number; readonly tradeId: string; readonly micro: number; readonly filledAt: string };

const rig = new ProjectionRig({ shards: 2, seed });
rig.trade(600);
rig.project();
const db = new Database(rig.readDbPath, { readonly: true });
after(() => {
  db.close();
  rig.close();
});

/** Newest first. */
const trades: Trade[] = db
  .prepare('SELECT trades.*, ticks_per_unit FROM trades JOIN markets USING (market) ORDER BY id DESC')
  .safeIntegers()
  .all()
  .map((row) => row as Trade);
const idOf = (trade: Trade): string => bytesToUuid(trade['id'] as unknown as Uint8Array);

const timeOf = (trade: Trade): string => fillTime(Number(trade['matched_ms']), Number(trade['after_us']));

/** The share of one party's fee, at the price of its own outcome. */
function shareOf(trade: Trade, party: (typeof PARTIES)[number], bps: bigint): number {
  const unit = trade['ticks_per_unit']!;
  const ticks = trade[`${party}_outcome`] === 0n ? trade['yes_ticks']! : unit - trade['yes_ticks']!;
  const price = trade[`${party}_side`] === 0n ? ticks : unit;
  return Number((trade[`${party}_fee`]! * price * bps) / (unit * 10_000n));
}

function sharesOf(accounts: readonly number[]): Share[] {
  const shares = trades.flatMap((trade) =>
    accounts.map((account): Share => {
      const own = PARTIES.filter((party) => trade[`${party}_account`] === BigInt(account));
      const micro = own.reduce((sum, party) => sum + shareOf(trade, party, 1000n), 0);
      return { account, tradeId: idOf(trade), micro, filledAt: timeOf(trade) };
    }),
  );
  return shares.filter(({ micro }) => micro > 0);
}

const byTrade = (a: Share, b: Share): number =>
  a.tradeId < b.tradeId ? 1 : a.tradeId > b.tradeId ? -1 : a.account - b.account;

describe(`shares of the fees of random trading (seed ${seed})`, () => {
  it('has trades of an account with itself', () => {
    assert.ok(trades.length > 200, `${trades.length} trades`);
    assert.ok(trades.some((trade) => trade['maker_account'] === trade['taker_account']));
  });

  it('RULES.md 14.44: pages of earnings have a tenth of every fee of all referred accounts, and so has the sum', () => {
    const referrals = new ReferralQueries(db);
    for (const accounts of [[], [3], [1, 4], ACCOUNTS]) {
      const expected = sharesOf(accounts).sort(byTrade);
      const limit = 1 + pick(60);
      const found: Share[] = [];
      for (let offset = 0; ; offset += limit) {
        const { rows, total, totalMicro } = referrals.earnings({ accounts, limit, offset });
        assert.equal(total, expected.length);
        assert.equal(
          Number(totalMicro),
          expected.reduce((sum, { micro }) => sum + micro, 0),
        );
        found.push(...rows);
        if (rows.length < limit) break;
      }
      assert.deepEqual(found.sort(byTrade), expected);
      assert.deepEqual(
        found.map(({ filledAt }) => filledAt),
        expected.map(({ filledAt }) => filledAt),
      );
    }
  });

  it('RULES.md 14.45: rebates are of fills as a maker, at the rate of their moment, not of trades with oneself', () => {
    const moment = (share: number): number => Number(trades.at(-Math.ceil(trades.length * share))!['matched_ms']);
    const rates = [
      { market: 0, sinceMs: moment(0.2), bps: 2500 },
      { market: 0, sinceMs: moment(0.6), bps: 0 },
      { market: 0, sinceMs: moment(0.8), bps: 10_000 },
      { market: 4, sinceMs: moment(0.1), bps: 333 },
    ];
    let found = 0;
    for (const account of ACCOUNTS) {
      const expected = trades.flatMap((trade): Partial<Rebate>[] => {
        const { market, matched_ms } = trade;
        const isMaker = trade['maker_account'] === BigInt(account) && trade['taker_account'] !== BigInt(account);
        const rate = rates.findLast((each) => BigInt(each.market) === market && BigInt(each.sinceMs) <= matched_ms!);
        const micro = isMaker && rate !== undefined ? shareOf(trade, 'maker', BigInt(rate.bps)) : 0;
        return micro === 0 ? [] : [{ tradeId: idOf(trade), bps: rate!.bps, micro, filledAt: timeOf(trade) }];
      });
      const [skip, take] = [pick(10), 1 + pick(20)];
      const rebates = new RebateQueries(db, 1 + pick(30));
      const rows: Rebate[] = [];
      let [count, micro] = [0, 0];
      for (let slice: RebatesSlice | null = null; slice === null || !slice.isLast; ) {
        const { trades: cut, before } = slice ?? { trades: null, before: null };
        const task = { account, rates, trades: cut, before, skip: Math.max(skip - count, 0), take: take - rows.length };
        slice = rebates.slice(task);
        count += slice.count;
        micro += slice.micro;
        rows.push(...slice.rows);
      }
      found += expected.length;
      assert.equal(count, expected.length);
      assert.equal(
        micro,
        expected.reduce((sum, rebate) => sum + rebate.micro!, 0),
      );
      const shown = rows.map(({ tradeId, bps, micro: of, filledAt }) => ({ tradeId, bps, micro: of, filledAt }));
      assert.deepEqual(shown, expected.slice(skip, skip + take));
      assert.ok(rows.every(({ id, tradeId }) => id !== tradeId));
    }
    assert.ok(found > 40, `${found} rebates`);
  });
});

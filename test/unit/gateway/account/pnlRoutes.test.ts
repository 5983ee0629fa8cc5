/** The answer of the P&L of a day from the read model, and how long it is cached (RULES.md 14.25). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pnlRoutes } from '../../../../gateway/account/pnlRoutes.ts';
import type { PortfolioSlice, PortfolioTask } from '../../../../gateway/account/portfolioQueries.ts';
import type { Asker } from '../../../../gateway/base/askers.ts';
import { SharedAnswers } from '../../../../gateway/http/sharedAnswers.ts';
import { MARKET_STATUS } from '../../../../shared/base/codes.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const NOW_MS = Date.parse('2026-10-01T12:34:56.789Z');
const ANN = 7;
const [BOOKED, DECIDED, QUIET] = [0, 1, 2];

const EMPTY: PortfolioSlice = {
  held: held(),
  gainedMicro: 0n,
  worthThenMicro: 0n,
  gainedThenMicro: 0n,
  fundedThenMicro: 0n,
  next: null,
};

/** The last trade of every market was at 0.40. */
function held(
  ...rows: readonly (readonly [market: number, outcome: number, atomic: number])[]
): PortfolioSlice['held'] {
  return {
    markets: Uint32Array.from(rows, ([market]) => market),
    yesAtomic: Float64Array.from(rows, ([, outcome, atomic]) => (outcome === 0 ? atomic : 0)),
    noAtomic: Float64Array.from(rows, ([, outcome, atomic]) => (outcome === 1 ? atomic : 0)),
    lastYesPpm: Uint32Array.from(rows, () => 400_000),
  };
}

/** One account; the book of BOOKED is 0.70 to 0.80, and DECIDED pays 0.25 for Yes. */
class Desk {
  readonly clock = new ManualClock(NOW_MS);
  readonly tasks: PortfolioTask[] = [];
  slices: PortfolioSlice[] = [EMPTY];
  isBusy = false;
  isShardReady = true;
  availableMicro = 0;
  acknowledged = 1;
  readonly #route = pnlRoutes({
    sharedAnswers: new SharedAnswers(this.clock),
    clock: this.clock,
    shards: 2,
    engine: { isReady: (shard: number) => shard === 0 || this.isShardReady },
    queries: {
      ofAccount: async ({ lane }: Asker, name: string, task: PortfolioTask) => {
        assert.deepEqual([lane, name], [ANN, 'portfolioSlice']);
        this.tasks.push(task);
        if (this.isBusy) return { ok: false, row: ERRORS.ENGINE_BUSY };
        return { ok: true, value: this.slices[task.after === null ? 0 : task.after[0]]! };
      },
    } as never,
    views: {
      lastAcknowledged: (_account: number, shard: number) => (shard === 1 ? this.acknowledged : 0),
      accounts: { availableMicro: () => this.availableMicro },
      markets: {
        has: () => true,
        status: (market: number) => (market === DECIDED ? MARKET_STATUS.RESOLVED : MARKET_STATUS.ACTIVE),
        payoutYesPpm: () => 250_000,
      },
      books: {
        of: (market: number) =>
          market === BOOKED
            ? { bids: { highest: () => 70 }, asks: { lowest: () => 80 }, ticksPerUnit: 100 }
            : undefined,
      },
    } as never,
  })[0]!;

  async ask(): Promise<TestCall> {
    const test = new TestCall({ method: 'GET', path: '/v1/user/portfolio/pnl-24h', account: ANN });
    await this.#route.handler(test.call);
    return test;
  }

  async pnl(slices: readonly Partial<PortfolioSlice>[]): Promise<unknown[]> {
    this.slices = slices.map((slice) => ({ ...EMPTY, ...slice }));
    this.acknowledged++;
    const { json } = await this.ask();
    return [json.pnl_24h_usdc, json.pnl_24h_pct];
  }
}

test('RULES.md 14.25: an account without anything has "0.00" and 0, and its hours start with a UTC hour', async () => {
  const desk = new Desk();
  const { status, json } = await desk.ask();
  assert.equal(status, 200);
  assert.deepEqual(json, {
    available_balance_usdc: '0.00',
    pnl_24h_usdc: '0.00',
    pnl_24h_pct: 0,
    computed_at: '2026-10-01T12:34:56.789Z',
  });
  const sinceMs = Date.parse('2026-09-30T13:00:00.000Z');
  assert.deepEqual(desk.tasks, [{ account: ANN, sinceMs, after: null }]);
});

test('RULES.md 14.25: 10 Yes bought at 0.65, of which 9.95 are worth 0.75 each: 7.4625 - 6.50 = 0.96', async () => {
  const bought = { held: held([BOOKED, 0, 9_950_000]), gainedMicro: -6_500_000n };
  // 0.9625 is 0.96 % of the 100.00 that the account had at the start.
  assert.deepEqual(await new Desk().pnl([{ ...bought, fundedThenMicro: 100_000_000n }]), ['0.96', 0.96]);
  assert.deepEqual(await new Desk().pnl([bought]), ['0.96', 0], 'without a base there is no part of it');
});

test('RULES.md 14.25: a token is worth the middle of its book, its payout, or the last trade', async () => {
  const desk = new Desk();
  for (const [market, yes, no] of [
    [BOOKED, '7.50', '2.50'],
    [DECIDED, '2.50', '7.50'],
    [QUIET, '4.00', '6.00'],
  ] as const) {
    assert.deepEqual(await desk.pnl([{ held: held([market, 0, 10_000_000]) }]), [yes, 0]);
    assert.deepEqual(await desk.pnl([{ held: held([market, 1, 10_000_000]) }]), [no, 0]);
  }
});

test('RULES.md 14.25: the start counts once, and the slices of positions are added up', async () => {
  const desk = new Desk();
  const first = { gainedThenMicro: -20_000_000n, fundedThenMicro: 50_000_000n, next: [1, 0] as const };
  const slices = [
    { ...first, gainedMicro: -18_000_000n, worthThenMicro: 10_000_000n, held: held([BOOKED, 0, 8_000_000]) },
    { gainedMicro: 1_000_000n, worthThenMicro: 10_000_000n },
  ];
  // Then 50 - 20 + 20 = 50. Gained: -18 + 1 + 20 in cash and cost, 6 worth now, 20 worth then: -11.
  assert.deepEqual(await desk.pnl(slices), ['-11.00', -22]);
  assert.deepEqual(
    desk.tasks.map(({ after }) => after),
    [null, [1, 0]],
  );
});

test('RULES.md 14.25: halves are rounded away from zero, what rounds to nothing has no sign', async () => {
  const desk = new Desk();
  const gained = async (gainedMicro: bigint) =>
    (await desk.pnl([{ gainedMicro, fundedThenMicro: 1_000_000n }])) as never;
  assert.deepEqual(await gained(5000n), ['0.01', 0.5]);
  assert.deepEqual(await gained(-5000n), ['-0.01', -0.5]);
  assert.deepEqual(await gained(-4999n), ['0.00', -0.5]);
  assert.deepEqual(await gained(-49n), ['0.00', 0]);
});

test('RULES.md 14.25: the balance is in whole cents, and null while a shard is away', async () => {
  const desk = new Desk();
  const balance = async (micro: number) => {
    desk.availableMicro = micro;
    desk.acknowledged++;
    return (await desk.ask()).json.available_balance_usdc;
  };
  assert.deepEqual([await balance(991_509_999), await balance(9999), await balance(0)], ['991.50', '0.00', '0.00']);
  desk.isShardReady = false;
  assert.equal(await balance(5_000_000), null);
});

test('RULES.md 14.25: an answer is kept for 30 seconds, unless the account has acted since', async () => {
  const desk = new Desk();
  const first = (await desk.ask()).text;
  desk.clock.advance(29_999);
  assert.equal((await desk.ask()).text, first);
  assert.equal(desk.tasks.length, 1);
  desk.acknowledged++;
  const second = (await desk.ask()).text;
  assert.notEqual(second, first);
  desk.clock.advance(30_001);
  assert.notEqual((await desk.ask()).text, second);
  assert.equal(desk.tasks.length, 3);
});

test('a busy query pool is 503, and nothing is kept of it', async () => {
  const desk = new Desk();
  desk.isBusy = true;
  const refused = await desk.ask();
  assert.deepEqual([refused.status, refused.json.code], [503, 'ENGINE_BUSY']);
  desk.isBusy = false;
  assert.equal((await desk.ask()).status, 200);
});

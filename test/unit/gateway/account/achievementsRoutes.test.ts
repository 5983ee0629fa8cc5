import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AchievementFacts, NflPart } from '../../../../gateway/account/achievementQueries.ts';
import { achievementRoutes } from '../../../../gateway/account/achievementsRoutes.ts';
import type { Achievements, StoredAchievement } from '../../../../gateway/account/achievementsStore.ts';
import type { Refusal } from '../../../../gateway/base/refusal.ts';
import type { Role } from '../../../../gateway/base/role.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const NOW_MS = Date.UTC(2026, 0, 20);
const ACCOUNT = 7;
const NOTHING: AchievementFacts = { marketsTraded: 0, closed: 0, won: 0, nflClosed: 0, nflMicro: 0 };

/** An account with these facts, among NFL traders with these results. */
class Scene {
  facts: AchievementFacts | null = NOTHING;
  nfl: readonly number[] = [];
  isDiskLow = false;
  /** The role of the member that is asked; undefined without a cluster. */
  role: Role | undefined;
  rankings = 0;
  readonly clock = new ManualClock(NOW_MS);
  readonly granted = new Map<StoredAchievement, number>();
  readonly #route;

  constructor() {
    const achievements = {
      of: () => this.granted,
      grant: (_: number, ids: readonly StoredAchievement[], nowMs: number) => {
        for (const id of ids) this.granted.set(id, nowMs);
      },
      durable: () => Promise.resolve(),
    } as unknown as Achievements;
    const queries = {
      ofAccount: async () =>
        this.facts === null ? { ok: false, row: ERRORS.ENGINE_BUSY } : { ok: true, value: this.facts },
      nflPart: async (_asker: unknown, { after }: { after: number }) => {
        if (after === 0) this.rankings++;
        return { ok: true, value: this.#part(after) };
      },
    } as never;
    const accounts = { byIndex: () => ({ createdMs: 5 }) as never };
    const isDiskLow = (): boolean => this.isDiskLow;
    [this.#route] = achievementRoutes({ accounts, achievements, queries, clock: this.clock, isDiskLow });
  }

  async ask(facts?: Partial<AchievementFacts>) {
    if (facts !== undefined) this.facts = { ...NOTHING, ...facts };
    const test = new TestCall({ method: 'GET', path: '/v1/user/achievements', account: ACCOUNT, role: this.role });
    await this.#route!.handler(test.call);
    return test;
  }

  async earned(facts?: Partial<AchievementFacts>): Promise<string[]> {
    return ((await this.ask(facts)).json as { id: string }[]).map(({ id }) => id);
  }

  /** Two accounts a part; the account itself is the first with an older result. */
  #part(after: number): NflPart {
    const all = [[ACCOUNT, -1], ...this.nfl.map((micro, index) => [100 + index, micro])];
    const part = all.slice(after, after + 2);
    const next = after + 2 < all.length ? after + 2 : null;
    return { accounts: part.map(([account]) => account!), results: part.map(([, micro]) => micro!), next };
  }
}

test('RULES.md 14.70: an account joined when it was made; what it earns has the time at which it asks', async () => {
  const scene = new Scene();
  const joined = { id: 'joined', granted_at: '1970-01-01T00:00:00.005Z' };
  assert.deepEqual((await scene.ask()).json, [joined]);
  const first = { id: 'first_trade', granted_at: '2026-01-20T00:00:00.000Z' };
  assert.deepEqual((await scene.ask({ marketsTraded: 9 })).json, [joined, first]);
  scene.clock.advance(1000);
  const ten = { id: 'markets_traded_10', granted_at: '2026-01-20T00:00:01.000Z' };
  assert.deepEqual((await scene.ask({ marketsTraded: 10 })).json, [joined, first, ten]);
  assert.deepEqual((await scene.ask(NOTHING)).json, [joined, first, ten], 'never taken back');
  assert.deepEqual((await scene.earned({ marketsTraded: 100 })).at(-1), 'markets_traded_100');
});

test('RULES.md 14.70: a read model that is late is 503; on a full disk nothing new is granted', async () => {
  const scene = new Scene();
  scene.isDiskLow = true;
  assert.deepEqual(await scene.earned({ marketsTraded: 1 }), ['joined']);
  scene.isDiskLow = false;
  scene.facts = null;
  const refused = await scene.ask();
  assert.deepEqual([refused.status, (refused.json as { code: string }).code], [503, 'ENGINE_BUSY']);
});

test('RULES.md 14.70: a member of a cluster that changes nothing shows what was granted before', async () => {
  const scene = new Scene();
  assert.deepEqual(await scene.earned({ marketsTraded: 1 }), ['joined', 'first_trade']);
  scene.role = roleWith({ row: ERRORS.NOT_MATCHING_LEADER });
  assert.deepEqual(await scene.earned({ marketsTraded: 10 }), ['joined', 'first_trade']);
  scene.role = roleWith(null);
  assert.deepEqual(await scene.earned({ marketsTraded: 10 }), ['joined', 'first_trade', 'markets_traded_10']);
});

function roleWith(refusal: Refusal | null): Role {
  return { asOfMs: null, pastAsOfMs: null, lines: () => '', changeRefusal: () => refusal };
}

test('RULES.md 14.71: sharp is 55% of at least 20 closed positions, to the position', async () => {
  const isSharp = async (closed: number, won: number) => (await new Scene().earned({ closed, won })).includes('sharp');
  assert.deepEqual(
    [
      await isSharp(20, 11),
      await isSharp(20, 10),
      await isSharp(19, 19),
      await isSharp(100, 55),
      await isSharp(101, 55),
    ],
    [true, false, false, true, false],
  );
});

test('RULES.md 14.72: the best of the NFL are those with less than 5% before them', async () => {
  const isBest = async (others: number[], nflMicro: number, nflClosed = 5) => {
    const scene = new Scene();
    scene.nfl = others;
    return (await scene.earned({ nflClosed, nflMicro })).includes('top_5pct_nfl');
  };
  const twenty = Array.from({ length: 20 }, (_, index) => index);
  assert.equal(await isBest([], 0), true, 'alone');
  assert.equal(await isBest(twenty.slice(1), 50), true, 'first of 20');
  assert.equal(await isBest(twenty.slice(1), 18), false, 'second of 20: 5% earned more');
  assert.equal(await isBest(twenty, 18), true, 'second of 21');
  assert.equal(await isBest(twenty, 19), true, 'beside the first');
  assert.equal(await isBest(twenty, 17), false, 'third of 21');
  assert.equal(await isBest([], 50, 4), false, 'four positions are too few');
});

test('NFLRANKING-1, -2: those who ask together wait for one ranking, which serves for ten minutes', async () => {
  const scene = new Scene();
  scene.nfl = [10, 20, 30];
  const candidate = { nflClosed: 5, nflMicro: 15 };
  await Promise.all([scene.ask(candidate), scene.ask(candidate), scene.ask(candidate)]);
  assert.equal(scene.rankings, 1);
  scene.clock.advance(599_999);
  await scene.ask(candidate);
  assert.equal(scene.rankings, 1);
  scene.clock.advance(1);
  scene.nfl = [];
  assert.ok((await scene.earned(candidate)).includes('top_5pct_nfl'));
  await scene.ask(candidate);
  assert.equal(scene.rankings, 2, 'who has it needs no ranking');
});

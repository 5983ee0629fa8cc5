/**
 * Profit and loss of the last 24 hours (RULES.md 14.25). The read model is read in slices; the present value of tokens
 * is taken from the books, so a slice costs this thread a tenth of a millisecond.
 */
import { PNL_24H } from '../../shared/api/positions.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { payoutMicro } from '../../shared/base/payout.ts';
import { centsHalfAway, centsTowardsZero } from '../../shared/base/units.ts';
import type { Askers } from '../base/askers.ts';
import { RefusedError, unlessRefused } from '../http/refused.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { ShardClient } from '../shardlink/client.ts';
import { presentYesPpm } from '../shardlink/markViews.ts';
import type { Views } from '../shardlink/views.ts';
import type { PortfolioSlice } from './portfolioQueries.ts';
import type { PositionKey } from './positionQueries.ts';
import type { AccountReads } from './reads.ts';

type PnlDeps = {
  readonly queries: Pick<AccountReads, 'ofAccount'>;
  readonly views: Pick<Views, 'accounts' | 'books' | 'markets' | 'lastAcknowledged'>;
  readonly engine: Pick<ShardClient, 'isReady'>;
  readonly shards: number;
  readonly clock: Clock;
  readonly sharedAnswers: SharedAnswers;
};

type Pnl = { readonly gainedMicro: bigint; readonly worthThenMicro: bigint };

const KEPT_MS = 30_000;
/** About 250 bytes each. */
const KEPT = { maxAnswers: 10_000, maxBytes: 4 * 1024 * 1024 };
const HOURS = 24;
const HOUR_MS = 3_600_000;
/** Per cent with two digits. */
const PER_PERCENT_DIGIT = 10_000n;

const SHOW_PNL = {
  method: 'GET',
  path: '/v1/user/portfolio/pnl-24h',
  id: 'getDayPnl',
  summary: 'The gain of the account in the last 24 hours, at most 30 seconds old unless the account has acted since.',
  access: 'read:account',
  answers: { 200: PNL_24H },
} as const satisfies RouteSpec;

export function pnlRoutes(deps: PnlDeps): Route[] {
  const answers = deps.sharedAnswers.apart(KEPT);
  return [route(SHOW_PNL, (call) => showPnl(call, deps, answers))];
}

async function showPnl(call: CallOf<typeof SHOW_PNL>, deps: PnlDeps, answers: SharedAnswers): Promise<void> {
  const { accountIndex: account } = call.principal;
  const compute = (askers: Askers): Promise<string> => render(askers, account, deps);
  const body = await unlessRefused(call, answers.get(call, String(account), KEPT_MS, compute, stateOf(account, deps)));
  if (body !== undefined) answers.send(call, body);
}

/** The state changes with every record acknowledged to the account, so its own actions are in the next answer. */
function stateOf(account: number, { views, shards }: PnlDeps): string {
  return Array.from({ length: shards }, (_, shard) => views.lastAcknowledged(account, shard)).join();
}

async function render(askers: Askers, account: number, deps: PnlDeps): Promise<string> {
  const nowMs = deps.clock.nowMs();
  const { gainedMicro, worthThenMicro } = await pnlOf(askers, account, nowMs, deps);
  return JSON.stringify({
    available_balance_usdc: availableOf(account, deps),
    pnl_24h_usdc: centsHalfAway(gainedMicro),
    pnl_24h_pct: worthThenMicro <= 0n ? 0 : percent(gainedMicro, worthThenMicro),
    computed_at: new Date(nowMs).toISOString(),
  });
}

async function pnlOf(askers: Askers, account: number, nowMs: number, deps: PnlDeps): Promise<Pnl> {
  const sinceMs = nowMs - (nowMs % HOUR_MS) - (HOURS - 1) * HOUR_MS;
  let gained = 0n;
  let then = 0n;
  let after: PositionKey | null = null;
  do {
    const task = { account, sinceMs, after };
    const result: Awaited<ReturnType<typeof readSlice>> = await readSlice(askers, task, deps);
    const { gainedMicro, gainedThenMicro, fundedThenMicro, worthThenMicro, held } = result;
    gained += gainedMicro - gainedThenMicro + worthNow(held, deps) - worthThenMicro;
    then += gainedThenMicro + fundedThenMicro + worthThenMicro;
    after = result.next;
  } while (after !== null);
  return { gainedMicro: gained, worthThenMicro: then };
}

async function readSlice(
  askers: Askers,
  task: { account: number; sinceMs: number; after: PositionKey | null },
  { queries }: PnlDeps,
): Promise<PortfolioSlice> {
  const result = await queries.ofAccount(askers, 'portfolioSlice', task);
  if (!result.ok) throw new RefusedError(result.row);
  return result.value;
}

function worthNow(held: PortfolioSlice['held'], { views }: PnlDeps): bigint {
  let worth = 0n;
  for (const [row, market] of held.markets.entries()) {
    const yesPpm = presentYesPpm(market, views) ?? held.lastYesPpm[row];
    worth += BigInt(payoutMicro(held.yesAtomic[row], held.noAtomic[row], yesPpm));
  }
  return worth;
}

/** Null while a shard is away: its latest changes may not be known yet. */
function availableOf(account: number, { views, engine, shards }: PnlDeps): string | null {
  for (let shard = 0; shard < shards; shard++) if (!engine.isReady(shard)) return null;
  return centsTowardsZero(BigInt(views.accounts.availableMicro(account)));
}

/** Two digits, halves rounded away from zero. */
function percent(part: bigint, whole: bigint): number {
  const half = part < 0n ? -whole : whole;
  return Number((2n * part * PER_PERCENT_DIGIT + half) / (2n * whole)) / 100;
}

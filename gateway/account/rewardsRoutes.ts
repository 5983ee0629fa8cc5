/** Shares of fees that are owed: rebates of makers (RULES.md 14.45) and earnings of referrers (14.44). */
import { EARNINGS, EARNINGS_QUERY, REBATES, REBATES_QUERY } from '../../shared/api/rewards.ts';
import type { ErrorRow } from '../../shared/base/errors.ts';
import { sumToDecimal, unitsToDecimal } from '../../shared/base/units.ts';
import { MAX_OFFSET } from '../base/page.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Accounts } from './accounts.ts';
import type { AccountReads } from './reads.ts';
import type { Rebate, RebatesSlice, RebatesTask } from './rebateQueries.ts';
import type { RebateRates } from './rebateRatesStore.ts';

type RewardDeps = {
  readonly queries: Pick<AccountReads, 'furtherOfAccount' | 'ofAccount'>;
  readonly accounts: Pick<Accounts, 'idOf' | 'referredBy'>;
  readonly rebateRates: Pick<RebateRates, 'all'>;
};

const READ = { method: 'GET', access: 'authenticated' } as const;

const LIST_REBATES = {
  ...READ,
  path: '/v1/user/rebates',
  id: 'listRebates',
  summary: 'The parts of its fees that the account gets back as a maker, newest first, and their sum.',
  query: REBATES_QUERY,
  answers: { 200: REBATES },
} as const satisfies RouteSpec;

const LIST_EARNINGS = {
  ...READ,
  path: '/v1/user/referral/earnings',
  id: 'listReferralEarnings',
  summary: 'The parts of the fees of referred accounts that the account earns, newest first, and their sum.',
  query: EARNINGS_QUERY,
  answers: { 200: EARNINGS },
} as const satisfies RouteSpec;

const ACCRUED = 'accrued';

export function rewardRoutes(deps: RewardDeps): Route[] {
  return [
    route(LIST_REBATES, (call) => listRebates(call, deps)),
    route(LIST_EARNINGS, (call) => listEarnings(call, deps)),
  ];
}

async function listRebates(call: CallOf<typeof LIST_REBATES>, { queries, accounts, rebateRates }: RewardDeps) {
  const { page, per_page, status = ACCRUED } = call.query;
  const offset = offsetOf(call, page, per_page);
  if (offset === null) return;
  const account = call.principal.accountIndex;
  const found = await readRebates(queries, call, rebateRates.all, { offset, limit: per_page });
  if (!found.ok) return refuse(call, { row: found.row });
  const { rows, count, micro } = found;
  const userId = accounts.idOf(account);
  const isWanted = status === ACCRUED;
  ok(call, {
    rebates: isWanted ? rows.map((rebate) => shown(rebate, userId)) : [],
    total: isWanted ? count : 0,
    page,
    per_page,
    summary: { accrued: { total_usdc: sumToDecimal(micro), count } },
  });
}

type Found =
  | { readonly ok: true; readonly rows: readonly Rebate[]; readonly count: number; readonly micro: bigint }
  | { readonly ok: false; readonly row: ErrorRow };

/** The sum covers all rebates, so all of them are read, a slice at a time. */
async function readRebates(
  queries: RewardDeps['queries'],
  call: AccountCall,
  rates: RebateRates['all'],
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<Found> {
  const account = call.principal.accountIndex;
  const rows: Rebate[] = [];
  let [count, micro] = [0, 0n];
  if (rates.length === 0) return { ok: true, rows, count, micro };
  for (let trades: readonly number[] | null = null, before: Uint8Array | null = null; ; ) {
    const skip = Math.max(offset - count, 0);
    const task: RebatesTask = { account, rates, trades, before, skip, take: limit - rows.length };
    const isFirst = trades === null;
    const asked = isFirst ? queries.ofAccount(call, 'rebates', task) : queries.furtherOfAccount(call, 'rebates', task);
    const result = await asked;
    if (!result.ok) return result;
    const slice: RebatesSlice = result.value;
    trades = slice.trades;
    before = slice.before;
    count += slice.count;
    micro += BigInt(slice.micro);
    rows.push(...slice.rows);
    if (slice.isLast) return { ok: true, rows, count, micro };
  }
}

function shown({ id, tradeId, marketId, bps, micro, filledAt }: Rebate, userId: string): object {
  return {
    id,
    user_id: userId,
    trade_id: tradeId,
    market_id: marketId,
    rebate_bps: bps,
    rebate_amount_usdc: unitsToDecimal(micro),
    status: ACCRUED,
    credited_at: null,
    created_at: filledAt,
  };
}

async function listEarnings(call: CallOf<typeof LIST_EARNINGS>, { queries, accounts }: RewardDeps): Promise<void> {
  const { page, per_page } = call.query;
  const offset = offsetOf(call, page, per_page);
  if (offset === null) return;
  const account = call.principal.accountIndex;
  const task = { accounts: accounts.referredBy(account), limit: per_page, offset };
  const result = await queries.ofAccount(call, 'earnings', task);
  if (!result.ok) return refuse(call, { row: result.row });
  const { rows, total, totalMicro } = result.value;
  const earnings = rows.map(({ account: of, tradeId, micro, filledAt }) => ({
    referred_user: accounts.idOf(of),
    trade_id: tradeId,
    amount_usdc: unitsToDecimal(micro),
    created_at: filledAt,
  }));
  ok(call, { earnings, total_usdc: sumToDecimal(totalMicro), total, page, per_page });
}

/** Null if the call was refused: rows skipped by an offset still have to be scanned. */
function offsetOf(call: CallOf<typeof LIST_REBATES | typeof LIST_EARNINGS>, page: number, perPage: number) {
  const offset = (page - 1) * perPage;
  return offset <= MAX_OFFSET ? offset : refuseField(call, 'page', `at most ${MAX_OFFSET} rows`, String(page));
}

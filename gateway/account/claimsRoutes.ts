/** Payouts of decided markets: what an account can claim, and the claim (RULES.md 3.4). */
import { CLAIM_RESPONSE, REDEEMABLES, type Redeemable } from '../../shared/api/accounts.ts';
import { UUID } from '../../shared/api/fields.ts';
import { isDecided, OUTCOME } from '../../shared/base/codes.ts';
import { errorRow, OK } from '../../shared/base/errors.ts';
import { payoutPartMicro } from '../../shared/base/payout.ts';
import { ok, okArray, refuse } from '../http/respond.ts';
import { type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import { requireMarket } from '../markets/requireMarket.ts';
import { resolutionOf } from '../markets/resolutionJson.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { Views } from '../shardlink/views.ts';
import type { AccountStates } from './accountStates.ts';
import type { ClaimMarks } from './claimMarksStore.ts';

type ClaimDeps = {
  readonly engine: ShardClient;
  readonly views: Views;
  readonly catalog: Catalog;
  readonly accountStates: Pick<AccountStates, 'reducingRefusal'>;
  readonly claimMarks: ClaimMarks;
  readonly settlementFacts: Pick<SettlementFacts, 'transactionOf'>;
};

const SHOW_REDEEMABLE = {
  method: 'GET',
  path: '/v1/user/redeemable',
  id: 'listRedeemable',
  summary: 'The tokens of decided markets that pay something, by outcome.',
  access: 'authenticated',
  answers: { 200: REDEEMABLES },
} as const satisfies RouteSpec;

const CLAIM = {
  method: 'POST',
  path: '/v1/user/positions/:marketId/claim',
  id: 'claimPosition',
  summary: 'Turns all tokens of a decided market into what they pay.',
  access: 'authenticated',
  params: { marketId: UUID },
  answers: { 200: CLAIM_RESPONSE },
  errors: [
    'MARKET_NOT_FOUND',
    'ACCOUNT_FROZEN',
    'NOTHING_TO_CLAIM',
    'INVALID_TRANSITION',
    'MARKET_NOT_ACTIVE',
    'OUTCOME_UNKNOWN',
  ],
} as const satisfies RouteSpec;

export function claimRoutes(deps: ClaimDeps): Route[] {
  return [
    route(SHOW_REDEEMABLE, (call) => okArray(call, redeemableOf(call.principal.accountIndex, deps))),
    route(CLAIM, claimHandler(deps)),
  ];
}

function claimHandler(deps: ClaimDeps): Handler<typeof CLAIM> {
  const onReply: ReplyHandler<CallOf<typeof CLAIM>> = (reply, call) => {
    if (reply.code !== OK) return refuse(call, { row: errorRow(reply.code) });
    const market_id = call.params.marketId.toLowerCase();
    const answer = (tx_hash: string | null): void => ok(call, { message: 'claimed', market_id, tx_hash });
    void deps.settlementFacts.transactionOf(market_id, reply.shard, reply.shardSequence).then(answer);
  };
  return (call) => {
    const market = requireMarket(call, deps, call.params.marketId);
    if (market === null) return;
    const account = call.principal.accountIndex;
    const restricted = deps.accountStates.reducingRefusal(account);
    if (restricted !== null) return refuse(call, { row: restricted });
    const code = deps.engine.claim(market.shard, account, market.index, onReply, call);
    if (code !== OK) refuse(call, { row: errorRow(code) });
  };
}

/**
 * One row per paying outcome, in markets that the account has not marked as claimed. The rows of a market add up to the
 * payout of its claim: the sum is rounded, not each row. A decided market never changes, so its rows can be made while
 * the answer is written.
 */
function redeemableOf(account: number, { views, catalog, claimMarks }: ClaimDeps): Iterable<Redeemable> {
  const { accounts, markets } = views;
  const marked = claimMarks.of(account);
  const isListed = (market: number): boolean => isDecided(markets.status(market)) && !marked.has(market);
  const decided = accounts.allTokens(account).filter(({ market }) => isListed(market));
  return (function* (): Generator<Redeemable> {
    let yes = { market: -1, atomic: 0 };
    for (const { market, outcome, availableAtomic: atomic } of decided) {
      const payoutYes = markets.payoutYesPpm(market);
      if (outcome === OUTCOME.YES) yes = { market, atomic };
      const yesAtomic = yes.market === market ? yes.atomic : 0;
      const micro = payoutPartMicro(outcome, yesAtomic, atomic, payoutYes);
      if (micro <= 0) continue;
      const { id, details } = catalog.byIndex(market);
      yield {
        market_id: id,
        outcome_index: outcome,
        quantity: String(atomic),
        payout: String(micro),
        resolution: resolutionOf(details.outcomes, payoutYes),
        resolved_at: new Date(markets.resolvedMs(market)).toISOString(),
      };
    }
  })();
}

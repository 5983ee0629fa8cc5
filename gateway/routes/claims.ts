/** What decided markets owe an account, and paying it (RULES.md 3.4). */
import { isDecided, OUTCOME } from '../../shared/codes.ts';
import { OK } from '../../shared/errors.ts';
import { toHex } from '../../shared/hex.ts';
import { keccak256 } from '../../shared/keccak.ts';
import { PPM, payoutMicro } from '../../shared/payout.ts';
import type { Redeemable } from '../../shared/sdk/types.ts';
import { unitsToDecimal } from '../../shared/units.ts';
import type { Call } from '../call.ts';
import type { Catalog } from '../control/catalog.ts';
import type { EngineClient, ReplyHandler } from '../engineClient.ts';
import { refuseCode } from '../engineRefusal.ts';
import { ok } from '../respond.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';
import { requireMarketParam } from './pathParams.ts';

export type ClaimDeps = { readonly engine: EngineClient; readonly views: Views; readonly catalog: Catalog };

export function claimRoutes(deps: ClaimDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/user/redeemable',
      access: 'authenticated',
      limit: 'unlisted',
      handler: (call) => ok(call, redeemableOf(call.key!.accountIndex, deps)),
    },
    {
      method: 'POST',
      path: '/v1/user/positions/:marketId/claim',
      access: 'authenticated',
      limit: 'unlisted',
      handler: claimHandler(deps),
    },
  ];
}

function claimHandler(deps: ClaimDeps): Route['handler'] {
  const onReply: ReplyHandler<Call> = (reply, call) => {
    if (reply.code !== OK) {
      refuseCode(call, reply.code);
      return;
    }
    const market_id = call.params['marketId']!.toLowerCase();
    ok(call, { message: 'claimed', market_id, tx_hash: entryHash(market_id, reply.shardSequence) });
  };
  return (call) => {
    const market = requireMarketParam(call, deps, 'marketId');
    if (market === null) return;
    const code = deps.engine.claim(market.shard, call.key!.accountIndex, market.index, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

/** One row per outcome that pays. The rows of a market add up to what its claim pays: their sum is what is rounded. */
function redeemableOf(account: number, { views, catalog }: ClaimDeps): Redeemable[] {
  const { accounts, markets } = views;
  const rows: Redeemable[] = [];
  let yes = { market: -1, atomic: 0 };
  for (const { market, outcome, availableAtomic: atomic } of accounts.allTokens(account)) {
    if (!isDecided(markets.status(market))) continue;
    const payoutYes = markets.payoutYesPpm(market);
    if (outcome === OUTCOME.YES) yes = { market, atomic };
    const yesAtomic = yes.market === market ? yes.atomic : 0;
    const micro =
      outcome === OUTCOME.YES
        ? payoutMicro(yesAtomic, 0, payoutYes)
        : payoutMicro(yesAtomic, atomic, payoutYes) - payoutMicro(yesAtomic, 0, payoutYes);
    if (micro <= 0) continue;
    const { id, details } = catalog.byIndex(market);
    rows.push({
      market_id: id,
      outcome_index: outcome,
      quantity: String(atomic),
      payout: String(micro),
      resolution: resolutionOf(details.outcomes, payoutYes),
      resolved_at: new Date(markets.resolvedMs(market)).toISOString(),
    });
  }
  return rows;
}

/** The label of the outcome that won, or "Yes 0.25, No 0.75" where both are paid. */
function resolutionOf([yes, no]: readonly string[], payoutYes: number): string {
  if (payoutYes === PPM) return yes!;
  if (payoutYes === 0) return no!;
  return `${yes} ${unitsToDecimal(payoutYes)}, ${no} ${unitsToDecimal(PPM - payoutYes)}`;
}

/** Names the journal record that paid: the market tells the shard, and in it a sequence is used once. */
function entryHash(marketId: string, shardSequence: number): string {
  return toHex(keccak256(new TextEncoder().encode(`${marketId}/${shardSequence}`)));
}

/** What an account holds, and turning USDC into full sets of tokens and back (RULES.md 3). */
import { MOVEMENT } from '../../shared/codes.ts';
import { OK } from '../../shared/errors.ts';
import type { Call } from '../call.ts';
import type { EngineClient, ReplyHandler } from '../engineClient.ts';
import { refuse, refuseCode } from '../engineRefusal.ts';
import { ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { type MarketDeps, requireMarketParam } from './pathParams.ts';

export type FundDeps = MarketDeps & { readonly engine: EngineClient };

type ConvertBody = { readonly amount: string };
type Conversion = typeof MOVEMENT.SPLIT | typeof MOVEMENT.MERGE;

const CONVERT_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['amount'],
  properties: { amount: { type: 'string', format: 'amount' } },
};

export function fundRoutes(deps: FundDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/markets/:id/split',
      access: 'trade:orders',
      limit: 'unlisted',
      placing: true,
      body: CONVERT_BODY,
      handler: convertHandler(deps, MOVEMENT.SPLIT, 'split'),
    },
    {
      method: 'POST',
      path: '/v1/markets/:id/merge',
      access: 'trade:orders',
      limit: 'unlisted',
      placing: true,
      reducing: true,
      body: CONVERT_BODY,
      handler: convertHandler(deps, MOVEMENT.MERGE, 'merged'),
    },
    {
      method: 'GET',
      path: '/v1/user/balances',
      access: 'read:account',
      limit: 'unlisted',
      handler: (call) => showBalances(call, deps),
    },
  ];
}

function convertHandler(deps: FundDeps, movement: Conversion, message: string): Route['handler'] {
  const asset = movement === MOVEMENT.SPLIT ? 'USDC' : 'TOKEN';
  const onReply: ReplyHandler<Call> = (reply, call) => {
    const market_id = call.params['id']!.toLowerCase();
    if (reply.code === OK) ok(call, { message, market_id, amount: (call.json as ConvertBody).amount });
    else refuse(call, reply, asset);
  };
  return (call) => {
    const market = requireMarketParam(call, deps, 'id');
    if (market === null) return;
    const amountAtomic = Number((call.json as ConvertBody).amount);
    const account = call.key!.accountIndex;
    const code = deps.engine.convert(market.shard, account, market.index, movement, amountAtomic, onReply, call);
    if (code !== OK) refuseCode(call, code);
  };
}

function showBalances(call: Call, { views }: FundDeps): void {
  const account = call.key!.accountIndex;
  ok(call, {
    usdc: {
      available: String(views.accounts.availableMicro(account)),
      reserved: String(views.accounts.reservedMicro(account)),
    },
    tokens: views.accounts.allTokens(account).map((balance) => ({
      market_id: views.markets.id(balance.market),
      outcome_index: balance.outcome,
      available: String(balance.availableAtomic),
      reserved: String(balance.reservedAtomic),
    })),
  });
}

/**
 * Routes to request the deployment of a market (RULES.md 9.19), and to read the parameters of a split on the chain
 * (14.43).
 */

import { DEPLOYMENT, SPLIT_PARAMS, SPLIT_QUERY, type SplitParams } from '../../shared/api/markets.ts';
import { isDecided } from '../../shared/base/codes.ts';
import { SPLIT_FUNCTION, splitCall, splitCallPrefix } from '../../shared/chain/splitCall.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketEntry } from '../markets/catalog.ts';
import type { ContractStore } from '../markets/contracts.ts';
import { deployStatus } from '../markets/deployments.ts';
import { type MarketDeps, requireMarket } from '../markets/requireMarket.ts';
import type { MarketDeployment } from './deployment.ts';

type DeployDeps = MarketDeps & {
  readonly deployment: MarketDeployment;
  readonly contracts: Pick<ContractStore, 'current'>;
};

const DEPLOY = {
  method: 'POST',
  path: '/v1/markets/:id/deploy',
  id: 'deployMarket',
  summary: 'Deploys a market: its condition and question get their ids. A repeat changes nothing.',
  access: 'trade:orders',
  limit: 'deployMarket',
  storing: true,
  params: ID_PARAM,
  answers: { 200: DEPLOYMENT },
  errors: ['MARKET_NOT_FOUND', 'INVALID_TRANSITION'],
} as const satisfies RouteSpec;

const DEPLOY_AGAIN = {
  method: 'POST',
  path: '/admin/markets/:id/deploy',
  id: 'adminDeployMarket',
  summary: 'Deploys a market, also one whose deployment was given up.',
  access: 'catalogue',
  params: ID_PARAM,
  answers: { 200: DEPLOYMENT },
  errors: ['MARKET_NOT_FOUND', 'INVALID_TRANSITION'],
} as const satisfies RouteSpec;

const SHOW_SPLIT_PARAMS = {
  method: 'GET',
  path: '/v1/markets/:id/split-params',
  id: 'getSplitParams',
  summary: 'The condition, the tokens and the contract of a split on the chain.',
  access: 'trade:orders',
  params: ID_PARAM,
  query: SPLIT_QUERY,
  answers: { 200: SPLIT_PARAMS },
  errors: ['VALIDATION_ERROR', 'MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

export function deployRoutes(deps: DeployDeps): Route[] {
  return [
    route(DEPLOY, (call) => deploy(call, deps, 'request')),
    route(DEPLOY_AGAIN, (call) => deploy(call, deps, 'requestAgain')),
    route(SHOW_SPLIT_PARAMS, (call) => {
      const market = requireMarket(call, deps, call.params.id);
      if (market !== null) ok(call, splitParams(market, call.query.amount_usdc_micro, deps));
    }),
  ];
}

/** The condition is null until the market is deployed: before that nothing can be split. */
function splitParams(market: MarketEntry, amount: string | undefined, { contracts }: DeployDeps): SplitParams {
  const { chainId } = contracts.current;
  const exchange = shownAddress(contracts.current.exchange);
  const { condition_id = null } = market.details;
  const micro = amount ?? 'AMOUNT';
  const steps =
    condition_id === null
      ? [`Ask for the deployment first: POST /v1/markets/${market.id}/deploy.`]
      : [
          "Move USDC that no order holds to the wallet's own part of the escrow: POST /v1/user/withdrawals " +
            `{"amount_usdc_micro": "${micro}", "to": "unheld"}.`,
          'Wait until GET /v1/user/fund-movements shows this withdrawal as completed.',
          `Call splitFromEscrow(${condition_id}, ${micro}) of the contract ${exchange} on chain ${chainId}, ` +
            'from the wallet that owns the escrow and without value: call is this transaction.',
          'The full sets are in the positions once the block of the transaction is final.',
        ];
  return {
    condition_id,
    yes_token_id: market.yesTokenId,
    no_token_id: market.noTokenId,
    exchange_address: exchange,
    chain_id: chainId,
    instructions: [
      ...steps,
      'The amount is in raw USDC with 6 decimals: 1000000 is one full set.',
      `Funds that this exchange keeps itself are split by POST /v1/markets/${market.id}/split, without these steps.`,
    ],
    call: condition_id === null ? null : callOf(exchange, condition_id, amount),
  };
}

/** The call as a wallet sends it: it transfers no USDC, because the escrow has it. */
function callOf(to: string, condition: string, amount: string | undefined): SplitParams['call'] {
  return {
    to,
    function: SPLIT_FUNCTION,
    data_prefix: splitCallPrefix(condition),
    data: amount === undefined ? null : splitCall(condition, amount),
  };
}

async function deploy(
  call: CallOf<typeof DEPLOY | typeof DEPLOY_AGAIN>,
  deps: DeployDeps,
  as: 'request' | 'requestAgain',
): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  noteBefore(call, { deploy_status: deployStatus(market) });
  const refusal = await deps.deployment[as](market, isDecided(deps.views.markets.status(market.index)));
  if (refusal === null) ok(call, { status: deployStatus(market), market_id: market.id });
  else refuse(call, refusal);
}

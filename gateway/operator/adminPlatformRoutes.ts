/**
 * The administrator's switches for the whole exchange: pause, drills, and the contracts for which orders are signed
 * (RULES.md 9).
 */

import { APPROVAL } from '../../shared/api/approvals.ts';
import { MESSAGE } from '../../shared/api/orders.ts';
import {
  ACTIVE_DRILLS,
  ALERT_TEST,
  DRILL,
  NEW_CONTRACTS,
  type NewContracts,
  NO_FIELDS,
  PLATFORM_CONTRACTS,
  PLATFORM_STATUS,
  type PlatformStatus,
} from '../../shared/api/platform.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import type { Platform } from '../base/platform.ts';
import type { ContractRotation } from '../chain/contractRotation.ts';
import { refuseSuccessor } from '../chain/successor.ts';
import { noteBefore } from '../http/audited.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, waitsForSecond } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { ContractStore, Contracts } from '../markets/contracts.ts';
import { platformStagesOf } from '../markets/stages.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { Views } from '../shardlink/views.ts';
import type { AlertTest } from './alertTest.ts';
import type { Drills } from './drills.ts';
import type { AdminFeed } from './feed.ts';
import { contractsOf } from './platformRoutes.ts';

const OF_DEPLOYED_MARKETS = [
  ['market_factory_address', 'marketFactory'],
  ['usdc_address', 'usdc'],
  ['ctf_address', 'ctf'],
  ['chain_id', 'chainId'],
] as const;

type AdminPlatformDeps = ApprovalDeps & {
  readonly settlement: Pick<SettlementPort, 'deploysMarkets'>;
  readonly settlementFacts: Pick<SettlementFacts, 'successorProblem'>;
  readonly platform: Platform;
  readonly contracts: ContractStore;
  readonly rotation: ContractRotation;
  readonly drills: Drills;
  readonly alertTest: AlertTest;
  readonly shards: number;
  readonly isShardReady: (shard: number) => boolean;
  readonly isDiskLow: () => boolean;
  readonly feed: Pick<AdminFeed, 'publish'>;
  readonly views: Views;
};

const ADMIN = { access: 'superuser' } as const;

const SHOW_PLATFORM = {
  ...ADMIN,
  access: 'viewer',
  method: 'GET',
  path: '/admin/platform',
  id: 'adminGetPlatform',
  summary: 'The switches and the state of the shards.',
  answers: { 200: PLATFORM_STATUS },
} as const satisfies RouteSpec;

const PAUSE = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/platform/pause',
  id: 'adminPausePlatform',
  summary: 'Refuses everything that takes new risk; cancels and reads go on.',
  answers: { 200: MESSAGE },
} as const satisfies RouteSpec;

const RESUME = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/platform/resume',
  id: 'adminResumePlatform',
  summary: 'Ends the pause.',
  answers: { 200: MESSAGE },
} as const satisfies RouteSpec;

const SET_DRILL = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/platform/drills',
  id: 'adminSetDrill',
  summary: 'While a drill is enabled, everything that places is refused with its code. A restart ends it.',
  body: DRILL,
  answers: { 200: ACTIVE_DRILLS },
} as const satisfies RouteSpec;

const TEST_ALERT = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/platform/alert-test',
  id: 'adminTestAlert',
  summary: 'Lets the alert TestAlert ring for two minutes: a test of the way to the person on call.',
  body: NO_FIELDS,
  bodyOptional: true,
  answers: { 200: ALERT_TEST },
} as const satisfies RouteSpec;

const CHANGE_CONTRACTS = {
  ...ADMIN,
  method: 'POST',
  path: '/admin/platform/contracts',
  id: 'adminChangeContracts',
  summary: 'Changes the contracts that orders are signed for, in every shard or in none.',
  body: NEW_CONTRACTS,
  answers: { 200: PLATFORM_CONTRACTS, 202: APPROVAL },
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'OUTCOME_UNKNOWN', 'SETTLEMENT_UNHEALTHY'],
} as const satisfies RouteSpec;

export function adminPlatformRoutes(deps: AdminPlatformDeps): Route[] {
  const { platform, drills, alertTest, feed } = deps;
  return [
    route(SHOW_PLATFORM, (call) => ok(call, statusOf(deps))),
    route(PAUSE, (call) => {
      noteBefore(call, { paused: platform.paused });
      platform.setPaused(true);
      feed.publish('platform_paused', {});
      ok(call, { message: 'platform paused' });
    }),
    route(RESUME, (call) => {
      noteBefore(call, { paused: platform.paused });
      platform.setPaused(false);
      feed.publish('platform_resumed', {});
      ok(call, { message: 'platform resumed' });
    }),
    route(SET_DRILL, (call) => {
      noteBefore(call, { drills: drills.active });
      drills.set(call.body.refusal, call.body.enabled);
      feed.publish('drills', { drills: drills.active });
      ok(call, { drills: drills.active });
    }),
    route(TEST_ALERT, (call) => ok(call, { until: new Date(alertTest.begin(call.startedMs)).toISOString() })),
    route(CHANGE_CONTRACTS, (call) => changeContracts(call, deps)),
  ];
}

function statusOf(deps: AdminPlatformDeps): PlatformStatus {
  const { platform, contracts, drills, shards, isShardReady, isDiskLow, views } = deps;
  const { current, pending } = contracts;
  return {
    paused: platform.paused,
    ...platformStagesOf(views.markets),
    drills: drills.active,
    disk_low: isDiskLow(),
    contracts: contractsOf(current),
    contracts_pending: pending === null ? null : contractsOf(pending),
    shards: Array.from({ length: shards }, (_, shard) => ({ shard, ready: isShardReady(shard) })),
  };
}

async function changeContracts(call: CallOf<typeof CHANGE_CONTRACTS>, deps: AdminPlatformDeps): Promise<void> {
  const { contracts, rotation } = deps;
  const target = targetOf(call.body, contracts.pending ?? contracts.current);
  // The zero address means that a setting was forgotten.
  if (/^0x0{40}$/.test(target.exchange)) {
    const details = { field: 'exchange_address', rule: 'non-zero' };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid exchange_address', details });
    return;
  }
  // The markets' conditions belong to their factory and their tokens to its USDC, and settlement calls both.
  const fixed = deps.settlement.deploysMarkets
    ? OF_DEPLOYED_MARKETS.find(([, name]) => target[name] !== contracts.current[name])
    : undefined;
  if (fixed !== undefined) {
    refuseField(call, fixed[0], 'as it is: markets on a chain keep their contracts', call.body[fixed[0]]);
    return;
  }
  const isKnown = rotation.isKnown(target);
  const refusal = isKnown ? null : await refuseSuccessor(target.exchange, deps.settlementFacts);
  if (refusal !== null) return refuse(call, refusal);
  if (!isKnown && waitsForSecond(call, deps, 'contracts', { kind: 'contracts', ...storedContracts(target) })) return;
  noteBefore(call, contractsOf(contracts.current));
  const code = await rotation.rotate(target);
  if (code === OK) ok(call, contractsOf(contracts.current));
  else if (code === E.CONFLICT)
    refuse(call, { row: ERRORS.CONFLICT, message: 'another change of contracts is under way' });
  else refuse(call, { row: errorRow(code) });
}

/** Fields that the body leaves out stay as they are. */
function targetOf(body: NewContracts, before: Contracts): Contracts {
  return {
    chainId: body.chain_id ?? before.chainId,
    exchange: body.exchange_address.toLowerCase(),
    marketFactory: body.market_factory_address?.toLowerCase() ?? before.marketFactory,
    usdc: body.usdc_address?.toLowerCase() ?? before.usdc,
    ctf: body.ctf_address?.toLowerCase() ?? before.ctf,
    feeSweeper: body.fee_sweeper_address?.toLowerCase() ?? before.feeSweeper,
  };
}

/** The stored form of a request, independent of the form of answers: a repeat has the same text in every version. */
function storedContracts({ chainId, exchange, marketFactory, usdc, ctf, feeSweeper }: Contracts) {
  return {
    chain_id: chainId,
    exchange_address: exchange,
    market_factory_address: marketFactory,
    usdc_address: usdc,
    ctf_address: ctf,
    fee_sweeper_address: feeSweeper,
  };
}

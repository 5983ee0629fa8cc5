/** Probes, the server's clock, and the facts about the platform that a client needs before it signs anything. */

import {
  CHAIN_HEALTH,
  HEALTH,
  PLATFORM_CONFIG,
  type PlatformConfig,
  type PlatformContracts,
  READINESS,
  READINESS_QUERY,
  type Readiness,
  type RoleFields,
  SERVER_TIME,
} from '../../shared/api/platform.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { FEE_ACCOUNT, STAGE_NAMES } from '../../shared/base/codes.ts';
import { sumToDecimal, unitsToDecimal } from '../../shared/base/units.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from '../../shared/crypto/eip712.ts';
import type { Config } from '../base/config.ts';
import type { Platform } from '../base/platform.ts';
import { ok, okAs } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { ContractStore, Contracts } from '../markets/contracts.ts';
import { platformStage } from '../markets/stages.ts';
import type { Volumes } from '../markets/volumes.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { Views } from '../shardlink/views.ts';
import { metricsText } from './metrics.ts';

type PlatformDeps = {
  readonly config: Pick<Config, 'feeBps'>;
  readonly platform: Platform;
  readonly contracts: ContractStore;
  readonly catalog: Catalog;
  readonly views: Views;
  readonly volumes: Volumes;
  readonly queries: { readonly historyFromMs: number };
  readonly clock: Clock;
  readonly readiness: () => Readiness;
  readonly role: () => RoleFields;
  /** Null if the exchange keeps the funds itself. */
  readonly settlement: Pick<SettlementPort, 'bounds' | 'standing'>;
};

const OUTCOME_SLOT_COUNT = 2;
const SERVICE_UNAVAILABLE = 503;

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const PROBE = { method: 'GET', access: 'public', limit: 'unlimited', probe: true } as const;
const READ = { method: 'GET', access: 'public' } as const;

const CHECK_HEALTH = {
  ...PROBE,
  path: '/health',
  id: 'checkHealth',
  summary: 'Says that the process is up and not about to end.',
  answers: { 200: HEALTH, 503: HEALTH },
} as const satisfies RouteSpec;

const CHECK_READINESS = {
  ...PROBE,
  path: '/ready',
  id: 'checkReadiness',
  summary: 'Says whether requests are answered, and if not, why; with `role=leader`, whether all are carried out here.',
  query: READINESS_QUERY,
  answers: { 200: READINESS, 503: READINESS },
} as const satisfies RouteSpec;

/**
 * A route beside `/metrics`, which needs a token: a monitor whose token is refused still sees whether the exchange
 * answers, and does not take a refused scrape for an exchange that is down.
 */
const MEASURE_READINESS = {
  ...PROBE,
  path: '/ready/metrics',
  id: 'checkMetricsReadiness',
  summary:
    'The same without role in the text format of Prometheus, always with 200: `exchange_ready`, and how long a start ' +
    'has gone on.',
  answers: { 200: { type: 'string' } },
  contentType: 'text/plain',
} as const satisfies RouteSpec;

const CHECK_CHAIN = {
  ...PROBE,
  path: '/health/polygon',
  id: 'checkChain',
  summary:
    'Says that the exchange reaches the place where its funds are; `mode` is `ledger` where it keeps them itself.',
  answers: { 200: CHAIN_HEALTH, 503: CHAIN_HEALTH },
} as const satisfies RouteSpec;

const SHOW_TIME = {
  ...READ,
  path: '/v1/time',
  id: 'getTime',
  summary: 'The clock that timestamps of signed requests are compared with.',
  answers: { 200: SERVER_TIME },
} as const satisfies RouteSpec;

const SHOW_CONFIG = {
  ...READ,
  path: '/v1/platform/config',
  id: 'getPlatformConfig',
  summary: 'The contracts and the domain that orders are signed for, and totals of the platform.',
  answers: { 200: PLATFORM_CONFIG },
} as const satisfies RouteSpec;

export function platformRoutes(deps: PlatformDeps): Route[] {
  return [
    route(CHECK_HEALTH, (call) => {
      const isDraining = deps.readiness().status === 'draining';
      const status = isDraining ? 'draining' : 'ok';
      ok(call, { status, ...deps.role() }, isDraining ? SERVICE_UNAVAILABLE : 200);
    }),
    route(CHECK_READINESS, (call) => {
      const readiness = deps.readiness();
      ok(call, readiness, isReady(readiness, call.query.role === 'leader') ? 200 : SERVICE_UNAVAILABLE);
    }),
    route(MEASURE_READINESS, (call) => okAs(call, METRICS_TYPE, readinessMetrics(deps.readiness()))),
    route(CHECK_CHAIN, (call) => {
      const { isConnected, isReported } = deps.settlement.standing;
      if (isConnected) ok(call, { status: 'connected', ...(isReported ? {} : { mode: 'ledger' }) });
      else ok(call, { status: 'disconnected' }, SERVICE_UNAVAILABLE);
    }),
    route(SHOW_TIME, (call) => ok(call, { time: Math.floor(deps.clock.nowMs() / 1000) })),
    route(SHOW_CONFIG, (call) => ok(call, platformConfig(deps))),
  ];
}

/** Returns true if a probe of `/ready` is answered 200. @param mustLead true for a probe that looks for the leader */
export function isReady({ status }: Readiness, mustLead = false): boolean {
  return status === 'ready' || (status === 'standby' && !mustLead);
}

/** Returns the seconds for which the start has gone on; 0 once it has ended. */
export function startingSeconds({ status }: Readiness): number {
  return status === 'starting' ? Math.floor(process.uptime()) : 0;
}

export function readinessMetrics(readiness: Readiness): string {
  const exchange_starting_seconds = startingSeconds(readiness);
  return metricsText({ exchange_ready: Number(isReady(readiness)), exchange_starting_seconds });
}

function platformConfig(deps: PlatformDeps): PlatformConfig {
  const { config, platform, contracts, catalog, views, volumes, queries } = deps;
  const addresses = contractsOf(contracts.current);
  return {
    ...addresses,
    outcome_slot_count: OUTCOME_SLOT_COUNT,
    platform_fee_bps: config.feeBps,
    paused: platform.paused,
    stage: STAGE_NAMES[platformStage(views.markets)],
    // The administrator makes markets even while trading is paused.
    market_factory_paused: false,
    total_markets: catalog.markets.length,
    total_volume: sumToDecimal(volumes.totalMicro),
    total_fees_collected: unitsToDecimal(views.accounts.availableMicro(FEE_ACCOUNT)),
    history_from: queries.historyFromMs === 0 ? null : new Date(queries.historyFromMs).toISOString(),
    eip712_domain: {
      name: DOMAIN_NAME,
      version: DOMAIN_VERSION,
      chainId: addresses.chain_id,
      verifyingContract: addresses.exchange_address,
    },
    ...deps.settlement.bounds.shown,
  };
}

export function contractsOf(contracts: Contracts): PlatformContracts {
  return {
    chain_id: contracts.chainId,
    exchange_address: shownAddress(contracts.exchange),
    market_factory_address: shownAddress(contracts.marketFactory),
    usdc_address: shownAddress(contracts.usdc),
    ctf_address: shownAddress(contracts.ctf),
    fee_sweeper_address: shownAddress(contracts.feeSweeper),
  };
}

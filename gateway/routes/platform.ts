/** Probes, the server's clock and what a client must know of the platform before it signs anything. */
import type { Clock } from '../../shared/clock.ts';
import { FEE_ACCOUNT } from '../../shared/codes.ts';
import { DOMAIN_NAME, DOMAIN_VERSION } from '../../shared/eip712.ts';
import { unitsToDecimal } from '../../shared/units.ts';
import type { Config } from '../config.ts';
import type { Catalog } from '../control/catalog.ts';
import type { ContractBook, Contracts } from '../control/contracts.ts';
import type { Platform } from '../control/platform.ts';
import { usdcDecimal, type Volumes } from '../control/volumes.ts';
import { ok } from '../respond.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';

/** `starting` until recovery is done, `draining` from the signal to stop on, `degraded` while a shard is away. */
export type Readiness = {
  readonly status: 'starting' | 'ready' | 'degraded' | 'draining';
  readonly reason?: string;
};

export type PlatformDeps = {
  readonly config: Pick<Config, 'feeBps'>;
  readonly platform: Platform;
  readonly contracts: ContractBook;
  readonly catalog: Catalog;
  readonly views: Views;
  readonly volumes: Volumes;
  readonly clock: Clock;
  readonly readiness: () => Readiness;
};

const OUTCOME_SLOT_COUNT = 2;
const SERVICE_UNAVAILABLE = 503;

export function platformRoutes(deps: PlatformDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/health',
      access: 'public',
      limit: 'unlimited',
      probe: true,
      handler: (call) => ok(call, { status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/ready',
      access: 'public',
      limit: 'unlimited',
      probe: true,
      handler: (call) => {
        const readiness = deps.readiness();
        ok(call, readiness, readiness.status === 'ready' ? 200 : SERVICE_UNAVAILABLE);
      },
    },
    {
      method: 'GET',
      path: '/v1/time',
      access: 'public',
      limit: 'unlisted',
      handler: (call) => ok(call, { time: Math.floor(deps.clock.nowMs() / 1000) }),
    },
    {
      method: 'GET',
      path: '/v1/platform/config',
      access: 'public',
      limit: 'unlisted',
      handler: (call) => ok(call, platformConfig(deps)),
    },
  ];
}

function platformConfig({ config, platform, contracts, catalog, views, volumes }: PlatformDeps) {
  const addresses = contractsOf(contracts.current);
  return {
    ...addresses,
    outcome_slot_count: OUTCOME_SLOT_COUNT,
    platform_fee_bps: config.feeBps,
    paused: platform.paused,
    // The administrator makes markets also while trading is paused.
    market_factory_paused: false,
    total_markets: catalog.markets.length,
    total_volume: usdcDecimal(volumes.totalMicro),
    total_fees_collected: unitsToDecimal(views.accounts.availableMicro(FEE_ACCOUNT)),
    eip712_domain: {
      name: DOMAIN_NAME,
      version: DOMAIN_VERSION,
      chainId: addresses.chain_id,
      verifyingContract: addresses.exchange_address,
    },
  };
}

export function contractsOf(contracts: Contracts) {
  return {
    chain_id: contracts.chainId,
    exchange_address: contracts.exchange,
    market_factory_address: contracts.marketFactory,
    usdc_address: contracts.usdc,
    ctf_address: contracts.ctf,
    fee_sweeper_address: contracts.feeSweeper,
  };
}

/**
 * The administrator's switches for everything at once: pause, drills, and the contracts that orders are signed for
 * (RULES.md 9).
 */
import { E, ERRORS, errorRow, OK } from '../../shared/errors.ts';
import type { AdminFeed } from '../adminFeed.ts';
import type { Call } from '../call.ts';
import type { ContractRotation } from '../contractRotation.ts';
import type { ContractBook, Contracts } from '../control/contracts.ts';
import type { Platform } from '../control/platform.ts';
import { DRILLS, type Drill, type Drills } from '../drills.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { contractsOf } from './platform.ts';

export type AdminPlatformDeps = {
  readonly platform: Platform;
  readonly contracts: ContractBook;
  readonly rotation: ContractRotation;
  readonly drills: Drills;
  readonly shards: number;
  readonly isShardReady: (shard: number) => boolean;
  readonly isDiskLow: () => boolean;
  readonly feed: Pick<AdminFeed, 'publish'>;
};

type ContractsBody = {
  exchange_address: string;
  chain_id?: number;
  market_factory_address?: string;
  usdc_address?: string;
  ctf_address?: string;
  fee_sweeper_address?: string;
};

const ADMIN = { access: 'admin', limit: 'unlisted' } as const;
const ADDRESS = { type: 'string', format: 'address' };

const CONTRACTS_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['exchange_address'],
  properties: {
    exchange_address: ADDRESS,
    chain_id: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    market_factory_address: ADDRESS,
    usdc_address: ADDRESS,
    ctf_address: ADDRESS,
    fee_sweeper_address: ADDRESS,
  },
};

const DRILL_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['refusal', 'enabled'],
  properties: { refusal: { type: 'string', enum: DRILLS }, enabled: { type: 'boolean' } },
};

export function adminPlatformRoutes(deps: AdminPlatformDeps): Route[] {
  const { platform, drills, feed } = deps;
  return [
    {
      ...ADMIN,
      method: 'GET',
      path: '/admin/platform',
      handler: (call) => ok(call, statusOf(deps)),
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/platform/pause',
      handler: (call) => {
        platform.setPaused(true);
        feed.publish('platform_paused', {});
        ok(call, { message: 'platform paused' });
      },
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/platform/resume',
      handler: (call) => {
        platform.setPaused(false);
        feed.publish('platform_resumed', {});
        ok(call, { message: 'platform resumed' });
      },
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/platform/drills',
      body: DRILL_BODY,
      handler: (call) => {
        const { refusal, enabled } = call.json as { refusal: Drill; enabled: boolean };
        drills.set(refusal, enabled);
        feed.publish('drills', { drills: drills.active });
        ok(call, { drills: drills.active });
      },
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/platform/contracts',
      body: CONTRACTS_BODY,
      handler: (call) => changeContracts(call, deps),
    },
  ];
}

function statusOf({ platform, contracts, drills, shards, isShardReady, isDiskLow }: AdminPlatformDeps) {
  const { current, pending } = contracts;
  return {
    paused: platform.paused,
    drills: drills.active,
    disk_low: isDiskLow(),
    contracts: contractsOf(current),
    contracts_pending: pending === null ? null : contractsOf(pending),
    shards: Array.from({ length: shards }, (_, shard) => ({ shard, ready: isShardReady(shard) })),
  };
}

async function changeContracts(call: Call, { contracts, rotation }: AdminPlatformDeps): Promise<void> {
  const target = targetOf(call.json as ContractsBody, contracts.pending ?? contracts.current);
  // A domain without a contract is what a forgotten setting looks like.
  if (/^0x0{40}$/.test(target.exchange)) {
    const details = { field: 'exchange_address', rule: 'non-zero' };
    fail(call, ERRORS.VALIDATION_ERROR, { message: 'invalid exchange_address', details });
    return;
  }
  const code = await rotation.rotate(target);
  if (code === OK) ok(call, contractsOf(contracts.current));
  else if (code === E.CONFLICT) fail(call, ERRORS.CONFLICT, { message: 'another change of contracts is under way' });
  else fail(call, errorRow(code));
}

/** What the body leaves out stays. */
function targetOf(body: ContractsBody, before: Contracts): Contracts {
  return {
    chainId: body.chain_id ?? before.chainId,
    exchange: body.exchange_address.toLowerCase(),
    marketFactory: body.market_factory_address?.toLowerCase() ?? before.marketFactory,
    usdc: body.usdc_address?.toLowerCase() ?? before.usdc,
    ctf: body.ctf_address?.toLowerCase() ?? before.ctf,
    feeSweeper: body.fee_sweeper_address?.toLowerCase() ?? before.feeSweeper,
  };
}

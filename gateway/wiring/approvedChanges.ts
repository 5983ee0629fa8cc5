/**
 * Carries out the changes that a second operator has approved (RULES.md 9.17). After a crash a change may be carried
 * out again; the second time has no effect.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { isDecided, MARKET_STATUS, MOVEMENT } from '../../shared/base/codes.ts';
import { ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import type { ApprovalRequest } from '../access/approvals.ts';
import type { CarryOut } from '../access/fourEyes.ts';
import type { Accounts } from '../account/accounts.ts';
import type { Funding } from '../account/funding.ts';
import type { Refusal } from '../base/refusal.ts';
import type { ContractRotation } from '../chain/contractRotation.ts';
import type { FailedTrades } from '../chain/failedTrades.ts';
import { refuseSuccessor } from '../chain/successor.ts';
import type { Catalog } from '../markets/catalog.ts';
import { readMarketPatch } from '../markets/catalogPatches.ts';
import type { Contracts } from '../markets/contracts.ts';
import type { EventSetCommands } from '../markets/eventSetCommands.ts';
import type { MarketCommands } from '../markets/marketCommands.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { Views } from '../shardlink/views.ts';

type ApprovedChangesDeps = {
  readonly accounts: Accounts;
  readonly catalog: Catalog;
  readonly views: Views;
  readonly funding: Funding;
  readonly marketCommands: MarketCommands;
  readonly eventSets: EventSetCommands;
  readonly rotation: ContractRotation;
  readonly failedTrades: FailedTrades;
  readonly clock: Clock;
  readonly settlementFacts: Pick<SettlementFacts, 'successorProblem'>;
};

type RequestOf<K extends ApprovalRequest['kind']> = Extract<ApprovalRequest, { readonly kind: K }>;

export function approvedChanges(deps: ApprovedChangesDeps): CarryOut {
  return (request) => {
    switch (request.kind) {
      case 'withdrawal':
        return withdraw(request, deps);
      case 'resolution':
        return decide(request, deps);
      case 'set_resolution':
        return decideSet(request, deps);
      case 'contracts':
        return rotate(request, deps);
      case 'unwinding':
        return deps.failedTrades.unwind(request.trade_id);
      case 'market_terms':
        return changeMarket(request, deps);
      case 'event_terms':
        return changeEvent(request, deps);
    }
  };
}

async function withdraw(
  { user_id, amount_usdc_micro, reference }: RequestOf<'withdrawal'>,
  { accounts, funding }: ApprovedChangesDeps,
): Promise<Refusal | null> {
  const user = accounts.byId(user_id);
  if (user === undefined) return { row: ERRORS.RESOURCE_NOT_FOUND, message: 'user not found' };
  const result = await funding.move(user.index, MOVEMENT.WITHDRAWAL, Number(amount_usdc_micro), reference);
  return result.movement !== null ? null : { row: errorRow(result.code), message: result.message };
}

async function decide(
  { market_id, status, payouts }: RequestOf<'resolution'>,
  { catalog, views, marketCommands }: ApprovedChangesDeps,
): Promise<Refusal | null> {
  const market = catalog.byId(market_id);
  if (market === undefined) return { row: ERRORS.MARKET_NOT_FOUND };
  const wanted = status === 'resolved' ? MARKET_STATUS.RESOLVED : MARKET_STATUS.CANCELLED;
  const refusal = await marketCommands.decide(market, wanted, payouts[0]);
  if (refusal?.row !== ERRORS.INVALID_TRANSITION) return refusal;
  // After a crash the shard may have made this very decision already. While the last orders are being cancelled (9.18),
  // the views do not show the decision: the change is tried again.
  const found = views.markets.status(market.index);
  if (found === MARKET_STATUS.RESOLVING) return { row: ERRORS.ENGINE_BUSY };
  const isInThisWay = found === wanted || (found === MARKET_STATUS.SETTLED && wanted === MARKET_STATUS.RESOLVED);
  return isInThisWay && views.markets.payoutYesPpm(market.index) === payouts[0] ? null : refusal;
}

async function decideSet(
  { event_id, status, payouts }: RequestOf<'set_resolution'>,
  { catalog, eventSets, views }: ApprovedChangesDeps,
): Promise<Refusal | null> {
  const event = catalog.eventById(event_id);
  if (event === undefined) return { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' };
  const wanted = status === 'resolved' ? MARKET_STATUS.RESOLVED : MARKET_STATUS.CANCELLED;
  const ppm = payouts === null ? null : new Map(Object.entries(payouts));
  const refusal = await eventSets.decide(event, wanted, ppm);
  if (refusal?.row !== ERRORS.INVALID_TRANSITION) return refusal;
  // As for one market: a decision that the shard has made already is carried out; one that waits is tried again.
  const statuses = event.markets.map(({ index }) => views.markets.status(index));
  if (statuses.includes(MARKET_STATUS.RESOLVING)) return { row: ERRORS.ENGINE_BUSY };
  const isAsDecided = event.markets.every(({ id, index }) => views.markets.payoutYesPpm(index) === (ppm?.get(id) ?? 0));
  return statuses.every(isDecided) && (ppm === null || isAsDecided) ? null : refusal;
}

async function rotate(
  request: RequestOf<'contracts'>,
  { rotation, settlementFacts }: ApprovedChangesDeps,
): Promise<Refusal | null> {
  const target: Contracts = {
    chainId: request.chain_id,
    exchange: request.exchange_address,
    marketFactory: request.market_factory_address,
    usdc: request.usdc_address,
    ctf: request.ctf_address,
    feeSweeper: request.fee_sweeper_address,
  };
  // The chain may have changed since the change was requested. A rotation that has begun is finished whatever the chain
  // says.
  const refusal = rotation.isKnown(target) ? null : await refuseSuccessor(target.exchange, settlementFacts);
  // An approved change is tried again until the chain says whether it may be carried out.
  if (refusal !== null) return refusal.row === ERRORS.CONFLICT ? refusal : { row: ERRORS.ENGINE_BUSY };
  const code = await rotation.rotate(target);
  return code === OK ? null : { row: errorRow(code) };
}

async function changeMarket(
  { market_id, change: given }: RequestOf<'market_terms'>,
  { catalog, views, marketCommands }: ApprovedChangesDeps,
): Promise<Refusal | null> {
  const market = catalog.byId(market_id);
  if (market === undefined) return { row: ERRORS.MARKET_NOT_FOUND };
  const read = readMarketPatch(given, catalog);
  if ('refusal' in read) return read.refusal;
  // After a crash the shard may have the status already, and no status follows itself.
  const isMoved = read.change.status === views.markets.status(market.index);
  return marketCommands.change(market, isMoved ? { ...read.change, status: undefined } : read.change);
}

async function changeEvent(
  { event_id, change }: RequestOf<'event_terms'>,
  { catalog, clock }: ApprovedChangesDeps,
): Promise<Refusal | null> {
  const event = catalog.eventById(event_id);
  if (event === undefined) return { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' };
  catalog.updateEvent(event, { ...event.details, ...change }, clock.nowMs());
  await catalog.durable();
  return null;
}

/** Positions of an account, and its marks that they are claimed (RULES.md 14.20 to 14.23). */

import { UUID } from '../../shared/api/fields.ts';
import { MARKED_CLAIMED, POSITION_LIST, POSITIONS_QUERY } from '../../shared/api/positions.ts';
import { isDecided, OUTCOME } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import { ok, okInSlices, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { MarketEntry } from '../markets/catalog.ts';
import { type MarketDeps, requireMarket } from '../markets/requireMarket.ts';
import type { SettlementFacts } from '../shardlink/settlementFacts.ts';
import type { Accounts } from './accounts.ts';
import { refuseUntilDone } from './chainRefusals.ts';
import type { ClaimMarks } from './claimMarksStore.ts';
import { marketOfPosition, type PositionMask, positionMask } from './positionIds.ts';
import { FIRST_POSITION, type PositionKey, type PositionsTask } from './positionQueries.ts';
import type { AccountReads } from './reads.ts';

type PositionDeps = MarketDeps & {
  readonly accounts: Pick<Accounts, 'idOf' | 'escrowOf'>;
  /** Null where the ledger settles itself. */
  readonly settlementFacts: Pick<SettlementFacts, 'isClaimed'>;
  readonly claimMarks: ClaimMarks;
  readonly queries: Pick<AccountReads, 'ofAccount'>;
};
type ListCall = CallOf<typeof LIST_POSITIONS>;

/** Reading and writing so many takes the query pool a millisecond or two. */
const SLICE = 500;

const LIST_POSITIONS = {
  method: 'GET',
  path: '/v1/user/positions',
  id: 'listPositions',
  summary: 'The positions of the account in the order of markets, those that are closed or claimed too.',
  access: 'authenticated',
  query: POSITIONS_QUERY,
  answers: { 200: POSITION_LIST },
  errors: ['MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

const MARK_CLAIMED = {
  method: 'POST',
  path: '/v1/user/positions/:marketId/mark-claimed',
  id: 'markPositionClaimed',
  summary: 'Notes that the positions in a decided market are claimed. No money moves.',
  access: 'authenticated',
  storing: true,
  params: { marketId: UUID },
  answers: { 200: MARKED_CLAIMED },
  errors: ['MARKET_NOT_FOUND', 'INVALID_TRANSITION', 'NOTHING_TO_CLAIM', 'CONFLICT', 'SETTLEMENT_UNHEALTHY'],
} as const satisfies RouteSpec;

export function positionRoutes(deps: PositionDeps): Route[] {
  return [
    route(LIST_POSITIONS, (call) => listPositions(call, deps)),
    route(MARK_CLAIMED, (call) => markClaimed(call, deps)),
  ];
}

async function listPositions(call: ListCall, deps: PositionDeps): Promise<void> {
  const { accountIndex: account } = call.principal;
  const { market_id, limit } = call.query;
  const market = market_id === undefined ? null : requireMarket(call, deps, market_id);
  if (market === null && market_id !== undefined) return;
  const masks = masksOf(account, deps);
  let after: PositionKey | null = startOf(call, masks, deps);
  if (after === null) return;
  const read = async () => {
    const marked = deps.claimMarks.of(account);
    const task: PositionsTask = {
      account,
      market: market?.index ?? null,
      after: after!,
      limit: limit ?? SLICE,
      masks,
      marked,
    };
    const result = await deps.queries.ofAccount(call, 'userPositions', task);
    if (result.ok) after = limit === undefined ? result.value.next : null;
    return result;
  };
  const first = await read();
  if (!first.ok) return refuse(call, { row: first.row });
  const following = async (): Promise<readonly string[]> => {
    const slice = await read();
    if (!slice.ok) throw new Error('positions: the query pool is busy');
    return slice.value.texts;
  };
  okInSlices(call, first.value.texts, () => (after === null ? null : following()));
}

/** Null if the call was refused: the account could not have a position with this cursor. */
function startOf(call: ListCall, masks: readonly PositionMask[], { catalog }: PositionDeps): PositionKey | null {
  const { cursor } = call.query;
  if (cursor === undefined) return FIRST_POSITION;
  for (const [outcome, mask] of masks.entries()) {
    const market = catalog.byId(marketOfPosition(cursor, mask));
    if (market !== undefined) return [market.index, outcome];
  }
  return refuseField(call, 'cursor', 'an id of a position', cursor);
}

/** By outcome. */
function masksOf(account: number, { accounts }: PositionDeps): PositionMask[] {
  const userId = accounts.idOf(account);
  return [OUTCOME.YES, OUTCOME.NO].map((outcome) => positionMask(userId, outcome));
}

async function markClaimed(call: CallOf<typeof MARK_CLAIMED>, deps: PositionDeps): Promise<void> {
  const market = requireMarket(call, deps, call.params.marketId);
  if (market === null) return;
  if (!isDecided(deps.views.markets.status(market.index))) return refuse(call, { row: ERRORS.INVALID_TRANSITION });
  await note(call, market, deps);
}

/** On a chain, a position whose tokens the chain still has to pay was not redeemed. */
async function refuseUnclaimed(account: number, market: MarketEntry, deps: PositionDeps): Promise<Refusal | null> {
  const wallet = deps.accounts.escrowOf(account);
  if (wallet === null) return null;
  return refuseUntilDone(deps.settlementFacts.isClaimed(wallet, market.id), 'the chain has not paid these tokens yet');
}

async function note(call: CallOf<typeof MARK_CLAIMED>, market: MarketEntry, deps: PositionDeps): Promise<void> {
  const { queries, claimMarks } = deps;
  const { accountIndex: account } = call.principal;
  const result = await queries.ofAccount(call, 'hasPosition', { account, market: market.index });
  if (!result.ok || !result.value) return refuse(call, { row: result.ok ? ERRORS.NOTHING_TO_CLAIM : result.row });
  const refusal = await refuseUnclaimed(account, market, deps);
  if (refusal !== null) return refuse(call, refusal);
  claimMarks.add(account, market.index);
  await claimMarks.durable();
  ok(call, { message: 'marked as claimed' });
}

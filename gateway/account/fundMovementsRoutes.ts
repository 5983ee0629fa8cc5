/** The movements of an account's funds, page by page (RULES.md 14.41). */
import {
  type AccountMovement,
  type AccountMovementType,
  FUND_MOVEMENTS,
  FUND_MOVEMENTS_QUERY,
} from '../../shared/api/ledger.ts';
import { FUND_MOVEMENT, type SettlementStatus } from '../../shared/base/codes.ts';
import { MAX_OFFSET } from '../base/page.ts';
import { okPage, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { StoredMovement } from './fundMovementQueries.ts';
import type { Movements } from './movements.ts';
import type { AccountReads } from './reads.ts';

type FundMovementDeps = {
  readonly queries: Pick<AccountReads, 'ofAccount'>;
  readonly movements: Pick<Movements, 'byHash'>;
};

const LIST = {
  method: 'GET',
  path: '/v1/user/fund-movements',
  id: 'listFundMovements',
  summary: 'Deposits, withdrawals, splits, merges and payouts of the account, newest first.',
  access: 'authenticated',
  query: FUND_MOVEMENTS_QUERY,
  answers: { 200: FUND_MOVEMENTS },
} as const satisfies RouteSpec;

const TYPES: Readonly<Record<number, AccountMovementType>> = {
  [FUND_MOVEMENT.DEPOSIT]: 'deposit',
  [FUND_MOVEMENT.WITHDRAWAL]: 'withdrawal',
  [FUND_MOVEMENT.SPLIT]: 'split',
  [FUND_MOVEMENT.MERGE]: 'merge',
  [FUND_MOVEMENT.CLAIM]: 'claim',
  [FUND_MOVEMENT.SETTLEMENT]: 'claim',
  [FUND_MOVEMENT.REFUND]: 'claim',
  [FUND_MOVEMENT.UNWINDING]: 'unwinding',
  [FUND_MOVEMENT.FEE]: 'movement_fee',
  [FUND_MOVEMENT.SET_CONVERSION]: 'conversion',
};
const OF_CHAIN = 'chain:';
const TRANSACTION = /^chain:(0x[0-9a-f]{64}):/;
/** No block of the chain contains the payment yet. */
const WAITS: readonly SettlementStatus[] = ['pending', 'submitted'];
/** Movement types that reduce the account's USDC. */
const OUTGOING: readonly number[] = [FUND_MOVEMENT.WITHDRAWAL, FUND_MOVEMENT.SPLIT, FUND_MOVEMENT.FEE];

export function fundMovementRoutes(deps: FundMovementDeps): Route[] {
  return [route(LIST, (call) => list(call, deps))];
}

async function list(call: CallOf<typeof LIST>, { queries, movements }: FundMovementDeps): Promise<void> {
  const { limit, offset } = call.query;
  const account = call.principal.accountIndex;
  const result = await queries.ofAccount(call, 'fundMovements', { account, limit, offset });
  if (!result.ok) return refuse(call, { row: result.row });
  const { rows, total, isFloor } = result.value;
  // There are more rows, so an empty page would be a wrong answer.
  if (isFloor && offset > MAX_OFFSET) {
    refuseField(call, 'offset', 'maximum', offset, `at most ${MAX_OFFSET}`);
    return;
  }
  const rest = { total, limit, offset, ...(isFloor ? { count_is_estimate: true } : {}) };
  okPage(call, 'movements', shown(rows, movements), rest);
}

/** Each movement is looked up when its row is written. */
function* shown(rows: readonly StoredMovement[], movements: Pick<Movements, 'byHash'>): Generator<AccountMovement> {
  for (const { id, kind, usdcMicro, referenceHash, entryHash, movedMs, settlement } of rows) {
    const requested = referenceHash === null ? undefined : movements.byHash(referenceHash);
    // The movement happened on the chain first.
    const isOfChain = requested?.reference.startsWith(OF_CHAIN) === true;
    yield {
      id: requested?.id ?? id,
      type: TYPES[kind],
      amount_usdc_micro: String(OUTGOING.includes(kind) ? -usdcMicro : usdcMicro),
      reference: requested?.reference ?? entryHash,
      status: kind === FUND_MOVEMENT.WITHDRAWAL && WAITS.includes(settlement.status) ? 'pending' : 'completed',
      settlement_status: isOfChain ? 'settled' : settlement.status,
      tx_hash: isOfChain ? transactionOf(requested.reference) : settlement.hash,
      created_at: new Date(movedMs).toISOString(),
    };
  }
}

/** Null for the ledger's reversal of tokens that had already left: it has no transaction of its own. */
function transactionOf(reference: string): string | null {
  return TRANSACTION.exec(reference)?.[1] ?? null;
}

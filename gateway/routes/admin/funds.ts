/** The administrator's routes for money: deposits, withdrawals and whether the ledger closes (RULES.md 9). */

import { randomUUID } from 'node:crypto';
import {
  FUND_MOVEMENT,
  LEDGER,
  type Ledger,
  NEW_MOVEMENT,
  type FundMovement as ShownMovement,
} from '../../../shared/api/accounts.ts';
import { MOVEMENT, MOVEMENT_NAMES } from '../../../shared/base/codes.ts';
import { ERRORS, errorRow } from '../../../shared/base/errors.ts';
import { ok, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import type { Funding } from '../../operator/funding.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { Catalog } from '../../store/catalog.ts';
import type { FundKind, FundMovement } from '../../store/movements.ts';
import type { Views } from '../../views/index.ts';
import { ID_PARAM } from '../json/pathParams.ts';
import { requireUser } from './users.ts';

type AdminFundDeps = {
  readonly accounts: Accounts;
  readonly funding: Funding;
  readonly catalog: Catalog;
  readonly views: Views;
};

const MOVE = {
  access: 'treasury',
  limit: 'unlisted',
  method: 'POST',
  params: ID_PARAM,
  body: NEW_MOVEMENT,
  answers: { 201: FUND_MOVEMENT },
} as const;

const DEPOSIT = {
  ...MOVE,
  path: '/admin/users/:id/deposits',
  summary: 'Credits USDC; repeating a reference returns the first deposit.',
  storing: true,
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const WITHDRAW = {
  ...MOVE,
  path: '/admin/users/:id/withdrawals',
  summary: 'Debits available USDC; repeating a reference returns the first withdrawal.',
  errors: [
    'VALIDATION_ERROR',
    'RESOURCE_NOT_FOUND',
    'CONFLICT',
    'ACCOUNT_FROZEN',
    'INSUFFICIENT_BALANCE',
    'OUTCOME_UNKNOWN',
  ],
} as const satisfies RouteSpec;

const SHOW_LEDGER = {
  access: 'viewer',
  limit: 'unlisted',
  method: 'GET',
  path: '/admin/ledger',
  summary: 'The money of all accounts and the collateral of all markets, and whether the sums close.',
  answers: { 200: LEDGER },
} as const satisfies RouteSpec;

type MovementCall = CallOf<typeof DEPOSIT | typeof WITHDRAW>;

export function adminFundRoutes(deps: AdminFundDeps): Route[] {
  return [
    route(DEPOSIT, (call) => move(call, deps, MOVEMENT.DEPOSIT)),
    route(WITHDRAW, (call) => move(call, deps, MOVEMENT.WITHDRAWAL)),
    route(SHOW_LEDGER, (call) => showLedger(call, deps)),
  ];
}

async function move(call: MovementCall, { accounts, funding }: AdminFundDeps, kind: FundKind): Promise<void> {
  const user = requireUser(call, accounts);
  if (user === null) return;
  const { body } = call;
  const amountMicro = Number(body.amount_usdc_micro);
  if (!Number.isSafeInteger(amountMicro)) {
    const details = { field: 'amount_usdc_micro', rule: 'maximum', value: body.amount_usdc_micro };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid amount_usdc_micro', details });
    return;
  }
  // Without a reference every request is a movement of its own; the one it gets can repeat it.
  const result = await funding.move(user.index, kind, amountMicro, body.reference ?? randomUUID());
  if (result.movement !== null) ok(call, movementOf(result.movement), 201);
  else refuse(call, { row: errorRow(result.code), message: result.message, details: result.details });
}

/** While a shard recovers, the views hold only part of its accounts, and the sums would not close. */
function showLedger(call: CallOf<typeof SHOW_LEDGER>, { catalog, views }: AdminFundDeps): void {
  if (!views.isWhole) {
    refuse(call, { row: ERRORS.ENGINE_BUSY });
    return;
  }
  const totals = views.ledger();
  const ledger: Ledger = {
    balanced: totals.balanced,
    total_usdc_micro: String(totals.totalMicro),
    accounts_usdc_micro: String(totals.accountsMicro),
    fees_usdc_micro: String(totals.feesMicro),
    collateral_usdc_micro: String(totals.collateralMicro),
    sets: totals.sets.map((set) => ({
      market_id: catalog.byIndex(set.market).id,
      yes_atomic: String(set.yesAtomic),
      no_atomic: String(set.noAtomic),
    })),
  };
  ok(call, ledger);
}

function movementOf(movement: FundMovement): ShownMovement {
  return {
    id: movement.id,
    type: MOVEMENT_NAMES[movement.kind],
    amount_usdc_micro: String(movement.amountMicro),
    reference: movement.reference,
    status: movement.status,
    created_at: new Date(movement.createdMs).toISOString(),
  };
}

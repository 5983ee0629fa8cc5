/** The administrator's routes for money: deposits, withdrawals and whether the ledger closes (RULES.md 9). */
import { randomUUID } from 'node:crypto';
import { MOVEMENT, MOVEMENT_NAMES } from '../../shared/codes.ts';
import { ERRORS, errorRow } from '../../shared/errors.ts';
import type { Call } from '../call.ts';
import type { Accounts, User } from '../control/accounts.ts';
import type { Catalog } from '../control/catalog.ts';
import type { Funding } from '../control/funding.ts';
import type { FundKind, FundMovement } from '../control/movements.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import type { Views } from '../views/index.ts';
import { forUser } from './adminUsers.ts';

export type AdminFundDeps = {
  readonly accounts: Accounts;
  readonly funding: Funding;
  readonly catalog: Catalog;
  readonly views: Views;
};

type MovementBody = { amount_usdc_micro: string; reference?: string };

const MOVEMENT_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['amount_usdc_micro'],
  properties: {
    amount_usdc_micro: { type: 'string', pattern: '^[1-9][0-9]{0,15}$' },
    reference: { type: 'string', pattern: '^[ -~]{1,128}$' },
  },
};

const ADMIN = { access: 'admin', limit: 'unlisted' } as const;

export function adminFundRoutes(deps: AdminFundDeps): Route[] {
  return [
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/users/:id/deposits',
      storing: true,
      body: MOVEMENT_BODY,
      handler: forUser(deps, (call, _, user) => move(call, deps, user, MOVEMENT.DEPOSIT)),
    },
    {
      ...ADMIN,
      method: 'POST',
      path: '/admin/users/:id/withdrawals',
      body: MOVEMENT_BODY,
      handler: forUser(deps, (call, _, user) => move(call, deps, user, MOVEMENT.WITHDRAWAL)),
    },
    {
      ...ADMIN,
      method: 'GET',
      path: '/admin/ledger',
      handler: (call) => showLedger(call, deps),
    },
  ];
}

async function move(call: Call, { funding }: AdminFundDeps, user: User, kind: FundKind): Promise<void> {
  const body = call.json as MovementBody;
  const amountMicro = Number(body.amount_usdc_micro);
  if (!Number.isSafeInteger(amountMicro)) {
    const details = { field: 'amount_usdc_micro', rule: 'maximum', value: body.amount_usdc_micro };
    fail(call, ERRORS.VALIDATION_ERROR, { message: 'invalid amount_usdc_micro', details });
    return;
  }
  // Without a reference every request is a movement of its own; the one it gets can repeat it.
  const result = await funding.move(user.index, kind, amountMicro, body.reference ?? randomUUID());
  if (result.movement !== null) ok(call, movementOf(result.movement), 201);
  else fail(call, errorRow(result.code), { message: result.message, details: result.details });
}

/** While a shard recovers, what it has told so far would not add up. */
function showLedger(call: Call, { catalog, views }: AdminFundDeps): void {
  if (!views.isWhole) {
    fail(call, ERRORS.ENGINE_BUSY);
    return;
  }
  const totals = views.ledger();
  ok(call, {
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
  });
}

function movementOf(movement: FundMovement) {
  return {
    id: movement.id,
    type: MOVEMENT_NAMES[movement.kind],
    amount_usdc_micro: String(movement.amountMicro),
    reference: movement.reference,
    status: movement.status,
    created_at: new Date(movement.createdMs).toISOString(),
  };
}

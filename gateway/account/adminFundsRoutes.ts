/** The administrator's routes for money: deposits, withdrawals and whether the ledger closes (RULES.md 9). */

import { randomUUID } from 'node:crypto';
import { FUND_MOVEMENT, LEDGER, type Ledger, NEW_MOVEMENT } from '../../shared/api/accounts.ts';
import { APPROVAL } from '../../shared/api/approvals.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { ERRORS, errorRow } from '../../shared/base/errors.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { okKept, type TextsInTurns } from '../http/pieces.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, waitsForSecond } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import type { LedgerCopy } from '../shardlink/ledgerView.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { Views } from '../shardlink/views.ts';
import type { Accounts, User } from './accounts.ts';
import type { Funding } from './funding.ts';
import { movementOf } from './movementJson.ts';
import type { FundKind } from './movements.ts';
import { requireUser } from './requireUser.ts';

type AdminFundDeps = ApprovalDeps & {
  readonly accounts: Accounts;
  readonly funding: Funding;
  readonly catalog: Catalog;
  readonly views: Views;
  readonly texts: Pick<TextsInTurns, 'join'>;
  /** Withdrawals above this amount need a second operator. */
  readonly approvalAboveMicro: number;
  readonly settlement: Pick<SettlementPort, 'holdsFunds'>;
  /** Null if the ledger holds the funds. */
  readonly comparedChain: () => Promise<Ledger['chain'] | null>;
};

const MOVE = {
  access: 'treasury',
  method: 'POST',
  params: ID_PARAM,
  body: NEW_MOVEMENT,
} as const;

const DEPOSIT = {
  ...MOVE,
  path: '/admin/users/:id/deposits',
  id: 'adminDeposit',
  summary: 'Credits USDC; repeating a reference returns the first deposit.',
  storing: true,
  answers: { 201: FUND_MOVEMENT },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND', 'CONFLICT', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const WITHDRAW = {
  ...MOVE,
  path: '/admin/users/:id/withdrawals',
  id: 'adminWithdraw',
  summary: 'Debits available USDC; repeating a reference returns the first withdrawal.',
  answers: { 201: FUND_MOVEMENT, 202: APPROVAL },
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
  method: 'GET',
  path: '/admin/ledger',
  id: 'adminGetLedger',
  summary: 'The money of all accounts and the collateral of all markets, and whether the sums close.',
  answers: { 200: LEDGER },
} as const satisfies RouteSpec;

type MovementCall = CallOf<typeof DEPOSIT | typeof WITHDRAW>;

type NewMovement = { readonly user: User; readonly amountMicro: number; readonly reference: string };

export function adminFundRoutes(deps: AdminFundDeps): Route[] {
  return [
    route(DEPOSIT, (call) => deposit(call, deps)),
    route(WITHDRAW, (call) => withdraw(call, deps)),
    route(SHOW_LEDGER, (call) => showLedger(call, deps)),
  ];
}

async function deposit(call: CallOf<typeof DEPOSIT>, deps: AdminFundDeps): Promise<void> {
  const movement = readMovement(call, deps);
  if (movement !== null) await carryOut(call, deps, MOVEMENT.DEPOSIT, movement);
}

async function withdraw(call: CallOf<typeof WITHDRAW>, deps: AdminFundDeps): Promise<void> {
  const movement = readMovement(call, deps);
  if (movement === null) return;
  const { user, amountMicro, reference } = movement;
  const isLarge = amountMicro > deps.approvalAboveMicro;
  if (isLarge && !deps.funding.isKnown(user.index, MOVEMENT.WITHDRAWAL, reference)) {
    const request = {
      kind: 'withdrawal',
      user_id: user.id,
      amount_usdc_micro: String(amountMicro),
      reference,
    } as const;
    if (waitsForSecond(call, deps, `withdrawal ${user.id} ${reference}`, request)) return;
  }
  await carryOut(call, deps, MOVEMENT.WITHDRAWAL, movement);
}

/** Null when the call was refused. */
function readMovement(call: MovementCall, { accounts }: AdminFundDeps): NewMovement | null {
  const user = requireUser(call, accounts);
  if (user === null) return null;
  const { body } = call;
  const amountMicro = Number(body.amount_usdc_micro);
  if (!Number.isSafeInteger(amountMicro)) {
    const details = { field: 'amount_usdc_micro', rule: 'maximum', value: body.amount_usdc_micro };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid amount_usdc_micro', details });
    return null;
  }
  // Without a reference every request is a separate movement; the reference in the answer can be used to repeat it.
  return { user, amountMicro, reference: body.reference ?? randomUUID() };
}

async function carryOut(
  call: MovementCall,
  { funding, views, settlement }: AdminFundDeps,
  kind: FundKind,
  { user, amountMicro, reference }: NewMovement,
): Promise<void> {
  noteBefore(call, { available_usdc_micro: String(views.accounts.availableMicro(user.index)) });
  const result = await funding.move(user.index, kind, amountMicro, reference);
  if (result.movement !== null) ok(call, movementOf(result.movement, settlement.holdsFunds), 201);
  else refuse(call, { row: errorRow(result.code), message: result.message, details: result.details });
}

/** While a shard recovers, the views hold only part of its accounts, and the sums would not close. */
async function showLedger(call: CallOf<typeof SHOW_LEDGER>, deps: AdminFundDeps): Promise<void> {
  const { catalog, views, texts } = deps;
  if (!views.isWhole) return refuse(call, { row: ERRORS.ENGINE_BUSY });
  const compared = await deps.comparedChain();
  // The views may have become incomplete meanwhile.
  if (!views.isWhole) refuse(call, { row: ERRORS.ENGINE_BUSY });
  else okKept(call, await texts.join(ledgerRows(views.ledger(), catalog, compared)));
}

function* ledgerRows(copy: LedgerCopy, catalog: Catalog, compared: Ledger['chain'] | null): Generator<string> {
  const steps = copy.add();
  let step = steps.next();
  for (; !step.done; step = steps.next()) yield '';
  const { yesAtomic, noAtomic, ...totals } = step.value;
  const sums: Omit<Ledger, 'sets' | 'chain'> = {
    balanced: totals.balanced,
    total_usdc_micro: String(totals.totalMicro),
    accounts_usdc_micro: String(totals.accountsMicro),
    fees_usdc_micro: String(totals.feesMicro),
    collateral_usdc_micro: String(totals.collateralMicro),
  };
  yield `${JSON.stringify(sums).slice(0, -1)},"sets":[`;
  for (const [market, yes] of yesAtomic.entries()) {
    const set: Ledger['sets'][number] = {
      market_id: catalog.byIndex(market).id,
      yes_atomic: String(yes),
      no_atomic: String(noAtomic[market]),
    };
    yield `${market === 0 ? '' : ','}${JSON.stringify(set)}`;
  }
  yield compared === null ? ']}' : `],"chain":${JSON.stringify(compared)}}`;
}

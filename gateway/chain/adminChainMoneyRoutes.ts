/**
 * The administrator's routes for money between the ledger and the chain: differences, and waiting movements (RULES.md
 * 17.27, 17.28).
 */

import {
  type ChainDifference,
  type COMPARED_CHAIN,
  WAITING_MONEY,
  WAITING_MONEY_QUERY,
} from '../../shared/api/chainMoney.ts';
import type { FromSchema } from '../../shared/api/schema.ts';
import { FEE_ACCOUNT, OUTCOME } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { Difference } from '../../shared/wire/chainQuestions.ts';
import type { Accounts } from '../account/accounts.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import { ChainDown } from '../shardlink/settlementLink.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';

type ChainMoneyDeps = {
  readonly accounts: Pick<Accounts, 'idOf'>;
  readonly catalog: Pick<Catalog, 'byIndex'>;
  readonly settlement: Pick<SettlementPort, 'ask' | 'holdsFunds' | 'standing'>;
};

/** The sums of the ledger do not wait for a busy thread. */
const ANSWER_WITHIN_MS = 2000;

const WAITING = {
  method: 'GET',
  path: '/admin/settlement/money',
  id: 'adminListWaitingMoney',
  summary: 'Money that the ledger does not have yet, and payments that the chain refuses, with the reason.',
  access: 'viewer',
  query: WAITING_MONEY_QUERY,
  answers: { 200: WAITING_MONEY },
} as const satisfies RouteSpec;

type WaitingDeps = { readonly settlement: Pick<SettlementPort, 'ask'> };

export function chainMoneyRoutes(deps: WaitingDeps): Route[] {
  return [route(WAITING, (call) => list(call, deps))];
}

async function list(call: CallOf<typeof WAITING>, { settlement }: WaitingDeps): Promise<void> {
  const found = await orNone(settlement.ask('openMoney', call.query));
  if (found === null) return refuse(call, { row: ERRORS.ENGINE_BUSY });
  const movements = found.rows.map(({ kind, wallet, amount, reference, reason, foundMs }) => {
    return {
      kind,
      wallet: shownAddress(wallet),
      amount_atomic: amount,
      reference,
      reason,
      found_at: new Date(foundMs).toISOString(),
    };
  });
  ok(call, { movements, total: found.total });
}

/** Null if the ledger holds the funds: it has nothing to be compared with. */
export async function comparedChain(deps: ChainMoneyDeps): Promise<FromSchema<typeof COMPARED_CHAIN> | null> {
  const { settlement } = deps;
  if (!settlement.holdsFunds) return null;
  const found = await orNone(settlement.ask('differences', null, ANSWER_WITHIN_MS));
  const block = settlement.standing.latest?.reconciledBlock ?? null;
  return { block, differences: found?.map((each) => shown(each, deps)) ?? null };
}

function shown({ account, token, ledger, underWay, held }: Difference, deps: ChainMoneyDeps): ChainDifference {
  const isUser = account !== null && account !== FEE_ACCOUNT;
  return {
    holder: isUser ? 'user' : account === null ? 'all' : 'fees',
    user_id: isUser ? deps.accounts.idOf(account) : null,
    market_id: token === null ? null : deps.catalog.byIndex(token.market).id,
    outcome: token === null ? null : token.outcome === OUTCOME.YES ? 'yes' : 'no',
    ledger_atomic: ledger,
    under_way_atomic: underWay,
    chain_atomic: held,
  };
}

/** Null if the thread does not answer. */
async function orNone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ChainDown) return null;
    throw error;
  }
}

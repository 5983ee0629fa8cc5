/** Play money for visitors of a demo; the route exists only in a demo exchange. */
import { FUND_MOVEMENT } from '../../shared/api/accounts.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { errorRow } from '../../shared/base/errors.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Funding } from './funding.ts';
import { movementOf } from './movementJson.ts';

type DemoFundDeps = { readonly isDemo: boolean; readonly funding: Pick<Funding, 'move'> };

const FUNDS_MICRO = 1_000_000_000;
/** With one fixed reference an account has one such movement, so a visitor gets the money once. */
const REFERENCE = 'demo';

const GIVE_FUNDS = {
  method: 'POST',
  path: '/v1/demo/funds',
  id: 'giveDemoFunds',
  summary: 'Gives the account of a visitor 1,000 USDC of play money, once.',
  access: 'authenticated',
  storing: true,
  answers: { 201: FUND_MOVEMENT },
  errors: ['OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

export function demoFundRoutes(deps: DemoFundDeps): Route[] {
  return deps.isDemo ? [route(GIVE_FUNDS, (call) => giveFunds(call, deps))] : [];
}

async function giveFunds(call: CallOf<typeof GIVE_FUNDS>, { funding }: DemoFundDeps): Promise<void> {
  const result = await funding.move(call.principal.accountIndex, MOVEMENT.DEPOSIT, FUNDS_MICRO, REFERENCE);
  if (result.movement !== null) ok(call, movementOf(result.movement, false), 201);
  else refuse(call, { row: errorRow(result.code), message: result.message, details: result.details });
}

/** The administrator's routes for the open orders that an account may have (RULES.md 2.11). */
import { OPEN_ORDER_BOUNDS, OPEN_ORDER_BOUNDS_BODY, type OpenOrderBounds } from '../../shared/api/accounts.ts';
import type { Accounts } from '../account/accounts.ts';
import { requireUser } from '../account/requireUser.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { OpenOrderBoundsStore } from './openOrderBoundsStore.ts';

type AdminOpenOrderDeps = { readonly accounts: Accounts; readonly openOrderBounds: OpenOrderBoundsStore };

const SHOW_BOUNDS = {
  access: 'viewer',
  method: 'GET',
  path: '/admin/users/:id/open-order-bounds',
  id: 'adminGetOpenOrderBounds',
  summary: 'The open orders that the account may have, in all markets and in each.',
  params: ID_PARAM,
  answers: { 200: OPEN_ORDER_BOUNDS },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const SET_BOUNDS = {
  access: 'treasury',
  method: 'PUT',
  path: '/admin/users/:id/open-order-bounds',
  id: 'adminSetOpenOrderBounds',
  summary: 'Sets the open orders that the account may have; null is the bound of the configuration.',
  storing: true,
  params: ID_PARAM,
  body: OPEN_ORDER_BOUNDS_BODY,
  answers: { 200: OPEN_ORDER_BOUNDS },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

export function adminOpenOrderRoutes({ accounts, openOrderBounds }: AdminOpenOrderDeps): Route[] {
  const boundsOf = (account: number): OpenOrderBounds => {
    const { inAll, inMarket } = openOrderBounds.of(account);
    return { max_open_orders: inAll, max_open_orders_per_market: inMarket };
  };
  return [
    route(SHOW_BOUNDS, (call) => {
      const user = requireUser(call, accounts);
      if (user !== null) ok(call, boundsOf(user.index));
    }),
    route(SET_BOUNDS, (call) => {
      const user = requireUser(call, accounts);
      if (user === null) return;
      const { max_open_orders: inAll, max_open_orders_per_market: inMarket } = call.body;
      noteBefore(call, boundsOf(user.index));
      openOrderBounds.set(user.index, { inAll, inMarket });
      ok(call, boundsOf(user.index));
    }),
  ];
}

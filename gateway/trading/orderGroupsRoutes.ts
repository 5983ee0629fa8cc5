/** Order groups: fill protection that an account sets up for itself (RULES.md 7.9). */
import { GROUP_NAME_FORM, GROUP_NAME as GROUP_NAME_SCHEMA } from '../../shared/api/fields.ts';
import { ORDER_GROUP, ORDER_GROUP_SETTINGS, ORDER_GROUPS, type OrderGroup } from '../../shared/api/orders.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { GroupCommands, ShownGroup } from './groupCommands.ts';

type OrderGroupDeps = { readonly groups: GroupCommands; readonly clock: Clock };

/** Bounded because every shard keeps every group for ever. */
const MAX_GROUPS = 64;

const GROUP_NAME = new RegExp(GROUP_NAME_FORM);
const WRITE = {
  access: 'trade:orders',
  params: { name: GROUP_NAME_SCHEMA },
  answers: { 200: ORDER_GROUP },
} as const;

const LIST_GROUPS = {
  method: 'GET',
  path: '/v1/user/order-groups',
  id: 'listOrderGroups',
  summary: 'The order groups of the account, in the order they were made.',
  access: 'read:account',
  answers: { 200: ORDER_GROUPS },
} as const satisfies RouteSpec;

const SET_GROUP = {
  ...WRITE,
  method: 'PUT',
  path: '/v1/user/order-groups/:name',
  id: 'setOrderGroup',
  summary: 'Makes an order group or changes it.',
  storing: true,
  body: ORDER_GROUP_SETTINGS,
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const RESET_GROUP = {
  ...WRITE,
  method: 'POST',
  path: '/v1/user/order-groups/:name/reset',
  id: 'resetOrderGroup',
  summary: 'Lets a triggered order group accept orders again.',
  storing: true,
  errors: ['RESOURCE_NOT_FOUND', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

export function orderGroupRoutes(deps: OrderGroupDeps): Route[] {
  return [
    route(LIST_GROUPS, (call) => listGroups(call, deps)),
    route(SET_GROUP, (call) => setGroup(call, deps)),
    route(RESET_GROUP, (call) => resetGroup(call, deps)),
  ];
}

function listGroups(call: AccountCall, { groups, clock }: OrderGroupDeps): void {
  ok(call, { order_groups: groups.list(call.principal.accountIndex, clock.nowMs()).map(groupJson) });
}

async function setGroup(call: CallOf<typeof SET_GROUP>, deps: OrderGroupDeps): Promise<void> {
  const { groups } = deps;
  const account = call.principal.accountIndex;
  const { name } = call.params;
  const { window_seconds: windowSec, max_token_quantity_atomic } = call.body;
  if (!GROUP_NAME.test(name)) {
    const details = { field: 'name', rule: 'pattern', value: name.slice(0, 100) };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid name', details });
  } else if (groups.isNew(account, name) && groups.count(account) >= MAX_GROUPS) {
    refuse(call, { row: ERRORS.CONFLICT, message: `too many order groups (max ${MAX_GROUPS})` });
  } else {
    const code = await groups.set(account, name, { windowSec, maxAtomic: Number(max_token_quantity_atomic) });
    answer(call, deps, code, name);
  }
}

async function resetGroup(call: CallOf<typeof RESET_GROUP>, deps: OrderGroupDeps): Promise<void> {
  const account = call.principal.accountIndex;
  const { name } = call.params;
  const index = deps.groups.indexOf(account, name);
  if (index === null) answer(call, deps, E.RESOURCE_NOT_FOUND, name);
  else answer(call, deps, await deps.groups.reset(account, index), name);
}

function answer(call: AccountCall, { groups, clock }: OrderGroupDeps, code: number, name: string): void {
  const group = groups.show(call.principal.accountIndex, name, clock.nowMs());
  if (code !== OK || group === null) refuse(call, { row: code === OK ? ERRORS.OUTCOME_UNKNOWN : errorRow(code) });
  else ok(call, groupJson(group));
}

function groupJson({ name, view }: ShownGroup): OrderGroup {
  return {
    name,
    window_seconds: view.windowSec,
    max_token_quantity_atomic: String(view.maxAtomic),
    filled_token_quantity_atomic: String(view.filledAtomic),
    triggered: view.isTripped,
  };
}

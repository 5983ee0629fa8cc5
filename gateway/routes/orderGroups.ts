/** Order groups: fill protection that an account sets up for itself (RULES.md 7.9). */
import type { Clock } from '../../shared/clock.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/errors.ts';
import type { OrderGroup } from '../../shared/sdk/types.ts';
import type { Call } from '../call.ts';
import { GROUP_NAME_FORM } from '../encodeOrder.ts';
import type { GroupDesk, ShownGroup } from '../groupDesk.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';

export type OrderGroupDeps = { readonly groups: GroupDesk; readonly clock: Clock };

type GroupBody = { readonly window_seconds: number; readonly max_token_quantity_atomic: string };

/** Every shard keeps every group for ever. */
const MAX_GROUPS = 64;

const GROUP_NAME = new RegExp(GROUP_NAME_FORM);
const GROUP_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['window_seconds', 'max_token_quantity_atomic'],
  properties: {
    window_seconds: { type: 'integer', minimum: 1, maximum: 3600 },
    max_token_quantity_atomic: { type: 'string', format: 'amount' },
  },
};

export function orderGroupRoutes(deps: OrderGroupDeps): Route[] {
  const write = { access: 'trade:orders', limit: 'unlisted' } as const;
  return [
    {
      method: 'GET',
      path: '/v1/user/order-groups',
      access: 'read:account',
      limit: 'unlisted',
      handler: (call) => listGroups(call, deps),
    },
    {
      ...write,
      method: 'PUT',
      path: '/v1/user/order-groups/:name',
      storing: true,
      body: GROUP_BODY,
      handler: (call) => setGroup(call, deps),
    },
    {
      ...write,
      method: 'POST',
      path: '/v1/user/order-groups/:name/reset',
      handler: (call) => resetGroup(call, deps),
    },
  ];
}

function listGroups(call: Call, { groups, clock }: OrderGroupDeps): void {
  ok(call, { order_groups: groups.list(call.key!.accountIndex, clock.nowMs()).map(groupJson) });
}

async function setGroup(call: Call, deps: OrderGroupDeps): Promise<void> {
  const { groups } = deps;
  const account = call.key!.accountIndex;
  const name = call.params['name']!;
  const { window_seconds: windowSec, max_token_quantity_atomic } = call.json as GroupBody;
  if (!GROUP_NAME.test(name)) {
    const details = { field: 'name', rule: 'pattern', value: name.slice(0, 100) };
    fail(call, ERRORS.VALIDATION_ERROR, { message: 'invalid name', details });
  } else if (groups.isNew(account, name) && groups.count(account) >= MAX_GROUPS) {
    fail(call, ERRORS.CONFLICT, { message: `too many order groups (max ${MAX_GROUPS})` });
  } else {
    const code = await groups.set(account, name, { windowSec, maxAtomic: Number(max_token_quantity_atomic) });
    answer(call, deps, code, name);
  }
}

async function resetGroup(call: Call, deps: OrderGroupDeps): Promise<void> {
  const account = call.key!.accountIndex;
  const name = call.params['name']!;
  const index = deps.groups.indexOf(account, name);
  if (index === null) answer(call, deps, E.RESOURCE_NOT_FOUND, name);
  else answer(call, deps, await deps.groups.reset(account, index), name);
}

function answer(call: Call, { groups, clock }: OrderGroupDeps, code: number, name: string): void {
  const group = groups.show(call.key!.accountIndex, name, clock.nowMs());
  if (code !== OK || group === null) fail(call, code === OK ? ERRORS.OUTCOME_UNKNOWN : errorRow(code));
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

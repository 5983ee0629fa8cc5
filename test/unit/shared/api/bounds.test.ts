/**
 * The bounds of what clients may send. A bound that moves by one refuses programs that were right yesterday, or admits
 * more than a table has space for; no other test would notice.
 */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { routeTable } from '../../../../gateway/wiring/routeTable.ts';
import type { JsonSchema } from '../../../../shared/api/schema.ts';
import { anything } from '../../../support/anything.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
/** Every exported schema, by its name. */
const SCHEMAS: Record<string, JsonSchema> = {};
for (const path of globSync('shared/api/*.ts', { cwd: ROOT })) Object.assign(SCHEMAS, await import(join(ROOT, path)));

/** The member of a body or query, and its keywords. */
const BOUNDS = `
    NEW_API_KEY.scopes: minItems 1, uniqueItems true
    NEW_API_KEY.rate_limit_override.requests: minimum 1, maximum 1000000
    NEW_API_KEY.rate_limit_override.window_seconds: minimum 1, maximum 86400
    NEW_API_KEY.require_signing_version: enum 1 2 null
    NEW_API_KEY.allowed_ips: minItems 1, maxItems 100, uniqueItems true
    NEW_API_KEY.allowed_ips[]: maxLength 50
    NEW_USER.display_name: minLength 1, maxLength 100
    NEW_USER.email: maxLength 254
    NEW_USER.referral_code: minLength 1, maxLength 32
    OPEN_ORDER_BOUNDS_BODY.max_open_orders: minimum 1, maximum 1000000
    OPEN_ORDER_BOUNDS_BODY.max_open_orders_per_market: minimum 1, maximum 1000000
    PREFERENCES_BODY_DOCUMENTED.reality_check_interval_minutes: enum 15 30 60 120 null
    PREFERENCES_BODY_DOCUMENTED.session_timeout_minutes: enum 60 120 240 480 null
    TIMEOUT_BODY_DOCUMENTED.custom_hours: minimum 1, maximum 8760
    USER_QUERY.limit: minimum 1, maximum 1000, default 100
    USER_QUERY.cursor: minimum 0
    APPROVALS_QUERY.limit: minimum 1, maximum 100, default 50
    APPROVALS_QUERY.cursor: minimum 1
    AUDIT_QUERY.limit: minimum 1, maximum 1000, default 100
    AUDIT_QUERY.cursor: maxLength 64
    AUDIT_QUERY.operator: maxLength 64
    AUDIT_QUERY.path: maxLength 200
    USER_ORDERS_QUERY.outcome: minimum 0, maximum 1
    USER_ORDERS_QUERY.sort: default updated_at
    USER_ORDERS_QUERY.limit: minimum 1, maximum 200, default 50
    USER_ORDERS_QUERY.offset: minimum 0, default 0
    USER_TRADES_QUERY.limit: minimum 1, maximum 100, default 50
    USER_TRADES_QUERY.offset: minimum 0, default 0
    BBOS_BODY[].outcome_index: enum 0 1
    BOOK_QUERY.outcome_index: default 0, enum 0 1
    BOOK_QUERY.levels: minimum 1, maximum 100, default 20
    BOOK_QUERY.both: default false
    BOOK_QUERY.l3: default false
    CANCELLATION.payouts: minItems 2, maxItems 2
    CANCELLATION.payouts[]: minimum 0, maximum 1000000
    EVENT_PATCH: minProperties 1
    MARKET_PATCH: minProperties 1
    NEW_EVENT.title: minLength 1, maxLength 300
    NEW_EVENT.description: maxLength 20000
    NEW_EVENT.category: minLength 1, maxLength 300
    NEW_EVENT.sport_teams: maxItems 50
    NEW_EVENT.sport_teams[]: minLength 1, maxLength 300
    NEW_EVENT.image_url: maxLength 2000
    NEW_EVENT.slug: maxLength 100
    NEW_MARKET.title: minLength 1, maxLength 300
    NEW_MARKET.subtitle: maxLength 300
    NEW_MARKET.description: maxLength 20000
    NEW_MARKET.outcomes: minItems 2, maxItems 2, uniqueItems true
    NEW_MARKET.outcomes[]: minLength 1, maxLength 300
    NEW_MARKET.outcome_probabilities: minItems 2, maxItems 2
    NEW_MARKET.outcome_probabilities[]: minimum 0, maximum 100
    NEW_MARKET.category: minLength 1, maxLength 300
    NEW_MARKET.subcategories: maxItems 50
    NEW_MARKET.subcategories[]: minLength 1, maxLength 300
    NEW_MARKET.external_source: minLength 1, maxLength 300
    NEW_MARKET.external_event_id: maxLength 300
    NEW_MARKET.resolution_source: maxLength 2000
    NEW_MARKET.settlement_sources: maxItems 20
    NEW_MARKET.settlement_sources[].name: minLength 1, maxLength 300
    NEW_MARKET.settlement_sources[].url: maxLength 2000
    NEW_MARKET.open_interest: minimum 0, maximum 9007199254740991
    NEW_MARKET.volume_24h: minimum 0, maximum 9007199254740991
    NEW_MARKET.fee_bps: minimum 0, maximum 10000
    NEW_MARKET.ticks_per_unit: enum 10 16 20 25 40 50 80 100 125 200 250 400 500 625 1000 1250 2000 2500 5000 10000
    RESOLUTION: minProperties 1, maxProperties 1
    RESOLUTION.outcome_index: enum 0 1
    RESOLUTION.payouts: minItems 2, maxItems 2
    RESOLUTION.payouts[]: minimum 0, maximum 1000000
    NEW_OPERATOR.roles: minItems 1, uniqueItems true
    BATCH_CANCEL_DOCUMENTED.order_hashes: maxItems 200
    BATCH_PLACE_DOCUMENTED.orders: minItems 1, maxItems 15
    CANCEL_MARKET.outcome_index: enum 0 1
    OPEN_ORDERS_QUERY.limit: minimum 1, maximum 1000
    OPEN_ORDERS_QUERY.cursor: minimum 0, maximum 9007199254740991
    ORDER_GROUP_SETTINGS.window_seconds: minimum 1, maximum 3600
    PLACEMENT.nonce|0: minimum 0, maximum 9007199254740991
    PLACEMENT.expiration: minimum 0, maximum 4294967295
    PLACEMENT.fee_rate_bps: minimum 0, maximum 4294967295
    PLACEMENT.outcome_index: enum 0 1
    TOMBSTONE_QUERY.tombstone: default false
    NEW_CONTRACTS.chain_id: minimum 1, maximum 9007199254740991
`;

test('the size of requests is bounded as documented', () => {
  for (const line of BOUNDS.trim().split(/\n */)) {
    const [, path, keywords] = /^(\S+): (.*)$/.exec(line)!;
    const [name, ...steps] = path.split(/\.|(?=\[\])|(?=\|)/);
    assert.ok(SCHEMAS[name] !== undefined, name);
    const schema = steps.reduce(memberOf, SCHEMAS[name]);
    for (const keyword of keywords.split(', ')) {
      const [key, ...values] = keyword.split(' ');
      assert.equal([schema[key]].flat().map(String).join(' '), values.join(' '), `${path} ${key}`);
    }
  }
});

test('a member of a body that no one knows is refused, at any depth', () => {
  let closed = 0;
  for (const { method, path, body, documentedBody } of routeTable(anything)) {
    // A documented body is one whose handler checks the members itself.
    if (body !== undefined && documentedBody === undefined) closed += countClosed(body, `${method} ${path}`);
  }
  assert.ok(closed > 30, `${closed}`);
});

function memberOf(schema: JsonSchema, step: string): JsonSchema {
  if (step === '[]') return schema['items'] as JsonSchema;
  if (step.startsWith('|')) return (schema['anyOf'] as JsonSchema[])[Number(step.slice(1))];
  return (schema['properties'] as Record<string, JsonSchema>)[step];
}

/** @returns the number of objects, all of which are closed */
function countClosed(schema: JsonSchema, where: string): number {
  let closed = 0;
  const { properties, items } = schema as { properties?: Record<string, JsonSchema>; items?: JsonSchema };
  if (properties !== undefined) {
    assert.equal(schema['additionalProperties'], false, where);
    closed++;
  }
  for (const [name, member] of Object.entries(properties ?? {})) closed += countClosed(member, `${where} ${name}`);
  return items === undefined ? closed : closed + countClosed(items, `${where} []`);
}

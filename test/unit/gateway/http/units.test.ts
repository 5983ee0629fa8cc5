/** The units in /openapi.json: no field has one that its name, its form or its description contradicts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiText } from '../../../../gateway/http/openapiRoutes.ts';
import { unitOf } from '../../../../gateway/http/units.ts';
import { routeTable } from '../../../../gateway/wiring/routeTable.ts';
import { anything } from '../../../support/anything.ts';
import type { Json } from '../../../support/server.ts';

const document: Json = JSON.parse(String(await openApiText(routeTable(anything))()));
/** Ends of names, each with the unit that it promises. */
const PROMISES: readonly (readonly [RegExp, RegExp])[] = [
  [/_micro$/, /^micro-USDC$/],
  [/_atomic$/, /\batomic tokens\b/],
  [/_usdc?$/, /^USDC$/],
  [/_bps$/, /^basis points$/],
  [/_ms$/, /^milliseconds$|^Unix milliseconds$/],
  [/_sec$|_seconds$/, /^(?:Unix )?seconds$/i],
  [/_minutes$/, /^minutes$/],
  [/_hours$/, /^hours$/],
];
/** Words of descriptions, each with the unit that they mean. */
const SAYINGS: readonly (readonly [RegExp, RegExp])[] = [
  [/\bUnix seconds\b/, /Unix seconds/],
  [/\bUnix milliseconds\b/, /Unix milliseconds/],
  [/^Micro-USDC\b/, /micro-USDC/],
  [/\batomic (?:units|tokens)\b/i, /atomic|taker_amount/],
  [/^USDC\b(?!.*\b(?:moved|statement)\b)/, /^USDC$/],
  [/^Seconds\b/, /seconds/],
];
const COUNTED = /micro-USDC|atomic|(?:maker|taker)_amount/;

type Field = { readonly at: string; readonly name: string; readonly member: Json; readonly forms: readonly Json[] };

function fieldsIn(value: Json, at: string, found: Field[]): Field[] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [name, member] of Object.entries<Json>(value.properties ?? {})) {
    if (typeof member === 'object') found.push({ at: `${at}.${name}`, name, member, forms: formsOf(member) });
  }
  for (const [key, inner] of Object.entries<Json>(value)) {
    if (key !== 'examples' && key !== 'example') fieldsIn(inner, `${at}/${key}`, found);
  }
  return found;
}

/** Returns the schemas that a reference or an `anyOf` stands for. */
function formsOf(schema: Json): Json[] {
  if (schema.$ref !== undefined) return formsOf(document.components.schemas[schema.$ref.split('/').at(-1)]);
  return schema.anyOf?.flatMap(formsOf) ?? [schema];
}

const fields = fieldsIn({ paths: document.paths, components: document.components }, '', []);

test('a field whose name ends in a unit has that unit', () => {
  assert.ok(fields.length > 1000, `${fields.length} fields`);
  for (const { at, name, member, forms } of fields) {
    const promise = PROMISES.find(([end]) => end.test(name))?.[1];
    const isMeasure = forms.every(({ properties, type }) => properties === undefined && type !== 'boolean');
    if (promise !== undefined && isMeasure) assert.match(String(member['x-unit']), promise, at);
  }
});

test('no field has a unit that its description contradicts', () => {
  for (const { at, member } of fields) {
    if (member['x-unit'] === undefined || member.description === undefined) continue;
    for (const [words, unit] of SAYINGS) {
      if (words.test(member.description)) assert.match(member['x-unit'], unit, `${at}: ${member.description}`);
    }
  }
});

test('what is counted in micro-USDC or atomic tokens is a text of digits: no decimals, and no number', () => {
  const counted = fields.filter(({ member }) => COUNTED.test(member['x-unit'] ?? ''));
  assert.ok(counted.length > 100, `${counted.length} fields`);
  for (const { at, forms } of counted) {
    for (const { type, pattern, examples = [] } of forms) {
      if (type === 'null' || type === undefined) continue;
      assert.equal(type, 'string', at);
      assert.ok(!pattern?.includes('\\.'), `${at} takes decimals: ${pattern}`);
      for (const example of examples) assert.match(example, /^-?\d+$/, at);
    }
  }
});

test('the amounts of cash-ins and cash-outs are decimals of what the person gives', () => {
  const { NewOnramp: cashIn, NewOfframp: cashOut, FiatSession: session } = document.components.schemas;
  const units = [cashIn.properties.amount, cashOut.properties.amount, session.properties.requested_amount];
  assert.deepEqual(
    units.map((member) => member['x-unit']),
    ['fiat_currency', 'USDC', 'fiat_currency of an onramp, USDC of an offramp'],
  );
});

test('the unit of a schema stands before that of its name', () => {
  assert.equal(unitOf('amount', { type: 'string', 'x-unit': 'USDC' }), 'USDC');
  assert.equal(unitOf('fee_bps', { type: 'integer' }), 'basis points');
  assert.equal(unitOf('index', { type: 'integer' }), undefined);
});

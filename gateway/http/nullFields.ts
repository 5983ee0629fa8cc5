/**
 * Treats null members of a body as absent: serialisers of many languages write omitted fields as null (RULES.md 6.6).
 */
import type { JsonSchema } from '../../shared/api/schema.ts';

type Members = Record<string, unknown>;

/**
 * Removes them from a body that its schema refuses. A null stays if it is a valid value, if the field is required, or
 * if the schema does not know the field: then the schema decides.
 * @returns true if any were removed
 */
export function dropNulls(value: unknown, schema: JsonSchema): boolean {
  if (Array.isArray(value)) {
    const { items } = schema;
    let hasDropped = false;
    if (items !== undefined) for (const item of value) hasDropped = dropNulls(item, items) || hasDropped;
    return hasDropped;
  }
  const { properties, required = [] } = schema;
  if (typeof value !== 'object' || value === null || properties === undefined) return false;
  let hasDropped = false;
  for (const [name, member] of Object.entries(value)) {
    if (!Object.hasOwn(properties, name)) continue;
    if (member !== null) {
      hasDropped = dropNulls(member, properties[name]) || hasDropped;
    } else if (!required.includes(name) && !takesNull(properties[name])) {
      delete (value as Members)[name];
      hasDropped = true;
    }
  }
  return hasDropped;
}

function takesNull(schema: JsonSchema): boolean {
  const { type, anyOf, enum: values } = schema;
  if (anyOf !== undefined) return anyOf.some(takesNull);
  if (type === undefined) return values === undefined || values.includes(null);
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}

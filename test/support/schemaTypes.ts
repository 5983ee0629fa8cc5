/** Renders JSON Schemas as TypeScript types, as a reader of the published documents would write them. */
import type { Json } from './server.ts';

/** @param document its `components` hold the schemas that references name */
export function typeOf(schema: Json, document: Json): string {
  if (schema.$ref !== undefined) {
    const parts: string[] = schema.$ref.replace('#/', '').split('/');
    return typeOf(
      parts.reduce((at, part) => at[part], document),
      document,
    );
  }
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value: unknown) => JSON.stringify(value)));
  const any = schema.anyOf ?? schema.oneOf;
  if (any !== undefined) return union(any.map((part: Json) => typeOf(part, document)));
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type: string) => typeOf({ ...schema, type }, document)));
  }
  return ofType(schema, document);
}

function ofType(schema: Json, document: Json): string {
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return arrayType(schema, document);
    case 'object':
      return objectType(schema, document);
    default:
      return 'unknown';
  }
}

function arrayType({ items, minItems, maxItems }: Json, document: Json): string {
  const item = items === undefined ? 'unknown' : typeOf(items, document);
  return minItems === 2 && maxItems === 2 ? `readonly [${item}, ${item}]` : `readonly (${item})[]`;
}

function objectType({ properties, required = [], additionalProperties }: Json, document: Json): string {
  if (properties === undefined) {
    const isMap = typeof additionalProperties === 'object';
    return `Readonly<Record<string, ${isMap ? typeOf(additionalProperties, document) : 'unknown'}>>`;
  }
  const members = Object.entries<Json>(properties).map(([name, schema]) => {
    const isGiven = required.includes(name) || 'default' in schema;
    return `readonly ${JSON.stringify(name)}${isGiven ? '' : '?'}: ${typeOf(schema, document)}`;
  });
  return `{ ${members.join('; ')} }`;
}

function union(types: readonly string[]): string {
  return types.length === 0 ? 'never' : types.map((type) => `(${type})`).join(' | ');
}

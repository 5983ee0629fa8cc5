/** Builds the example of a schema from the examples of its fields. */
import type { JsonSchema } from './schema.ts';

/** The beginning of a reference to a named schema; the name follows. */
export const REFERENCE = '#/components/schemas/';

type Schemas = Readonly<Record<string, JsonSchema>>;

/**
 * Undefined if a field of unknown form has no example.
 * @param schemas the schemas of a document, which its references name
 */
export function exampleOf(schema: JsonSchema, schemas: Schemas = {}): unknown {
  const { examples, default: usual, enum: values, anyOf, type, $ref: reference } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ('const' in schema) return schema['const'];
  if (usual !== undefined) return usual;
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0], schemas);
  if (typeof reference === 'string') {
    const named = schemas[reference.slice(REFERENCE.length)];
    // Members beside a reference say more of those that the named schema has.
    const properties = { ...named.properties, ...schema.properties };
    return exampleOf(schema.properties === undefined ? named : { ...named, properties }, schemas);
  }
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return exampleOfObject(schema, schemas);
    case 'array':
      return exampleOfArray(schema, schemas);
    case 'boolean':
      return false;
    case 'integer':
      return schema['minimum'];
    case 'string':
      return 'pattern' in schema || 'format' in schema ? undefined : 'text';
    default:
      return undefined;
  }
}

/** An object with its required members, or with all members if none is required. */
function exampleOfObject({ required, properties }: JsonSchema, schemas: Schemas): unknown {
  const members = Object.entries(properties ?? {});
  const shown = required === undefined ? members : members.filter(([name]) => required.includes(name));
  const examples = shown.map(([name, schema]) => [name, exampleOf(schema, schemas)] as const);
  return Object.fromEntries(examples.filter(([, example]) => example !== undefined));
}

function exampleOfArray({ items, minItems }: JsonSchema, schemas: Schemas): unknown {
  return Array(Math.max(Number(minItems ?? 1), 1)).fill(exampleOf(items ?? {}, schemas));
}

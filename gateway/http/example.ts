/** The example of a schema, composed of the examples of its fields. */
import type { JsonSchema } from '../../shared/api/schema.ts';

/** Undefined when a field of unknown form has none. */
export function exampleOf(schema: JsonSchema): unknown {
  const { examples, default: usual, enum: values, anyOf, type } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ('const' in schema) return schema['const'];
  if (usual !== undefined) return usual;
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0]);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return exampleOfObject(schema);
    case 'array':
      return Array(Math.max(Number(schema['minItems'] ?? 1), 1)).fill(exampleOf(schema['items'] as JsonSchema));
    case 'boolean':
      return false;
    case 'integer':
      return schema['minimum'];
    default:
      return undefined;
  }
}

/** An object with its required members, or with all members where none is required. */
function exampleOfObject({ required, properties }: JsonSchema): unknown {
  const members = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>);
  const shown = required === undefined ? members : members.filter(([name]) => (required as string[]).includes(name));
  const examples = shown.map(([name, schema]) => [name, exampleOf(schema)] as const);
  return Object.fromEntries(examples.filter(([, example]) => example !== undefined));
}

/** A JSON Schema as the rows of a table: each member with its path, type and description. */
import { REFERENCE } from '../../shared/api/example.ts';
import { escaped, table } from './docsHtml.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is data, read at a few known places
export type Json = any;

/** Deeper members are on a page of their own, that of a named schema. */
const MAX_DEPTH = 4;
export const SCHEMAS_PAGE = '/docs/api/schemas';

/** Empty for a schema without members. */
export function schemaTable(schema: Json, schemas: Json): string {
  const rows: string[][] = [];
  addMembers(resolved(schema, schemas), '', 0, rows, schemas);
  return rows.length === 0 ? '' : table(['Field', 'Type', 'About'], rows);
}

function addMembers(schema: Json, prefix: string, depth: number, rows: string[][], schemas: Json): void {
  const inner = innerOf(schema, schemas);
  if (inner.schema.properties === undefined || depth > MAX_DEPTH) return;
  const path = `${prefix}${inner.suffix}${prefix === '' && inner.suffix === '' ? '' : '.'}`;
  for (const [name, member] of Object.entries<Json>(inner.schema.properties)) {
    const isRequired = inner.schema.required?.includes(name) ?? false;
    const mark = isRequired ? '' : ' <span class="quiet">optional</span>';
    rows.push([`<code>${escaped(path + name)}</code>${mark}`, typeOf(member), aboutOf(member)]);
    const next = innerOf(member, schemas).schema;
    if (next.$ref === undefined) addMembers(member, path + name, depth + 1, rows, schemas);
  }
}

/** The schema of an array's elements, of a nullable value, and of the schema that a name stands for. */
function innerOf(schema: Json, schemas: Json): { schema: Json; suffix: string } {
  if (schema.anyOf !== undefined) return innerOf(schema.anyOf[0], schemas);
  if (schema.items === undefined) return { schema, suffix: '' };
  const { schema: inner, suffix } = innerOf(schema.items, schemas);
  return { schema: inner, suffix: `[]${suffix}` };
}

function resolved(schema: Json, schemas: Json): Json {
  if (schema.$ref !== undefined) return schemas[schema.$ref.slice(REFERENCE.length)];
  if (schema.items?.$ref !== undefined) return { ...schema, items: resolved(schema.items, schemas) };
  return schema;
}

export function typeOf(schema: Json): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(REFERENCE.length);
    return `<a href="${SCHEMAS_PAGE}#${name}">${escaped(name)}</a>`;
  }
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`;
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : (schema.type ?? 'any');
  return escaped(schema.format === undefined ? type : `${type}, ${schema.format}`);
}

/** Returns the unit, the description and the bounds. */
export function aboutOf(schema: Json): string {
  const inner = schema.anyOf?.[0] ?? schema;
  const parts: (string | undefined)[] = [schema.description ?? inner.description, schema['x-unit']];
  const texts = parts.filter((part) => part !== undefined).map((part) => escaped(part.replace(/\.$/, '')));
  if (inner.enum !== undefined) {
    texts.push(`one of ${inner.enum.map((value: unknown) => `<code>${escaped(String(value))}</code>`).join(', ')}`);
  }
  if (inner.default !== undefined) texts.push(`default <code>${escaped(JSON.stringify(inner.default))}</code>`);
  for (const [keyword, words] of BOUNDS) {
    if (inner[keyword] !== undefined && inner[keyword] < Number.MAX_SAFE_INTEGER) {
      texts.push(`${words} ${inner[keyword]}`);
    }
  }
  return texts.join('; ');
}

const BOUNDS: readonly (readonly [string, string])[] = [
  ['minimum', 'at least'],
  ['maximum', 'at most'],
  ['minItems', 'elements at least'],
  ['maxItems', 'elements at most'],
  ['maxLength', 'characters at most'],
];

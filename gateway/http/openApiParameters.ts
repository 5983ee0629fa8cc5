/**
 * The parameters of operations in the document of the interface. Those that several operations have are written once,
 * under a name, and the operations refer to them.
 */
import type { JsonSchema } from '../../shared/api/schema.ts';
import { noteOn } from './parameterNotes.ts';
import type { RouteSpec } from './spec.ts';

type Routes = readonly RouteSpec[];
type Document = Readonly<Record<string, unknown>>;
type Parameter = { readonly name: string; readonly description?: string; readonly schema: unknown };
/** Writes the schema of a member of that name. */
type WriteSchema = (name: string, schema: JsonSchema) => unknown;

const HEADERS = {
  key: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'A repeat with the same key is answered as the first request was.',
    schema: { type: 'string', format: 'uuid' },
  },
  deadline: {
    name: 'X-SVC-DEADLINE',
    in: 'header',
    description: 'Unix milliseconds after which the order is not wanted any more.',
    schema: { type: 'integer', minimum: 1 },
  },
  entityTag: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The ETag of an answer: 304 without a body if it is still this one.',
    schema: { type: 'string' },
  },
  range: { name: 'Range', in: 'header', description: 'One part: `bytes=0-99`.', schema: { type: 'string' } },
};

export class SharedParameters {
  readonly #ofRoute: ReadonlyMap<RouteSpec, readonly Parameter[]>;
  /** By its text, the name of each that several operations have. */
  readonly #names = new Map<string, string>();
  readonly #components: Record<string, Parameter> = {};

  constructor(routes: Routes, write: WriteSchema) {
    this.#ofRoute = new Map(routes.map((route) => [route, parametersOf(route, write)]));
    const seen = new Set<string>();
    for (const parameter of [...this.#ofRoute.values()].flat()) {
      const text = JSON.stringify(parameter);
      if (seen.has(text) && !this.#names.has(text)) this.#share(text, parameter);
      seen.add(text);
    }
  }

  of(route: RouteSpec): readonly Document[] {
    return this.#ofRoute.get(route)!.map((parameter) => {
      const name = this.#names.get(JSON.stringify(parameter));
      return name === undefined ? parameter : { $ref: `#/components/parameters/${name}` };
    });
  }

  components(): Document {
    return Object.fromEntries(Object.entries(this.#components).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #share(text: string, parameter: Parameter): void {
    const name = nameOf(parameter);
    let free = name;
    for (let count = 2; free in this.#components; count++) free = `${name}${count}`;
    this.#names.set(text, free);
    this.#components[free] = parameter;
  }
}

/** "MarketId" of the `id` that is a market's; a number of rows has its default and its most in the name. */
function nameOf({ name, description = '', schema }: Parameter): string {
  const { default: usual = '', maximum } = schema as { default?: number; maximum?: number };
  if (name === 'limit') return `Limit${usual}${maximum === undefined ? '' : `Of${maximum}`}`;
  const [, thing = ''] = /^The (\w+)\.$/.exec(description) ?? [];
  return pascal(name === 'id' ? `${thing}_id` : name);
}

function pascal(name: string): string {
  const words = name.replaceAll('-', '_').split('_');
  return words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('');
}

/** The sentence about a parameter stands beside its schema, where all readers show it. */
function parametersOf(route: RouteSpec, write: WriteSchema): readonly Parameter[] {
  const of = (name: string, schema: JsonSchema, where: object): Parameter => {
    const { description = noteOn(name, route.path), ...rest } = schema;
    return { name, ...where, ...(description === undefined ? {} : { description }), schema: write(name, rest) };
  };
  const inPath = Object.entries(route.params ?? {}).map(([name, schema]) => {
    return of(name, schema, { in: 'path', required: true });
  });
  const properties = route.query?.properties ?? {};
  const required = route.query?.required ?? [];
  const inQuery = Object.entries(properties).map(([name, schema]) => {
    return of(name, schema, { in: 'query', ...(required.includes(name) ? { required: true } : {}) });
  });
  const headers: Parameter[] = [];
  if (route.idempotency !== undefined || route.keepsKey) headers.push(HEADERS.key);
  if (route.hasDeadline) headers.push(HEADERS.deadline);
  if (route.hasEntityTag) headers.push(HEADERS.entityTag);
  if (206 in route.answers) headers.push(HEADERS.range);
  return [...inPath, ...inQuery, ...headers];
}

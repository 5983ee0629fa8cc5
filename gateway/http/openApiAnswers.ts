/** The answers in the document of the interface. Operations that answer the same share one, under its schema's name. */
import type { JsonSchema } from '../../shared/api/schema.ts';
import type { FullSpec } from './spec.ts';

type Document = Readonly<Record<string, unknown>>;
type Routes = readonly FullSpec[];
type Write = (schema: JsonSchema) => Document;

export const JSON_TYPE = 'application/json';

export class AnswerResponses {
  readonly #write: Write;
  readonly #shared: ReadonlyMap<string, string>;
  readonly #written: Record<string, unknown> = {};

  /** @param write a schema, or the reference to a named one */
  constructor(routes: Routes, write: Write) {
    this.#write = write;
    const bodies = routes.flatMap((route) =>
      Object.entries(route.answers).map((answer) => this.#bodyOf(route, answer)),
    );
    const repeated = Map.groupBy(bodies, (body) => JSON.stringify(body));
    this.#shared = new Map(
      [...repeated].flatMap(([text, { length }]) => {
        const [, name] = SHARED.exec(text) ?? [];
        return length > 1 && name !== undefined ? [[text, name]] : [];
      }),
    );
  }

  of(route: FullSpec): Document {
    return Object.fromEntries(
      Object.entries(route.answers).map((answer) => [answer[0], this.#reference(this.#bodyOf(route, answer))]),
    );
  }

  components(): Document {
    return this.#written;
  }

  #reference(body: Document): Document {
    const name = this.#shared.get(JSON.stringify(body));
    if (name === undefined) return body;
    this.#written[name] = body;
    return { $ref: `#/components/responses/${name}` };
  }

  #bodyOf(route: FullSpec, [status, schema]: readonly [string, JsonSchema]): Document {
    const isEmpty = Object.keys(schema).length === 0;
    const content = { [route.contentType ?? JSON_TYPE]: { schema: this.#write(schema) } };
    const name = status === '302' ? 'Location' : route.hasEntityTag ? 'ETag' : null;
    const headers = name === null ? {} : { headers: { [name]: { $ref: `#/components/headers/${name}` } } };
    return { description: 'OK', ...headers, ...(isEmpty ? {} : { content }) };
  }
}

/** A body in JSON of a schema with a name, and no header. */
const SHARED = /^\{"description":"OK","content":\{"application\/json":\{"schema":\{"\$ref":"[^"]*\/(\w+)"\}\}\}\}$/;

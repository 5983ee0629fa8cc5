/** The reference of the routes: a page for each chapter of the OpenAPI document, an index, and the named schemas. */
import { exampleOf } from '../../shared/api/example.ts';
import { codeBlock, escaped, sentence, table } from './docsHtml.ts';
import { aboutOf, type Json, SCHEMAS_PAGE, schemaTable, typeOf } from './docsSchema.ts';

/** Path below `/docs/`, title and HTML of a page; `parts` are the entries that its navigation lists. */
export type ReferencePage = {
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly parts: readonly { readonly anchor: string; readonly text: string }[];
};

type Operation = { readonly name: string; readonly id: string; readonly tag: string; readonly json: Json };

export class Reference {
  readonly #document: Json;
  readonly #operations: readonly Operation[];
  readonly #errorPlace: (code: string) => string;

  /** @param errorPlace the address of the explanation of a code */
  constructor(document: Json, errorPlace: (code: string) => string) {
    this.#document = document;
    this.#errorPlace = errorPlace;
    this.#operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, json]) => {
        const name = `${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, ':$1')}`;
        // An operation gets the settings of the whole document and shared parameters as if they were its own.
        const parameters = (json.parameters ?? []).map((parameter: Json) => this.#full(parameter, 'parameters'));
        const whole = { security: document.security, ...json, parameters };
        return { name, id: json.operationId, tag: json.tags[0], json: whole };
      }),
    );
  }

  /** Returns the address of an operation by its method and path, as documents write them. */
  placeOf(name: string): string | undefined {
    const found = this.#operations.find((operation) => operation.name === name);
    return found === undefined ? undefined : placeOf(found);
  }

  /** Returns the operations that answer an error with this code, as documents write them. */
  answering(code: string): string[] {
    const has = ({ json }: Operation): boolean => {
      return Object.values<Json>(json.responses).some((response) => codesOf(this.#full(response))?.includes(code));
    };
    return this.#operations.filter(has).map(({ name }) => name);
  }

  pages(): ReferencePage[] {
    const chapters = this.#document.tags.map((tag: Json) => this.#chapter(tag));
    return [this.#index(), ...chapters, this.#schemas()];
  }

  #index(): ReferencePage {
    const { info, tags } = this.#document;
    const lists = tags.map((tag: Json) => {
      const rows = this.#of(tag).map((operation) => {
        const { name, json } = operation;
        return [`<a href="${placeOf(operation)}"><code>${escaped(name)}</code></a>`, escaped(json.summary)];
      });
      const title = escaped(tag['x-displayName']);
      return `<h2 id="${tag.name}"><a href="/docs/api/${tag.name}">${title}</a></h2>${table(['Route', 'About'], rows)}`;
    });
    const html = `<h1>HTTP reference</h1><p>${sentence(info.description)}</p>
<p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>${lists.join('\n')}`;
    return { path: 'api', title: 'HTTP reference', html, parts: [] };
  }

  #chapter(tag: Json): ReferencePage {
    const operations = this.#of(tag);
    const title = tag['x-displayName'];
    const html = `<h1>${escaped(title)}</h1><p>${escaped(tag.description)}</p>
${operations.map((operation) => this.#operation(operation)).join('\n')}`;
    const parts = operations.map(({ id, name }) => ({ anchor: id, text: name }));
    return { path: `api/${tag.name}`, title, html, parts };
  }

  #schemas(): ReferencePage {
    const { schemas } = this.#document.components;
    const names = Object.keys(schemas);
    const entries = names.map((name) => {
      const { description } = schemas[name];
      const about = description === undefined ? '' : `<p>${sentence(description)}</p>`;
      const rows = schemaTable(schemas[name], schemas) || `<p>${formOf(schemas[name])}</p>`;
      return `<h2 id="${name}"><a href="#${name}">${name}</a></h2>${about}${rows}`;
    });
    const html = `<h1>Schemas</h1><p>What several routes answer or accept.</p>${entries.join('\n')}`;
    const path = SCHEMAS_PAGE.slice('/docs/'.length);
    return { path, title: 'Schemas', html, parts: names.map((name) => ({ anchor: name, text: name })) };
  }

  #operation({ name, id, json }: Operation): string {
    const { summary, requestBody, responses } = json;
    const all = Object.entries<Json>(responses).map(([status, response]) => [status, this.#full(response)] as const);
    const errors = all.filter(([, response]) => codesOf(response) !== undefined);
    const answers = all.filter(([, response]) => codesOf(response) === undefined);
    return [
      `<section class="operation"><h2 id="${id}"><a href="#${id}"><code>${escaped(name)}</code></a></h2>`,
      `<p>${sentence(summary)}</p>`,
      `<dl class="facts"><dt>Access</dt><dd>${accessOf(json)}</dd><dt>Limit</dt><dd>${this.#limit(json)}</dd></dl>`,
      parametersOf(json),
      requestBody === undefined ? '' : this.#content('Body', requestBody.content),
      ...answers.map(([status, { content }]) => this.#content(`Answer ${status}`, content)),
      this.#errors(errors),
      '</section>',
    ].join('\n');
  }

  #limit({ 'x-rate-limit': name = 'unlisted', security }: Json): string {
    if (name === null) return 'none';
    const { requests, window_seconds: seconds, keys } = this.#document['x-rate-limits'][name];
    const window = seconds === 1 ? 'second' : seconds === 60 ? 'minute' : `${seconds} s`;
    const isOfAccount = security.some((way: Json) => 'apiKey' in way) && !security.some(isEmpty);
    return `${requests} a ${window} per ${isOfAccount ? 'account' : 'address'}; keys: ${keys}`;
  }

  #content(title: string, content: Json): string {
    if (content === undefined) return `<h3>${title}</h3><p>No body.</p>`;
    const [[type, { schema, example: given }]] = Object.entries<Json>(content);
    const { schemas } = this.#document.components;
    const rows = schemaTable(schema, schemas);
    const example = given ?? (type === 'application/json' ? exampleOf(schema, schemas) : undefined);
    const note = type === 'application/json' ? '' : `<p>${escaped(type)}</p>`;
    const kind = rows === '' && schema !== undefined ? `<p>${typeOf(schema)}</p>` : '';
    const shown = example === undefined ? '' : codeBlock(JSON.stringify(example, null, 2));
    const details = shown === '' ? '' : `<details><summary>Example</summary>${shown}</details>`;
    return `<h3>${title}</h3>${note}${kind}${rows}${details}`;
  }

  #errors(errors: readonly (readonly [string, Json])[]): string {
    const rows = errors.map(([status, response]) => {
      const links = codesOf(response)!.map((code) => `<a href="${this.#errorPlace(code)}"><code>${code}</code></a>`);
      return [status === 'default' ? '413, 500' : status, links.join(' '), escaped(response.description)];
    });
    return `<details><summary>Errors</summary>${table(['HTTP', 'Codes', 'Messages'], rows)}</details>`;
  }

  /** Returns the response or parameter itself if an operation only refers to a shared one. */
  #full(part: Json, kind: 'responses' | 'parameters' = 'responses'): Json {
    return part.$ref === undefined ? part : this.#document.components[kind][part.$ref.split('/').at(-1)];
  }

  #of(tag: Json): Operation[] {
    return this.#operations.filter((operation) => operation.tag === tag.name);
  }
}

function placeOf({ tag, id }: Operation): string {
  return `/docs/api/${tag}#${id}`;
}

function accessOf({ security }: Json): string {
  if (security.length === 0) return 'everyone';
  const ways = security.map((scheme: Json) => {
    const [name] = Object.keys(scheme);
    const [scope] = name === undefined ? [] : scheme[name];
    const kind = WAYS[name ?? ''] ?? escaped(name);
    return scope === undefined ? kind : `${kind} with <code>${escaped(scope)}</code>`;
  });
  return [...new Set(ways)].join(', or ');
}

/** True for a way to authenticate without credentials. */
function isEmpty(way: Json): boolean {
  return Object.keys(way).length === 0;
}

const WAYS: Readonly<Record<string, string>> = {
  '': 'everyone',
  apiKey: 'an API key',
  session: 'a session',
  adminToken: 'an administrator',
};

function parametersOf({ parameters }: Json): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map(({ name, in: place, required, schema, description }: Json) => {
    const mark = required ? '' : ' <span class="quiet">optional</span>';
    const about = aboutOf(description === undefined ? schema : { ...schema, description });
    return [`<code>${escaped(name)}</code>${mark}`, place, typeOf(schema), about];
  });
  return `<h3>Parameters</h3>${table(['Name', 'In', 'Type', 'About'], rows)}`;
}

/** For a schema without members: its type, and the words or the format of its values. */
function formOf(schema: Json): string {
  const { pattern, description: _, ...rest } = schema;
  const about = aboutOf(rest);
  const parts = [typeOf(schema), about, pattern === undefined ? '' : `<code>${escaped(pattern)}</code>`];
  return parts.filter((part) => part !== '').join('; ');
}

/** The codes of an error from the table; a probe has a non-success answer of its own. */
function codesOf(response: Json): readonly string[] | undefined {
  return response.content?.['application/json']?.schema.properties?.code?.enum;
}

/**
 * Checks every JSON answer of a test server against the server's own /openapi.json: the operation, its status, and the
 * body with no member that the document does not name. An answer outside of the document fails the request, and so the
 * test that made it.
 */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { within } from './eventually.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is data, read at a few known places
type Document = any;
type Operation = { readonly method: string; readonly path: string; readonly form: RegExp; readonly parameters: number };
/** Operations by method and number of path segments: there are hundreds, and each answer looks up one. */
type Operations = ReadonlyMap<string, readonly Operation[]>;

const DOCUMENT_ID = 'openapi';
const CUSTOM_FORMATS = ['hash', 'uint256', 'amount'];
const UUID_FORM = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PLAIN_PATH = /^[A-Za-z0-9._~/-]*$/;
/** Requests that reach no operation: an unknown path, another method, a body that is too large for any. */
const OUTSIDE_STATUSES = [404, 405, 413];

const origins = new Set<string>();
let contract: Contract | undefined;

/**
 * From now on answers from this server are checked. The first server of the process gives the document; a server that
 * has to refuse it, because its Redis hangs, is not checked.
 */
export async function checkAnswersOf(baseUrl: string): Promise<void> {
  if (contract === undefined) {
    const document = await readDocument(baseUrl);
    if (document === null) return;
    contract = new Contract(document);
    const send = globalThis.fetch;
    globalThis.fetch = async (...args) => {
      // A test that held this thread for long has left connections that the server has closed: they are noticed here.
      for (let turn = 0; turn < 2; turn++) await nextTurn();
      const name = `${methodOf(args)} ${addressIn(args)}`;
      const response = await within(`the answer to ${name}`, send(...args)).catch((error: Error) => {
        // `fetch` says neither which request has failed nor why.
        if (error.cause !== undefined) error.message += `: ${name}: ${error.cause}`;
        throw error;
      });
      const url = new URL(response.url);
      // Only JSON is cloned: a stream of events would never end.
      const isJson = response.headers.get('content-type') === 'application/json';
      if (isJson && origins.has(url.origin)) await check(methodOf(args), url.pathname, response.clone());
      return response;
    };
  }
  origins.add(new URL(baseUrl).origin);
}

async function check(method: string, path: string, response: Response): Promise<void> {
  // A server that was killed in the middle of its answer has not answered.
  const text = await response.text().catch(() => '');
  if (text !== '') contract!.check(method, path, response.status, JSON.parse(text));
}

function methodOf([input, init]: Parameters<typeof fetch>): string {
  return (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
}

function addressIn([input]: Parameters<typeof fetch>): string {
  return input instanceof Request ? input.url : String(input);
}

/** Fills have microseconds (RULES.md 13.12). */
const inMilliseconds = (time: string): string => time.replace(/(\.\d{3})\d{3}Z$/, '$1Z');

class Contract {
  /** Optimising the code of a check takes longer than running it a few times. */
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  readonly #document: Document;
  readonly #operations: Operations;
  readonly #checks = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.#document = closed(document);
    for (const format of CUSTOM_FORMATS) this.#ajv.addFormat(format, true);
    this.#ajv.addFormat('address', (text) => text === checksumAddress(text.toLowerCase()));
    this.#ajv.addFormat('uuid', UUID_FORM);
    this.#ajv.addFormat('date-time', (text) => new Date(text).toISOString() === inMilliseconds(text));
    this.#ajv.addSchema(this.#document as AnySchema, DOCUMENT_ID);
    this.#operations = operationsOf(this.#document);
  }

  check(method: string, path: string, status: number, body: unknown): void {
    const operation = this.#operations.get(kindOf(method, path))?.find(({ form }) => form.test(path));
    // A parameter with a character that none may have leads nowhere, and few routes read encoded ones.
    const isElsewhere = status === 404 && !PLAIN_PATH.test(path) && (body as Document).error === 'not found';
    if (operation === undefined || isElsewhere) {
      const isPreflight = method === 'OPTIONS' && status === 200;
      assert.ok(isPreflight || OUTSIDE_STATUSES.includes(status), `${method} ${path} ${status} is not documented`);
      return;
    }
    const name = `${method} ${operation.path} ${status}`;
    const validate = this.#checkOf(name, operation, status);
    assert.ok(validate(body), `${name}: ${this.#ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`);
  }

  #checkOf(name: string, { method, path }: Operation, status: number): ValidateFunction {
    let validate = this.#checks.get(name);
    if (validate === undefined) {
      const { responses } = this.#document.paths[path][method.toLowerCase()];
      const key = status in responses ? status : 'default';
      const shared = responses[key]?.$ref?.replace('#/', '').split('/');
      const place: string[] = shared ?? ['paths', path, method.toLowerCase(), 'responses', key];
      const content = place.reduce((at, key) => at?.[key], this.#document)?.content?.['application/json'];
      assert.ok(content !== undefined, `${name} is not documented`);
      const keys = [...place, 'content', 'application/json', 'schema'];
      validate = this.#ajv.compile({ $ref: `${DOCUMENT_ID}#/${keys.map(toPointer).join('/')}` });
      this.#checks.set(name, validate);
    }
    return validate;
  }
}

/** Returns the same document with objects that allow no members except the named ones. */
function closed(value: Document): Document {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  if (value.type === 'object' && value.properties !== undefined) copy['additionalProperties'] ??= false;
  return copy;
}

/** Fixed paths come before paths with parameters, as in the router. */
function operationsOf({ paths }: Document): Operations {
  const operations = Object.entries<Document>(paths).flatMap(([path, methods]) => {
    const form = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
    const parameters = path.split('{').length - 1;
    return Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path, form, parameters }));
  });
  operations.sort((a, b) => a.parameters - b.parameters);
  return Map.groupBy(operations, ({ method, path }) => kindOf(method, path));
}

function kindOf(method: string, path: string): string {
  return `${method} ${path.split('/').length}`;
}

function toPointer(key: string | number): string {
  return encodeURIComponent(String(key).replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** Uses a connection of its own, so that the connections of tests are counted as if this request had not been made. */
function readDocument(baseUrl: string): Promise<Document | null> {
  return new Promise((resolve, reject) => {
    const request = get(`${baseUrl}/openapi.json`, { agent: false }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve(response.statusCode === 200 ? JSON.parse(text) : null);
    });
    request.on('error', reject);
  });
}

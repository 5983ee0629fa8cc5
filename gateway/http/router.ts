/**
 * Finds the endpoint of a path. A path without parameters is one Map lookup; any other path walks a tree of segments,
 * in which an exact segment takes precedence over a parameter. Nothing is decoded: a percent sign, an empty segment or
 * a trailing slash simply matches nothing, so router and signer always mean the same bytes. If a route allows it, a
 * parameter may be percent-encoded, and is passed on as it is.
 */
import { RecentlyUsed } from './recentlyUsed.ts';

export type Params = Readonly<Record<string, string>>;

/** A path and the targets of its methods. */
export type Endpoint<T> = {
  readonly path: string;
  readonly methods: Map<string, T>;
  /** The methods in the form of an Allow header. */
  allow: string;
};

export type Match<T> = { readonly endpoint: Endpoint<T>; readonly params: Params };

type Node<T> = {
  readonly exact: Map<string, Node<T>>;
  parameter: { readonly name: string; readonly isEncoded: boolean; readonly node: Node<T> } | null;
  endpoint: Endpoint<T> | null;
};

const CODE_SLASH = 47;
/** The characters of a URL that never need encoding: a parameter consists of these only. */
const UNRESERVED = Array.from({ length: 128 }, (_, code) => /[A-Za-z0-9._~-]/.test(String.fromCharCode(code)));
/** The characters that a percent-encoded parameter may have. */
const ENCODED = /^(?:[A-Za-z0-9._~!'()*-]|%[0-9A-Fa-f]{2})+$/;
const NO_PARAMS: Params = Object.freeze({});

export class Router<T> {
  readonly #static = new Map<string, Match<T>>();
  /** Clients request market data by the same few paths over and over. */
  readonly #recent = new RecentlyUsed<Match<T>>();
  readonly #root: Node<T> = makeNode();
  #deepest = 0;

  /** Called only at the start. Throws if two rows claim the same method and path. */
  add(method: string, path: string, target: T, hasEncodedParams = false): void {
    const segments = splitPath(path);
    this.#deepest = Math.max(this.#deepest, segments.length);
    let node = this.#root;
    for (const segment of segments) node = descend(node, segment, path, hasEncodedParams);
    node.endpoint ??= { path, methods: new Map(), allow: '' };
    const endpoint = node.endpoint;
    if (endpoint.methods.has(method)) throw new Error(`router: two routes for ${method} ${path}`);
    endpoint.methods.set(method, target);
    const methods = [...endpoint.methods.keys()];
    // HEAD is answered wherever GET is (RULES.md 6.4).
    endpoint.allow = (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort().join(', ');
    if (!path.includes(':')) this.#static.set(path, { endpoint, params: NO_PARAMS });
  }

  find(path: string): Match<T> | null {
    const known = this.#static.get(path) ?? this.#recent.get(path);
    if (known !== undefined) return known;
    if (path.charCodeAt(0) !== CODE_SLASH) return null;
    const segments = path.split('/', this.#deepest + 2);
    const found = segments.length > this.#deepest + 1 ? null : match(this.#root, segments, 1, NO_PARAMS);
    if (found !== null) this.#recent.keep(path, found);
    return found;
  }
}

/** Backtracks to the parameter if the exact segment leads nowhere; the depth of the table bounds the work. */
function match<T>(node: Node<T>, segments: readonly string[], index: number, params: Params): Match<T> | null {
  if (index === segments.length) return node.endpoint === null ? null : { endpoint: node.endpoint, params };
  const segment = segments[index];
  const exact = node.exact.get(segment);
  if (exact !== undefined) {
    const found = match(exact, segments, index + 1, params);
    if (found !== null) return found;
  }
  if (node.parameter === null) return null;
  const isValue = node.parameter.isEncoded ? ENCODED.test(segment) : isParameterValue(segment);
  if (!isValue) return null;
  return match(node.parameter.node, segments, index + 1, { ...params, [node.parameter.name]: segment });
}

function isParameterValue(segment: string): boolean {
  if (segment.length === 0) return false;
  for (let index = 0; index < segment.length; index++) {
    const code = segment.charCodeAt(index);
    if (code >= 128 || !UNRESERVED[code]) return false;
  }
  return true;
}

function descend<T>(node: Node<T>, segment: string, path: string, isEncoded: boolean): Node<T> {
  if (segment.startsWith(':')) {
    const name = segment.slice(1);
    node.parameter ??= { name, isEncoded, node: makeNode() };
    const isSame = node.parameter.name === name && node.parameter.isEncoded === isEncoded;
    if (!isSame) throw new Error(`router: ${path} renames a parameter of another route`);
    return node.parameter.node;
  }
  let next = node.exact.get(segment);
  if (next === undefined) {
    next = makeNode();
    node.exact.set(segment, next);
  }
  return next;
}

function splitPath(path: string): string[] {
  const segments = path.split('/').slice(1);
  const isWellFormed =
    path.startsWith('/') && (path === '/' || segments.every((segment) => segment !== '' && segment !== ':'));
  if (!isWellFormed) throw new Error(`router: malformed path ${path}`);
  return segments;
}

function makeNode<T>(): Node<T> {
  return { exact: new Map(), parameter: null, endpoint: null };
}

/**
 * Calls of a chain's node by JSON-RPC over HTTP. The address of a node often contains a secret, so no error contains
 * the address, nor any part of it that a node puts into its answer.
 *
 * Invariants:
 *   RPC-1  A call ends within its time, and at most MOST_CALLS run at once: a node that hangs costs one time-out.
 *   RPC-2  A node's answer is not trusted: a malformed answer is an error, never a value.
 */

import { assert } from '../base/assert.ts';
import type { Hex } from '../base/hex.ts';
import { errorOf } from '../base/thrown.ts';

export type Rpc = { call(method: string, params: readonly unknown[]): Promise<unknown> };

const MOST_CALLS = 8;
const TIMEOUT_MS = 10_000;
const SHORTEST_KEY = 8;
/** The receipt of a full batch has a few hundred kilobytes. */
const MOST_ANSWER_BYTES = 16 * 2 ** 20;

/** Texts of nodes that refuse because of earlier questions, not because of this one. */
export const QUOTA =
  /rate.?limit|too many requests|quota|throttl|capacity|(?:per|in the last) (?:second|minute|day)|\b429\b/i;

/** The node answered with a refusal. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  /** The reason that a contract gave; null if no contract refused. */
  readonly data: Hex | null;

  constructor(message: string, data: Hex | null = null) {
    super(message);
    this.data = data;
  }
}

/** There was no valid answer in time: a transaction that was sent may be on its way. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable';
}

export class HttpRpc implements Rpc {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  /** Parts of the address that errors leave out. Longer parts come first. */
  readonly #secrets: readonly string[];
  readonly #timeoutMs: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #nextId = 0;

  constructor(url: string, timeoutMs = TIMEOUT_MS) {
    // Name and password of an address are sent as a header, and must not be in the address that is fetched.
    const { username, password } = new URL(url);
    const bare = new URL(url);
    bare.username = '';
    bare.password = '';
    this.#url = bare.href;
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    this.#headers = { 'content-type': 'application/json', ...(username === '' ? {} : { authorization }) };
    this.#secrets = secretsOf(new URL(url));
    this.#timeoutMs = timeoutMs;
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    if (this.#running < MOST_CALLS) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    assert(this.#running <= MOST_CALLS, 'RPC-1: the number of calls is bounded');
    try {
      return await this.#send(method, params);
    } finally {
      // The place of this call goes to the call that has waited longest, so that no later call can take it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  async #send(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = ++this.#nextId;
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const answer = await this.#post(method, body);
    if (typeof answer !== 'object' || answer === null || !('id' in answer) || answer.id !== id) {
      throw new NodeUnreachable(`${method}: not an answer of JSON-RPC`);
    }
    if ('error' in answer && answer.error !== null && answer.error !== undefined) {
      throw new RpcError(`${method}: ${this.#masked(messageOf(answer.error))}`, revertOf(answer.error));
    }
    if (!('result' in answer)) throw new NodeUnreachable(`${method}: an answer without a result`);
    return answer.result;
  }

  #masked(message: string): string {
    return this.#secrets.reduce((text, secret) => text.replaceAll(secret, '***'), message).slice(0, 300);
  }

  async #post(method: string, body: string): Promise<unknown> {
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      return JSON.parse(await readBounded(response));
    } catch (error) {
      // The error of fetch may contain the address.
      const reason = error instanceof NodeUnreachable ? error.message : errorOf(error).name;
      throw new NodeUnreachable(`${method}: no answer from the node (${reason})`);
    }
  }
}

/** Each part of an address that is longer than a version or the name of a chain may be a key. */
function secretsOf({ username, password, pathname, search }: URL): string[] {
  const parts = [username, password, ...pathname.split('/'), ...search.split(/[?&=]/)];
  const all = new Set(parts.flatMap((part) => [part, decoded(part)]));
  return [...all].filter((part) => part.length >= SHORTEST_KEY).sort((a, b) => b.length - a.length);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A % that encodes nothing.
    return part;
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_ANSWER_BYTES) throw new NodeUnreachable('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function messageOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : null;
  return typeof message === 'string' ? message : 'refused';
}

/** Nodes send the data of a revert with it; a revert without data is recognized only by its message. */
function revertOf(error: unknown): Hex | null {
  const data = typeof error === 'object' && error !== null && 'data' in error ? error.data : null;
  if (typeof data === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(data)) return `0x${data.slice(2).toLowerCase()}`;
  return /revert/i.test(messageOf(error)) ? '0x' : null;
}

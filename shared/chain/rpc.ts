/**
 * JSON-RPC to one node over HTTP. Three things can happen to a call, and the caller treats each in another way: a
 * result; `RpcError`, the node's own refusal; `NodeUnreachable`, where it is not known whether the node has acted.
 */
type RpcOptions = { readonly url: string; readonly timeoutMs: number; readonly fetch?: typeof fetch };

/** The node answered, and refused. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** No answer in time, or one that is none: a transaction that was sent may be on its way. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable';
}

export class Rpc {
  readonly #options: RpcOptions;
  #id = 0;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = ++this.#id;
    const answer = await this.#ask(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    if (!isAnswer(answer) || answer.id !== id) throw new NodeUnreachable(`${method}: the node answered something else`);
    if (answer.error !== undefined) throw new RpcError(answer.error.code, answer.error.message);
    return answer.result;
  }

  async #ask(body: string): Promise<unknown> {
    const { url, timeoutMs, fetch: ask = fetch } = this.#options;
    try {
      const headers = { 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await ask(url, { method: 'POST', headers, body, redirect: 'error', signal });
      return await response.json();
    } catch (error) {
      // Without the address: it may hold a key of the node's provider.
      throw new NodeUnreachable('the node did not answer', { cause: error });
    }
  }
}

type Answer = { id: number; result?: unknown; error?: { code: number; message: string } };

function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && ('result' in value || 'error' in value);
}

/** A door before the node of a chain: it passes calls on, and a test may end a process just before or after one. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from './server.ts';

type Moment = {
  readonly method: string;
  /** The node carries the call out before the test acts. */
  readonly isPassedOn: boolean;
  /** Called with the call's parameters, instead of an answer. */
  readonly act: (params: readonly unknown[]) => void;
};
type Call = { readonly method: string; readonly params: readonly unknown[] };

export class RpcGate {
  /** The bytes of every transaction that was sent through it, in order. */
  readonly sent: string[] = [];
  /** Methods whose calls are neither passed on nor answered. */
  readonly unanswered = new Set<string>();
  /** Replaces each answer of the node by another; null: no answer, the connection is closed. */
  changes: ((method: string, answer: unknown) => unknown) | null = null;
  readonly #url: string;
  readonly #server: Server;
  #moment: Moment | null = null;

  private constructor(url: string) {
    this.#url = url;
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        this.#answer(Buffer.concat(parts).toString())
          .then((answer) => {
            if (answer === null) response.destroy();
            else response.setHeader('content-type', 'application/json').end(answer);
          })
          // The chain has ended with its test.
          .catch(() => response.destroy());
      });
    });
  }

  static async open(scope: Scope, url: string): Promise<RpcGate> {
    const gate = new RpcGate(url);
    scope.after(() => {
      gate.#server.close();
      gate.#server.closeAllConnections();
    });
    await new Promise<void>((resolve) => gate.#server.listen(0, '127.0.0.1', resolve));
    return gate;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next call of this method gets no answer. Resolves with its parameters once the test has acted. */
  at(method: string, isPassedOn: boolean, act: () => Promise<void>): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      this.#moment = { method, isPassedOn, act: (params) => act().then(() => resolve(params), reject) };
    });
  }

  async #answer(body: string): Promise<string | null> {
    const parsed = JSON.parse(body) as Call | Call[];
    const calls = Array.isArray(parsed) ? parsed : [parsed];
    if (calls.some(({ method }) => this.unanswered.has(method))) return null;
    const moment = this.#moment;
    const found = calls.find(({ method }) => method === moment?.method);
    if (found !== undefined) {
      this.#moment = null;
      if (moment!.isPassedOn) await this.#passOn(calls, body);
      moment!.act(found.params);
      return null;
    }
    const answer = await this.#passOn(calls, body);
    if (this.changes === null) return answer;
    const { result, ...rest } = JSON.parse(answer) as { result?: unknown };
    const changed = this.changes(calls[0]!.method, result);
    return changed === null ? null : JSON.stringify(changed === undefined ? rest : { ...rest, result: changed });
  }

  async #passOn(calls: readonly Call[], body: string): Promise<string> {
    for (const { method, params } of calls) {
      if (method === 'eth_sendRawTransaction') this.sent.push(params[0] as string);
    }
    const answer = await fetch(this.#url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    return answer.text();
  }
}

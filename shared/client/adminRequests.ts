/** The way of an administrator's request: its token, the member of a cluster that leads, and repetitions. */
import { NDJSON } from '../api/mediaTypes.ts';
import type { CallOptions } from './accountRequests.ts';
import { Addresses, type BaseUrl } from './addresses.ts';
import { ApprovalNeededError } from './approvalNeeded.ts';
import { openBody, sendRequest } from './http.ts';
import { type PreparedRequest, prepareRequest } from './request.ts';
import { changed, policyOf, type Repeat, withRetries } from './retry.ts';
import type { Approval } from './types.ts';

/** An import of the most lines that a request may have writes to several files and waits for their syncs. */
const IMPORT_TIMEOUT_MS = 60_000;

export type AdminOptions = CallOptions & {
  readonly baseUrl: BaseUrl;
  readonly token: string;
  /** Called before anything is sent that changes something, with the address that it goes to. */
  readonly onChange?: (origin: string) => void;
};

export class AdminRequests {
  readonly #addresses: Addresses;
  readonly #options: AdminOptions;

  constructor(options: AdminOptions) {
    this.#addresses = new Addresses(options.baseUrl);
    this.#options = options;
  }

  /** A change that was only asked for must not be taken for one that was made, so it is no result. */
  async sendOrAsk<T extends object>(method: string, path: string, payload?: unknown): Promise<T> {
    const answer = await this.send<T | Approval>(method, path, payload);
    if ('requested_by' in answer) throw new ApprovalNeededError(answer);
    return answer;
  }

  send<T>(method: string, path: string, payload?: unknown): Promise<T> {
    const { retry, signal, timeoutMs } = this.#options;
    const send = (): Promise<T> => this.#toLeader(() => this.#prepare(method, path, payload), timeoutMs);
    const repeat: Repeat = method === 'GET' ? 'harmless' : 'once';
    const answer = withRetries(send, repeat, policyOf(retry), signal);
    return method === 'GET' ? answer : changed(method, path, answer);
  }

  #toLeader<T>(prepare: () => PreparedRequest, timeoutMs?: number): Promise<T> {
    const { signal, onChange } = this.#options;
    const toOne = (origin: string): Promise<T> => {
      const request = prepare();
      if (request.method !== 'GET') onChange?.(origin);
      return sendRequest(origin, request, { signal, timeoutMs });
    };
    return this.#addresses.toLeader(toOne, signal);
  }

  sendLines<T>(path: string, body: string): Promise<T> {
    const request = { method: 'POST', path, body, headers: { ...this.#headers(), 'content-type': NDJSON } };
    return changed(
      'POST',
      path,
      this.#toLeader(() => request, IMPORT_TIMEOUT_MS),
    );
  }

  /** For an answer of any length. */
  open(path: string): Promise<ReadableStream<Uint8Array>> {
    const request = this.#prepare('GET', path, undefined);
    return this.#addresses.toLeader((origin) => openBody(origin, request, this.#options), this.#options.signal);
  }

  #prepare(method: string, path: string, payload: unknown): PreparedRequest {
    return prepareRequest(method, path, payload, () => this.#headers());
  }

  #headers(): { readonly authorization: string } {
    return { authorization: `Bearer ${this.#options.token}` };
  }
}

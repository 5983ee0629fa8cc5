/** A request as the stages after the body see it, without a socket: the answer is kept here. */
import type { HttpResponse } from 'uWebSockets.js';
import type { Role } from '../../gateway/base/role.ts';
import { Audited } from '../../gateway/http/audited.ts';
import { Call, type HeldChanges } from '../../gateway/http/call.ts';
import { HttpTransport } from '../../gateway/http/httpTransport.ts';
import { apiKey } from './apiKeys.ts';
import { callHost } from './callHost.ts';
import type { Json } from './server.ts';

type CallOptions = {
  readonly method: string;
  readonly path: string;
  readonly query?: string | null;
  readonly body?: unknown;
  /** The account of its key. */
  readonly account?: number;
  readonly idempotencyKey?: string;
  /** The id of the request. */
  readonly id?: string;
  /** Null: no cluster. */
  readonly changes?: HeldChanges | null;
  /** Absent: no cluster. */
  readonly role?: Role | undefined;
};

export class TestCall {
  readonly call: Call;
  status = 0;
  text = '';
  readonly headers = new Map<string, string>();
  /** Resolves with the answer. */
  readonly answered: Promise<void>;

  constructor(options: CallOptions) {
    const { method, path, query = null, body, account = 1, idempotencyKey = '', id, changes = null, role } = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.answered = promise;
    const response = {
      cork: (write: () => void) => write(),
      writeStatus: (line: string) => {
        this.status = Number.parseInt(line, 10);
      },
      writeHeader: (name: string, value: string | Buffer) => this.headers.set(name, value.toString()),
      end: (body: string | Uint8Array) => {
        this.text = typeof body === 'string' ? body : Buffer.from(body).toString();
      },
    } as unknown as HttpResponse;
    this.status = 200;
    const host = { ...callHost(resolve, changes), role, ...(id === undefined ? {} : { nextRequestId: () => id }) };
    this.call = new Call(new HttpTransport(response), method, path, query, 0, host);
    this.call.principal = apiKey(account);
    this.call.audited = new Audited('192.0.2.1');
    this.call.idempotencyKey = idempotencyKey;
    if (body === undefined) return;
    this.call.body = body;
    this.call.bodyBytes = Buffer.from(JSON.stringify(body));
  }

  get json(): Json {
    return JSON.parse(this.text);
  }
}

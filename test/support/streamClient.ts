/**
 * A client of the stream that shares nothing with the server: the `ws` package, and every frame it gets is held against
 * the AsyncAPI document that the server publishes.
 */
import assert from 'node:assert/strict';
import { Ajv, type AnySchemaObject } from 'ajv';
import WebSocket from 'ws';
import type { HeaderFields } from '../../shared/client/request.ts';
import { eventually, within } from './eventually.ts';
import type { Json, Scope } from './server.ts';

type Closed = { code: number; reason: string };
/** By name of a message: the schema of its payload. */
type Payloads = ReadonlyMap<string, AnySchemaObject>;
type Waiting = { matches: (frame: Json) => boolean; resolve: (frame: Json) => void; reject: (error: Error) => void };

const UUID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const payloadsByServer = new Map<string, Promise<Payloads>>();
/** A server that was started again sends the same document. */
const payloadsByDocument = new Map<string, Payloads>();
/** Compiles each schema once, when the first frame of its kind comes. */
const ajv = new Ajv({ strict: true, formats: { uuid: UUID_FORM }, code: { optimize: false } });
// The documents name the unit of a number (gateway/http/units.ts).
ajv.addKeyword('x-unit');

export class StreamClient {
  /** Everything that came, oldest first. */
  readonly frames: Json[] = [];
  readonly socket: WebSocket;
  readonly #closed: Promise<Closed>;
  readonly #payloads: Payloads;
  readonly #waiting = new Set<Waiting>();
  #problem: Error | null = null;
  /** Nothing more comes. */
  #end: Error | null = null;
  #ids = 0;

  /** Resolves when the socket is open. Heartbeats and all else that comes is checked from the first frame on. */
  static async open(scope: Scope, baseUrl: string, headers: HeaderFields = {}, query = ''): Promise<StreamClient> {
    const payloads = await payloadsOf(baseUrl);
    const url = `${baseUrl.replace('http', 'ws')}/v1/ws${query}`;
    const client = new StreamClient(new WebSocket(url, { headers }), payloads);
    scope.after(() => client.end());
    const opened = new Promise((resolve, reject) => {
      client.socket.once('open', resolve);
      client.socket.once('error', reject);
    });
    await within(`a stream at ${url}`, opened);
    return client;
  }

  /**
   * The same for an account. A member of a cluster that has just started, or begins to lead, refuses signatures of that
   * second (RULES.md 18.7), so another signature is sent after a moment.
   * @param sign a signature opens one connection
   */
  static openSigned(scope: Scope, baseUrl: string, sign: () => HeaderFields): Promise<StreamClient> {
    return eventually(`a stream at ${baseUrl} that takes a signature`, () =>
      StreamClient.open(scope, baseUrl, sign()).catch((error) => {
        if (!/response: 401/.test(String(error))) throw error;
        return false as const;
      }),
    );
  }

  /** An upgrade that is refused: the status and body of the answer. */
  static async refused(baseUrl: string, headers: HeaderFields, query = ''): Promise<{ status: number; body: Json }> {
    const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws${query}`, { headers });
    const refused = new Promise<{ status: number; body: Json }>((resolve, reject) => {
      socket.once('open', () => reject(new Error('the upgrade was not refused')));
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const body = JSON.parse(Buffer.concat(chunks).toString());
          resolve({ status: response.statusCode ?? 0, body });
        });
      });
    });
    return within(`the refusal of a stream at ${baseUrl}`, refused);
  }

  private constructor(socket: WebSocket, payloads: Payloads) {
    this.socket = socket;
    this.#payloads = payloads;
    socket.on('message', (data, isBinary) => this.#received(String(data), isBinary));
    this.#closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.#end = new Error(`closed with ${code} ${reason}`);
        for (const { reject } of this.#waiting) reject(this.#problem ?? this.#end);
        resolve({ code, reason: String(reason) });
      });
    });
    socket.on('error', () => undefined);
  }

  /** Resolves once either side has ended it. */
  get closed(): Promise<Closed> {
    return within('the end of a stream', this.#closed);
  }

  end(): void {
    this.socket.terminate();
    if (this.#problem !== null) throw this.#problem;
  }

  /** Text and bytes go as they are. */
  send(message: unknown): void {
    const isRaw = typeof message === 'string' || Buffer.isBuffer(message);
    this.socket.send(isRaw ? message : JSON.stringify(message));
  }

  /** Sends a request and waits for its answer, an error included. */
  async ask(channel: string, data?: unknown): Promise<Json> {
    const id = `request ${++this.#ids}`;
    const answer = this.next((frame) => frame.id === id, `the answer to ${channel}`);
    this.send({ channel, id, data });
    return answer;
  }

  async subscribe(data: unknown): Promise<Json> {
    const answer = await this.ask('subscribe', data);
    assert.equal(answer.channel, 'subscribed', JSON.stringify(answer));
    return answer.data;
  }

  /** The first frame that comes from now on and matches. */
  next(matches: (frame: Json) => boolean, what = `a frame for which ${matches}`): Promise<Json> {
    const end = this.#problem ?? this.#end;
    if (end !== null) throw end;
    return within(what, new Promise((resolve, reject) => this.#waiting.add({ matches, resolve, reject })));
  }

  /** The first frame that matches, whether it has come or not. */
  async until(matches: (frame: Json) => boolean): Promise<Json> {
    return this.frames.find(matches) ?? this.next(matches);
  }

  of(channel: string): Json[] {
    return this.frames.filter((frame) => frame.channel === channel);
  }

  /** Answered only after everything the server had sent before. */
  async settle(): Promise<void> {
    const answer = await this.ask('ping');
    assert.equal(answer.channel, 'pong');
  }

  #received(text: string, isBinary: boolean): void {
    const frame = JSON.parse(text);
    const payload = this.#payloads.get(frame.channel);
    const check = payload === undefined ? undefined : ajv.compile(payload);
    if (isBinary || check === undefined || !check(frame)) {
      this.#problem ??= new Error(`not in the document: ${text.slice(0, 500)} ${JSON.stringify(check?.errors)}`);
      this.socket.terminate();
      return;
    }
    this.frames.push(frame);
    for (const waiting of this.#waiting) {
      if (!waiting.matches(frame)) continue;
      this.#waiting.delete(waiting);
      waiting.resolve(frame);
    }
  }
}

function payloadsOf(baseUrl: string): Promise<Payloads> {
  const known = payloadsByServer.get(baseUrl) ?? readDocument(baseUrl);
  payloadsByServer.set(baseUrl, known);
  // A server that is away for a moment is asked again.
  known.catch(() => payloadsByServer.delete(baseUrl));
  return known;
}

async function readDocument(baseUrl: string): Promise<Payloads> {
  const response = await fetch(`${baseUrl}/asyncapi.json`);
  assert.equal(response.status, 200);
  const text = await response.text();
  const known = payloadsByDocument.get(text);
  if (known !== undefined) return known;
  const document: Json = JSON.parse(text);
  const sent: Json[] = document.operations.follow.messages;
  const names = sent.map(({ $ref }) => $ref.split('/').at(-1));
  const payloads = new Map(names.map((name) => [name, document.components.messages[name].payload]));
  payloadsByDocument.set(text, payloads);
  return payloads;
}

/** A client of the binary order entry over the `ws` package: it sends bytes as they are and reads the answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import WebSocket from 'ws';
import type { HeaderFields } from '../../shared/client/request.ts';
import { answersIn, type RecordAnswer } from '../../shared/client/stream/orderRecords.ts';
import { ENTRY_PROTOCOL } from '../../shared/wire/entry.ts';
import { within } from './eventually.ts';
import type { Scope } from './server.ts';

export class RecordClient {
  readonly socket: WebSocket;
  readonly #closed: Promise<number>;
  /** Everything that came, oldest first. */
  readonly answers: RecordAnswer[] = [];
  readonly #waiting = new Map<number, (answer: RecordAnswer) => void>();
  /** Smaller ids belong to records that a test writes itself. */
  #lastId = 1000;

  static async open(scope: Scope, baseUrl: string, headers: HeaderFields): Promise<RecordClient> {
    const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws`, [ENTRY_PROTOCOL], { headers });
    const client = new RecordClient(socket);
    scope.after(() => socket.terminate());
    await within(`order entry at ${baseUrl}`, once(socket, 'open'));
    assert.equal(socket.protocol, ENTRY_PROTOCOL);
    return client;
  }

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer, isBinary) => {
      assert.ok(isBinary, String(data));
      for (const answer of answersIn(data)) this.#received(answer);
    });
    this.#closed = new Promise((resolve) => {
      socket.on('close', resolve);
    });
    socket.on('error', () => undefined);
  }

  /** Resolves with the code, once either side has ended it. */
  get closed(): Promise<number> {
    return within('the end of a connection of order entry', this.#closed);
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /** The answer to the request with this id. */
  answerTo(requestId: number): Promise<RecordAnswer> {
    const answered = new Promise<RecordAnswer>((resolve) => {
      this.#waiting.set(requestId, resolve);
    });
    return within(`the answer to request ${requestId} of order entry`, answered);
  }

  /** Sends one record and waits for its answer. */
  ask(make: (requestId: number) => Uint8Array): Promise<RecordAnswer> {
    const id = this.nextId();
    const answer = this.answerTo(id);
    this.socket.send(make(id));
    return answer;
  }

  /** Sends bytes that are no request, and waits for the error. */
  refusalOf(bytes: Uint8Array | string): Promise<RecordAnswer> {
    const answer = this.answerTo(0);
    this.socket.send(bytes);
    return answer;
  }

  #received(answer: RecordAnswer): void {
    this.answers.push(answer);
    this.#waiting.get(answer.requestId)?.(answer);
    this.#waiting.delete(answer.requestId);
  }
}

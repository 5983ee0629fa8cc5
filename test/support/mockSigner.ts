/** A signer as AWS KMS is one: `Sign` over HTTP or a socket, with signatures in DER of either s, and its faults. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { temporaryDirectory } from './directory.ts';
import type { Scope } from './server.ts';

type Question = {
  readonly KeyId: string;
  readonly Message: string;
  readonly MessageType: string;
  readonly SigningAlgorithm: string;
};
type Fault =
  | { readonly does: 'hangs' | 'hangs up' | 'signs another digest' }
  | { readonly does: 'signs by'; readonly secret: string }
  | { readonly does: 'answers'; readonly status: number; readonly text: string };

export class MockSigner {
  readonly asked: Question[] = [];
  /** Signatures whose s was in the upper half. */
  highS = 0;
  fault: Fault | null = null;
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #server: Server;
  readonly #socket: string | null;

  private constructor(secrets: ReadonlyMap<string, string>, socket: string | null) {
    this.#secrets = secrets;
    this.#socket = socket;
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => (body += part));
      request.on('end', () => this.#answer(JSON.parse(body) as Question, response));
    });
  }

  /** @param secrets the first one is used for any name that has none of its own */
  static async open(
    scope: Scope,
    secrets: readonly string[] | ReadonlyMap<string, string>,
    place: 'a port' | 'a socket' = 'a port',
  ): Promise<MockSigner> {
    const named = Array.isArray(secrets)
      ? new Map([['', secrets[0] as string]])
      : (secrets as ReadonlyMap<string, string>);
    const socket = place === 'a socket' ? join(temporaryDirectory(), 'signer.sock') : null;
    const signer = new MockSigner(named, socket);
    scope.after(() => {
      signer.#server.close();
      signer.#server.closeAllConnections();
    });
    await new Promise<void>((resolve) => {
      if (socket === null) signer.#server.listen(0, '127.0.0.1', resolve);
      else signer.#server.listen(socket, resolve);
    });
    return signer;
  }

  url(key: string): string {
    if (this.#socket !== null) return `unix:${this.#socket}?key=${key}`;
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/?key=${key}`;
  }

  #answer(question: Question, response: ServerResponse): void {
    this.asked.push(question);
    const { fault } = this;
    if (fault?.does === 'hangs') return;
    if (fault?.does === 'hangs up') {
      response.destroy();
      return;
    }
    if (fault?.does === 'answers') {
      response.writeHead(fault.status).end(fault.text);
      return;
    }
    const secret = this.#secrets.get(question.KeyId) ?? this.#secrets.get('');
    const digest = Buffer.from(question.Message, 'base64');
    if (fault?.does === 'signs another digest') digest[0]! ^= 1;
    const by = Buffer.from((fault?.does === 'signs by' ? fault.secret : secret!).slice(2), 'hex');
    const der = secp256k1.sign(digest, by, { prehash: false, lowS: false, format: 'der' });
    if (secp256k1.Signature.fromBytes(der, 'der').hasHighS()) this.highS++;
    response.end(JSON.stringify({ Signature: Buffer.from(der).toString('base64'), SigningAlgorithm: 'ECDSA_SHA_256' }));
  }
}

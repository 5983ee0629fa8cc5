/** HTTP as bytes on a socket, for requests that no HTTP client would send. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import type { Credentials } from '../../shared/client/credentials.ts';
import { AUTH_HEADER, stringToSignV2 } from '../../shared/crypto/hmac.ts';

export type WireAnswer = { status: number; head: string; body: string };

/**
 * Collects all answers on one connection. `first` is enough for a complete request; `all` announces that nothing more
 * will be sent and collects until the server closes.
 */
export function onWire(port: number, bytes: Buffer, until: 'first' | 'all'): Promise<WireAnswer[]> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const chunks: Buffer[] = [];
    const isHead = bytes.toString('latin1', 0, 5) === 'HEAD ';
    const finish = (): void => {
      socket.destroy();
      resolve(answersIn(Buffer.concat(chunks), isHead));
    };
    // A reset is an answer, too: what came before it counts.
    socket.on('error', () => {});
    socket.on('close', finish);
    socket.on('end', finish);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (until === 'first' && answersIn(Buffer.concat(chunks), isHead).length > 0) finish();
    });
    if (until === 'all') socket.end(bytes);
    else socket.write(bytes);
  });
}

/**
 * Returns every complete answer in the received bytes. The answer to HEAD names the length of a body that does not
 * follow.
 */
function answersIn(received: Buffer, isHead: boolean): WireAnswer[] {
  const text = received.toString('latin1');
  const answers: WireAnswer[] = [];
  for (let at = 0; ; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return answers;
    const head = text.slice(at, headEnd);
    const hasBody = !isHead || at > 0;
    const length = !hasBody ? 0 : Number(/\r\ncontent-length: *([0-9]+)/i.exec(head)?.[1] ?? 0);
    const bodyAt = headEnd + 4;
    if (text.length < bodyAt + length) return answers;
    const body = received.toString('utf8', bodyAt, bodyAt + length);
    answers.push({ status: Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(head)?.[1] ?? 0), head, body });
    at = bodyAt + length;
  }
}

export type HeaderLines = readonly (readonly [name: string, value: string])[];

/** A request with the length of its body unless the headers have one. */
export function requestBytes(method: string, target: string, headers: HeaderLines, body: Buffer): Buffer {
  const hasLength = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const lines = [['Host', 'test'] as const, ...headers];
  if (!hasLength && body.length > 0) lines.push(['Content-Length', String(body.length)]);
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}\r\n`, 'latin1'), body]);
}

/** The headers that sign a request whose body is bytes, not text. */
export function signedHeaders(
  credentials: Credentials,
  method: string,
  target: string,
  body: Buffer,
): [string, string][] {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = randomUUID();
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const text = stringToSignV2(timestamp, nonce, method, target, bodyHash);
  const secret = Buffer.from(credentials.secret, 'base64url');
  return [
    [AUTH_HEADER.API_KEY, credentials.keyId],
    [AUTH_HEADER.PASSPHRASE, credentials.passphrase],
    [AUTH_HEADER.TIMESTAMP, timestamp],
    [AUTH_HEADER.SIGNATURE, createHmac('sha256', secret).update(text).digest('base64url')],
    [AUTH_HEADER.VERSION, '2'],
    [AUTH_HEADER.NONCE, nonce],
  ];
}

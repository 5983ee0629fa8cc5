/** Providers that vouch for people, on loopback: a server whose answers the test chooses, and tokens like Privy's. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { Optional } from '../../shared/api/schema.ts';
import type { Scope } from './server.ts';

export type ProviderServer = { readonly url: string; answer: RequestListener; requests: number; close(): void };

export async function startProvider(scope: Scope, answer: RequestListener): Promise<ProviderServer> {
  const server = createServer((request, response) => {
    provider.requests++;
    provider.answer(request, response);
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  const provider: ProviderServer & { url: string } = { url: '', answer, requests: 0, close };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.after(close);
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return provider;
}

export const PRIVY_APP = 'app-of-the-tests';

type PrivySigner = Awaited<ReturnType<typeof makePrivySigner>>;

/** A key of Privy, and the tokens that it signs. */
export async function makePrivySigner(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
  /** A claim that is undefined is left out. */
  const sign = (claims: Optional<JWTPayload> = {}, nowMs = Date.now(), header = {}): Promise<string> => {
    const nowSec = Math.floor(nowMs / 1000);
    const usual = { iss: 'privy.io', aud: PRIVY_APP, sub: 'did:privy:ann', sid: 's1', iat: nowSec, exp: nowSec + 3600 };
    const given = Object.entries({ ...usual, ...claims }).filter(([, claim]) => claim !== undefined);
    return new SignJWT(Object.fromEntries(given))
      .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid, ...header })
      .sign(privateKey);
  };
  return { jwk, publicKey, sign };
}

export function jwksAnswer(...signers: readonly PrivySigner[]): RequestListener {
  const body = JSON.stringify({ keys: signers.map(({ jwk }) => jwk) });
  return (_request, response) => response.end(body);
}

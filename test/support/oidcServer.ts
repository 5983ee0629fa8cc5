/** A real provider of OpenID Connect on loopback, at which a person signs in without a form. */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import Provider from 'oidc-provider';
import type { ProviderServer } from './providerServer.ts';

export const CLIENT = { clientId: 'exchange', clientSecret: 'the-secret-of-the-exchange-at-the-provider' };

type OidcServer = {
  /** The one who signs in next. */
  person: { sub: string; email: string; email_verified: boolean };
  /** Goes on as a browser does, up to where it is sent back to the exchange. */
  visit(location: string): Promise<URL>;
};

/** @param server answers as the provider from now on. */
export async function serveOidc(server: ProviderServer, redirectUris: readonly string[]): Promise<OidcServer> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  const people = new Map<string, object>();
  const provider = new Provider(server.url, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: redirectUris,
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'first', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['a key of the test'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: () => '/interaction' },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => people.get(accountId) }),
  });
  const answer = provider.callback();
  const oidc: OidcServer = {
    person: { sub: 'ann', email: 'ann@example.org', email_verified: true },
    visit: (location) => follow(location, server.url),
  };
  server.answer = async (request, response) => {
    if (request.url !== '/interaction') {
      answer(request, response);
      return;
    }
    const { prompt, params } = await provider.interactionDetails(request, response);
    const { sub } = oidc.person;
    people.set(sub, oidc.person);
    const grant = new provider.Grant({ accountId: sub, clientId: params.client_id });
    grant.addOIDCScope('openid email');
    const result =
      prompt.name === 'login' ? { login: { accountId: sub } } : { consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result);
  };
  return oidc;
}

/** Follows redirections of the provider, with its cookies, to the first address that is not its own. */
async function follow(location: string, own: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = new URL(location);
  while (next.href.startsWith(own)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    const target = response.headers.get('location');
    if (target === null) throw new Error(`the provider answers ${response.status}: ${await response.text()}`);
    next = new URL(target, next);
  }
  return next;
}

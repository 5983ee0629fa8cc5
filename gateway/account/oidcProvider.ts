/**
 * One provider of OpenID Connect (RULES.md 15.33, 15.34), with `openid-client`: loaded at the first sign-in, so that a
 * start does not pay for it.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   OIDC-1  A person is accepted only by an id token that the provider has signed, for our client and this sign-in
 *           (nonce), obtained with a code that only the browser which began the sign-in could use (state, PKCE).
 *   OIDC-2  The provider's metadata is fetched by one request at a time, once in RENEW_MS, and once in FAILED_MS while
 *           fetching fails; meanwhile the last metadata stays in use.
 */
import type { Configuration } from 'openid-client';
import { ERRORS } from '../../shared/base/errors.ts';
import { errorCode } from '../../shared/base/thrown.ts';
import type { Refusal } from '../base/refusal.ts';
import { ProviderCalls, ProviderDown } from '../http/providerCalls.ts';
import type { Proof } from './signIn.ts';

const SCOPE = 'openid email';
const RENEW_MS = 3_600_000;
const FAILED_MS = 5000;
const RETRY_AFTER_SEC = 5;
const MAX_SUBJECT = 255;
const MAX_EMAIL = 254;

type OidcProviderOptions = {
  readonly name: string;
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Called with the reason when the provider does not answer as it should. */
  readonly onDown: (provider: string, error: Error) => void;
  readonly calls?: Pick<ProviderCalls, 'send'>;
};

type Checks = { readonly state: string; readonly nonce: string; readonly verifier: string };
/** The parameters with which the provider sends the browser back. */
type Returned = { readonly code: string; readonly state: string; readonly iss: string | undefined };

export class OidcProvider {
  readonly name: string;
  readonly #options: OidcProviderOptions;
  readonly #calls: Pick<ProviderCalls, 'send'>;
  #configuration: Configuration | null = null;
  #loading: Promise<Configuration> | null = null;
  #renewMs = Number.NEGATIVE_INFINITY;

  constructor(options: OidcProviderOptions) {
    this.name = options.name;
    this.#options = options;
    this.#calls = options.calls ?? new ProviderCalls();
  }

  /** The address to which the browser goes, and the state that it keeps meanwhile. */
  async begin(redirectUri: string): Promise<{ readonly url: string; readonly checks: Checks } | Refusal> {
    try {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge, ...random } = await import('openid-client');
      const configuration = await this.#load();
      const verifier = random.randomPKCECodeVerifier();
      const checks = { state: random.randomState(), nonce: random.randomNonce(), verifier };
      const url = buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, checks };
    } catch (error) {
      return this.#down(error);
    }
  }

  /** Finds out who the person is. The caller has compared the state; `redirectUri` is the one of `begin`. */
  async finish({ code, state, iss }: Returned, checks: Checks, redirectUri: string): Promise<Proof | Refusal> {
    const current = new URL(redirectUri);
    for (const [name, value] of Object.entries({ code, state, iss })) {
      if (value !== undefined) current.searchParams.set(name, value);
    }
    try {
      const { authorizationCodeGrant } = await import('openid-client');
      const configuration = await this.#load();
      const metadata = configuration.serverMetadata();
      const isNamed = iss === metadata.issuer;
      if (!isNamed && (iss !== undefined || metadata.authorization_response_iss_parameter_supported === true)) {
        return { row: ERRORS.VALIDATION_ERROR, message: 'invalid iss', details: { field: 'iss' } };
      }
      const tokens = await authorizationCodeGrant(configuration, current, {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true,
      });
      return this.#proofOf(tokens.claims()!);
    } catch (error) {
      if (error instanceof Error && 'error' in error && error.error === 'invalid_grant')
        return { row: ERRORS.INVALID_CODE };
      return this.#down(error);
    }
  }

  #proofOf({ iss: issuer, sub: subject, email, email_verified }: Readonly<Record<string, unknown>>): Proof {
    if (typeof issuer !== 'string' || typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT) {
      throw new ProviderDown('an id token has no subject of the usual length');
    }
    const isVerified = email_verified === true && typeof email === 'string' && email.length <= MAX_EMAIL;
    const verified = isVerified ? email.toLowerCase() : null;
    return { method: this.name, wallet: null, identity: { issuer, subject }, email: verified, displayName: null };
  }

  /** OIDC-2 */
  #load(): Promise<Configuration> {
    const known = this.#configuration;
    if (Date.now() < this.#renewMs) {
      if (known !== null) return Promise.resolve(known);
      if (this.#loading === null) return Promise.reject(new ProviderDown('it could not be discovered just now'));
    }
    this.#loading ??= this.#discover().finally(() => {
      this.#loading = null;
    });
    return known === null ? this.#loading : this.#loading.catch(() => known);
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options;
    this.#renewMs = Date.now() + FAILED_MS;
    const { allowInsecureRequests, customFetch, discovery, enableNonRepudiationChecks } = await import('openid-client');
    // The settings allow plain HTTP only on loopback.
    const execute = [enableNonRepudiationChecks, ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : [])];
    const options = { execute, [customFetch]: this.#calls.send };
    const configuration = await discovery(issuer, clientId, clientSecret, undefined, options);
    const { authorization_endpoint, token_endpoint, jwks_uri } = configuration.serverMetadata();
    if (!authorization_endpoint || !token_endpoint || !jwks_uri) throw new ProviderDown('it names no endpoints');
    this.#configuration = configuration;
    this.#renewMs = Date.now() + RENEW_MS;
    return this.#configuration;
  }

  #down(error: unknown): Refusal {
    this.#options.onDown(this.name, new ProviderDown(reasonOf(error)));
    return { row: ERRORS.PROVIDER_UNAVAILABLE, retryAfterSec: RETRY_AFTER_SEC };
  }
}

/** The error codes name the failure; error messages may repeat what the provider has sent. */
function reasonOf(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof ProviderDown) return each.message;
    const answered = 'error' in each ? each.error : undefined;
    const code = errorCode(each);
    if (typeof answered === 'string' && /^[a-z_]{1,40}$/.test(answered)) return `it answered ${answered}`;
    if (code !== undefined && /^[A-Z_]{1,60}$/.test(code)) return code;
  }
  return 'unknown';
}

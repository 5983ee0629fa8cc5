/** The settings of identity providers (RULES.md 15.30). Messages never repeat a value: some are secrets. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { isLoopback } from './exposure.ts';

export type PrivyConfig = Readonly<{
  appId: string;
  /** The one key that verifies the provider's tokens, or the address of its key set. */
  keys: KeyObject | URL;
}>;

export type OidcConfig = Readonly<{
  /** The name as paths and bodies have it, in lower case. */
  name: string;
  issuer: URL;
  clientId: string;
  clientSecret: string;
}>;

const OIDC_PARTS = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'] as const;
const OIDC_VARIABLE = /^OIDC_([A-Z0-9]{1,30})_(?:ISSUER|CLIENT_ID|CLIENT_SECRET)$/;

type Reader = {
  readonly names: readonly string[];
  has(name: string): boolean;
  text(name: string, fallback: string): string;
  url(name: string, protocols: readonly string[]): string | null;
};

/** @returns the settings, or a text that says why they are refused. */
export function readPrivy(read: Reader): PrivyConfig | string | null {
  const [appId, jwksUrl] = [read.text('PRIVY_APP_ID', ''), read.url('PRIVY_JWKS_URL', ['http:', 'https:'])];
  const pem = read.text('PRIVY_VERIFICATION_KEY', '');
  if (appId === '') {
    if (jwksUrl === null && pem === '') return null;
    return 'PRIVY_APP_ID: PRIVY_JWKS_URL and PRIVY_VERIFICATION_KEY need it';
  }
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(appId)) return 'PRIVY_APP_ID: expected letters, digits, _ and -';
  if (jwksUrl !== null && pem !== '') return 'PRIVY_JWKS_URL and PRIVY_VERIFICATION_KEY: set one of them';
  if (pem !== '') {
    const key = tryParseKey(pem);
    return key === null ? 'PRIVY_VERIFICATION_KEY: expected a public key of P-256 (SPKI, PEM)' : { appId, keys: key };
  }
  const url = new URL(jwksUrl ?? `https://api.privy.io/v1/apps/${appId}/jwks.json`);
  return isSafeUrl(url) ? { appId, keys: url } : 'PRIVY_JWKS_URL: expected https, or http on loopback';
}

/** The providers of OpenID Connect, by name. @returns the settings, or a text that says why they are refused. */
export function readOidc(read: Reader): readonly OidcConfig[] | string {
  const names = read.names.map((variable) => OIDC_VARIABLE.exec(variable)?.[1]).filter((name) => name !== undefined);
  const configs: OidcConfig[] = [];
  for (const name of [...new Set(names)].sort()) {
    const [issuer, clientId, clientSecret] = OIDC_PARTS.map((part) => read.text(`OIDC_${name}_${part}`, ''));
    if (!issuer && !clientId && !clientSecret) continue;
    if (!issuer || !clientId || !clientSecret) return `OIDC_${name}: needs _ISSUER, _CLIENT_ID and _CLIENT_SECRET`;
    if (!URL.canParse(issuer) || !isSafeUrl(new URL(issuer))) {
      return `OIDC_${name}_ISSUER: expected https, or http on loopback`;
    }
    configs.push({ name: name.toLowerCase(), issuer: new URL(issuer), clientId, clientSecret });
  }
  return configs;
}

/** Otherwise a program between the exchange and a provider could vouch for anyone. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')));
}

/** A key is written in one line, as environments have it, with \n for its line breaks. */
function tryParseKey(pem: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: pem.replaceAll('\\n', '\n'), format: 'pem' });
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null;
  } catch {
    return null;
  }
}

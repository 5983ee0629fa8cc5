/**
 * Refuses settings that are harmless on this machine alone and dangerous if others can reach the exchange: off loopback
 * they stop the start (RULES.md 10.10).
 */

import type { BlockList } from 'node:net';
import { isIP } from 'node:net';
import { isWithin, tryParseNetworks } from './networks.ts';

/** A shorter token can be guessed, or was chosen by a person. */
export const ADMIN_TOKEN_CHARACTERS = 32;
/** The largest private network is 10.0.0.0/8; the proxies of one operator fill no larger one. */
const WIDEST_IPV4_BITS = 8;
const WIDEST_IPV6_BITS = 16;
/** Prefix length of the IPv6 network that has every IPv4 address. */
const MAPPED_BITS = 96;
const MAPPED = tryParseNetworks([`::ffff:0:0/${MAPPED_BITS}`])!;
/** Domain names reserved for examples. */
const OF_EXAMPLES = /(^|\.)example(\.(com|net|org))?$/;
/** Public addresses far apart from each other: a list that trusts both trusts everybody. */
const STRANGERS = ['8.8.8.8', '203.0.113.1'] as const;

type Exposable = {
  readonly host: string;
  readonly tls: object | null;
  readonly trustProxy: BlockList | null;
  readonly adminToken: string | null;
  readonly masterKey: object | null;
  /** True if the operator wants the master key to be in the data directory. */
  readonly keepsMasterKey: boolean;
  readonly rateLimits: boolean;
  readonly collateralCheck: boolean;
  readonly demo: boolean;
  readonly publicUrl: string | null;
  readonly fiat: { readonly providers: readonly { readonly name: string }[] };
};

/** @param proxies the entries of TRUST_PROXY. @returns the first reason not to start, in one line, or null. */
export function exposureProblem(config: Exposable, proxies: readonly string[]): string | null {
  const { host, tls, trustProxy, adminToken, masterKey, keepsMasterKey, ...others } = config;
  const { rateLimits, collateralCheck, demo, fiat, publicUrl } = others;
  if (isLoopback(host)) return null;
  if (!rateLimits) return 'RATE_LIMITS: off is for benchmark runs and needs a loopback HOST';
  if (!collateralCheck)
    return 'COLLATERAL_CHECK: off lets accounts trade what they do not have and needs a loopback HOST';
  if (demo) return 'DEMO: on makes accounts with known keys and needs a loopback HOST';
  if (fiat.providers.some(({ name }) => name === 'sandbox')) {
    return 'FIAT_PROVIDERS: sandbox gives USDC for money that is only pretended and needs a loopback HOST';
  }
  if (adminToken !== null && adminToken.length < ADMIN_TOKEN_CHARACTERS) {
    return `ADMIN_TOKEN: at least ${ADMIN_TOKEN_CHARACTERS} characters are needed where HOST is not a loopback address`;
  }
  if (masterKey === null && !keepsMasterKey) {
    return (
      'MASTER_KEY: needed where HOST is not a loopback address, or the key would lie beside the data and in every ' +
      'backup of it; MASTER_KEY=file says that this is meant'
    );
  }
  if (isOfExamples(publicUrl)) {
    const isOther = `${publicUrl} is that of the examples`;
    return `PUBLIC_URL: ${isOther}, at which no browser finds this exchange: put its own there`;
  }
  if (trustProxy !== null && trustsEverybody(trustProxy, proxies)) {
    return 'TRUST_PROXY: names the whole internet, so that anybody could claim any address; name the proxies alone';
  }
  if (tls === null && trustProxy === null) {
    return 'TLS_CERT and TLS_KEY, or TRUST_PROXY behind a proxy with TLS: needed where HOST is no loopback address';
  }
  return null;
}

/**
 * Returns warnings that the start prints, a line each: such settings work, but an exchange with real users should not
 * have them.
 * @param isDemo a demo was made in this directory: DEMO alone changes nothing in an existing directory
 */
export function doubtsAbout(config: Exposable, isDemo: boolean): string[] {
  const { masterKey, keepsMasterKey, tls, trustProxy, publicUrl } = config;
  const doubts: string[] = [];
  const isOpen = tls !== null || trustProxy !== null || publicUrl !== null;
  // The keys and the money of a demo are play, and from an exchange that only its own machine reaches nothing can be
  // stolen.
  if (masterKey === null && !keepsMasterKey && (isOpen || !isDemo)) {
    doubts.push(
      'MASTER_KEY is not set: the key lies beside the data and in every backup of it (MASTER_KEY=file is quiet)',
    );
  }
  if (isOfExamples(publicUrl)) {
    doubts.push(`PUBLIC_URL is ${publicUrl}, that of the examples: links and sign-in messages name it`);
  }
  return doubts;
}

function isOfExamples(publicUrl: string | null): boolean {
  return publicUrl !== null && OF_EXAMPLES.test(new URL(publicUrl).hostname);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function trustsEverybody(trustProxy: BlockList, proxies: readonly string[]): boolean {
  return proxies.some(isTooWide) || STRANGERS.every((address) => isWithin(trustProxy, address));
}

/** True for a network too large to be trusted. The entry has been parsed as an address or a network before. */
function isTooWide(entry: string): boolean {
  const [address, bits] = entry.split('/');
  if (bits === undefined) return false;
  const isMapped = isIP(address) === 6 && Number(bits) >= MAPPED_BITS && isWithin(MAPPED, address);
  if (isMapped) return Number(bits) - MAPPED_BITS < WIDEST_IPV4_BITS;
  return Number(bits) < (isIP(address) === 4 ? WIDEST_IPV4_BITS : WIDEST_IPV6_BITS);
}

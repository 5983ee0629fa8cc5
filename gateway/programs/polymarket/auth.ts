/**
 * Finds out who sends a request: level 1 is a signature of a wallet (ClobAuth of EIP-712), level 2 the HMAC of a key.
 *
 * Invariant:
 *   POLYAUTH-1  A signature is compared in constant time, and one that is older than WINDOW_SEC counts for nothing.
 */
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { recoverTypedDataAddress } from 'viem';
import type { Clock } from '../../../shared/base/clock.ts';
import { type Asked, Refusal } from './reply.ts';
import type { KeyRow, PolymarketStore } from './store.ts';

const WINDOW_SEC = 300;
/** Every wallet signs this text to say that it is theirs; clients have the same. */
const ATTESTED = 'This message attests that I control the given wallet';
const TYPES = {
  ClobAuth: [
    { name: 'address', type: 'address' },
    { name: 'timestamp', type: 'string' },
    { name: 'nonce', type: 'uint256' },
    { name: 'message', type: 'string' },
  ],
} as const;

type Attested = { readonly address: string; readonly nonce: string };

export class Auth {
  readonly #store: PolymarketStore;
  readonly #clock: Clock;
  readonly #chainId: number;

  constructor(store: PolymarketStore, clock: Clock, chainId: number) {
    this.#store = store;
    this.#clock = clock;
    this.#chainId = chainId;
  }

  /** Level 1. @throws Refusal with 401 */
  async wallet({ headers }: Asked): Promise<Attested> {
    const { poly_address: address, poly_signature: signature, poly_timestamp: timestamp } = headers;
    const nonce = headers.poly_nonce || '0';
    if (!isAddress(address)) throw unauthorized('Invalid L1 Request headers: POLY_ADDRESS');
    if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) throw unauthorized('Invalid L1 Request headers: POLY_SIGNATURE');
    if (!/^\d{1,20}$/.test(nonce)) throw unauthorized('Invalid L1 Request headers: POLY_NONCE');
    this.#assertRecent(timestamp);
    const recovered = await recoverTypedDataAddress({
      domain: { name: 'ClobAuthDomain', version: '1', chainId: this.#chainId },
      types: TYPES,
      primaryType: 'ClobAuth',
      message: { address: hex(address), timestamp, nonce: BigInt(nonce), message: ATTESTED },
      signature: hex(signature),
    }).catch(() => null);
    if (recovered?.toLowerCase() !== address.toLowerCase()) throw unauthorized('Invalid L1 Request headers: signature');
    return { address: address.toLowerCase(), nonce };
  }

  /** Level 2. @throws Refusal with 401 */
  key({ method, path, headers, body }: Asked): KeyRow {
    const row = this.#known(headers.poly_api_key, headers.poly_passphrase);
    if (headers.poly_address.toLowerCase() !== row.address) throw invalidKey();
    this.#assertRecent(headers.poly_timestamp);
    const signed = `${headers.poly_timestamp}${method}${path}${body}`;
    const mac = createHmac('sha256', Buffer.from(row.secret, 'base64url')).update(signed).digest('base64');
    if (!isSame(mac.replaceAll('+', '-').replaceAll('/', '_'), headers.poly_signature)) throw invalidKey();
    return row;
  }

  /** The key of a socket, which gives its secret itself. */
  keyOfSocket(key: string, secret: string, passphrase: string): KeyRow {
    const row = this.#known(key, passphrase);
    if (!isSame(row.secret, secret)) throw invalidKey();
    return row;
  }

  #known(key: string, passphrase: string): KeyRow {
    const row = this.#store.key(key);
    if (row === undefined || !isSame(row.passphrase, passphrase)) throw invalidKey();
    return row;
  }

  #assertRecent(timestamp: string): void {
    const isNumber = /^\d{1,12}$/.test(timestamp);
    if (isNumber && Math.abs(this.#clock.nowMs() / 1000 - Number(timestamp)) <= WINDOW_SEC) return;
    throw unauthorized('Invalid request headers: POLY_TIMESTAMP');
  }
}

/** Secrets are base64url with their '=', as their clients decode them. */
export function newKey({ address, nonce }: Attested): KeyRow {
  const secret = randomBytes(32).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
  return { key: randomUUID(), address, nonce, secret, passphrase: randomBytes(32).toString('hex') };
}

export function isAddress(text: string): boolean {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

export function hex(text: string): `0x${string}` {
  return `0x${text.slice(2)}`;
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, message);
}

function invalidKey(): Refusal {
  return unauthorized('Unauthorized/Invalid api key');
}

/** POLYAUTH-1. Of texts of any lengths. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** The class of CCXT before a real exchange, with an account of its own. */
import { loadCcxt } from '../support/ccxtPeer.ts';
import type { Json, TestServer } from '../support/server.ts';
import { makeTrader, type Trader } from '../support/traders.ts';

const SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user', 'stream:market'] as const;
/** None that other tests give to an account. */
let wallets = 0xcc97;

export type Owner = { readonly privateKey: string; readonly trader: Trader };

export async function makeOwner(server: TestServer): Promise<Owner> {
  const privateKey = newPrivateKey();
  const trader = await makeTrader(server, { privateKey, requestsPerSecond: 1000, scopes: [...SCOPES] });
  return { privateKey, trader };
}

export function newPrivateKey(): string {
  return `0x${(process.pid * 0x10000 + ++wallets).toString(16).padStart(64, '0')}`;
}

/** @param owner absent: without credentials. @param more fields of the class */
export async function pmxOf({ baseUrl }: TestServer, owner?: Owner, more: Json = {}): Promise<Json> {
  const { pmx } = await loadCcxt();
  const { keyId: apiKey, secret, passphrase: password } = owner?.trader.credentials ?? {};
  const key = owner === undefined ? {} : { apiKey, secret, password, privateKey: owner.privateKey };
  return new pmx({ ...key, urls: { api: { rest: `${baseUrl}/` } }, enableRateLimit: false, ...more });
}

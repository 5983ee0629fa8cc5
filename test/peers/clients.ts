/** The official clients of Polymarket, as they come from npm, with wallets that reach no chain. */
import assert from 'node:assert/strict';
import { createWalletClient, custom } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { polygon } from 'viem/chains';
import type { Json } from '../support/server.ts';

export type Version = 1 | 2;
/** By a variable: the types of the packages are not there where they are not installed. */
export const NAMES = { 1: '@polymarket/clob-client', 2: '@polymarket/clob-client-v2' } as const;

export const clobClient = async (version: Version): Promise<Json> => (await import(NAMES[version])).ClobClient;

/** A wallet that signs, and reaches no chain. */
export function makeSigner(): Json {
  const account = privateKeyToAccount(generatePrivateKey());
  return createWalletClient({ account, chain: polygon, transport: custom({ request: async () => assert.fail() }) });
}

type Wallet = { readonly signer: Json; readonly creds?: Json; readonly type?: number; readonly funder?: string };

export async function clientAt(host: string, version: Version, wallet: Wallet): Promise<Json> {
  const { signer, creds, type = 0, funder } = wallet;
  const Client = await clobClient(version);
  if (version === 1) return new Client(host, 137, signer, creds, type, funder);
  return new Client({ host, chain: 137, signer, creds, signatureType: type, funderAddress: funder });
}

/** One order that may rest, placed by a method of either client. */
export function postOrder(client: Json, version: Version, order: Json, kind: string, postOnly = false): Promise<Json> {
  return version === 1
    ? client.createAndPostOrder(order, undefined, kind, false, postOnly)
    : client.createAndPostOrder(order, undefined, kind, postOnly);
}

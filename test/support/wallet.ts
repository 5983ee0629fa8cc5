/** A wallet of the test's own, and its sign-in over HTTP. */
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Answer, Json, TestServer } from './server.ts';

let wallets = 0;

type TestWallet = PrivateKeyAccount & { readonly privateKey: string };

/** Returns another wallet with every call. */
export function makeWallet(): TestWallet {
  const privateKey = `0x${(0xa11ce0000 + ++wallets).toString(16).padStart(64, '0')}` as const;
  return { ...privateKeyToAccount(privateKey), privateKey };
}

export async function offeredMessage(server: TestServer, address: string): Promise<Json> {
  return (await server.request('GET', `/v1/auth/wallet/nonce?address=${address}`)).body;
}

export async function signIn(
  server: TestServer,
  wallet: PrivateKeyAccount,
  more: Json = { token_delivery: 'body' },
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { message } = await offeredMessage(server, wallet.address);
  const signature = await wallet.signMessage({ message });
  return server.request('POST', '/v1/auth/wallet', { message, signature, ...more }, headers);
}

export function bearer(session: Json): Record<string, string> {
  return { authorization: `Bearer ${session.access_token}` };
}

/**
 * The wallets that sign for a visitor: a browser extension (EIP-1193) or, in a demo, a key that the browser makes. A
 * wallet signs the message of a sign-in, and orders as typed data, so that it can show what it signs.
 */
import { read, remove, write } from './storage.ts';
import type { Wallet } from './wallet.ts';

type Provider = { request(call: { method: string; params?: unknown[] }): Promise<unknown> };

const REMEMBERED = 'wallet';

let current: Wallet | null = null;

export const isDemo = document.querySelector('meta[name="demo"]')?.getAttribute('content') === 'on';

export function hasExtension(): boolean {
  return provider() !== undefined;
}

/** The extension asks its person. Throws if there is no extension, or if the person refuses. */
export async function openExtension(): Promise<Wallet> {
  const extension = provider();
  if (extension === undefined) throw new Error('There is no wallet in this browser.');
  const [account] = (await extension.request({ method: 'eth_requestAccounts' })) as (string | undefined)[];
  if (account === undefined) throw new Error('The wallet shows no account.');
  const address = account.toLowerCase();
  return {
    kind: 'extension',
    address,
    signMessage: (text) =>
      extension.request({ method: 'personal_sign', params: [hexOf(text), address] }) as Promise<string>,
    signOrder: async (draft, domain) => {
      const { AccountSigner } = await import('../../../shared/client/accountSigner.ts');
      const signTypedData = (data: object): Promise<string> => signTyped(extension, address, domain.chainId, data);
      return (await new AccountSigner({ address, signTypedData }, domain).sign(draft)).body;
    },
    signTransfer: async (transfer) => {
      const { signTransfer } = await import('../../../shared/client/fiatSigning.ts');
      const chainId = transfer.typed_data?.domain.chainId ?? 0;
      const signTypedData = (data: object): Promise<string> => signTyped(extension, address, chainId, data);
      return signTransfer(transfer, { address, signTypedData });
    },
  };
}

async function signTyped(extension: Provider, address: string, chainId: number, data: object): Promise<string> {
  await showNetwork(extension, chainId);
  const params = [address, JSON.stringify(data)];
  return (await extension.request({ method: 'eth_signTypedData_v4', params })) as string;
}

/** Most wallets sign only for the network that they show; wallets without networks sign in any case. */
async function showNetwork(extension: Provider, chainId: number): Promise<void> {
  const wanted = `0x${chainId.toString(16)}`;
  if ((await extension.request({ method: 'eth_chainId' }).catch(() => wanted)) === wanted) return;
  await extension.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: wanted }] }).catch(() => {});
}

/** Extensions, answers and values remembered by an older page write addresses in different cases. */
export function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The wallet with which the visitor has signed in, even after a reload. */
export async function currentWallet(): Promise<Wallet> {
  if (current !== null) return current;
  const [kind, address] = (read(REMEMBERED) ?? '').split(' ');
  const wallet = await (kind === 'demo' ? openDemoWallet() : openExtension());
  if (address !== undefined && !isSameAddress(wallet.address, address))
    throw new Error(`The wallet shows another account than ${address}, which you signed in with.`);
  current = wallet;
  return wallet;
}

/** The code is loaded only for visitors who want a demo wallet. */
export async function openDemoWallet(): Promise<Wallet> {
  return (await import('./demoWallet.ts')).openWallet();
}

export function rememberWallet(wallet: Wallet): void {
  current = wallet;
  write(REMEMBERED, `${wallet.kind} ${wallet.address}`);
}

export function forgetWallet(): void {
  current = null;
  remove(REMEMBERED);
}

/** Another tab has signed in or out. */
export function openWalletAnew(): void {
  current = null;
}

function provider(): Provider | undefined {
  return (globalThis as { ethereum?: Provider }).ethereum;
}

function hexOf(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

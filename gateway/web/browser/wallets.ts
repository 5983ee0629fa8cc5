/**
 * The wallets that sign for a visitor: an extension of the browser (extensions.ts) or, in a demo, a key that the
 * browser makes. A wallet signs the message of a sign-in, and orders as typed data, so that it can show what it signs.
 */
import { accountOf, assertShown, type Extension, extensionOf, requestOf, showNetwork } from './extensions.ts';
import { part } from './parts.ts';
import { read, remove, write } from './storage.ts';
import type { Wallet } from './wallet.ts';

const REMEMBERED = 'wallet';
const accountSignerPart = () => part(() => import('../../../shared/client/accountSigner.ts'));
const demoWalletPart = () => part(async () => (await import('./demoWallet.ts')).openWallet);

let current: Wallet | null = null;

export const isDemo = document.querySelector('meta[name="demo"]')?.getAttribute('content') === 'on';

/**
 * The extension asks its person.
 * @param extension undefined if the browser has none
 */
export async function openExtension(extension: Extension | undefined): Promise<Wallet> {
  if (extension === undefined) throw new Error('There is no wallet in this browser.');
  const address = (await accountOf(extension)).toLowerCase();
  const signing = async (method: string, params: readonly unknown[]): Promise<string> => {
    await assertShown(extension, address);
    return (await requestOf(extension, method, params)) as string;
  };
  const signTyped = async (chainId: number, data: object): Promise<string> => {
    await showNetwork(extension, chainId);
    return signing('eth_signTypedData_v4', [address, JSON.stringify(data)]);
  };
  return {
    kind: 'extension',
    id: extension.id,
    address,
    signMessage: (text) => signing('personal_sign', [hexOf(text), address]),
    signOrder: async (draft, domain) => {
      const { AccountSigner } = await accountSignerPart();
      const signTypedData = (data: object): Promise<string> => signTyped(domain.chainId, data);
      return (await new AccountSigner({ address, signTypedData }, domain).sign(draft)).body;
    },
    signTransfer: async (transfer) => {
      const { signTransfer } = await part(() => import('../../../shared/client/fiatSigning.ts'));
      const signTypedData = (data: object): Promise<string> =>
        signTyped(transfer.typed_data?.domain.chainId ?? 0, data);
      return signTransfer(transfer, { address, signTypedData });
    },
  };
}

/** Extensions, answers and values remembered by an older page write addresses in different cases. */
export function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The wallet with which the visitor has signed in, even after a reload. */
export async function currentWallet(): Promise<Wallet> {
  if (current !== null) return current;
  const [kind, address, id] = (read(REMEMBERED) ?? '').split(' ');
  const wallet = await (kind === 'demo' ? openDemoWallet() : openExtension(await extensionOf(id)));
  if (address !== undefined && !isSameAddress(wallet.address, address))
    throw new Error(`The wallet shows another account than ${address}, which you signed in with.`);
  current = wallet;
  return wallet;
}

/** Loads the code with which the wallet of the visitor signs orders, and asks the wallet for nothing. */
export async function loadSigner(): Promise<void> {
  await (read(REMEMBERED)?.startsWith('demo') ? demoWalletPart() : accountSignerPart());
}

/** The code is loaded only for visitors who want a demo wallet. */
export async function openDemoWallet(): Promise<Wallet> {
  return (await demoWalletPart())();
}

export function rememberWallet(wallet: Wallet): void {
  current = wallet;
  write(REMEMBERED, [wallet.kind, wallet.address, ...(wallet.id === undefined ? [] : [wallet.id])].join(' '));
}

export function forgetWallet(): void {
  current = null;
  remove(REMEMBERED);
}

/** Another tab has signed in or out. */
export function openWalletAnew(): void {
  current = null;
}

function hexOf(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

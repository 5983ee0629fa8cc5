/**
 * The wallets that sign for a visitor: an extension of the browser (EIP-1193), or in a demo a key that the browser
 * makes. A wallet signs the message of a sign-in, and orders as typed data, so that it shows what is signed.
 */
import type { PlacementBody } from '../../shared/client/types.ts';
import { type Eip712Domain, ORDER_TYPE, ZERO_ADDRESS } from '../../shared/crypto/eip712.ts';
import { read, remove, write } from './storage.ts';
import type { Wallet } from './wallet.ts';

type Provider = { request(call: { method: string; params?: unknown[] }): Promise<unknown> };

const REMEMBERED = 'wallet';
const SALT_BYTES = 32;

let current: Wallet | null = null;

export const isDemo = document.querySelector('meta[name="demo"]')?.getAttribute('content') === 'on';

export function hasExtension(): boolean {
  return provider() !== undefined;
}

/** The extension asks its person. Throws when there is none, or the person refuses. */
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
      const order = { ...draft, maker: address, signer: address, taker: ZERO_ADDRESS, salt: randomSalt() };
      const data = JSON.stringify(typedData(order, domain));
      await showNetwork(extension, domain.chainId);
      const signature = await extension.request({ method: 'eth_signTypedData_v4', params: [address, data] });
      return { ...order, signature: signature as string };
    },
  };
}

/** Most wallets sign only for the network that they show; those that know none sign all the same. */
async function showNetwork(extension: Provider, chainId: number): Promise<void> {
  const wanted = `0x${chainId.toString(16)}`;
  if ((await extension.request({ method: 'eth_chainId' }).catch(() => wanted)) === wanted) return;
  await extension.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: wanted }] }).catch(() => {});
}

/** The wallet that the visitor has signed in with, also after a reload. */
export async function currentWallet(): Promise<Wallet> {
  if (current !== null) return current;
  const [kind, address] = (read(REMEMBERED) ?? '').split(' ');
  const wallet = await (kind === 'demo' ? openDemoWallet() : openExtension());
  if (address !== undefined && wallet.address !== address)
    throw new Error(`The wallet shows another account than ${address}, which you signed in with.`);
  current = wallet;
  return wallet;
}

/** Its code is loaded only for visitors who want it. */
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

type Unsigned = Omit<PlacementBody, 'signature'>;

/** The order of RULES.md 5.1 as wallets show it; the fields are read from the one declaration of the type. */
function typedData(order: Unsigned, domain: Eip712Domain): object {
  const fields = ORDER_TYPE.slice('Order('.length, -1).split(',');
  return {
    primaryType: 'Order',
    domain,
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
      Order: fields.map((field) => {
        const [type, name] = field.split(' ');
        return { name, type };
      }),
    },
    message: {
      salt: order.salt,
      maker: order.maker,
      signer: order.signer,
      taker: ZERO_ADDRESS,
      tokenId: order.token_id,
      makerAmount: order.maker_amount,
      takerAmount: order.taker_amount,
      expiration: String(order.expiration ?? 0),
      nonce: String(order.nonce),
      feeRateBps: String(order.fee_rate_bps),
      minTakerNet: order.min_taker_net ?? '0',
      side: order.side === 'BUY' ? 0 : 1,
    },
  };
}

function randomSalt(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  return bytes.reduce((salt, byte) => salt * 256n + BigInt(byte), 0n).toString();
}

function hexOf(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

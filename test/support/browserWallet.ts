/** A wallet of the browser as extensions provide it (EIP-1193), with keys of the test. */
import type { Page } from 'playwright-core';
import type { PrivateKeyAccount } from 'viem/accounts';

export type WalletCall = { readonly method: string; readonly params?: readonly string[] };

/** Answers as an extension with this key does, while it shows the main network of Ethereum. */
export async function answerOf(key: PrivateKeyAccount, { method, params }: WalletCall): Promise<unknown> {
  if (method === 'eth_requestAccounts') return [key.address];
  if (method === 'eth_chainId') return '0x1';
  if (method === 'personal_sign') return key.signMessage({ message: { raw: params![0] as `0x${string}` } });
  if (method === 'eth_signTypedData_v4') return key.signTypedData(JSON.parse(params![1]));
  return null;
}

/**
 * The page finds the extension from its next document on. `window.showAccount(1)` has the wallet show its second key.
 * @returns the methods that were called
 */
export async function giveWallets(page: Page, keys: readonly PrivateKeyAccount[]): Promise<string[]> {
  const calls: string[] = [];
  let shown = 0;
  await page.exposeFunction('walletCall', (call: WalletCall) => {
    calls.push(call.method);
    return answerOf(keys[shown], call);
  });
  await page.exposeFunction('showAccount', (index: number) => {
    shown = index;
  });
  await page.addInitScript('window.ethereum = { request: (call) => walletCall(call) }');
  return calls;
}

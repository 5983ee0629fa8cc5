/** Wallets of the browser: how the page finds them, and what it says when one does not do what it is asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { answerOf, type WalletCall } from '../support/browserWallet.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeMarket } from '../support/traders.ts';
import { assertAccessible, fillLimit, openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const { server } = await pageServer();
const market = await makeMarket(server);
const ICON = 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E';

/** The name of the first turns the text behind it around, and its icon is no image. */
const FIRST = { rdns: 'org.first', name: 'First\u202e wallet', icon: 'javascript:alert(1)' };
const SECOND = { rdns: 'org.second', name: 'Second wallet', icon: ICON };

type Answer = (call: WalletCall) => unknown;

/**
 * Calls are listed by wallet. An answer that is given takes the place of that of the key.
 * @param place where the wallets are: they announce themselves, or are found
 */
async function visit(path: string, place: 'announced' | 'window.ethereum.providers' = 'announced') {
  const { page, complaints } = await openPage({ bypassCSP: true, viewport: { width: 1280, height: 900 } });
  const keys = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(generatePrivateKey())];
  for (const { address } of keys) {
    const { id } = await server.admin.createUser({ wallet_address: address.toLowerCase() });
    await server.admin.deposit(id, { amount_usdc_micro: '5000000', reference: address });
  }
  const calls: string[] = [];
  const given = new Map<string, Answer>();
  await page.exposeFunction('walletCall', async (index: number, call: WalletCall) => {
    calls.push(`${index} ${call.method}`);
    const answer = given.get(call.method);
    return answer === undefined ? { result: await answerOf(keys[index]!, call) } : answer(call);
  });
  await page.addInitScript(
    `const provider = (index) => ({ request: async (call) => {
       const { result, error } = await walletCall(index, call);
       if (error !== undefined) throw error;
       return result;
     } });
     const wallets = ${JSON.stringify([FIRST, SECOND])}.map((info, index) => ({ info, provider: provider(index) }));
     const isFound = ${place === 'window.ethereum.providers'};
     // The second says that it is MetaMask too, as others do.
     const flags = [{ isMetaMask: true }, { isMetaMask: true, isCoinbaseWallet: true }];
     const providers = wallets.map(({ provider }, index) => Object.assign(provider, isFound ? flags[index] : {}));
     window.ethereum = isFound ? { ...providers[0], providers } : providers[0];
     const announce = (detail) => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
     if (!isFound) addEventListener('eip6963:requestProvider', () => wallets.forEach(announce));
     // One that is broken and one that says nothing of itself.
     addEventListener('eip6963:requestProvider', () => [{}, { info: {} }, undefined].forEach(announce));`,
  );
  await page.goto(server.baseUrl + path);
  // With the provider of the server there are three ways in, which one button of the header opens.
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  return { page, complaints, keys, calls, given };
}

const signIn = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name: `Sign in with ${name}` });

test('each wallet that announces itself has a button with its name and icon, and signs what it was chosen for', {
  skip,
}, async () => {
  const { page, complaints, calls } = await visit(`/markets/${market.id}`);
  await signIn(page, 'Second wallet').waitFor();
  assert.deepEqual(
    await page.getByRole('button', { name: /^Sign in with/ }).allInnerTexts(),
    ['Sign in with First wallet', 'Sign in with Second wallet'],
    'window.ethereum is one of them',
  );
  assert.deepEqual(await page.locator('dialog img.wallet-icon').evaluateAll((icons) => icons.map((icon) => icon.src)), [
    ICON,
  ]);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await assertAccessible(page);
  await signIn(page, 'Second wallet').click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  await fillLimit(page, '20');
  await page.locator('button[type=submit]').click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.ok(calls.includes('1 eth_signTypedData_v4'));
  assert.ok(
    calls.every((call) => call.startsWith('1 ')),
    calls.join(),
  );
  assert.deepEqual(complaints, []);
});

test('a refusal, a locked wallet, another account and a network that is not there are said in words', {
  skip,
}, async () => {
  const { page, keys, calls, given } = await visit(`/markets/${market.id}`);
  const alert = (text: string) => page.getByRole('alert').getByText(text).waitFor();
  given.set('eth_requestAccounts', () => ({ error: { code: 4001, message: 'User rejected the request.' } }));
  await signIn(page, 'First wallet').click();
  await alert('You refused it in the wallet. Nothing was sent.');
  given.set('eth_requestAccounts', () => ({ result: [] }));
  await signIn(page, 'First wallet').click();
  await alert('The wallet is locked or shows no account. Unlock it, and try again.');
  given.set('eth_requestAccounts', () => ({ error: { code: -32002 } }));
  await signIn(page, 'First wallet').click();
  await alert('The wallet still waits for an answer to an earlier question. Open it.');
  given.clear();
  await signIn(page, 'First wallet').click();
  const send = page.locator('button[type=submit]');
  await page.getByText('Available: $5.00').waitFor();
  await fillLimit(page, '20');
  given.set('eth_accounts', () => ({ result: [] }));
  await send.click();
  await alert('The wallet is locked. Unlock it, and try again.');
  given.set('eth_accounts', () => ({ result: [keys[1]!.address] }));
  await send.click();
  await alert(`The wallet shows ${keys[1]!.address}, and you signed in with`);
  given.clear();
  // The network of the exchange is Polygon, the chain of its settings.
  const unknown = () => ({ error: { code: 4902, message: 'Unrecognized chain ID.' } });
  given.set('wallet_switchEthereumChain', unknown);
  given.set('wallet_addEthereumChain', () => ({ error: { code: -32601, message: 'no such method' } }));
  await send.click();
  await alert('The wallet does not know the network Polygon with chain id 137. Add it in the wallet first.');
  given.set('wallet_addEthereumChain', () => ({ error: { code: 4001, message: 'User rejected the request.' } }));
  await send.click();
  await alert('You refused it in the wallet. Nothing was sent.');
  assert.ok(!calls.includes('0 eth_signTypedData_v4'), 'nothing is signed for another network');
  const added: unknown[] = [];
  given.set('wallet_addEthereumChain', ({ params }) => {
    added.push(params?.[0]);
    given.set('wallet_switchEthereumChain', () => ({ result: null }));
    return { result: null };
  });
  await send.click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.equal(added.length, 1);
  assert.match(JSON.stringify(added[0]), /^\{"chainId":"0x89","chainName":"Polygon",.*"rpcUrls":\["https:/);
});

test('wallets that do not announce themselves are found side by side, each by the name that its flag says', {
  skip,
}, async () => {
  const { page, calls } = await visit(`/markets/${market.id}`, 'window.ethereum.providers');
  const wallet = signIn(page, 'Coinbase Wallet');
  await wallet.waitFor();
  assert.deepEqual(await page.getByRole('button', { name: /^Sign in with/ }).allInnerTexts(), [
    'Sign in with MetaMask',
    'Sign in with Coinbase Wallet',
  ]);
  await wallet.click();
  await page.getByText('Available: $5.00').waitFor();
  await page.reload();
  await page.getByText('Available: $5.00').waitFor();
  await fillLimit(page, '20');
  await page.locator('button[type=submit]').click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.ok(calls.includes('1 eth_signTypedData_v4') && calls.every((call) => call.startsWith('1 ')), calls.join());
});

/** Signing in and out, with the browser's wallet or, in a demo, with a wallet that is made for the visitor. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { textOf } from './api.ts';
import { useExtensions } from './extensions.ts';
import { ask, signIn, signOut, useVisitor } from './session.ts';
import type { Wallet } from './wallet.ts';
import { WalletName } from './walletName.ts';
import { isDemo, openDemoWallet, openExtension } from './wallets.ts';

/** The OpenID providers of the exchange: they answer with a redirect, so a link is enough. */
const providers =
  document.querySelector('meta[name="providers"]')?.getAttribute('content')?.split(' ').filter(Boolean) ?? [];

export function SignInPanel(): VNode {
  const visitor = useVisitor();
  const found = useExtensions();
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (act: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(null);
    await act().catch((failure: unknown) => setError(textOf(failure)));
    setBusy(false);
  };
  const enter = (open: () => Promise<Wallet>) => () => run(async () => signIn(await open()));
  const enterDemo = (): Promise<void> =>
    run(async () => {
      await signIn(await openDemoWallet());
      await ask('POST', '/v1/demo/funds');
    });
  const said = error !== null && html`<span role="alert">${error}</span>`;
  if (visitor.kind === 'unknown') {
    const { cause } = visitor;
    return html`<p class="account quiet">${cause === null ? 'Signing in …' : `Not signed in yet. ${cause}`}</p>`;
  }
  if (visitor.kind === 'user') {
    const { wallet_address: address, display_name: name } = visitor.user;
    return html`<p class="account"><span class="quiet">${name ?? shortAddress(address)}</span>
      <button type="button" disabled=${isBusy} onClick=${() => run(signOut)}>Sign out</button>
      ${said}</p>`;
  }
  // A demo without a wallet has its own way in.
  const entries = found.length > 0 || isDemo ? found : [undefined];
  return html`<p class="account">
    ${isDemo && html`<button type="button" disabled=${isBusy} onClick=${enterDemo}>Try with play money</button>`}
    ${entries.map(
      (extension) => html`<button key=${extension?.id ?? ''} type="button" disabled=${isBusy}
        onClick=${enter(() => openExtension(extension))}>
        <${WalletName} extension=${extension} said=${(name: string) => `Sign in with ${name}`} /></button>`,
    )}
    ${providers.map(
      (
        name,
      ) => html`<a key=${name} href=${`/v1/auth/oauth/${name}?redirect_path=${encodeURIComponent(location.pathname)}`}
        >Sign in with ${name}</a>`,
    )}
    ${said}
  </p>`;
}

function shortAddress(address: string | null): string {
  return address === null ? 'Signed in' : `${address.slice(0, 6)}…${address.slice(-4)}`;
}

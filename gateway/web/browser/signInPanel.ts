/** Signing in and out, in the header and wherever a visitor needs an account to go on. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { textOf } from './api.ts';
import { type Extension, useExtensions } from './extensions.ts';
import { signIn, signInForPlay, signOut, useVisitor } from './session.ts';
import { WalletName } from './walletName.ts';
import { isDemo, openDemoWallet, openExtension } from './wallets.ts';

/** The OpenID providers of the exchange: they answer with a redirect, so a link is enough. */
const providers =
  document.querySelector('meta[name="providers"]')?.getAttribute('content')?.split(' ').filter(Boolean) ?? [];

export function SignInPanel(): VNode {
  const visitor = useVisitor();
  const [error, setError] = useState<string | null>(null);
  if (visitor.kind === 'unknown') {
    const { cause } = visitor;
    return html`<p class="account quiet">${cause === null ? 'Signing in …' : `Not signed in yet. ${cause}`}</p>`;
  }
  if (visitor.kind === 'anonymous') return html`<p class="account"><${SignInWays} /></p>`;
  const { wallet_address: address, display_name: name } = visitor.user;
  const leave = (): void => {
    setError(null);
    signOut().catch((failure: unknown) => setError(textOf(failure)));
  };
  return html`<p class="account"><span class="quiet">${name ?? shortAddress(address)}</span>
    <button type="button" onClick=${leave}>Sign out</button>
    ${error !== null && html`<span role="alert">${error}</span>`}</p>`;
}

/** Every way in that this exchange and this browser have. A provider sends the visitor back to this view. */
export function SignInWays(): VNode {
  const found = useExtensions();
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const enter = (way: () => Promise<void>) => async (): Promise<void> => {
    setBusy(true);
    setError(null);
    await way().catch((failure: unknown) => setError(textOf(failure)));
    setBusy(false);
  };
  const enterWith = (extension: Extension | undefined) => enter(async () => signIn(await openExtension(extension)));
  const enterDemo = enter(async () => signInForPlay(await openDemoWallet()));
  // A demo without a wallet has its own way in.
  const entries = found.length > 0 || isDemo ? found : [undefined];
  return html`${
    isDemo && html`<button type="button" disabled=${isBusy} onClick=${enterDemo}>Try with play money</button>`
  }
    ${entries.map(
      (extension) => html`<button key=${extension?.id ?? ''} type="button" disabled=${isBusy}
        onClick=${enterWith(extension)}>
        <${WalletName} extension=${extension} said=${(name: string) => `Sign in with ${name}`} /></button>`,
    )}
    ${providers.map(
      (
        name,
      ) => html`<a key=${name} href=${`/v1/auth/oauth/${name}?redirect_path=${encodeURIComponent(location.pathname)}`}
        >Sign in with ${name}</a>`,
    )}
    ${error !== null && html`<span role="alert">${error}</span>`}`;
}

function shortAddress(address: string | null): string {
  return address === null ? 'Signed in' : `${address.slice(0, 6)}…${address.slice(-4)}`;
}

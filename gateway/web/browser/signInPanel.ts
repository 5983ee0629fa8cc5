/** Signing in and out, in the header and wherever a visitor needs an account to go on. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
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
    const said = cause === null ? 'Signing in …' : `Not signed in yet. ${cause}`;
    return html`<p key="unknown" class="account quiet">${said}</p>`;
  }
  if (visitor.kind === 'anonymous') return html`<${Entrance} key="ways" />`;
  const { wallet_address: address, display_name: name } = visitor.user;
  const leave = (): void => {
    setError(null);
    signOut().catch((failure: unknown) => setError(textOf(failure)));
  };
  return html`<p key="user" class="account"><span class="quiet">${name ?? shortAddress(address)}</span>
    <button type="button" onClick=${leave}>Sign out</button>
    ${error !== null && html`<span role="alert">${error}</span>`}</p>`;
}

/** A telephone has room for one button, which opens all the ways; a header has room for two. */
function Entrance(): VNode {
  const [isOpen, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const { length } = useEntries();
  const ways = length + providers.length + (isDemo ? 1 : 0);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  return html`<p class=${`account ${ways > 2 ? 'many' : ways > 1 ? 'several' : ''}`}>
    <button type="button" class="primary all-ways" onClick=${() => setOpen(true)}>Sign in</button>
    <span class="each-way"><${SignInWays} /></span></p>
    ${
      isOpen &&
      html`<dialog ref=${dialog} class="sign-in" aria-labelledby="ways" onClose=${() => setOpen(false)}>
        <h2 id="ways">Sign in</h2><p class="ways"><${SignInWays} /></p>
        <button type="button" class="small" onClick=${() => dialog.current?.close()}>Not now</button></dialog>`
    }`;
}

/** The wallets that are listed. A demo without a wallet has its own way in. */
function useEntries(): readonly (Extension | undefined)[] {
  const found = useExtensions();
  return found.length > 0 || isDemo ? found : [undefined];
}

/** Every way in that this exchange and this browser have. A provider sends the visitor back to this view. */
export function SignInWays(): VNode {
  const entries = useEntries();
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

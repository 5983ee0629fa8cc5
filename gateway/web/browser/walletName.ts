/** A wallet of the browser as its own button names it: icon and name, isolated from the text around them. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Extension } from './extensions.ts';

type WalletNameProps = { readonly extension: Extension | undefined; readonly said: (name: string) => string };

export function WalletName({ extension, said }: WalletNameProps): VNode {
  const { icon = null, name = 'a wallet' } = extension ?? {};
  return html`${icon !== null && html`<img class="wallet-icon" src=${icon} alt="" width="16" height="16" />`}
    <bdi>${said(name)}</bdi>`;
}

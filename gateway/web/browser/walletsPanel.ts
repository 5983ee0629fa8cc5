/** The wallets of the account and the keys that may sign for them (RULES.md 15.40 to 15.45). */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Profile, WalletDelegates } from '../../../shared/client/types.ts';
import { WalletsClient } from '../../../shared/client/wallets.ts';
import { type Action, Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { type Extension, useExtensions } from './extensions.ts';
import { provedAnew } from './provedAnew.ts';
import { ask } from './session.ts';
import { ToCome } from './toCome.ts';
import type { Wallet } from './wallet.ts';
import { WalletName } from './walletName.ts';
import { currentWallet, isSameAddress, openExtension } from './wallets.ts';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

const wallets = new WalletsClient({ origin: location.origin, send: ask }, undefined);

export function WalletsPanel(): VNode {
  const [round, setRound] = useState(0);
  const action = useAction();
  const { value: profile, error } = useLoaded<Profile>('profile', () => ask('GET', '/v1/user/profile'), 0, round);
  const change = (act: () => Promise<string>): Promise<void> =>
    action.run(async () => {
      const said = await act();
      setRound(round + 1);
      return said;
    });
  const found = useExtensions();
  const link = (extension: Extension): Promise<void> =>
    change(async () => {
      const wallet = await openExtension(extension);
      if (profile?.linked_wallets.some((linked) => isSameAddress(linked, wallet.address)))
        throw new Error(`${wallet.address} is linked already. Show another account in the wallet.`);
      await provedAnew(() => wallets.link(wallet));
      return 'The wallet is linked.';
    });
  return html`<section class="panel"><h2>Wallets</h2>
    ${profile === null && html`<${ToCome} error=${error} />`}
    <ul class="plain">${(profile?.linked_wallets ?? []).map(
      (address) => html`<li key=${address}><${LinkedWallet} address=${address} action=${action} onChange=${change}
        isOnly=${profile?.linked_wallets.length === 1} /></li>`,
    )}</ul>
    <${Outcome} action=${action} />
    ${found.map(
      (extension) => html`<p key=${extension.id}><button type="button" disabled=${action.isBusy}
        onClick=${() => link(extension)}>
        <${WalletName} extension=${extension} said=${(name: string) => `Link an account of ${name}`} />
      </button></p>`,
    )}
    ${
      found.length === 0 && html`<p class="quiet">To link another wallet, open this page in a browser that has one.</p>`
    }
  </section>`;
}

type LinkedWalletProps = {
  readonly address: string;
  readonly isOnly: boolean;
  readonly action: Action;
  readonly onChange: (act: () => Promise<string>) => Promise<void>;
};

function LinkedWallet({ address, isOnly, action, onChange }: LinkedWalletProps): VNode {
  const [isAsked, setAsked] = useState(false);
  const unlink = (): Promise<void> =>
    onChange(async () => {
      const { orders_cancelled: cancelled } = await provedAnew(() => wallets.unlink(address));
      return `The wallet is unlinked, and ${cancelled} of its orders were cancelled.`;
    });
  const cancelSigned = (): Promise<void> =>
    onChange(async () => {
      const { orders_cancelled: cancelled } = await wallets.cancelEverSigned(address);
      return `Nothing counts any more that the wallet has signed so far; ${cancelled} open orders were cancelled.`;
    });
  return html`<div class="wallet"><code>${address}</code>
    <button type="button" class="small" disabled=${action.isBusy}
      aria-label=${`Cancel everything it ever signed: ${address}`}
      onClick=${cancelSigned}>Cancel everything it ever signed</button>
    ${
      !isOnly &&
      (isAsked
        ? html`<span class="actions"><button type="button" class="small" disabled=${action.isBusy}
            onClick=${unlink}>Unlink it and cancel its orders</button>
            ${' '}<button type="button" class="small" onClick=${() => setAsked(false)}>Keep it</button></span>`
        : html`<button type="button" class="small" aria-label=${`Unlink ${address}`}
            onClick=${() => setAsked(true)}>Unlink</button>`)
    }</div>
    <${DelegateList} address=${address} action=${action} onChange=${onChange} />`;
}

type DelegatesProps = Pick<LinkedWalletProps, 'address' | 'action' | 'onChange'>;

/** The list is loaded when it is opened. */
function DelegateList(props: DelegatesProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const onToggle = ({ currentTarget }: TargetedEvent<HTMLDetailsElement>): void => setOpen(currentTarget.open);
  return html`<details class="more-fields" onToggle=${onToggle}><summary>Keys that may sign for it</summary>
    ${isOpen && html`<${OpenDelegates} ...${props} />`}</details>`;
}

function OpenDelegates({ address, action, onChange }: DelegatesProps): VNode {
  const [round, setRound] = useState(0);
  const [signer, setSigner] = useState('');
  const load = (): Promise<WalletDelegates> => wallets.delegates(address);
  const { value, error } = useLoaded(`delegates ${address}`, load, 0, round);
  const change = (act: (wallet: Wallet) => Promise<string>): Promise<void> =>
    onChange(async () => {
      const wallet = await currentWallet();
      if (!isSameAddress(wallet.address, address))
        throw new Error(`Only ${address} can say who signs for it. Sign in with it.`);
      const said = await act(wallet);
      setRound(round + 1);
      return said;
    });
  const add = (event: Event): Promise<void> => {
    event.preventDefault();
    return change(async (wallet) => {
      if (!ADDRESS.test(signer.trim())) throw new Error('An address is 0x and 40 digits.');
      await wallets.addDelegate(wallet, signer.trim().toLowerCase());
      setSigner('');
      return 'The key may sign for the wallet.';
    });
  };
  const remove = (each: string): Promise<void> =>
    change(async (wallet) => {
      const { orders_cancelled: cancelled } = await wallets.removeDelegate(wallet, each);
      return `The key signs no more, and ${cancelled} of its orders were cancelled.`;
    });
  if (value === null) return html`<${ToCome} error=${error} />`;
  return html`
    ${value.delegates.length === 0 && html`<p class="quiet">Only the wallet itself.</p>`}
    <ul class="plain">${value.delegates.map(
      (each) => html`<li key=${each} class="wallet"><code>${each}</code>
        <button type="button" class="small" disabled=${action.isBusy} aria-label=${`Remove ${each}`}
          onClick=${() => remove(each)}>Remove</button></li>`,
    )}</ul>
    <form onSubmit=${add}><label class="field"><span>Address of a key</span>
      <input autocomplete="off" spellcheck=${false} value=${signer} placeholder="0x…"
        onInput=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => setSigner(currentTarget.value)} /></label>
      <p><button type="submit" class="small" disabled=${action.isBusy}>Let it sign</button></p></form>
  `;
}

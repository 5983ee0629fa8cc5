/** An account: its state, and its remaining rights. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AdminClient } from '../../../../shared/client/admin.ts';
import type { AccountStateName, ProfileWithBalance, Wallets } from '../../../../shared/client/types.ts';
import { textOf, useLoaded } from '../api.ts';
import { units } from '../format.ts';
import { ToCome } from '../toCome.ts';
import { Action } from './action.ts';
import { restricting } from './consequences.ts';
import { amountOf } from './numbers.ts';
import type { ViewProps } from './view.ts';

const REFRESH_SECONDS = 5;
const WALLET = /^0x[0-9a-f]{40}$/i;

/** States by severity. */
const STATES: readonly (readonly [AccountStateName, string])[] = [
  ['active', 'Open it'],
  ['close_only', 'Close only'],
  ['frozen', 'Freeze'],
];

export function AccountsView(props: ViewProps): VNode {
  const { client } = props;
  const [chosen, setChosen] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const search = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('id') ?? '').trim();
    setFault(null);
    setChosen(null);
    if (text === '') return;
    idOf(client, text).then(setChosen, (error: unknown) => setFault(textOf(error)));
  };
  return html`
    <section class="panel">
      <h2>Find an account</h2>
      <form class="row" onSubmit=${search}>
        <label>User id, or a wallet <input name="id" maxlength="100" autocomplete="off" spellcheck=${false} /></label>
        <button type="submit">Find</button>
      </form>
      ${fault !== null && html`<p class="bad" role="alert">${fault}</p>`}
    </section>
    ${chosen !== null && html`<${AccountPanel} key=${chosen} id=${chosen} ...${props} />`}
  `;
}

/** A wallet finds the account that owns it. */
async function idOf(client: AdminClient, text: string): Promise<string> {
  if (!WALLET.test(text)) return text;
  const [owner] = (await client.listUsers({ wallet: text })).users;
  if (owner === undefined) throw new Error('No account has this wallet.');
  return owner.id;
}

function AccountPanel({ id, client, operator }: ViewProps & { readonly id: string }): VNode {
  const [round, setRound] = useState(0);
  const { value: user, error } = useLoaded<ProfileWithBalance>(id, () => client.user(id), REFRESH_SECONDS, round);
  const wallets = useLoaded<Wallets>(`wallets ${id}`, () => client.listWallets(id), REFRESH_SECONDS, round);
  if (user === null) return html`<section class="panel"><${ToCome} error=${error} /></section>`;
  return html`<section class="panel" aria-label="Account">
    <h2>User ${user.id}</h2>
    ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
    <dl class="facts">
      <div><dt>State</dt><dd><strong>${user.state}</strong></dd></div>
      <div><dt>USDC available</dt><dd>${units(user.usdc.available)}</dd></div>
      <div><dt>USDC in orders</dt><dd>${units(user.usdc.reserved)}</dd></div>
      <div><dt>Wallets</dt><dd>${(wallets.value?.wallets ?? []).join(', ') || '–'}</dd></div>
    </dl>
    <div class="actions">${STATES.map(
      ([state, label]) => html`<${Action} key=${state} client=${client} operator=${operator} needs="treasury"
        label=${label} isDangerous=${state !== 'active'} path=${`/admin/users/${id}/state`}
        closed=${user.state === state ? `The account is ${state}.` : null}
        confirm=${restricting(state, user)} run=${() => restrict(client, id, state)}
        onDone=${() => setRound((before) => before + 1)} />`,
    )}</div>
  </section>`;
}

/** @returns what the change has cancelled, in words */
async function restrict(client: AdminClient, id: string, state: AccountStateName): Promise<string> {
  const { orders_cancelled: cancelled, is_complete: isComplete } = await client.setAccountState(id, state);
  const rest = isComplete ? '' : ' A shard is away: it cancels the others before it trades again.';
  return `${amountOf(cancelled, 'order')} cancelled.${rest}`;
}

/** One session of cashing in or out: its progress in words, and the actions that its person can take now. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { FiatClient } from '../../../shared/client/fiat.ts';
import type { FiatSessionRecord, FiatStatus, FiatTransfer } from '../../../shared/client/types.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { units } from './format.ts';
import { ask } from './session.ts';
import { currentWallet } from './wallets.ts';

const REFRESH_SECONDS = 2;
/** Texts of cashing in; a transfer of cashing out has texts of its own (16.14). */
const SAID: Readonly<Record<FiatStatus, string>> = {
  initiated: 'The session is being made.',
  awaiting_quote: 'The provider waits for you: say there what you buy.',
  created: 'The provider waits for your payment.',
  processing: 'Your payment has arrived, and the USDC is on its way.',
  completed: 'The USDC has arrived.',
  failed: 'The provider did not carry it out. What you paid is given back by the provider.',
  expired: 'The session has ended without a payment.',
  cancelled: 'The session is cancelled.',
};
const ENDED: readonly FiatStatus[] = ['completed', 'failed', 'expired', 'cancelled'];
/** In these states the terms are not fixed yet, so the provider may be visited again. */
const OPEN_AT_PROVIDER: readonly FiatStatus[] = ['initiated', 'awaiting_quote'];

const fiat = new FiatClient({ send: ask });

type CashSessionProps = { readonly session: FiatSessionRecord; readonly onChanged: () => void };

export function CashSession({ session, onChanged }: CashSessionProps): VNode {
  const [round, setRound] = useState(0);
  const action = useAction();
  const { id, kind, status } = session;
  const isEnded = ENDED.includes(status);
  const load = async (): Promise<FiatTransfer | null> => (kind === 'offramp' ? fiat.transfer(id) : null);
  const { value: transfer } = useLoaded(`cash ${id} ${status}`, load, isEnded ? 0 : REFRESH_SECONDS, round);
  const act = (send: () => Promise<string>): Promise<void> =>
    action.run(async () => {
      const said = await send();
      setRound(round + 1);
      onChanged();
      return said;
    });
  const launch = (): Promise<void> =>
    act(async () => {
      location.assign((await fiat.launchToken(kind, id)).launch_url);
      return 'Going to the provider …';
    });
  const sign = (): Promise<void> =>
    act(async () => {
      const offered = await fiat.transfer(id);
      const signature = await (await currentWallet()).signTransfer(offered);
      return (await fiat.authorize(id, offered.intent_id!, signature)).message;
    });
  const retry = (): Promise<void> => act(async () => (await fiat.submit(id, transfer!.intent_id!)).message);
  const look = (): Promise<void> =>
    act(async () => {
      await fiat.completeOnramp(id);
      return 'The provider is asked.';
    });
  const cancel = (): Promise<void> =>
    act(async () => {
      await fiat.cancel(id);
      return 'It is cancelled.';
    });
  const button = (label: string, onClick: () => void, size = ''): VNode =>
    html`<button type="button" class=${size} disabled=${action.isBusy} onClick=${onClick}>${label}</button>`;
  const isUnsigned = transfer?.authorization?.signature == null;
  const toSign = transfer?.can_submit === true && isUnsigned ? transfer.typed_data : null;
  const canRetry = transfer?.can_submit === true && !isUnsigned;
  return html`<section class="panel"><h2>${kind === 'onramp' ? 'Cash in' : 'Cash out'}: ${status}</h2>
    <p>${transfer?.message ?? SAID[status]}</p>
    ${
      toSign !== null &&
      html`<p>Your wallet sends <strong>$${units(toSign.message.value)}</strong> in USDC
      to the provider at${' '}<code>${toSign.message.to}</code>.</p>`
    }
    <${Evidence} session=${session} transfer=${transfer} />
    <p class="actions">
      ${toSign !== null && button('Sign the transfer', sign)}
      ${canRetry && button('Send it again', retry)}
      ${OPEN_AT_PROVIDER.includes(status) && button('Go on at the provider', launch, 'small')}
      ${kind === 'onramp' && !isEnded && button('Ask the provider now', look, 'small')}
      ${kind === 'offramp' && !isEnded && isUnsigned && button('Cancel', cancel, 'small')}
    </p>
    <${Outcome} action=${action} />
  </section>`;
}

type EvidenceProps = { readonly session: FiatSessionRecord; readonly transfer: FiatTransfer | null };

function Evidence({ session, transfer }: EvidenceProps): VNode {
  const { provider, wallet_address, sell_amount, buy_amount, tx_hash, failure_code } = session;
  const amount = sell_amount ?? buy_amount;
  const { confirmations = 0, required_confirmations } = transfer?.tx_evidence ?? {};
  const facts: readonly (readonly [string, string | null])[] = [
    ['Provider', provider],
    ['Amount', amount === null ? null : `${amount.value} ${amount.currency}`],
    ['Wallet', wallet_address],
    ['Transaction', tx_hash],
    ['Confirmed', confirmations === 0 ? null : `${confirmations} of ${required_confirmations} blocks`],
    ['Reason', failure_code],
  ];
  return html`<dl class="facts">${facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="long">${value}</dd></div>`)}</dl>`;
}

/** Cashing in and out (RULES.md 16): starts a session at the provider, and shows the sessions of the account. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { FiatClient } from '../../../shared/client/fiat.ts';
import type { FiatKind, FiatSessionRecord } from '../../../shared/client/types.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { CashSession } from './cashSession.ts';
import { provedAnew } from './provedAnew.ts';
import { useTitle } from './router.ts';
import { ask, useVisitor } from './session.ts';
import { dateTime } from './times.ts';
import { ToCome } from './toCome.ts';
import { doubtOf, typedDecimal } from './typedNumber.ts';
import { SignInFirst } from './waiting.ts';

const TITLE = 'Cash in and out';
const PATH = '/cash';
const MOST_SESSIONS = 20;
const REFRESH_SECONDS = 3;
const AMOUNT = /^[0-9]{1,9}(?:\.[0-9]{1,6})?$/;

const fiat = new FiatClient({ send: ask });

export function CashPage(): VNode {
  useTitle(TITLE);
  const visitor = useVisitor();
  if (visitor.kind !== 'user') return html`<${SignInFirst} title=${TITLE} isKnown=${visitor.kind !== 'unknown'} />`;
  return html`<${Cash} key=${visitor.user.id} />`;
}

function Cash(): VNode {
  const [round, setRound] = useState(0);
  const [chosen, choose] = useState<string | null>(null);
  const load = async (): Promise<readonly FiatSessionRecord[]> => (await fiat.list({ limit: MOST_SESSIONS })).sessions;
  const { value: sessions, error } = useLoaded('cash', load, REFRESH_SECONDS, round);
  const shown = sessions?.find(({ id }) => id === chosen) ?? sessions?.[0];
  const reload = (): void => setRound((before) => before + 1);
  return html`
    <h1>${TITLE}</h1>
    <div class="halves">
      <${Begin} kind="onramp" title="Cash in" label="Amount in USD" text="Pay at a provider, and get USDC." />
      <${Begin} kind="offramp" title="Cash out" label="Amount in USDC"
        text="Sell USDC at a provider, and get money at your bank. Your wallet signs the one transfer." />
    </div>
    ${shown !== undefined && html`<${CashSession} key=${shown.id} session=${shown} onChanged=${reload} />`}
    <section class="panel"><h2>Your sessions</h2>
      ${sessions === null && html`<${ToCome} error=${error} />`}
      ${sessions?.length === 0 && html`<p class="quiet">None yet.</p>`}
      <ul class="plain">${(sessions ?? []).map(
        (session) => html`<li key=${session.id}><button type="button" class="small"
          aria-current=${session.id === shown?.id ? 'true' : undefined}
          onClick=${() => choose(session.id)}>${nameOf(session)}</button> <span>${session.status}</span></li>`,
      )}</ul>
    </section>
  `;
}

function nameOf({ kind, requested_amount, sell_amount, buy_amount, created_at }: FiatSessionRecord): string {
  const amount = (sell_amount ?? buy_amount)?.value ?? requested_amount;
  const what = kind === 'onramp' ? 'Cash in' : 'Cash out';
  return `${what}${amount === null ? '' : ` of ${amount}`}, ${dateTime(Date.parse(created_at))}`;
}

type BeginProps = { readonly kind: FiatKind; readonly title: string; readonly label: string; readonly text: string };

function Begin({ kind, title, label, text }: BeginProps): VNode {
  const [amount, setAmount] = useState('');
  const action = useAction();
  const begin = (event: Event): Promise<void> => {
    event.preventDefault();
    return action.run(async () => {
      const typed = typedDecimal(amount);
      if (amount.trim() !== '' && !AMOUNT.test(typed))
        throw new Error(doubtOf(amount) ?? 'An amount is a number such as 25 or 25.50.');
      const fields = { redirect_path: PATH, ...(typed === '' ? {} : { amount: typed }) };
      const { launch_url } =
        kind === 'onramp' ? await fiat.createOnramp(fields) : await provedAnew(() => fiat.createOfframp(fields));
      location.assign(launch_url);
      return 'Going to the provider …';
    });
  };
  return html`<section class="panel"><h2>${title}</h2><p class="quiet">${text}</p>
    <form onSubmit=${begin}><label class="field"><span>${label} (optional)</span>
      <input inputmode="decimal" autocomplete="off" value=${amount}
        onInput=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => setAmount(currentTarget.value)} /></label>
      <p><button type="submit" class="primary" disabled=${action.isBusy}>Go to the provider</button></p></form>
    <${Outcome} action=${action} /></section>`;
}

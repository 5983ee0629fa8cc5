/** Reminders, the longest session, and a timeout during which the account places no orders (RULES.md 11). */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Preferences, TradingTimeout } from '../../../shared/client/types.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { preferencesChanged } from './reminder.ts';
import { ask } from './session.ts';
import { When } from './when.ts';

const REMINDERS = [15, 30, 60, 120];
const SESSIONS = [60, 120, 240, 480];
const TIMEOUTS: readonly (readonly [TradingTimeout['duration_label'], string])[] = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['custom', 'so many hours'],
];
/** A timeout ends without an event. */
const REFRESH_SECONDS = 60;

export function GamingSettings(): VNode {
  const [round, setRound] = useState(0);
  const preferences = useLoaded<Preferences>('preferences', () => ask('GET', '/v1/user/rg/preferences'), 0, round);
  const timeout = useLoaded<TradingTimeout | null>(
    'timeout',
    () => ask('GET', '/v1/user/rg/timeout'),
    REFRESH_SECONDS,
    round,
  );
  const onChanged = (): void => setRound((before) => before + 1);
  const error = preferences.error ?? timeout.error;
  return html`<section class="panel"><h2>Play responsibly</h2>
    ${error !== null && html`<p class="quiet">${error}</p>`}
    ${preferences.value !== null && html`<${Reminders} preferences=${preferences.value} onChanged=${onChanged} />`}
    ${
      timeout.value !== null
        ? html`<${ActiveTimeout} timeout=${timeout.value} onChanged=${onChanged} />`
        : html`<${NewTimeout} onChanged=${onChanged} />`
    }
  </section>`;
}

type RemindersProps = { readonly preferences: Preferences; readonly onChanged: () => void };

function Reminders({ preferences, onChanged }: RemindersProps): VNode {
  const action = useAction();
  const save = (changed: Partial<Preferences>): Promise<void> =>
    action.run(async () => {
      await ask('PUT', '/v1/user/rg/preferences', changed);
      preferencesChanged();
      onChanged();
      return 'Saved.';
    });
  const { reality_check_interval_minutes: reminder, session_timeout_minutes: session } = preferences;
  return html`
    <${Minutes} label="Remind me of the time every" off="never" choices=${REMINDERS} value=${reminder}
      isDisabled=${action.isBusy} onChange=${(minutes: typeof reminder) =>
        save({ reality_check_interval_minutes: minutes })} />
    <${Minutes} label="Sign me out after" off="never" choices=${SESSIONS} value=${session} isDisabled=${action.isBusy}
      onChange=${(minutes: typeof session) => save({ session_timeout_minutes: minutes })} />
    <${Outcome} action=${action} />
  `;
}

type MinutesProps = {
  readonly label: string;
  readonly off: string;
  readonly choices: readonly number[];
  readonly value: number | null;
  readonly isDisabled: boolean;
  readonly onChange: (minutes: number | null) => void;
};

function Minutes({ label, off, choices, value, isDisabled, onChange }: MinutesProps): VNode {
  const onSelect = ({ currentTarget }: TargetedEvent<HTMLSelectElement>): void => {
    const chosen = currentTarget.value;
    onChange(chosen === '' ? null : Number(chosen));
  };
  return html`<label class="field"><span>${label}</span>
    <select value=${value ?? ''} disabled=${isDisabled} onChange=${onSelect}>
      <option value="">${off}</option>
      ${choices.map((minutes) => html`<option key=${minutes} value=${minutes}>${textOfMinutes(minutes)}</option>`)}
    </select></label>`;
}

function textOfMinutes(minutes: number): string {
  if (minutes < 60) return `${minutes} minutes`;
  return minutes === 60 ? 'an hour' : `${minutes / 60} hours`;
}

type ActiveTimeoutProps = { readonly timeout: TradingTimeout; readonly onChanged: () => void };

function ActiveTimeout({ timeout, onChanged }: ActiveTimeoutProps): VNode {
  const action = useAction();
  const end = (): Promise<void> =>
    action.run(async () => {
      await ask('POST', '/v1/user/rg/timeout/cancel');
      onChanged();
      return 'The timeout has ended.';
    });
  return html`<h3>Timeout</h3>
    <p class="warning">You place no orders until <strong><${When} time=${timeout.ends_at} /></strong>. Your open orders
      stay, and you can cancel them, claim, and sign out.</p>
    <p><button type="button" disabled=${action.isBusy} onClick=${end}>End it now</button></p>
    <${Outcome} action=${action} />`;
}

function NewTimeout({ onChanged }: { readonly onChanged: () => void }): VNode {
  const action = useAction();
  const [label, setLabel] = useState<TradingTimeout['duration_label']>('24h');
  const [hours, setHours] = useState('48');
  const [isAsked, setAsked] = useState(false);
  const start = (): Promise<void> =>
    action.run(async () => {
      const custom = label === 'custom' ? { custom_hours: Number(hours) } : {};
      await ask('POST', '/v1/user/rg/timeout', { duration_label: label, ...custom });
      onChanged();
      return 'The timeout has begun.';
    });
  const chosen = label === 'custom' ? `${hours} hours` : TIMEOUTS.find(([name]) => name === label)![1];
  return html`<h3>Timeout</h3>
    <label class="field"><span>Place no orders for</span>
      <select value=${label} onChange=${({ currentTarget }: TargetedEvent<HTMLSelectElement>) =>
        setLabel(TIMEOUTS.find(([name]) => name === currentTarget.value)![0])}>
        ${TIMEOUTS.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}
      </select></label>
    ${
      label === 'custom' &&
      html`<label class="field"><span>Hours</span><input type="number" min="1" max="8760" value=${hours}
        onInput=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => setHours(currentTarget.value)} /></label>`
    }
    ${
      isAsked
        ? html`<p class="warning">For ${chosen} you will place no orders. Open orders stay; cancels and claims work.</p>
          <p class="actions"><button type="button" disabled=${action.isBusy} onClick=${start}>Start the timeout</button>
            ${' '}<button type="button" onClick=${() => setAsked(false)}>Do not start it</button></p>`
        : html`<p><button type="button" onClick=${() => setAsked(true)}>Take a break</button></p>`
    }
    <${Outcome} action=${action} />`;
}

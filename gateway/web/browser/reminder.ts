/**
 * Reminds visitors at the interval that they have chosen how long they have been signed in and how the day went
 * (RULES.md 11.1).
 *
 * Invariants:
 *   REMINDER-1  All tabs count from the same sign-in, and a reminder shown in one tab is not due in another.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Pnl24h, Preferences } from '../../../shared/client/types.ts';
import { useLoaded } from './api.ts';
import { gainOfUsdc } from './format.ts';
import { goTo } from './router.ts';
import { ask, signOut, useVisitor } from './session.ts';
import { read, remove, write } from './storage.ts';

const CHANGED = 'preferenceschanged';
/** The account, the time of its sign-in and the number of reminders shown since, separated by spaces. */
const KEPT = 'reminders';
const MINUTE_MS = 60_000;
const LATEST_CHECK_MS = 20_000;

type Count = { readonly sinceMs: number; readonly shown: number };

export function preferencesChanged(): void {
  dispatchEvent(new Event(CHANGED));
}

export function Reminder(): VNode | null {
  const visitor = useVisitor();
  useEffect(() => {
    if (visitor.kind === 'anonymous') remove(KEPT);
  }, [visitor.kind]);
  return visitor.kind === 'user' ? html`<${OwnReminder} key=${visitor.user.id} accountId=${visitor.user.id} />` : null;
}

function OwnReminder({ accountId }: { readonly accountId: string }): VNode | null {
  const [round, setRound] = useState(0);
  const [dueMinutes, setDue] = useState<number | null>(null);
  const { value } = useLoaded<Preferences>('reminder', () => ask('GET', '/v1/user/rg/preferences'), 0, round);
  /** Undefined until it is loaded. */
  const chosen = useRef<number | null | undefined>(undefined);
  const every = value?.reality_check_interval_minutes ?? null;
  useEffect(() => {
    const onChanged = (): void => setRound((before) => before + 1);
    addEventListener(CHANGED, onChanged);
    return () => removeEventListener(CHANGED, onChanged);
  }, []);
  useEffect(() => {
    if (every === null) {
      if (value !== null) chosen.current = null;
      return;
    }
    const check = (): void => {
      const { sinceMs, shown } = countOf(accountId);
      const passed = Math.floor((Date.now() - sinceMs) / (every * MINUTE_MS));
      if (passed <= shown) return;
      keep(accountId, { sinceMs, shown: passed });
      setDue(Math.floor((Date.now() - sinceMs) / MINUTE_MS));
    };
    // A newly chosen interval does not make reminders for the time before it due.
    if (chosen.current !== undefined && chosen.current !== every) {
      const { sinceMs } = countOf(accountId);
      keep(accountId, { sinceMs, shown: Math.floor((Date.now() - sinceMs) / (every * MINUTE_MS)) });
    }
    chosen.current = every;
    check();
    const timer = setInterval(check, LATEST_CHECK_MS);
    return () => clearInterval(timer);
  }, [every, value !== null, accountId]);
  return dueMinutes === null ? null : html`<${Notice} minutes=${dueMinutes} onClose=${() => setDue(null)} />`;
}

type NoticeProps = { readonly minutes: number; readonly onClose: () => void };

function Notice({ minutes, onClose }: NoticeProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const { value: day } = useLoaded<Pnl24h>('day', () => ask('GET', '/v1/user/portfolio/pnl-24h'));
  useEffect(() => dialog.current?.showModal(), []);
  const takeBreak = (): void => {
    dialog.current?.close();
    goTo('/account');
  };
  return html`<dialog ref=${dialog} aria-labelledby="reminder" onClose=${onClose}>
    <h2 id="reminder">You have been signed in for ${minutes} minutes</h2>
    ${day !== null && html`<p>Your last 24 hours: <strong>${gainOfUsdc(day.pnl_24h_usdc)}</strong>.</p>`}
    <p class="actions"><button type="button" onClick=${() => dialog.current?.close()}>Go on</button>
      ${' '}<button type="button" onClick=${takeBreak}>Take a break</button>
      ${' '}<button type="button" onClick=${() => signOut().finally(onClose)}>Sign out</button></p>
  </dialog>`;
}

/** REMINDER-1. Counting begins with the first view of another account. */
function countOf(accountId: string): Count {
  const [kept, since, shown] = (read(KEPT) ?? '').split(' ');
  if (kept === accountId) return { sinceMs: Number(since), shown: Number(shown) };
  const count = { sinceMs: Date.now(), shown: 0 };
  keep(accountId, count);
  return count;
}

function keep(accountId: string, { sinceMs, shown }: Count): void {
  write(KEPT, `${accountId} ${sinceMs} ${shown}`);
}

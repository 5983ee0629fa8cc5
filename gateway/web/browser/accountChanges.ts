/**
 * Counts the events of the signed-in account's orders, so that its lists are loaded again after changes. The events are
 * subscribed while a view uses them. An answer to a list includes everything that the stream sent before.
 */
import { useEffect, useState } from 'preact/hooks';
import type { UserStream } from '../../../shared/client/stream/userStream.ts';
import { cancelsOnClose, onLeavingChanged } from './leaving.ts';
import { PARTING } from './parts.ts';
import { useVisitor } from './session.ts';
import { streamOf } from './stream.ts';

/** Many events within this time are one change. */
const GATHERED_MS = 300;

let open: { readonly accountId: string; readonly events: UserStream } | null = null;
let changes = 0;
/** True while the exchange has the subscription, with the wish for the end of the page that it was made with. */
let isWatched = false;
const watchers = new Set<(isWatched: boolean) => void>();
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<(changes: number) => void>();

/** @returns a number that grows with each change */
export function useAccountChanges(): number {
  const visitor = useVisitor();
  const [shown, show] = useState(changes);
  const accountId = visitor.kind === 'user' ? visitor.user.id : null;
  useEffect(() => {
    if (accountId === null) return;
    listeners.add(show);
    listenFor(accountId);
    return () => {
      listeners.delete(show);
      if (listeners.size === 0) close();
    };
  }, [accountId]);
  return shown;
}

/** True while the exchange knows what it does with the orders of the account when this page closes. */
export function useIsWatched(): boolean {
  const [shown, show] = useState(isWatched);
  useEffect(() => {
    watchers.add(show);
    show(isWatched);
    return () => void watchers.delete(show);
  }, []);
  return shown;
}

function listenFor(accountId: string): void {
  if (open?.accountId === accountId) return;
  close();
  const events = streamOf(accountId).openUser({ cancelOnDisconnect: cancelsOnClose() });
  open = { accountId, events };
  void follow(events);
}

// Another wish is another subscription; closing the one before cancels nothing.
onLeavingChanged(() => {
  const accountId = open?.accountId;
  close();
  if (accountId !== undefined) listenFor(accountId);
});

// The page comes back at once, and subscribes anew.
addEventListener(PARTING, close);

function close(): void {
  clearTimeout(timer);
  timer = undefined;
  open?.events.close();
  open = null;
  watched(false);
}

async function follow(events: UserStream): Promise<void> {
  try {
    for await (const { type } of events) {
      if (open?.events === events && (type === 'live' || type === 'stale')) watched(type === 'live');
      if (type !== 'stale') timer ??= setTimeout(changed, GATHERED_MS);
    }
  } catch {
    // The stream is closed, or refused for good: views also load their lists now and then.
  }
}

function watched(isNow: boolean): void {
  isWatched = isNow;
  for (const show of watchers) show(isNow);
}

function changed(): void {
  timer = undefined;
  changes += 1;
  for (const listener of listeners) listener(changes);
}

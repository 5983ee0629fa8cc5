/**
 * Counts the events of the signed-in account's orders, so that its lists are loaded again after changes. The events are
 * subscribed while a view uses them. An answer to a list includes everything that the stream sent before.
 */
import { useEffect, useState } from 'preact/hooks';
import type { UserStream } from '../../../shared/client/stream/userStream.ts';
import { useVisitor } from './session.ts';
import { streamOf } from './stream.ts';

/** Many events within this time are one change. */
const GATHERED_MS = 300;

let open: { readonly accountId: string; readonly events: UserStream } | null = null;
let changes = 0;
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

function listenFor(accountId: string): void {
  if (open?.accountId === accountId) return;
  close();
  const events = streamOf(accountId).openUser();
  open = { accountId, events };
  void follow(events);
}

function close(): void {
  clearTimeout(timer);
  timer = undefined;
  open?.events.close();
  open = null;
}

async function follow(events: UserStream): Promise<void> {
  try {
    for await (const { type } of events) if (type !== 'stale') timer ??= setTimeout(changed, GATHERED_MS);
  } catch {
    // The stream is closed, or refused for good: views also load their lists now and then.
  }
}

function changed(): void {
  timer = undefined;
  changes += 1;
  for (const listener of listeners) listener(changes);
}

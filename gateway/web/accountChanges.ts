/**
 * Counts what happens to the orders of the signed-in account, so that its lists are loaded anew when they have changed.
 * The events come over a private stream of their own, which is open while a view uses it. An answer to a list
 * has all that was sent over the stream before.
 */
import { useEffect, useState } from 'preact/hooks';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import type { UserStream } from '../../shared/client/stream/userStream.ts';
import { ticket, useVisitor } from './session.ts';

/** Many events of one moment are one change. */
const GATHERED_MS = 300;

let open: { readonly accountId: string; readonly stream: ExchangeStream } | null = null;
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
  const stream = new ExchangeStream({ baseUrl: location.origin, session: { ticket } });
  open = { accountId, stream };
  void follow(stream.openUser());
}

function close(): void {
  clearTimeout(timer);
  timer = undefined;
  open?.stream.close();
  open = null;
}

async function follow(events: UserStream): Promise<void> {
  try {
    for await (const { type } of events) if (type !== 'stale') timer ??= setTimeout(changed, GATHERED_MS);
  } catch {
    // Closed, or refused for good: views load their lists now and then besides.
  }
}

function changed(): void {
  timer = undefined;
  changes += 1;
  for (const listener of listeners) listener(changes);
}

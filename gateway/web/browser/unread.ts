/** The number of notifications that the account has not read, which stands beside the navigation. */
import { useEffect, useState } from 'preact/hooks';
import type { Unread } from '../../../shared/client/types.ts';
import { useLoaded } from './api.ts';
import { ask, useVisitor } from './session.ts';

const READ = 'notificationsread';
const REFRESH_SECONDS = 30;

/** The number is loaded anew. */
export function notificationsRead(): void {
  dispatchEvent(new Event(READ));
}

/** Zero for visitors who have no account, and until it is known. */
export function useUnread(): number {
  const visitor = useVisitor();
  const [reads, setReads] = useState(0);
  useEffect(() => {
    const onRead = (): void => setReads((before) => before + 1);
    addEventListener(READ, onRead);
    return () => removeEventListener(READ, onRead);
  }, []);
  const load = async (): Promise<number> => {
    if (visitor.kind !== 'user') return 0;
    return (await ask<Unread>('GET', '/v1/notifications/unread-count')).unread_count;
  };
  const who = visitor.kind === 'user' ? visitor.user.id : visitor.kind;
  return useLoaded(`unread ${who}`, load, REFRESH_SECONDS, reads).value ?? 0;
}

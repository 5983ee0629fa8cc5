/** The number of unread notifications of the account, shown beside the navigation. */
import { useEffect, useState } from 'preact/hooks';
import type { Unread } from '../../../shared/client/types.ts';
import { useLoaded } from './api.ts';
import { ask, useVisitor } from './session.ts';

const READ = 'notificationsread';
const REFRESH_SECONDS = 30;

/** Has the number loaded again. */
export function notificationsRead(): void {
  dispatchEvent(new Event(READ));
}

/** Zero for visitors without an account, and until the number is loaded. */
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

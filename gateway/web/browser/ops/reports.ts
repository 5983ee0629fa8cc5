/**
 * The reports of the last fifteen minutes, requested every two seconds, one at a time, whether or not the tab is
 * visible, so that the graphs have no gap when a person comes back to it.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AdminClient } from '../../../../shared/client/admin.ts';
import { isRefusal } from '../../../../shared/client/answers.ts';
import { textOf } from '../api.ts';
import type { Sample } from './measure.ts';

const EVERY_MS = 2000;
const KEPT_MS = 15 * 60_000;
const UNAUTHORIZED = 401;

export type Reports = { readonly samples: readonly Sample[]; readonly error: string | null };

/** @param onRefused called if the token is no longer accepted */
export function useReports(client: AdminClient, onRefused: () => void): Reports {
  const [reports, setReports] = useState<Reports>({ samples: [], error: null });
  const refused = useRef(onRefused);
  refused.current = onRefused;
  useEffect(() => {
    let isLeft = false;
    let timer: ReturnType<typeof setTimeout>;
    const add = (sample: Sample, error: string | null): void => {
      if (isLeft) return;
      setReports(({ samples }) => {
        const kept = samples.filter(({ atMs }) => atMs > sample.atMs - KEPT_MS);
        return { samples: [...kept, sample], error };
      });
    };
    const poll = async (): Promise<void> => {
      const startedMs = Date.now();
      try {
        const report = await client.operations();
        add({ atMs: startedMs, report }, null);
      } catch (error) {
        if (isRefusal(error) && error.status === UNAUTHORIZED && !isLeft) refused.current();
        add({ atMs: startedMs, report: null }, textOf(error));
      }
      if (!isLeft) timer = setTimeout(poll, Math.max(EVERY_MS - (Date.now() - startedMs), 0));
    };
    void poll();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [client]);
  return reports;
}

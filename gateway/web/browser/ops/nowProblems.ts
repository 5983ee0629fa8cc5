/** The problems of this moment, each for as long as it has lasted in this tab. */
import { useMemo, useRef } from 'preact/hooks';
import type { BackupReport } from '../../../../shared/client/types.ts';
import { lasting, type Seen } from './lasting.ts';
import type { Problem } from './problem.ts';
import { problemsOf } from './problems.ts';
import type { Reports } from './reports.ts';

const FIRST = 5;

/** @param backups null while it is not known */
export function useProblems({ samples, error }: Reports, backups: BackupReport | null): readonly Problem[] {
  const seen = useRef<Seen | null>(null);
  return useMemo(() => {
    const lasted = lasting(seen.current, problemsOf(samples, error, backups), samples.at(-1)?.atMs ?? 0);
    // The report of the backups comes a moment after that of the exchange, or is not for this operator.
    if (samples.length > FIRST || (samples.length > 0 && backups !== null)) seen.current = lasted.seen;
    return lasted.problems;
  }, [samples, error, backups]);
}

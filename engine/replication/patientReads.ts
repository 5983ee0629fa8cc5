/**
 * A member reads these things of the log before it follows. A server of the database that is gone, or that gives way to
 * another one, makes a start take longer and does not end it.
 */
import { NotAMemberError, type ReplicatedLog } from './log.ts';
import { insist } from './periodic.ts';
import type { Timing } from './timing.ts';

export type StartReads = Pick<
  ReplicatedLog,
  'ends' | 'rowOf' | 'nameAt' | 'firstAfter' | 'lease' | 'history' | 'found' | 'beginner'
>;

type Post = (message: { readonly unreachable: string }) => void;

/** The pause before a log that cannot be read is tried again. */
const RETRY_MS = 500;

export function patientReads(log: StartReads, timing: Pick<Timing, 'sleep'>, post: Post): StartReads {
  const insistently = <T>(read: () => Promise<T>): Promise<T> =>
    insist(read, async (error) => {
      if (error instanceof NotAMemberError) throw error;
      post({ unreachable: (error as Error).message });
      await timing.sleep(RETRY_MS);
    });
  return {
    ends: () => insistently(() => log.ends()),
    rowOf: (stream, sequence) => insistently(() => log.rowOf(stream, sequence)),
    firstAfter: (stream, sequence) => insistently(() => log.firstAfter(stream, sequence)),
    nameAt: (position) => insistently(() => log.nameAt(position)),
    lease: () => insistently(() => log.lease()),
    history: () => insistently(() => log.history()),
    found: (id) => insistently(() => log.found(id)),
    beginner: () => insistently(() => log.beginner()),
  };
}

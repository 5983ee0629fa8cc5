/**
 * Reads of the log that a member makes before it follows. A database server that is gone, or is being replaced, makes a
 * start slower but does not end it.
 */
import { errorMessage } from '../../shared/base/thrown.ts';
import { NotAMemberError, type ReplicatedLog } from './log.ts';
import { isWhole } from './mayTake.ts';
import { insist } from './periodic.ts';
import type { Timing } from './timing.ts';

type Read = Pick<
  ReplicatedLog,
  'ends' | 'rowOf' | 'nameAt' | 'firstAfter' | 'lease' | 'history' | 'found' | 'beginner'
>;
export type StartReads = Read & {
  /** True if it is shown that the log lacks nothing that was held (mayTake.ts). @param known other members */
  isWhole(known: readonly string[]): Promise<boolean>;
};

type Post = (message: { readonly unreachable: string }) => void;

/** The pause before a log that cannot be read is tried again. */
const RETRY_MS = 500;

export function patientReads(
  log: Read & Pick<ReplicatedLog, 'runs'>,
  timing: Pick<Timing, 'sleep'>,
  post: Post,
): StartReads {
  const insistently = <T>(read: () => Promise<T>): Promise<T> =>
    insist(read, async (error) => {
      if (error instanceof NotAMemberError) throw error;
      post({ unreachable: errorMessage(error) });
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
    isWhole: (known) => insistently(() => isWhole(log.runs, known)),
  };
}

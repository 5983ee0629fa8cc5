/**
 * The position at which a member begins to read the log: after the rows that it has and, to order private frames,
 * before some of them (gateway/stream/orderedIntake.ts).
 */
import type { LocalEnd } from '../../shared/wire/threads.ts';
import { requireNoGap } from './gaps.ts';
import { NotAMemberError, type ReplicatedLog, type RowName } from './log.ts';

type Start = {
  /** Every row up to here is applied on this machine. */
  readonly applied: number;
  /** Rows after this one are read; of rows up to `applied` only the names are read. */
  readonly position: number;
  /** The last row of each stream that has rows in the log, in order. */
  readonly logged: readonly RowName[];
};

type Log = Pick<ReplicatedLog, 'facts' | 'history' | 'ends' | 'firstAfter' | 'rowOf'>;

export async function findStart(log: Log, ends: readonly LocalEnd[]): Promise<Start> {
  // The facts are read before the ends: a row that is added in between is then read, not skipped.
  const { end } = await log.facts();
  const logged = await log.ends();
  const streams = logged.map(({ stream }) => stream);
  const local = new Map(ends.map(({ stream, sequence }) => [stream, sequence]));
  const held = new Map(logged.map(({ stream, sequence }) => [stream, sequence]));
  for (const { stream, sequence } of ends) requireLogged(stream, sequence, held.get(stream) ?? 0);
  const here = streams.map((stream) => ({ stream, sequence: local.get(stream) ?? 0 }));
  await requireNoGap(log, here, held);
  const applied = await positionBefore(log, here, end);
  const numbered = ends.map(({ stream, sequence, doneThrough }) => ({ stream, sequence: doneThrough ?? sequence }));
  const position = await positionBefore(log, numbered, applied);
  const named = logged.filter((row) => row.position > 0).sort((a, b) => a.position - b.position);
  return { applied, position, logged: named };
}

/** The position before the first row that follows one of these records, at most `end`. */
async function positionBefore(log: Log, ends: readonly LocalEnd[], end: number): Promise<number> {
  const firsts = await Promise.all(ends.map(({ stream, sequence }) => log.firstAfter(stream, sequence)));
  return Math.min(end, ...firsts.flatMap((name) => (name === null ? [] : [name.position - 1])));
}

/** The files of this process were made to agree with the log a moment ago. */
function requireLogged(stream: number, local: number, logged: number): void {
  if (local <= logged) return;
  throw new NotAMemberError(`the log has lost the rows of stream ${stream} from ${logged + 1} to ${local}`);
}

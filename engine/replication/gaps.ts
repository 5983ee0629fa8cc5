/** A member may lack rows that the log has no more: it is trimmed behind those that report. */
import { type LogRow, STREAM } from '../../shared/wire/replication.ts';
import type { LocalEnd } from '../../shared/wire/threads.ts';
import { firstSequenceOf } from '../journal/row.ts';
import { JoinAnewError, type ReplicatedLog } from './log.ts';

type Log = Pick<ReplicatedLog, 'facts' | 'firstAfter' | 'rowOf'>;

/**
 * Throws a JoinAnewError where rows of a stream were trimmed that this member does not have.
 * @param here the last sequence of each stream that it has
 */
export async function requireNoGap(log: Log, here: readonly LocalEnd[]): Promise<void> {
  if ((await log.facts()).start <= 1) return;
  for (const { stream, sequence: has } of here) {
    const name = await log.firstAfter(stream, has);
    const row = name === null ? null : await log.rowOf(stream, name.sequence);
    if (row === null || beginOf(row) <= has + 1) continue;
    throw new JoinAnewError(
      `the log holds stream ${stream} from ${beginOf(row)} on, and this member has it up to ${has}: ` +
        'what lies between was trimmed',
    );
  }
}

/**
 * LOGTAIL-1: throws where the rows do not follow from a position.
 * @param appliedBefore of rows up to here, which this member has, the names may have been trimmed (APPLIED-1)
 */
export function requireInOrder(rows: readonly LogRow[], position: number, appliedBefore: number): void {
  let last = position;
  for (const row of rows) {
    if (row.position !== last + 1 && row.position > appliedBefore + 1) {
      throw new JoinAnewError(
        `LOGTAIL-1: the log goes on at ${row.position} after ${last}: what lies between was trimmed`,
      );
    }
    last = row.position;
  }
}

/** The first record of a row. */
function beginOf({ stream, sequence, bytes }: LogRow): number {
  if (stream < STREAM.CONTROL) return firstSequenceOf({ sequence, bytes });
  if (stream !== STREAM.AUDIT) return sequence;
  const [, first] = /^\{"sequence":(\d+),/.exec(Buffer.from(bytes.subarray(0, 64)).toString('latin1')) ?? [];
  return first === undefined ? sequence : Number(first);
}

/** A member may lack rows that the log no longer has: the log is trimmed up to what the reporting members have. */
import { type LogRow, STREAM } from '../../shared/wire/replication.ts';
import type { LocalEnd } from '../../shared/wire/threads.ts';
import { firstSequenceOf } from '../journal/row.ts';
import { JoinAnewError, type ReplicatedLog } from './log.ts';

type Log = Pick<ReplicatedLog, 'facts' | 'history' | 'firstAfter' | 'rowOf'>;

/**
 * Throws a JoinAnewError if the member lacks rows of a stream that were trimmed, or that precede the founding of the
 * log.
 * @param here the member's last sequence number of each stream
 * @param held the log's last sequence number of each stream, possibly without a row
 */
export async function requireNoGap(
  log: Log,
  here: readonly LocalEnd[],
  held: ReadonlyMap<number, number>,
): Promise<void> {
  const isWhole = (await log.facts()).start <= 1 && (await log.history()).bases.length === 0;
  if (isWhole) return;
  for (const { stream, sequence: has } of here) {
    const name = await log.firstAfter(stream, has);
    const row = name === null ? null : await log.rowOf(stream, name.sequence);
    const next = row === null ? (held.get(stream) ?? 0) + 1 : beginOf(row);
    if (next <= has + 1) continue;
    throw new JoinAnewError(
      `the log goes on with stream ${stream} from ${next}, and this member has it up to ${has}: ` +
        'what lies between was trimmed',
    );
  }
}

/**
 * LOGTAIL-1: throws if the rows do not continue from a position.
 * @param appliedBefore the member has the rows up to here; their names may have been trimmed (APPLIED-1)
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

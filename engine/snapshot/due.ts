/** When a snapshot is due, for the thread that has not loaded the rest yet. */

/** At the stop a snapshot of as many rows is worth its time: it saves the next start their replay. */
const WORTH_AT_STOP = 1000;

/** The rows since the last snapshot from which on the next one is made. */
export function rowsDue(everyRecords: number, isStopping: boolean): number {
  return isStopping ? Math.min(WORTH_AT_STOP, everyRecords) : everyRecords;
}

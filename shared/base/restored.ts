/**
 * The note in control.db (table `platform`) of a directory that was restored from a backup: it lacks everything after
 * `upToMs`, and others may have acted on that. It stays until an operator ends the pause with which such a directory
 * starts.
 */

/** The name of the text. */
export const RESTORED = 'restored';
/** The name of the text that pauses the platform. */
export const PAUSED = 'paused';

export type Restored = {
  /** The name of the backup's point. */
  readonly point: string;
  /** The last moment that the directory contains. */
  readonly upToMs: number;
  /** True if the chain may have paid more since, which has not been examined yet: nothing may be sent. */
  readonly isChainAhead: boolean;
};

/** Null if the directory was not restored, or was opened for trading since. */
export function readRestored(text: string | undefined): Restored | null {
  return text === undefined || text === '' ? null : JSON.parse(text);
}

/** Lines for the operator. */
export function comesBackWith({ point, upToMs, isChainAhead }: Restored): readonly string[] {
  const time = new Date(upToMs).toISOString();
  return [
    `restored from the backup ${point}: what happened after ${time} is gone, and trading is paused until it is resumed`,
    'orders that were accepted since are unknown: their signed messages can be sent again, and are accepted',
    'keys and sessions that were revoked since are alive, restrictions that were made since are not there',
    'numbers of frames, orders, trades and audit records go on above a floor: clients start anew, without a replay',
    'compare deposits and withdrawals with what was paid since, and order what is missing again',
    ...(isChainAhead
      ? ['the exchange does not start until `npm run admin -- chain adopt` has looked at the chain']
      : []),
  ];
}

/** The lock of control.db, which a process holds for as long as it works on a data directory. */

/**
 * A start waits this long for the lock: a backup that begins while nothing runs holds it for a moment
 * (CONTROLSOURCE-2).
 */
export const CONTROL_LOCK_PATIENCE_MS = 1000;

/** The lock of control.db, which a process has for as long as it works on a data directory. */

/** A start waits for so long: a backup that begins while nothing runs has the lock for a moment (CONTROLSOURCE-2). */
export const CONTROL_LOCK_PATIENCE_MS = 1000;

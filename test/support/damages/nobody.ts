/** The user that the exchange runs as in the battery of damages; another one has nothing in its directory. */
export const NOBODY = 65_534;
/** A command that takes the program's as its last arguments. */
export const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

/** The folder of `admin reshard` in a data directory, and the file with which the new side counts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const RESHARDING_FOLDER = 'resharding';
export const RESHARDING_PLAN = 'plan.json';
/** The text of control.db that lists the cuts. */
export const RESHARDINGS = 'reshardings';

/** True if a `reshard` was interrupted after the moment from which the new side counts. */
export function isResharding(directory: string): boolean {
  return existsSync(join(directory, RESHARDING_FOLDER, RESHARDING_PLAN));
}

/** The version of this program, which is the version of the package whose file runs. */
import { existsSync, readFileSync } from 'node:fs';

/**
 * Finds the nearest package.json above this file: that of the project, or of the package that has the program in one
 * file.
 */
export function programVersion(): string {
  let place = new URL('package.json', import.meta.url);
  while (!existsSync(place) && place.pathname !== '/package.json') place = new URL('../package.json', place);
  return JSON.parse(readFileSync(place, 'utf8')).version;
}
